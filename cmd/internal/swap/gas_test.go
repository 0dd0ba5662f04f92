package swap

import (
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

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
