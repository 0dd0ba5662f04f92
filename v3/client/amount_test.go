package client

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAmount(t *testing.T) {
	tests := map[string]struct {
		text     string
		decimals uint8
		want     string // empty if refused
		says     string
	}{
		"whole":               {"100", 6, "100000000", ""},
		"fraction":            {"0.5", 18, "500000000000000000", ""},
		"last decimal":        {"1.234567", 6, "1234567", ""},
		"zeros beyond":        {"1.2345670000", 6, "1234567", ""},
		"one decimal too far": {"1.2345678", 6, "", "more decimals than the token, which has 6"},
		"leading zeros":       {"007", 0, "7", ""},
		"no decimals":         {"7.0", 0, "7", ""},
		"nothing":             {"", 6, "", "is not an amount"},
		"no whole":            {".5", 6, "", "is not an amount"},
		"no fraction":         {"5.", 6, "", "is not an amount"},
		"negative":            {"-5", 6, "", "is not an amount"},
		"exponent":            {"1e3", 6, "", "is not an amount"},
		"hexadecimal":         {"0x10", 6, "", "is not an amount"},
		"thousands":           {"1,000", 6, "", "is not an amount"},
		"two points":          {"1.0.0", 6, "", "is not an amount"},
		"endless":             {strings.Repeat("9", 79), 6, "", "is not an amount"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseAmount(test.text, test.decimals)
			switch {
			case test.want == "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %s and %v, want it refused: %s", got, err, test.says)
			case test.want != "" && (err != nil || got.String() != test.want):
				t.Errorf("got %s and %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestAmountsSurviveBeingPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decimals := rapid.Uint8Range(0, 18).Draw(t, "decimals")
		amount := new(big.Int).SetUint64(rapid.Uint64().Draw(t, "amount"))
		text := FormatAmount(amount, decimals)
		got, err := ParseAmount(text, decimals)
		if err != nil || got.Cmp(amount) != 0 {
			t.Fatalf("%s is printed as %s and read as %s (%v)", amount, text, got, err)
		}
	})
}
