// Package fee does the arithmetic of money: rates, limits, conversion between decimals, and
// the split of an amount into fees and the rest.
//
// All numbers are integers. Conversions and fees round down; what the issuer may take
// rounds up. Fees are always taken from the gross destination amount, so the parts add up
// to it exactly.
package fee

import (
	"strconv"
	"strings"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// BPS is a rate in basis points, hundredths of a percent.
type BPS uint16

// whole is 100 %.
const whole = 10_000

// Protocol rates.
const (
	inbound  BPS = 30 // public chain to hub
	outbound BPS = 50 // hub to public chain
	privacy  BPS = 50 // shielding and unshielding
)

// Protocol is the protocol's rate for a supported swap.
func Protocol(src, dst chain.ID) BPS {
	switch {
	case src.Private() || dst.Private():
		return privacy
	case dst == chain.Hub:
		return inbound
	}
	return outbound
}

// AppendPercent writes the rate in percent, as the shortest decimal: 30 is 0.3.
func (b BPS) AppendPercent(text []byte) []byte { return appendHundredths(text, uint64(b)) }

// Of is the fee on amount at this rate, rounded down. It is exact for any
// amount within the limits, which are far below 2^128.
func (b BPS) Of(amount *uint256.Int) uint256.Int {
	var fee uint256.Int
	fee.Mul(amount, uint256.NewInt(uint64(b)))
	fee.Div(&fee, uint256.NewInt(whole))
	return fee
}

// Before is the least amount that leaves the given amount after this fee.
func (b BPS) Before(amount *uint256.Int) uint256.Int {
	if amount.IsZero() {
		return uint256.Int{}
	}
	// The rest of n is n × (10000 − rate) / 10000, rounded up, since the fee rounds down.
	// It reaches amount once n × (10000 − rate) / 10000 exceeds amount − 1.
	var least uint256.Int
	least.SubUint64(amount, 1)
	least.Mul(&least, uint256.NewInt(whole))
	least.Div(&least, uint256.NewInt(whole-uint64(b)))
	least.AddUint64(&least, 1)
	return least
}

// Convert converts an amount between tokens of the same value with different
// numbers of decimals, rounded down.
func Convert(amount *uint256.Int, from, to uint8) uint256.Int {
	out := *amount
	switch {
	case to > from:
		out.Mul(amount, &powers[to-from])
	case to < from:
		out.Div(amount, &powers[from-to])
	}
	return out
}

// Split is a gross destination amount divided: Protocol + Integrator + Net = gross.
type Split struct {
	Protocol, Integrator, Net uint256.Int
}

// Divide takes both fees out of gross.
func Divide(gross *uint256.Int, protocol, integrator BPS) Split {
	s := Split{Protocol: protocol.Of(gross), Integrator: integrator.Of(gross)}
	total := s.Total()
	s.Net.Sub(gross, &total)
	return s
}

// Total is the sum of both fees.
func (s *Split) Total() uint256.Int {
	var total uint256.Int
	total.Add(&s.Protocol, &s.Integrator)
	return total
}

// maxDigits is the length of the largest 256-bit integer in decimal.
const maxDigits = 78

// ParseAmount reads a base-10 integer. A number that does not fit 256 bits
// becomes the largest that does: both are above every limit.
func ParseAmount(text string) (uint256.Int, error) {
	if len(text) > maxDigits {
		return uint256.Int{}, fault.New(fault.InvalidAmount, "The amount has more than %d digits", maxDigits)
	}
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return uint256.Int{}, fault.New(fault.InvalidAmount, "The amount must be a whole number of the source token's "+
			"smallest unit, in digits only, such as 100000000 for 100 USDC with 6 decimals")
	}
	var amount uint256.Int
	if err := amount.SetFromDecimal(text); err != nil {
		amount.SetAllOne()
	}
	return amount, nil
}

// amountLimits are those of one transaction, in hundredths of a token.
type amountLimits struct{ min, max uint64 }

var (
	stablecoin = amountLimits{min: 10_00, max: 25_000_00}
	ether      = amountLimits{min: 1, max: 20_00}
)

// limits of each token, by its symbol. A token that is missing here cannot be swapped: its
// limits are zero, and a test fails.
var limits = map[string]amountLimits{
	chain.USDC: stablecoin,
	chain.USDT: stablecoin,
	chain.DAI:  stablecoin,
	chain.USD1: stablecoin,
	chain.ETH:  ether,
	chain.WETH: ether,
}

// Limits are the least and the most of a token that one transaction can move.
func Limits(token *chain.Token) (min, max uint256.Int) {
	l := limits[token.Symbol]
	unit := &powers[token.Decimals-2]
	min.Mul(uint256.NewInt(l.min), unit)
	max.Mul(uint256.NewInt(l.max), unit)
	return min, max
}

// CheckLimits refuses an amount of the source token below the minimum or above
// the maximum of one transaction. The minimum and maximum themselves pass.
func CheckLimits(token *chain.Token, amount *uint256.Int) error {
	min, max := Limits(token)
	var relation string
	switch {
	case amount.Lt(&min):
		relation = "below the minimum"
	case amount.Gt(&max):
		relation = "above the maximum"
	default:
		return nil
	}
	l := limits[token.Symbol]
	e := fault.New(fault.AmountOutOfRange,
		"The amount is %s of one transaction: %s to %s %s, which is %s to %s in its smallest unit (%d decimals)",
		relation, hundredths(l.min), hundredths(l.max), token.Symbol, min.Dec(), max.Dec(), token.Decimals)
	e.MinAmount = min.Dec()
	e.MaxAmount = max.Dec()
	return e
}

// hundredths is n/100 as the shortest decimal.
func hundredths(n uint64) string { return string(appendHundredths(nil, n)) }

func appendHundredths(b []byte, n uint64) []byte {
	b = strconv.AppendUint(b, n/100, 10)
	tens, ones := byte(n%100/10), byte(n%10)
	switch {
	case ones != 0:
		return append(b, '.', '0'+tens, '0'+ones)
	case tens != 0:
		return append(b, '.', '0'+tens)
	}
	return b
}

// powers of ten, up to 18, the most decimals a token has.
var powers = func() (p [19]uint256.Int) {
	p[0].SetOne()
	for i := 1; i < len(p); i++ {
		p[i].Mul(&p[i-1], uint256.NewInt(10))
	}
	return p
}()
