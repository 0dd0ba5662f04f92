package fee

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Origin is where a rate is from.
type Origin string

const (
	Live     Origin = "live"      // the fee service, less than five minutes ago
	LastGood Origin = "last good" // the fee service, earlier
	BuiltIn  Origin = "built-in"  // the table
)

// IssuerFee is what the issuer takes for burns from a source chain.
type IssuerFee struct {
	Source chain.ID
	Rate   Rate
	Origin Origin
	Age    time.Duration // since the service gave the rate; 0 if it did not
	// TooHigh is set if Rate is 0, but the service has since reported a fee above the
	// highest that is accepted. A burn with a maxFee of 0 would then revert.
	TooHigh bool
	// Err is why the last lookup failed, in a text fit for a public page. It is nil if
	// the lookup succeeded, or if there was none.
	Err error
}

// Rate is an exact fee rate between 0 and 100 basis points. It cannot hold
// any other, so arithmetic on it has no case that overflows.
type Rate struct {
	nano uint64 // billionths of a basis point
}

const (
	nanoPerBPS = 1_000_000_000
	// highestBPS is far above every fee the issuer has charged. A fee beyond
	// it is a mistake.
	highestBPS = 100
)

var (
	HighestRate = Rate{highestBPS * nanoPerBPS}
	// These complete a sentence whose subject the caller adds.
	ErrTooHigh   = fmt.Errorf("is above %d basis points", highestBPS)
	errNotNumber = errors.New("is not a decimal number such as 1.3")
	errTiny      = errors.New("is not 0, but below a billionth of a basis point")
	// all is 100 %, in the unit of Rate.
	all = uint256.NewInt(10_000 * nanoPerBPS)
	// decimal is an unsigned JSON number. Bounds on its length and exponent bound the cost
	// of parsing it.
	decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,63})(\.[0-9]{1,63})?([eE][+-]?[0-9]{1,2})?$`)
)

// FromMilliBPS is a rate in thousandths of a basis point, at most HighestRate.
func FromMilliBPS(milli uint32) Rate {
	return Rate{min(uint64(milli)*(nanoPerBPS/1000), HighestRate.nano)}
}

// ParseRate reads basis points, written as JSON writes a number. Digits beyond a
// billionth of a basis point round up. The error is errNotNumber, errTiny or ErrTooHigh.
func ParseRate(text string) (Rate, error) {
	if !decimal.MatchString(text) {
		return Rate{}, errNotNumber
	}
	exact, _ := new(big.Rat).SetString(text)
	exact.Mul(exact, big.NewRat(nanoPerBPS, 1))
	if exact.Sign() > 0 && exact.Cmp(big.NewRat(1, 1)) < 0 {
		return Rate{}, errTiny
	}
	up := new(big.Int).Sub(exact.Denom(), big.NewInt(1))
	nano := up.Div(up.Add(up, exact.Num()), exact.Denom())
	if nano.Cmp(new(big.Int).SetUint64(HighestRate.nano)) > 0 {
		return Rate{}, ErrTooHigh
	}
	return Rate{nano.Uint64()}, nil
}

// BelowQuarterOf reports whether the rate is below a quarter of another.
func (r Rate) BelowQuarterOf(other Rate) bool { return r.nano*4 < other.nano }

func (r Rate) Cmp(other Rate) int { return cmp.Compare(r.nano, other.nano) }

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

// estimate is the issuer's fee on amount, rounded up. It is exact for every amount.
func (r Rate) estimate(amount *uint256.Int) uint256.Int {
	return scaleUp(amount, uint256.NewInt(r.nano), all)
}

// MaxFee is the most that a burn of amount may cost: the estimate plus a fifth of it, rounded
// up. The messenger reverts a burn whose maxFee is not below its amount, so such an amount is
// an error.
func (r Rate) MaxFee(amount *uint256.Int) (uint256.Int, error) {
	fee := r.estimate(amount)
	fee = scaleUp(&fee, uint256.NewInt(6), uint256.NewInt(5))
	if !fee.Lt(amount) {
		return uint256.Int{}, fault.New(fault.AmountOutOfRange, "The amount does not cover the issuer's transfer fee, "+
			"which may be up to %s in the source token's smallest unit", fee.Dec())
	}
	return fee, nil
}

// scaleUp is n × by / over, rounded up. The product may have more than 256 bits.
func scaleUp(n, by, over *uint256.Int) (scaled uint256.Int) {
	scaled.MulDivOverflow(n, by, over)
	if rest := new(uint256.Int).MulMod(n, by, over); !rest.IsZero() {
		scaled.AddUint64(&scaled, 1)
	}
	return scaled
}
