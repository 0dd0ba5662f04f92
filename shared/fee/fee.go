// Package fee does the arithmetic of money: the rates, the limits, the
// conversion between decimals, and the division of an amount into fees and the
// rest.
//
// All numbers are integers. Conversions and fees round down. Fees are always
// taken from the gross destination amount, so the parts add up to it exactly.
package fee

import (
	"strconv"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
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

// Before is the least of which amount is left once this rate was taken from it.
func (b BPS) Before(amount *uint256.Int) uint256.Int {
	if amount.IsZero() {
		return uint256.Int{}
	}
	// What is left of n is n × (10000 − rate) / 10000, rounded up, since the part
	// that is taken rounds down. It reaches amount once that exceeds amount − 1.
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
