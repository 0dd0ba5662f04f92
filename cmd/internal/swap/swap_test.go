package swap

import (
	"cmp"
	"math/big"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("got %v", err)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		t.Errorf("got %v, want it to say %q", err, words)
	}
}

func TestNewSwap(t *testing.T) {
	for name, test := range map[string]struct {
		from, to, amount string // empty for the usual
		says             string // empty if accepted
	}{
		"public":        {from: "usdc@1"},
		"shielding":     {to: "USDC@69696969"},
		"no chain":      {from: "USDC", says: "such as USDC@1"},
		"no token":      {from: "@1", says: "such as USDC@1"},
		"chain by name": {to: "USDC@hub", says: "chain ID, a decimal number"},
		"no such chain": {from: "USDC@2", says: "Chain 2 is not supported"},
		"no such pair":  {to: "USDC@10", says: "Unsupported swap pair"},
		"amount":        {amount: "1.2345678", says: "more decimals"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSwap(cmp.Or(test.from, "USDC@1"), cmp.Or(test.to, "USDC@369"), cmp.Or(test.amount, "100"), "")
			wantError(t, err, test.says)
		})
	}
}

// TestRecipientsThatCannotOwnMoney: the client refuses a quote for them, the contracts of the deployment included.
func TestRecipientsThatCannotOwnMoney(t *testing.T) {
	for recipient, says := range map[string]string{
		"0x0000000000000000000000000000000000000000": "below 0x10000",
		"0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07": "the contract of USDC on chain 369",
		"0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d": `the router of "USDC" on chain 1`,
	} {
		g := read(t, "direct")
		g.swap.Recipient = recipient
		_, err := verify(g.swap, g.body, nil)
		wantError(t, err, says)
	}
}

func TestEveryNetworkHasACoin(t *testing.T) {
	for _, network := range chain.Networks() {
		if network.Coin == "" {
			t.Errorf("the row of %s in shared/chain has no Coin", network.Name)
		}
	}
	if got := FormatCoins(big.NewInt(1e16), chain.PrivacyBNB); got != "0.01 BNB" {
		t.Errorf("got %s for the privacy pool, want the coin of its network", got)
	}
}
