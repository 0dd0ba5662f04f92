package fee

import (
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// maxDigits is the length of the largest 256-bit integer in decimal.
const maxDigits = 78

// ParseAmount reads a base-10 integer. A number that does not fit 256 bits
// becomes the largest that does: both are above every limit.
func ParseAmount(text string) (uint256.Int, error) {
	if text == "" {
		return uint256.Int{}, errDigits()
	}
	if len(text) > maxDigits {
		return uint256.Int{}, fault.New(fault.InvalidAmount, "The amount has more than %d digits", maxDigits)
	}
	for i := range len(text) {
		if text[i] < '0' || '9' < text[i] {
			return uint256.Int{}, errDigits()
		}
	}
	var amount uint256.Int
	if err := amount.SetFromDecimal(text); err != nil {
		amount.SetAllOne()
	}
	return amount, nil
}

func errDigits() error {
	return fault.New(fault.InvalidAmount, "The amount must be a whole number of the source token's smallest unit, in digits only, such as 100000000 for 100 USDC with 6 decimals")
}

// amountLimits are those of one transaction, in hundredths of a token.
type amountLimits struct{ min, max uint64 }

var (
	stablecoin = amountLimits{min: 10_00, max: 25_000_00}
	ether      = amountLimits{min: 1, max: 20_00}
)

func limitsOf(symbol string) amountLimits {
	switch symbol {
	case chain.ETH, chain.WETH:
		return ether
	}
	return stablecoin
}

// Limits are the least and the most of a token that one transaction can move.
func Limits(token *chain.Token) (min, max uint256.Int) {
	l := limitsOf(token.Symbol)
	unit := &powers[token.Decimals-2]
	min.Mul(uint256.NewInt(l.min), unit)
	max.Mul(uint256.NewInt(l.max), unit)
	return min, max
}

// CheckLimits refuses an amount of the source token below the minimum or above
// the maximum of one transaction. The minimum and maximum themselves pass.
func CheckLimits(token *chain.Token, amount *uint256.Int) error {
	min, max := Limits(token)
	var word string
	switch {
	case amount.Lt(&min):
		word = "below the minimum"
	case amount.Gt(&max):
		word = "above the maximum"
	default:
		return nil
	}
	l := limitsOf(token.Symbol)
	e := fault.New(fault.AmountOutOfRange, "The amount is %s of one transaction: %s to %s %s, which is %s to %s in its smallest unit (%d decimals)",
		word, hundredths(l.min), hundredths(l.max), token.Symbol, min.Dec(), max.Dec(), token.Decimals)
	e.MinAmount, e.MaxAmount = min.Dec(), max.Dec()
	return e
}
