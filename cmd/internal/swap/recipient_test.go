package swap

import (
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

// TestRecipientsThatCannotOwnMoney wants each to be refused before a quote is asked for, and again when one is checked.
func TestRecipientsThatCannotOwnMoney(t *testing.T) {
	d := chain.Reference()
	tests := map[string]struct{ recipient, says string }{
		"zero":                        {"0x0000000000000000000000000000000000000000", "the zero address"},
		"native sentinel":             {"0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "the placeholder of the native coin"},
		"destination token":           {"0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "the contract of USDC on chain 369"},
		"precompile":                  {"0x0000000000000000000000000000000000000001", "below 0x10000"},
		"last of the reserved":        {"0x000000000000000000000000000000000000ffff", "below 0x10000"},
		"router of this source":       {"0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", "the router of USDC on chain 1"},
		"router of another":           {d.Routers()[len(d.Routers())-1].Router.Hex(), "the router of WETH on chain 96969696"},
		"messenger":                   {"0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d", "the issuer's TokenMessenger"},
		"settlement receiver":         {d.Settlement.Receiver.Hex(), "the receiver of burns on chain 8453"},
		"registry":                    {d.Registry(369).Hex(), "the integrator registry of chain 369"},
		"transmitter":                 {"0x81D40F21F12A8F0E3252Bccb954D722d4c464B64", "the issuer's MessageTransmitter"},
		"RAILGUN's proxy":             {"0xFA7093CDD9EE6932B4eb2c9e1cde7CE00B1FA4b9", "RAILGUN's proxy on chain 1"},
		"RAILGUN's relay adapter":     {"0xF82d00fC51F730F42A00F85E74895a2849ffF2Dd", "RAILGUN's relay adapter on chain 56"},
		"the first that can be owned": {"0x0000000000000000000000000000000000010000", ""},
		"token of another chain":      {"0xdAC17F958D2ee523a2206206994597C13D831ec7", "the contract of USDT on chain 1"},
		"the burn address":            {"0x000000000000000000000000000000000000dEaD", "a burn address"},
		"somebody":                    {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", ""},
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
