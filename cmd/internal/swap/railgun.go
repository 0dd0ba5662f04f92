package swap

import (
	"fmt"
	"math/big"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// RailgunWait is what to know of money that was shielded.
const RailgunWait = "Shielded money shows at once, but may be spendable only after RAILGUN's waiting time."

// AfterRailgun is what is left of an amount that is shielded or unshielded at a rate. RAILGUN rounds its own part down.
func AfterRailgun(amount *big.Int, bps uint16) *big.Int {
	return new(big.Int).Sub(amount, part(amount, int64(bps)))
}

// BeforeRailgun is the least of which AfterRailgun leaves an amount: what to unshield so that a swap has its amount.
func BeforeRailgun(amount *big.Int, bps uint16) *big.Int {
	if amount.Sign() <= 0 {
		return new(big.Int)
	}
	// What is left of n is n × (10000 − bps) / 10000, rounded up. It reaches amount where that exceeds amount − 1.
	least := new(big.Int).Sub(amount, big.NewInt(1))
	least.Mul(least, big.NewInt(10_000))
	least.Quo(least, big.NewInt(10_000-int64(bps)))
	return least.Add(least, big.NewInt(1))
}

// LessRailgun says of which amount AfterRailgun is left, such as "99.5 USDC less RAILGUN's own 0.25 %".
func LessRailgun(amount *big.Int, token chain.Token, bps uint16) string {
	percent := client.FormatAmount(big.NewInt(int64(bps)), 2)
	return fmt.Sprintf("%s less RAILGUN's own %s %%", Money(amount, token), percent)
}

// ToUnshield says what to take out of the pool first, for a swap that starts there.
func (q *Checked) ToUnshield() string {
	token := q.Swap.SrcToken
	return fmt.Sprintf("%s, so that %s is left to swap: %s", Money(q.Unshield, token), Money(q.Swap.Amount, token),
		LessRailgun(q.Unshield, token, q.Railgun.UnshieldBPS))
}

func part(amount *big.Int, bps int64) *big.Int {
	fee := new(big.Int).Mul(amount, big.NewInt(bps))
	return fee.Quo(fee, big.NewInt(10_000))
}
