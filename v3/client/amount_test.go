package client

import (
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAmountCases runs the cases of testdata/client/amounts.json, which a test in JavaScript runs too.
func TestAmountCases(t *testing.T) {
	data, err := os.ReadFile(goldens + "client/amounts.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Parse []struct {
			Name, Text, Want, Says string
			Decimals               uint8
		}
		Format []struct {
			Amount, Want string
			Decimals     uint8
		}
		Max []struct {
			Name, Want, Says  string
			Balance, Gas, Max string
			Native            bool
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases.Parse {
		got, err := ParseAmount(c.Text, c.Decimals)
		wantAmount(t, "parse, "+c.Name, got, err, c.Want, c.Says)
	}
	for _, c := range cases.Format {
		if got := FormatAmount(Amount(c.Amount).Int(), c.Decimals); got != c.Want {
			t.Errorf("%s with %d decimals: got %s, want %s", c.Amount, c.Decimals, got, c.Want)
		}
	}
	number := func(text string) *big.Int { // nil for none
		n, _ := new(big.Int).SetString(text, 10)
		return n
	}
	for _, c := range cases.Max {
		h := Holding{number(c.Balance), c.Native, number(c.Gas), number(c.Max)}
		got, err := MaxAmount(h)
		wantAmount(t, "max, "+c.Name, got, err, c.Want, c.Says)
	}
	if len(cases.Parse) < 20 || len(cases.Format) < 10 || len(cases.Max) < 15 {
		t.Error("the file lacks cases")
	}
}

func wantAmount(t *testing.T, name string, got *big.Int, err error, want, says string) {
	t.Helper()
	switch {
	case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
		t.Errorf("%s: got %s and %v, want it refused: %s", name, got, err, says)
	case says == "" && (err != nil || got.String() != want):
		t.Errorf("%s: got %s and %v, want %s", name, got, err, want)
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
