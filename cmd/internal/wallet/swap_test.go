package wallet

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

func TestNewSwap(t *testing.T) {
	const (
		somebody = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		private  = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
		onBNB    = "0zk1qy5zht8754jmmlaaxvzcyv5f6x2lspwjetahc9yxyfl43692xpva5unpd9kxwatw8rw0xufcqw6q0m6nrkcur3vh23685tg72fv5ju8t48v29kyzcqes29xr7pf"
	)
	tests := map[string]struct {
		from, to, amount, recipient, integrator string
		says                                    string // empty if accepted
	}{
		"public":                  {"usdc@1", "USDC@369", "100", somebody, "", ""},
		"with an integrator":      {"USDC@1", "USDC@369", "100", somebody, somebody, ""},
		"shielding":               {"USDC@1", "USDC@69696969", "100", private, "", ""},
		"no chain":                {"USDC", "USDC@369", "100", somebody, "", "such as USDC@1"},
		"no token":                {"@1", "USDC@369", "100", somebody, "", "such as USDC@1"},
		"chain by name":           {"USDC@1", "USDC@hub", "100", somebody, "", "chain ID, a decimal number"},
		"no such chain":           {"USDC@2", "USDC@369", "100", somebody, "", "Chain 2 is not supported"},
		"no such pair":            {"USDC@1", "USDC@10", "100", somebody, "", "Unsupported swap pair"},
		"amount":                  {"USDC@1", "USDC@369", "1.2345678", somebody, "", "more decimals"},
		"recipient":               {"USDC@1", "USDC@369", "100", "vitalik.eth", "", "the recipient is not an EVM address"},
		"zero recipient":          {"USDC@1", "USDC@369", "100", "0x0000000000000000000000000000000000000000", "", "what is sent there is lost"},
		"recipient with a typo":   {"USDC@1", "USDC@369", "100", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "", "checksum"},
		"private on public":       {"USDC@1", "USDC@369", "100", private, "", "the recipient is not an EVM address"},
		"public on private":       {"USDC@1", "USDC@69696969", "100", somebody, "", "Invalid 0zk address"},
		"private, on other chain": {"USDC@1", "USDC@69696969", "100", onBNB, "", "bound to chain 56"},
		"integrator":              {"USDC@1", "USDC@369", "100", somebody, "me", "the integrator is not an EVM address"},
		"zero integrator":         {"USDC@1", "USDC@369", "100", somebody, "0x0000000000000000000000000000000000000000", "the integrator is the zero address"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewSwap(test.from, test.to, test.amount, test.recipient, test.integrator)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("got %v", err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
}
