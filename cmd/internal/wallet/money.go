package wallet

import (
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// highestIntegratorBPS is the most that an integrator may take, 10 %.
const highestIntegratorBPS = 1000

// checkAmounts works out what the fees must be, and what is left.
func (c *check) checkAmounts(d *chain.Deployment) {
	q, s := c.quote, c.swap
	c.compare("srcAmount", q.SrcAmount, s.Amount)
	c.checkLimits()

	gross := new(big.Int).Mul(s.Amount, pow10(s.DstToken.Decimals))
	gross.Quo(gross, pow10(s.SrcToken.Decimals))
	bps := protocolBPS(s.Pair)
	protocol, integrator := part(gross, bps), new(big.Int)

	switch q.Version {
	case "v3":
		c.compare("fee.chainId", q.Fee.ChainID, d.FeeChain(s.Dst))
		c.compare("fee.token", q.Fee.Token, "destination")
		c.checkRate("fee.protocol.percentage", q.Fee.Protocol.Percentage, bps)
		c.compare("fee.protocol.amount", q.Fee.Protocol.Amount, protocol)
		integrator = c.checkIntegrator(gross)
		c.compare("fee.total.amount", q.Fee.Total.Amount, new(big.Int).Add(protocol, integrator))
	case "v3legacy":
		c.compare("fee.token", q.Fee.Token, "destination")
		c.checkRate("fee.percentage", q.Fee.Percentage, bps)
		c.compare("fee.amount", q.Fee.Amount, protocol)
	case "v1": // states the fee in the source token
		c.checkRate("fee.percentage", q.Fee.Percentage, bps)
		c.compare("fee.amount", q.Fee.Amount, part(s.Amount, bps))
	}
	dest := new(big.Int).Sub(gross, protocol)
	dest.Sub(dest, integrator)
	c.compare("destAmount", q.DestAmount, dest)
	c.result.Dest, c.result.Protocol, c.result.Integrator = dest, protocol, integrator
	c.result.Arrives = dest
	if s.Dst.Private() {
		c.result.Arrives = AfterRailgun(dest, d.Railgun.ShieldBPS)
	}
	if s.Src.Private() {
		c.result.Unshield = BeforeRailgun(s.Amount, d.Railgun.UnshieldBPS)
	}
}

// checkIntegrator gives what the integrator takes. Its rate is known to its registry; here it is only kept in bounds.
func (c *check) checkIntegrator(gross *big.Int) *big.Int {
	got := c.quote.Fee.Integrator
	bps, err := ParseAmount(got.Percentage.String(), 2)
	if err != nil {
		c.problem("fee.integrator.percentage: %w", err)
		return new(big.Int)
	}
	if c.swap.Integrator == (common.Address{}) {
		c.compare("fee.integrator.percentage", got.Percentage, "0")
		c.compare("fee.integrator.id", got.ID, "")
		c.compare("fee.integrator.address", got.Address, "")
	} else {
		c.compare("fee.integrator.id", got.ID, common.Hash(c.swap.integratorID()))
		c.compare("fee.integrator.address", got.Address, c.swap.Integrator)
		c.unchecked("the integrator's fee of " + got.Percentage.String() + " %, from which its amount and the amount that arrives follow: only its registry can tell")
	}
	if bps.Cmp(big.NewInt(highestIntegratorBPS)) > 0 {
		c.problem("fee.integrator.percentage: %s is above 10", got.Percentage)
		return new(big.Int)
	}
	fee := part(gross, bps.Int64())
	c.compare("fee.integrator.amount", got.Amount, fee)
	return fee
}

func (c *check) checkRate(what string, got json.Number, wantBPS int64) {
	bps, err := ParseAmount(got.String(), 2)
	if err != nil {
		c.problem("%s: %w", what, err)
		return
	}
	if bps.Cmp(big.NewInt(wantBPS)) != 0 {
		c.problem("%s: got %s, want %s", what, got, FormatAmount(big.NewInt(wantBPS), 2))
	}
}

// checkLimits keeps the amount within what one transaction may move.
func (c *check) checkLimits() {
	least, most := "10", "25000"
	if s := c.swap.SrcToken.Symbol; s == chain.ETH || s == chain.WETH {
		least, most = "0.01", "20"
	}
	low, _ := ParseAmount(least, c.swap.SrcToken.Decimals)
	high, _ := ParseAmount(most, c.swap.SrcToken.Decimals)
	if c.swap.Amount.Cmp(low) < 0 || c.swap.Amount.Cmp(high) > 0 {
		c.problem("amount: %s is outside of %s to %s %s, and yet there is a quote",
			FormatAmount(c.swap.Amount, c.swap.SrcToken.Decimals), least, most, c.swap.SrcToken.Symbol)
	}
}

// protocolBPS is the protocol's rate in hundredths of a percent: 0.3 % into the hub, 0.5 % out of it and for privacy.
func protocolBPS(p *chain.Pair) int64 {
	if p.Dst == chain.Hub && !p.Src.Private() {
		return 30
	}
	return 50
}

func part(amount *big.Int, bps int64) *big.Int {
	fee := new(big.Int).Mul(amount, big.NewInt(bps))
	return fee.Quo(fee, big.NewInt(10_000))
}
