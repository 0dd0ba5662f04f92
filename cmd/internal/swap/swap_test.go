package swap

import (
	"cmp"
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
	const (
		somebody = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		zero     = "0x0000000000000000000000000000000000000000"
		shielded = "USDC@69696969"
		private  = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w" +
			"8vyalll36xdq7w39djr40dhrdafqpdmhpa"
		onBNB = "0zk1qy5zht8754jmmlaaxvzcyv5f6x2lspwjetahc9yxyfl43692xpva5unpd9kxwatw8rw0xufcqw6q0m6nrkcur3vh2368" +
			"5tg72fv5ju8t48v29kyzcqes29xr7pf"
	)
	for name, test := range map[string]struct {
		from, to, amount, recipient, integrator string // empty for the usual
		says                                    string // empty if accepted
	}{
		"public":                  {from: "usdc@1"},
		"with an integrator":      {integrator: somebody},
		"shielding":               {to: shielded, recipient: private},
		"no chain":                {from: "USDC", says: "such as USDC@1"},
		"no token":                {from: "@1", says: "such as USDC@1"},
		"chain by name":           {to: "USDC@hub", says: "chain ID, a decimal number"},
		"no such chain":           {from: "USDC@2", says: "Chain 2 is not supported"},
		"no such pair":            {to: "USDC@10", says: "Unsupported swap pair"},
		"amount":                  {amount: "1.2345678", says: "more decimals"},
		"recipient":               {recipient: "vitalik.eth", says: "the recipient is not an EVM address"},
		"zero recipient":          {recipient: zero, says: "funds sent there are lost"},
		"recipient with a typo":   {recipient: somebody[:41] + "D", says: "checksum"},
		"private on public":       {recipient: private, says: "the recipient is not an EVM address"},
		"public on private":       {to: shielded, says: "Invalid 0zk address"},
		"private, on other chain": {to: shielded, recipient: onBNB, says: "bound to chain 56"},
		"integrator":              {integrator: "me", says: "the integrator is not an EVM address"},
		"zero integrator":         {integrator: zero, says: "the integrator is the zero address"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSwap(cmp.Or(test.from, "USDC@1"), cmp.Or(test.to, "USDC@369"), cmp.Or(test.amount, "100"),
				cmp.Or(test.recipient, somebody), test.integrator)
			wantError(t, err, test.says)
		})
	}
}

// TestRecipientsThatCannotOwnMoney wants them refused before a quote is asked for, and again when one is checked.
func TestRecipientsThatCannotOwnMoney(t *testing.T) {
	d := chain.Reference()
	for recipient, says := range map[string]string{
		"0x0000000000000000000000000000000000000000": "the zero address",
		"0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07": "the contract of USDC on chain 369",
		"0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d": "the router of USDC on chain 1",
	} {
		g := read(t, "pair-usdc-1-to-usdc-369")
		g.swap.Recipient = recipient
		wantError(t, g.swap.CheckRecipient(d), says)
		_, err := Verify(g.swap, g.body, Knowledge{Deployment: d})
		wantError(t, err, says)
	}
	wantError(t, read(t, "pair-usdc-1-to-usdc-369").swap.CheckRecipient(d), "")
}

func TestEveryNetworkHasACoin(t *testing.T) {
	for _, network := range chain.Networks() {
		if network.Coin == "" || DefaultMaxGas(network.ID).Sign() <= 0 {
			t.Errorf("the row of %s in shared/chain has no Coin, or no MostGas that is an amount above 0", network.Name)
		}
	}
	if got := FormatCoins(DefaultMaxGas(chain.PrivacyBNB), chain.PrivacyBNB); got != "0.01 BNB" {
		t.Errorf("got %s for the privacy pool, want the coin of its network", got)
	}
	if got := DefaultMaxGas(2); got.Sign() != 0 {
		t.Errorf("got %s for an unknown network, want that nothing may be sent", got)
	}
}
