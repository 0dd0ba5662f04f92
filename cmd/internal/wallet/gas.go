package wallet

import (
	"math/big"

	"github.com/quotegate/quotegate/shared/chain"
)

// coinDecimals are those of every chain's own coin.
const coinDecimals = 18

// A coin pays for gas on a chain.
type coin struct {
	symbol  string
	mostGas string // of one transaction, unless somebody chooses another bound
}

// coins has a row for every network. A bound is well above what a swap costs on an ordinary day. It stops a node that
// asks for an absurd price; it is no estimate.
var coins = map[chain.ID]coin{
	1:     {"ETH", "0.05"},
	10:    {"ETH", "0.005"},
	25:    {"CRO", "20"},
	56:    {"BNB", "0.01"},
	130:   {"ETH", "0.005"},
	137:   {"POL", "2"},
	143:   {"MON", "5"},
	146:   {"S", "1"},
	369:   {"PLS", "50000"},
	480:   {"ETH", "0.005"},
	999:   {"HYPE", "0.1"},
	1329:  {"SEI", "2"},
	1672:  {"PROS", "1"},
	2818:  {"ETH", "0.005"},
	4663:  {"ETH", "0.005"},
	8453:  {"ETH", "0.005"},
	42161: {"ETH", "0.005"},
	43114: {"AVAX", "0.1"},
	57073: {"ETH", "0.005"},
	59144: {"ETH", "0.005"},
	98866: {"PLUME", "20"},
}

// DefaultMaxGas is the most that the gas of one transaction may cost on the network of id, in the smallest unit of its
// coin, unless somebody chooses another bound.
func DefaultMaxGas(id chain.ID) *big.Int {
	most, err := ParseCoins(coins[id.Network()].mostGas)
	if err != nil {
		return new(big.Int) // a network without a row: nothing may be sent there
	}
	return most
}

// ParseCoins reads an amount of a chain's own coin, such as 0.05.
func ParseCoins(text string) (*big.Int, error) { return ParseAmount(text, coinDecimals) }

// FormatCoins writes an amount of the own coin of id's network, such as 0.05 ETH.
func FormatCoins(amount *big.Int, id chain.ID) string {
	return FormatAmount(amount, coinDecimals) + " " + coins[id.Network()].symbol
}
