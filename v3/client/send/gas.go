package send

import (
	"math/big"

	"github.com/quotegate/quotegate/v3/client"
)

// mostGas is the most that the gas of one transaction should cost, by chain, in coins.
var mostGas = map[uint64]string{
	// generated: gas bounds
	1: "0.05", 10: "0.005", 25: "20", 56: "0.01", 130: "0.005",
	137: "2", 143: "5", 146: "1", 369: "50000", 480: "0.005",
	999: "0.1", 1329: "2", 1672: "1", 2818: "0.005", 4663: "0.005",
	8453: "0.005", 42161: "0.005", 43114: "0.1", 57073: "0.005", 59144: "0.005",
	98866: "20",
	// generated end
}

// MaxGas is a bound for Sender.MaxGas on a chain: well above the usual cost of a swap, and low enough to stop a node
// that asks for an absurd price. It is false for a chain that this version does not know: set a bound of your own.
func MaxGas(chainID uint64) (*big.Int, bool) {
	most, err := client.ParseAmount(mostGas[chainID], 18)
	return most, err == nil
}
