package send_test

import (
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// TestMaxGas: every chain has a bound, in its own coins, and no other chain has one.
func TestMaxGas(t *testing.T) {
	for _, n := range chain.Networks() {
		got, ok := send.MaxGas(uint64(n.ID))
		if !ok || got.Sign() <= 0 || client.FormatAmount(got, chain.CoinDecimals) != n.MostGas {
			t.Errorf("%s: got %s, want %s %s", n.Name, got, n.MostGas, n.Coin)
		}
	}
	if got, ok := send.MaxGas(2); ok || got != nil {
		t.Errorf("got %s for an unknown chain, want none", got)
	}
}
