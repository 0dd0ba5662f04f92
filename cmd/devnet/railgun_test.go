package main

import (
	"math/big"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// TestExplainsRailgunsFee wants the demonstration to say what the quote does not: what RAILGUN takes.
func TestExplainsRailgunsFee(t *testing.T) {
	explain := func(q *swap.Checked) string {
		var said strings.Builder
		d := &devnet{printer: &printer{out: &said}}
		q.Protocol, q.Integrator, q.Railgun = new(big.Int), new(big.Int), chain.Reference().Railgun
		d.explain(q)
		return said.String()
	}
	in, out := pairOf(t, 1, "USDC", 69696969, "USDC"), pairOf(t, 69696969, "USDC", 369, "USDC")
	shielding := explain(&swap.Checked{Swap: swap.Swap{Pair: &in}, Checked: &client.Checked{
		Dest: big.NewInt(99_500_000), Arrives: big.NewInt(99_251_250), Unchecked: []string{"the weather"},
	}})
	unshielding := explain(&swap.Checked{Swap: swap.Swap{Pair: &out, Amount: big.NewInt(9_975)}, Checked: &client.Checked{Dest: big.NewInt(1)}, Unshield: big.NewInt(10_000)})
	for words, said := range map[string]string{
		"99.25125 USDC arrives in the pool: 99.5 USDC less RAILGUN's own 0.25 %": shielding,
		"Not checked: the weather.": shielding,
		swap.RailgunWait:            shielding,
		"unshields 0.01 USDC, so that 0.009975 USDC is left to swap: 0.01 USDC less RAILGUN's own 0.25 %": unshielding,
	} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is missing from:\n%s", words, said)
		}
	}
}

func TestAccountOfAShieldedPayout(t *testing.T) {
	usdc := pairOf(t, 1, "USDC", 69696969, "USDC").DstToken.Address.Address
	got := account(&reference.Payout{
		Order:      reference.Order{DstChain: 69696969, DstToken: usdc, RecipientType: 2},
		Settlement: contracts.Settlement{Amount: big.NewInt(99_500_000), ProtocolFee: big.NewInt(500_000), IntegratorFee: new(big.Int)},
	})
	want := "99.25125 USDC to a private balance on chain 69696969 (99.5 USDC less RAILGUN's own 0.25 %); fees 0.5 USDC"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
