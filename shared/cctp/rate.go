package cctp

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/fault"
)

// Rate is an exact fee rate between 0 and 100 basis points. It cannot hold
// any other, so arithmetic on it has no case that overflows.
type Rate struct {
	nano uint64 // billionths of a basis point
}

const (
	nanoPerBPS = 1_000_000_000
	// absurdBPS is far above every fee the issuer has charged. A fee beyond
	// it is a mistake.
	absurdBPS = 100
	// longest is the longest number that is read.
	longest = 64
)

var (
	highest = Rate{absurdBPS * nanoPerBPS}
	// whole is 100 %, in the unit of Rate.
	whole = uint256.NewInt(10_000 * nanoPerBPS)
	// decimal is a number as JSON writes it. Three digits bound the exponent,
	// and so the work of reading it.
	decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)
)

// FromMilliBPS is the rate of that many thousandths of a basis point, or the highest.
func FromMilliBPS(milli uint32) Rate {
	return Rate{min(uint64(milli)*(nanoPerBPS/1000), highest.nano)}
}

// ParseRate reads basis points, written as JSON writes a number; an exponent
// of up to three digits is understood. Digits beyond a billionth of a basis
// point round up. The error is a sentence without a subject, for the caller to
// complete.
func ParseRate(text string) (Rate, error) {
	switch {
	case len(text) > longest:
		return Rate{}, fmt.Errorf("is longer than %d characters", longest)
	case !decimal.MatchString(text):
		return Rate{}, errors.New("is not a decimal number such as 1.3")
	case text[0] == '-':
		return Rate{}, errors.New("is negative")
	}
	exact, _ := new(big.Rat).SetString(text)
	exact.Mul(exact, big.NewRat(nanoPerBPS, 1))
	up := new(big.Int).Sub(exact.Denom(), big.NewInt(1))
	nano := up.Div(up.Add(up, exact.Num()), exact.Denom())
	if nano.Cmp(new(big.Int).SetUint64(highest.nano)) > 0 {
		return Rate{}, fmt.Errorf("is above %d basis points", absurdBPS)
	}
	return Rate{nano.Uint64()}, nil
}

// String is the rate in basis points, as the shortest decimal: "1.3".
func (r Rate) String() string { return decimalText(r.nano, 9) }

// Percent is the rate in percent, as the shortest decimal: "0.013".
func (r Rate) Percent() string { return decimalText(r.nano, 11) }

// decimalText is n with its last digits behind a point.
func decimalText(n uint64, places int) string {
	digits := fmt.Sprintf("%0*d", places+1, n)
	point := len(digits) - places
	return strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// Estimate is the issuer's fee on amount, rounded up. It is exact for every
// amount there is.
func (r Rate) Estimate(amount *uint256.Int) uint256.Int {
	return scaleUp(amount, uint256.NewInt(r.nano), whole)
}

// MaxFee is what a burn of amount may cost at most: the estimate and a fifth
// of the estimate, rounded up. The messenger reverts a burn whose maxFee is
// not less than its amount, so there is no maxFee for such an amount but an
// error for the caller.
func (r Rate) MaxFee(amount *uint256.Int) (uint256.Int, error) {
	fee := r.Estimate(amount)
	fee = scaleUp(&fee, uint256.NewInt(6), uint256.NewInt(5))
	if fee.Lt(amount) {
		return fee, nil
	}
	// A rate is at most a hundredth, so 3 units are enough for the fee of 2.
	least := "3"
	if r.nano == 0 {
		least = "1"
	}
	err := fault.New(fault.AmountOutOfRange, "The amount does not cover the issuer's transfer fee, which may be up to %s in the source token's smallest unit; it must be at least %s",
		fee.Dec(), least)
	err.MinAmount = least
	return uint256.Int{}, err
}

// scaleUp is n × by / over, rounded up. The product may have more than 256 bits.
func scaleUp(n, by, over *uint256.Int) (scaled uint256.Int) {
	scaled.MulDivOverflow(n, by, over)
	if rest := new(uint256.Int).MulMod(n, by, over); !rest.IsZero() {
		scaled.AddUint64(&scaled, 1)
	}
	return scaled
}
