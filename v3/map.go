package v3

import (
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

func mapQuote(q *quote.Quote) *wire.Body {
	b := wire.NewBody(q)
	mapFee(b, &q.Fee)
	b.Approval("approval", q)
	b.Call("methodParameters", q)
	b.Route("route", q.Pair.Route)
	if q.Details != nil {
		mapDetails(b, q)
	}
	return b
}

// mapFee writes both fees, in the destination token's smallest unit.
func mapFee(b *wire.Body, f *quote.Fee) {
	total := f.Total()
	b.Open("fee")
	b.Number("chainId", uint64(f.ChainID))
	b.Text("token", "destination")
	b.Open("protocol")
	b.Percentage("percentage", f.ProtocolBPS)
	b.Amount("amount", &f.Protocol)
	b.Close()
	b.Open("integrator")
	b.Percentage("percentage", fee.BPS(f.Partner.FeeBPS))
	b.Amount("amount", &f.Integrator)
	if f.Partner != (integrator.Partner{}) {
		b.Hex("id", f.Partner.ID[:])
		b.Text("address", f.Partner.Wallet.String())
	}
	b.Close()
	b.Open("total")
	b.Amount("amount", &total)
	b.Close()
	b.Close()
}

// mapDetails writes all there is to know around a quote.
func mapDetails(b *wire.Body, q *quote.Quote) {
	d := q.Details
	b.Open("details")
	mapRequest(b, q.Pair, d.Request)
	b.Open("call")
	b.Text("function", d.Call.Function)
	mapArguments(b, "arguments", d.Call.Arguments)
	if d.Hook != nil {
		mapArguments(b, "hook", d.Hook)
	}
	b.Close()
	if d.Transactions == nil {
		b.Literal("unshield", "true")
	} else {
		mapSendCalls(b, q.Pair.Src.Network(), d)
	}
	mapArrival(b, &d.Arrival)
	b.Time("validUntil", d.ValidUntil)
	b.Number("validForSeconds", uint64(d.ValidFor))
	if fee := d.IssuerFee; fee != nil {
		b.Open("issuerFee")
		b.Literal("percentage", fee.Rate.Percent())
		b.Text("origin", string(fee.Origin))
		b.Amount("maxFee", &fee.MaxFee)
		b.Close()
	}
	if d.Request.Integrator != (integrator.ID{}) {
		b.Open("integrator")
		b.Text("registry", d.Registry.String())
		b.Number("chainId", uint64(q.Fee.ChainID))
		b.Time("checkedAt", q.Fee.Partner.CheckedAt)
		b.Close()
	}
	mapChecks(b, q)
	mapSimulation(b, d)
	b.Close()
}

// mapRequest writes the request as it was understood.
func mapRequest(b *wire.Body, p *chain.Pair, r *quote.Request) {
	b.Open("request")
	b.Text("srcChain", r.SrcChain.String())
	b.Text("srcToken", p.SrcToken.Address.String())
	b.Text("dstChain", r.DstChain.String())
	b.Text("dstToken", p.DstToken.Address.String())
	b.Amount("amount", &r.Amount)
	if r.Recipient.Private != nil {
		b.Text("recipient", r.Recipient.Private.String())
		b.Number("recipientType", calldata.RecipientPrivate)
	} else {
		b.Text("recipient", r.Recipient.EVM.Hex())
		b.Number("recipientType", calldata.RecipientEVM)
	}
	if r.Integrator != (integrator.ID{}) {
		b.Hex("integratorId", r.Integrator[:])
	}
	b.Close()
}

// mapArguments writes the arguments of a call: numbers as decimal strings,
// addresses with their checksum, other bytes in hexadecimal.
func mapArguments(b *wire.Body, name string, arguments []calldata.Argument) {
	b.Open(name)
	for _, a := range arguments {
		switch a.Type {
		case calldata.Address:
			b.Text(a.Name, common.BytesToAddress(a.Data).Hex())
		case calldata.Bytes, calldata.Bytes32:
			b.Hex(a.Name, a.Data)
		default:
			b.Amount(a.Name, new(uint256.Int).SetBytes(a.Data))
		}
	}
	b.Close()
}

// mapSendCalls writes the parameters of wallet_sendCalls (EIP-5792).
func mapSendCalls(b *wire.Body, network chain.ID, d *quote.Details) {
	b.Open("sendCalls")
	b.Text("version", "2.0.0")
	if from := d.Request.From; from != nil {
		b.Text("from", from.Hex())
	}
	b.Quantity("chainId", uint256.NewInt(uint64(network)))
	b.Literal("atomicRequired", "false")
	b.OpenArray("calls")
	for i, t := range d.Transactions {
		if i > 0 {
			b.Next()
		}
		b.Text("to", t.To.String())
		b.Hex("data", t.Data)
		b.Quantity("value", t.Value)
	}
	b.CloseArray()
	b.Close()
}

func mapArrival(b *wire.Body, a *quote.Arrival) {
	b.Open("arrival")
	b.Amount("amount", &a.Amount)
	if a.Railgun == 0 {
		b.Literal("deductions", "[]")
	} else {
		b.OpenArray("deductions")
		b.Text("by", "RAILGUN")
		b.Percentage("percentage", a.Railgun)
		b.Amount("amount", &a.Deducted)
		b.CloseArray()
	}
	if a.Seconds > 0 {
		b.Number("seconds", uint64(a.Seconds))
	}
	if !a.Unshield.IsZero() {
		b.Amount("unshieldAmount", &a.Unshield)
	}
	b.Close()
}

func mapChecks(b *wire.Body, q *quote.Quote) {
	switch d, c := q.Details, q.Details.Checks; {
	case d.Request.From == nil:
	case c == nil:
		b.Literal("checks", "null")
		b.Text("reason", d.Unchecked)
	default:
		b.Open("checks")
		mapCheck(b, "native", &c.Native, &q.Value)
		mapCheck(b, "balance", &c.Balance, &q.SrcAmount)
		if !q.Pair.SrcToken.Native() {
			mapCheck(b, "allowance", &c.Allowance, &q.SrcAmount)
		}
		b.Time("checkedAt", c.CheckedAt)
		b.Close()
	}
}

func mapCheck(b *wire.Body, name string, actual, needed *uint256.Int) {
	b.Open(name)
	b.Amount("actual", actual)
	b.Amount("needed", needed)
	b.Close()
}

func mapSimulation(b *wire.Body, d *quote.Details) {
	s := d.Simulation
	switch {
	case !d.Request.Simulate:
		return
	case s == nil:
		b.Literal("simulation", "null")
		b.Text("simulationReason", d.Unsimulated)
		return
	}
	b.Open("simulation")
	b.Number("blockNumber", s.BlockNumber)
	b.OpenArray("calls")
	for i, c := range s.Calls {
		if i > 0 {
			b.Next()
		}
		b.Number("gasUsed", c.GasUsed)
		if c.Error == "" {
			b.Text("status", "SUCCESS")
		} else {
			b.Text("status", "FAILED")
			b.Foreign("error", c.Error)
		}
	}
	b.CloseArray()
	if s.Event != nil {
		b.Literal("event", strconv.FormatBool(*s.Event))
	}
	mapCheck(b, "native", &s.Native, &s.Needed)
	b.Close()
}
