package swap

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestRailgunFee(t *testing.T) {
	for name, test := range map[string]struct{ amount, after, before int64 }{
		"a hundred less half a percent": {99_500_000, 99_251_250, 99_749_373},
		"whole":                         {9_975, 9_951, 9_999},
		"too little for a fee":          {399, 399, 399},
		"the first fee":                 {400, 399, 401},
		"nothing":                       {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			amount := big.NewInt(test.amount)
			if got := AfterRailgun(amount, 25); got.Int64() != test.after {
				t.Errorf("got %s after, want %d", got, test.after)
			}
			if got := BeforeRailgun(amount, 25); got.Int64() != test.before {
				t.Errorf("got %s before, want %d", got, test.before)
			}
		})
	}
}

// TestUnshieldLeavesTheAmount wants what is unshielded to leave the amount to the unit, and to be the least that does.
func TestUnshieldLeavesTheAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := new(big.Int).SetUint64(rapid.Uint64Min(1).Draw(t, "amount"))
		bps := rapid.Uint16Range(0, 5000).Draw(t, "bps")
		before := BeforeRailgun(amount, bps)
		if got := AfterRailgun(before, bps); got.Cmp(amount) != 0 {
			t.Fatalf("%s leaves %s, want %s", before, got, amount)
		}
		if less := AfterRailgun(new(big.Int).Sub(before, big.NewInt(1)), bps); less.Cmp(amount) >= 0 {
			t.Fatalf("one less than %s leaves %s, so it is not the least", before, less)
		}
	})
}

func TestWhatArrives(t *testing.T) {
	for name, test := range map[string]struct {
		golden   string
		arrives  string
		unshield string // empty for none
	}{
		"public":      {"pair-usdc-1-to-usdc-369", "123086419", ""},
		"shielding":   {"pair-usdc-1-to-usdc-69696969", "122532408", ""},
		"unshielding": {"pair-usdc-69696969-to-usdc-369", "122839506", "123766204"},
	} {
		t.Run(name, func(t *testing.T) {
			q := checkedQuote(t, test.golden)
			unshield := ""
			if q.Unshield != nil {
				unshield = q.Unshield.String()
			}
			if q.Arrives.String() != test.arrives || unshield != test.unshield {
				t.Errorf("got %s and %q to unshield, want %s and %q", q.Arrives, unshield, test.arrives, test.unshield)
			}
		})
	}
}
