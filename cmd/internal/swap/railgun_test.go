package swap

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestRailgunFee(t *testing.T) {
	for _, test := range []struct{ amount, after, before int64 }{
		{99_500_000, 99_251_250, 99_749_373},
		{9_975, 9_951, 9_999},
		{399, 399, 399}, // too little for a fee
		{400, 399, 401},
		{0, 0, 0},
	} {
		amount := big.NewInt(test.amount)
		if got := AfterRailgun(amount, 25); got.Int64() != test.after {
			t.Errorf("%s: got %s after, want %d", amount, got, test.after)
		}
		if got := BeforeRailgun(amount, 25); got.Int64() != test.before {
			t.Errorf("%s: got %s before, want %d", amount, got, test.before)
		}
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
	for golden, want := range map[string]struct {
		arrives  string
		unshield string // empty for none
	}{
		"pair-usdc-1-to-usdc-369":        {"123086419", ""},
		"pair-usdc-1-to-usdc-69696969":   {"122532408", ""},
		"pair-usdc-69696969-to-usdc-369": {"122839506", "123766204"},
	} {
		g := read(t, golden)
		q, err := Verify(g.swap, g.body, knowledge(t, g.swap))
		if err != nil {
			t.Fatal(err)
		}
		unshield := ""
		if q.Unshield != nil {
			unshield = q.Unshield.String()
		}
		if q.Arrives.String() != want.arrives || unshield != want.unshield {
			t.Errorf("%s: got %s and %q to unshield, want %+v", golden, q.Arrives, unshield, want)
		}
	}
}
