package wire

import (
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

// TestNumbers compares with the number's own words, over all sizes.
func TestNumbers(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, n *uint256.Int) {
		if got := string(appendDecimal([]byte("a"), n)); got != "a"+n.Dec() {
			t.Errorf("got %s, want a%s", got, n.Dec())
		}
		b := Body{[]byte("{")}
		if b.Quantity("a", n); string(b.json) != `{"a":"`+n.Hex()+`"` {
			t.Errorf("got %s, want %s", b.json, n.Hex())
		}
	}
	for _, text := range []string{
		"0", "1", "999999999999999999", "1000000000000000000", "18446744073709551615", "18446744073709551616",
		"1000000000000000000000000000000000000", "1000000000000000001000000000000000000",
		"115792089237316195423570985008687907853269984665640564039457584007913129639935",
	} {
		check(t, uint256.MustFromDecimal(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		var n uint256.Int
		n.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "bytes"))
		check(t, &n)
	})
}
