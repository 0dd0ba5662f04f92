package chain_test

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/quotegate/quotegate/shared/chain"
)

// FuzzParseAddress compares with go-ethereum: an address is read if it is in
// one case throughout, or in the very case that its own Hex gives it.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED",
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x52908400098527886E0F7030069857D2E4169EE7", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := chain.ParseAddress(text)
		if !strings.HasPrefix(text, "0x") || !common.IsHexAddress(text) {
			if err == nil {
				t.Errorf("%q is read as %s", text, got)
			}
			return
		}
		want, digits := common.HexToAddress(text), text[2:]
		oneCase := digits == strings.ToLower(digits) || digits == strings.ToUpper(digits)
		if readable := oneCase || text == want.Hex(); (err == nil) != readable || readable && got != want {
			t.Errorf("%q: got %s and %v, want %s, readable: %v", text, got, err, want, readable)
		}
	})
}
