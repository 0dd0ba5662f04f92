package swap

import (
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

// TestRecipientsThatCannotOwnMoney wants one of each kind to be refused before a quote is asked for, and again when one is checked.
func TestRecipientsThatCannotOwnMoney(t *testing.T) {
	d := chain.Reference()
	tests := map[string]struct{ recipient, says string }{
		"zero":                  {"0x0000000000000000000000000000000000000000", "the zero address"},
		"destination token":     {"0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "the contract of USDC on chain 369"},
		"router of this source": {"0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", "the router of USDC on chain 1"},
		"somebody":              {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := read(t, "pair-usdc-1-to-usdc-369")
			g.swap.Recipient = test.recipient
			err := g.swap.CheckRecipient(d)
			if test.says == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			wantError(t, err, test.says)
			_, err = Verify(g.swap, g.body, Knowledge{Deployment: d})
			wantError(t, err, test.says)
		})
	}
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}
