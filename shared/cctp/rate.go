package cctp

import (
	"errors"
	"fmt"
	"strconv"
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
	// absurdBPS is above every fee the issuer has charged, by far. What goes
	// beyond it is a mistake and not a fee.
	absurdBPS = 100
	// longest is the longest number that is read. Nothing sensible needs it.
	longest = 64
)

var (
	highest = Rate{absurdBPS * nanoPerBPS}
	one     = uint256.NewInt(1)
	// whole is 100 %, in the unit of Rate.
	whole = uint256.NewInt(10_000 * nanoPerBPS)
)

var (
	errLong     = fmt.Errorf("is longer than %d characters", longest)
	errSyntax   = errors.New("is not a decimal number such as 1.3")
	errNegative = errors.New("is negative")
	errHigh     = fmt.Errorf("is above %d basis points", absurdBPS)
)

// FromMilliBPS is the rate of that many thousandths of a basis point.
func FromMilliBPS(milli uint32) (Rate, error) {
	r := Rate{uint64(milli) * (nanoPerBPS / 1000)}
	if r.nano > highest.nano {
		return Rate{}, errHigh
	}
	return r, nil
}

// ParseRate reads basis points, written as JSON writes a number; an exponent
// is understood. Digits beyond a billionth of a basis point round up. The
// error is a sentence without a subject, for the caller to complete.
func ParseRate(text string) (Rate, error) {
	if len(text) > longest {
		return Rate{}, errLong
	}
	rest, negative := strings.CutPrefix(text, "-")
	integer, rest := cutDigits(rest)
	if integer == "" || len(integer) > 1 && integer[0] == '0' {
		return Rate{}, errSyntax
	}
	var fraction string
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if fraction, rest = cutDigits(after); fraction == "" {
			return Rate{}, errSyntax
		}
	}
	exponent, ok := parseExponent(rest)
	if !ok {
		return Rate{}, errSyntax
	}
	if negative {
		return Rate{}, errNegative
	}
	return scale(integer+fraction, len(integer)+exponent)
}

// scale is the rate of 0.digits × 10^point basis points.
func scale(digits string, point int) (Rate, error) {
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return Rate{}, nil
	}
	point -= len(digits) - len(significant)
	places := max(0, point+9) // so many digits are whole billionths
	if places > 12 {          // 10^12 or more, where the highest rate is 10^11
		return Rate{}, errHigh
	}
	var r Rate
	for i := range places {
		r.nano *= 10
		if i < len(significant) {
			r.nano += uint64(significant[i] - '0')
		}
	}
	if places < len(significant) && strings.Trim(significant[places:], "0") != "" {
		r.nano++
	}
	if r.nano > highest.nano {
		return Rate{}, errHigh
	}
	return r, nil
}

// parseExponent reads the exponent of a number, or none. Beyond ±1000 all
// exponents have the same effect on a number of limited length.
func parseExponent(text string) (exponent int, ok bool) {
	if text == "" {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text, negative := strings.CutPrefix(text[1:], "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	digits, rest := cutDigits(text)
	if digits == "" || rest != "" {
		return 0, false
	}
	for i := range len(digits) {
		exponent = min(1000, exponent*10+int(digits[i]-'0'))
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

func cutDigits(text string) (digits, rest string) {
	i := 0
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}

// String is the rate in basis points, as the shortest decimal: "1.3".
func (r Rate) String() string {
	bps := strconv.FormatUint(r.nano/nanoPerBPS, 10)
	if rest := r.nano % nanoPerBPS; rest != 0 {
		bps += "." + strings.TrimRight(fmt.Sprintf("%09d", rest), "0")
	}
	return bps
}

// Estimate is the issuer's fee on amount, rounded up. It is exact for every
// amount there is.
func (r Rate) Estimate(amount *uint256.Int) uint256.Int {
	// The amount is taken apart so that no product needs more than 256 bits.
	rate := uint256.NewInt(r.nano)
	var fee, rest uint256.Int
	fee.DivMod(amount, whole, &rest)
	fee.Mul(&fee, rate)
	rest.Mul(&rest, rate)
	divideUp(&rest, whole)
	fee.Add(&fee, &rest)
	return fee
}

// MaxFee is what a burn of amount may cost at most: the estimate and a fifth
// of the estimate, rounded up. The messenger reverts a burn whose maxFee is
// not less than its amount, so there is no maxFee for such an amount but an
// error for the caller.
func (r Rate) MaxFee(amount *uint256.Int) (uint256.Int, error) {
	fee := r.Estimate(amount)
	fee.Mul(&fee, uint256.NewInt(6))
	divideUp(&fee, uint256.NewInt(5))
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

// divideUp divides n by d, rounding up.
func divideUp(n, d *uint256.Int) {
	var remainder uint256.Int
	n.DivMod(n, d, &remainder)
	if !remainder.IsZero() {
		n.Add(n, one)
	}
}
