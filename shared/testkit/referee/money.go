package referee

import "math/big"

// Split is who gets what of a swap, in the destination token's smallest unit:
// Protocol + Integrator + Net = Gross.
type Split struct{ Gross, Protocol, Integrator, Net *big.Int }

// Divide converts an amount to the decimals of the destination token and takes
// the fees off. The conversion and each fee are rounded down.
func Divide(amount *big.Int, srcDecimals, dstDecimals uint8, protocolBPS, integratorBPS int64) Split {
	gross := new(big.Int).Mul(amount, pow10(dstDecimals))
	gross.Quo(gross, pow10(srcDecimals))
	s := Split{Gross: gross, Protocol: part(gross, protocolBPS), Integrator: part(gross, integratorBPS)}
	s.Net = new(big.Int).Sub(gross, s.Protocol)
	s.Net.Sub(s.Net, s.Integrator)
	return s
}

func pow10(n uint8) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// part is a share of an amount in basis points, rounded down.
func part(amount *big.Int, bps int64) *big.Int {
	p := new(big.Int).Mul(amount, big.NewInt(bps))
	return p.Quo(p, big.NewInt(10_000))
}

// maxFee is ceil(ceil(amount × bps / 10000) × 1.2).
func maxFee(amount *big.Int, bps *big.Rat) *big.Int {
	estimate := new(big.Rat).Mul(bps, new(big.Rat).SetFrac(amount, big.NewInt(10_000)))
	return roundUp(new(big.Rat).Mul(new(big.Rat).SetInt(roundUp(estimate)), big.NewRat(6, 5)))
}

func roundUp(r *big.Rat) *big.Int {
	n := new(big.Int).Add(r.Num(), r.Denom())
	n.Sub(n, big.NewInt(1))
	return n.Quo(n, r.Denom())
}
