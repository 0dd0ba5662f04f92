package swap

import (
	"math/big"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// DefaultMaxGas is the most that the gas of one transaction may cost on the network of id, in the smallest unit of its
// coin, unless somebody chooses another bound.
func DefaultMaxGas(id chain.ID) *big.Int {
	network, _ := chain.FindNetwork(id)
	most, err := ParseCoins(network.MostGas)
	if err != nil {
		return new(big.Int) // an unknown network: nothing may be sent there
	}
	return most
}

// ParseCoins reads an amount of a chain's own coin, such as 0.05.
func ParseCoins(text string) (*big.Int, error) { return client.ParseAmount(text, chain.CoinDecimals) }

// FormatCoins writes an amount of the own coin of id's network, such as 0.05 ETH.
func FormatCoins(amount *big.Int, id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	return client.FormatAmount(amount, chain.CoinDecimals) + " " + network.Coin
}
