package client

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// highestIntegratorBPS is the most that an integrator may take, 10 %.
const highestIntegratorBPS = 1000

// checkAmounts works out what the fees must be, and what is left.
func (c *check) checkAmounts() {
	q, p, amount := c.quote, c.pair, c.request.Amount
	c.compare("srcAmount", q.SrcAmount, amount)

	gross := new(big.Int).Mul(amount, pow10(p.DstToken.Decimals))
	gross.Quo(gross, pow10(p.SrcToken.Decimals))
	protocol := part(gross, p.FeeBPS)

	c.compare("fee.chainId", q.Fee.ChainID, p.FeeChain)
	c.compare("fee.token", q.Fee.Token, "destination")
	if bps, ok := q.Fee.Protocol.Percentage.BPS(); !ok || bps != p.FeeBPS {
		c.problem("fee.protocol.percentage: got %s, want %s",
			q.Fee.Protocol.Percentage, FormatAmount(big.NewInt(p.FeeBPS), 2))
	}
	c.compare("fee.protocol.amount", q.Fee.Protocol.Amount, protocol)
	integrator := c.checkIntegrator(gross)
	c.compare("fee.total.amount", q.Fee.Total.Amount, new(big.Int).Add(protocol, integrator))

	dest := new(big.Int).Sub(gross, protocol)
	dest.Sub(dest, integrator)
	c.compare("destAmount", q.DestAmount, dest)
	c.result.Dest, c.result.Protocol, c.result.Integrator = dest, protocol, integrator
	c.result.Arrives = dest
}

// checkIntegrator gives what the integrator takes. Its rate is known to its registry; here it is only kept in bounds.
func (c *check) checkIntegrator(gross *big.Int) *big.Int {
	got := c.quote.Fee.Integrator
	bps, ok := got.Percentage.BPS()
	switch {
	case !ok:
		c.problem("fee.integrator.percentage: got %.30q, want a percentage", got.Percentage)
		return new(big.Int)
	case bps > highestIntegratorBPS:
		c.problem("fee.integrator.percentage: %s is above 10", got.Percentage)
		return new(big.Int)
	}
	if c.request.Integrator == (common.Address{}) {
		c.compare("fee.integrator.percentage", got.Percentage, "0")
		c.compare("fee.integrator.id", got.ID, "")
		c.compare("fee.integrator.address", got.Address, "")
	} else {
		c.compare("fee.integrator.id", lower(got.ID), integratorText(c.request))
		c.compareAddress("fee.integrator.address", got.Address, c.request.Integrator)
	}
	fee := part(gross, bps)
	c.compare("fee.integrator.amount", got.Amount, fee)
	return fee
}

func part(amount *big.Int, bps int64) *big.Int {
	fee := new(big.Int).Mul(amount, big.NewInt(bps))
	return fee.Quo(fee, big.NewInt(10_000))
}
