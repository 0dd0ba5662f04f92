package client

import (
	"errors"
	"fmt"
	"math/big"
)

// An EstimateRequest is what somebody may want, without a recipient.
type EstimateRequest struct {
	SrcChain, DstChain uint64 // chain IDs, or the routing IDs of the privacy pools
	SrcToken, DstToken string // symbols in any case, or addresses

	// Amount is what is swapped, of the source token. Dest is the least that must be paid out, of the destination
	// token. Set one of them, in the token's smallest unit.
	Amount, Dest *big.Int

	IntegratorBPS int64 // what a registered partner takes, in hundredths of a percent, 1000 at most; 0 without one
}

// An Estimate is what a quote for the same swap says, as long as the listing and the partner's rate are the same.
type Estimate struct {
	Pair   *Pair
	Amount *big.Int // of the source token, in its smallest unit: with Dest in the request, the smallest that is enough

	// In the destination token's smallest unit. RAILGUN's own fee, which a listing does not state, comes on top: less
	// than Dest arrives in a privacy pool, and more than Amount has to be taken out of one.
	Dest, Protocol, Integrator *big.Int
}

// Estimate tells without a request what a swap pays out, or which amount pays out as much as is wanted. Its errors are
// *Error: UnsupportedPair; AmountOutOfRange with the limits of the source token, also if less than the lower one is
// enough; InvalidRequest; and Unverified for a listing that contradicts itself.
func (l *Listing) Estimate(r EstimateRequest) (*Estimate, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, unverified("do not use this listing", err)
	}
	pair, err := l.Find(r.SrcChain, r.SrcToken, r.DstChain, r.DstToken)
	if errors.Is(err, errNoPair) {
		return nil, &Error{Code: UnsupportedPair, Message: err.Error()}
	}
	if err != nil {
		return nil, unverified("do not use this listing", err)
	}
	amount := r.Amount
	if amount == nil {
		amount = pair.amountFor(r.Dest, r.IntegratorBPS)
	}
	if !pair.allows(amount) {
		return nil, r.outOfRange(pair)
	}
	parts := pair.divide(amount, r.IntegratorBPS)
	return &Estimate{
		Pair:       pair,
		Amount:     new(big.Int).Set(amount),
		Dest:       parts.dest,
		Protocol:   parts.protocol,
		Integrator: parts.integrator,
	}, nil
}

func (r EstimateRequest) check() error {
	refuse := func(text string) error { return &Error{Code: InvalidRequest, Message: text} }
	amount := r.Amount
	if amount == nil {
		amount = r.Dest
	}
	switch {
	case (r.Amount == nil) == (r.Dest == nil):
		return refuse("set either Amount or Dest")
	case amount.Sign() < 0 || amount.BitLen() > 256:
		return refuse("the amount must not be negative, and must fit into 256 bits")
	case r.IntegratorBPS < 0 || r.IntegratorBPS > highestIntegratorBPS:
		return refuse(fmt.Sprintf("IntegratorBPS must be from 0 to %d", highestIntegratorBPS))
	}
	return nil
}

func (r EstimateRequest) outOfRange(p *Pair) error {
	text := "the amount is outside the limits, " + p.limits()
	if r.Dest != nil {
		text = fmt.Sprintf("no amount within the limits, %s, pays out %s %s",
			p.limits(), FormatAmount(r.Dest, p.DstToken.Decimals), quoted(p.DstToken.Symbol))
	}
	limits := ErrorFields{MinAmount: amountOf(p.Min), MaxAmount: amountOf(p.Max)}
	return &Error{Code: AmountOutOfRange, Message: text, ErrorFields: limits}
}

// allows tells whether one swap may move an amount of the source token.
func (p *Pair) allows(amount *big.Int) bool { return amount.Cmp(p.Min) >= 0 && amount.Cmp(p.Max) <= 0 }

// limits is the same for a person.
func (p *Pair) limits() string {
	decimals := p.SrcToken.Decimals
	return fmt.Sprintf("%s to %s %s",
		FormatAmount(p.Min, decimals), FormatAmount(p.Max, decimals), quoted(p.SrcToken.Symbol))
}

// A division is what becomes of an amount, in the destination token's smallest unit.
type division struct{ dest, protocol, integrator *big.Int }

// divide takes the fees from what an amount of the source token is worth. Each is rounded down by itself.
func (p *Pair) divide(amount *big.Int, integratorBPS int64) division {
	gross := p.gross(amount)
	d := division{protocol: part(gross, p.FeeBPS), integrator: part(gross, integratorBPS)}
	d.dest = gross.Sub(gross, d.protocol)
	d.dest.Sub(d.dest, d.integrator)
	return d
}

// gross is what an amount of the source token is worth before fees, rounded down.
func (p *Pair) gross(amount *big.Int) *big.Int {
	gross := new(big.Int).Mul(amount, pow10(p.DstToken.Decimals))
	return gross.Quo(gross, pow10(p.SrcToken.Decimals))
}

// amountFor gives the smallest amount of which at least dest is paid out: of those that may be swapped, unless dest is
// less than the lower limit pays out.
//
// Two fees that are rounded down leave less than two units more than exact ones would. So dest needs at least the gross
// of which exact fees leave dest - 2, and as much as that of which they leave dest is enough. These are five units at
// most, and all are tried from below: where both fees rise, one unit more pays out one less.
func (p *Pair) amountFor(dest *big.Int, integratorBPS int64) *big.Int {
	pays := func(amount *big.Int) *big.Int { return p.divide(amount, integratorBPS).dest }
	gross := new(big.Int).Sub(dest, big.NewInt(2))
	if gross.Sign() < 0 {
		gross.SetInt64(0)
	}
	gross.Mul(gross, big.NewInt(wholeBPS))
	gross.Quo(gross, big.NewInt(wholeBPS-p.FeeBPS-integratorBPS))
	isLess := pays(p.Min).Cmp(dest) > 0
	for {
		amount := quoUp(new(big.Int).Mul(gross, pow10(p.SrcToken.Decimals)), pow10(p.DstToken.Decimals))
		if !isLess && amount.Cmp(p.Min) < 0 {
			amount.Set(p.Min)
		}
		if pays(amount).Cmp(dest) >= 0 {
			return amount
		}
		gross = p.gross(amount)
		gross.Add(gross, big.NewInt(1))
	}
}
