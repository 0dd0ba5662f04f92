package fee_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fee"
)

func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"0", "100000000", strings.Repeat("9", 78), "-1", "1e5", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := fee.ParseAmount(text)
		if err != nil {
			return
		}
		want, ok := new(big.Int).SetString(text, 10)
		if !ok {
			t.Fatalf("accepted %q", text)
		}
		if want.BitLen() <= 256 && got.ToBig().Cmp(want) != 0 {
			t.Fatalf("%q became %s", text, got.Dec())
		}
	})
}
