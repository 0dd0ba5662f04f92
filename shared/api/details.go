package api

import (
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

// DetailsParams are the query parameters that ask for details.
var DetailsParams = []string{"include", "from"}

// DecodeDetails adds to a request which details it asks for, and for whom.
func DecodeDetails(q Query, req *quote.Request) error {
	include, err := read(q, "include", parseInclude)
	if err != nil {
		return err
	}
	req.From, err = read(q, "from", parseFrom)
	if err != nil {
		return err
	}
	req.Details = include != ""
	req.Simulate = include == withSimulation
	switch {
	case req.From != nil && !req.Details:
		return fault.New(fault.InvalidParameter, "The parameter from names the account to check, "+
			"which is part of the details. Also send include=details, or omit from").On("from")
	case req.From == nil && req.Simulate:
		return fault.New(fault.MissingParameter, "The parameter from is missing. "+
			"A simulation needs the account that sends the transactions").On("from")
	}
	return nil
}

const withSimulation = "details,simulation"

func parseInclude(text string) (string, error) {
	if text == "details" || text == withSimulation {
		return text, nil
	}
	return "", fault.New(fault.InvalidParameter, "The parameter include is invalid. "+
		"Send include=details or include=details,simulation, or omit include")
}

func parseFrom(text string) (*common.Address, error) {
	address, err := chain.ParseAddress(text)
	if err != nil {
		return nil, fault.New(fault.InvalidParameter, "The sender in from %v", err)
	}
	if address == (common.Address{}) {
		return nil, fault.New(fault.InvalidParameter,
			"The sender in from is the zero address. "+
				"Send the account that will sign, or omit from")
	}
	return &address, nil
}

// MapDetails adds the details of a quote, if it has any, as the last field.
func MapDetails(b *Body, q *quote.Quote) {
	d := q.Details
	if d == nil {
		return
	}
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
		b.literal("unshield", "true")
	} else {
		mapSendCalls(b, q.Pair.Src.Network(), d)
	}
	if q.Missing != nil {
		b.Text("contract", "MISSING")
	}
	mapArrival(b, &d.Arrival)
	b.Time("validUntil", d.ValidUntil)
	b.Number("validForSeconds", uint64(d.ValidFor))
	if fee := d.IssuerFee; fee != nil {
		b.Open("issuerFee")
		b.literal("percentage", fee.Rate.Percent())
		b.Text("origin", string(fee.Origin))
		b.Amount("maxFee", &d.MaxFee)
		b.Close()
	}
	if d.Request.Integrator != (calldata.IntegratorID{}) {
		b.Open("integrator")
		b.Address("registry", d.Registry)
		b.Number("chainId", uint64(q.Fee.ChainID))
		b.Time("checkedAt", q.Fee.Partner.CheckedAt)
		b.Close()
	}
	mapChecks(b, q)
	mapSimulation(b, d)
	b.Close()
}

// mapRequest writes the request as it was decoded.
func mapRequest(b *Body, p *chain.Pair, r *quote.Request) {
	b.Open("request")
	b.Text("srcChain", r.SrcChain.String())
	b.Address("srcToken", p.SrcToken.Address)
	b.Text("dstChain", r.DstChain.String())
	b.Address("dstToken", p.DstToken.Address)
	b.Amount("amount", &r.Amount)
	if r.Recipient.Private != nil {
		b.Text("recipient", r.Recipient.Private.String())
		b.Number("recipientType", calldata.RecipientPrivate)
	} else {
		b.Text("recipient", r.Recipient.EVM.Hex())
		b.Number("recipientType", calldata.RecipientEVM)
	}
	if r.Integrator != (calldata.IntegratorID{}) {
		b.Hex("integratorId", r.Integrator[:])
	}
	b.Close()
}

// mapArguments writes the arguments of a call: numbers as decimal strings,
// addresses with their checksum, other bytes in hexadecimal.
func mapArguments(b *Body, name string, arguments []calldata.Argument) {
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
func mapSendCalls(b *Body, network chain.ID, d *quote.Details) {
	b.Open("sendCalls")
	b.Text("version", "2.0.0")
	if from := d.Request.From; from != nil {
		b.Text("from", from.Hex())
	}
	b.Quantity("chainId", uint256.NewInt(uint64(network)))
	b.literal("atomicRequired", "false")
	b.OpenArray("calls")
	for i, t := range d.Transactions {
		if i > 0 {
			b.Next()
		}
		b.Address("to", t.To)
		b.Hex("data", t.Data)
		b.Quantity("value", t.Value)
	}
	b.CloseArray()
	b.Close()
}

func mapArrival(b *Body, a *quote.Arrival) {
	b.Open("arrival")
	b.Amount("amount", &a.Amount)
	if a.Railgun == 0 {
		b.literal("deductions", "[]")
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

func mapChecks(b *Body, q *quote.Quote) {
	d := q.Details
	c := d.Checks
	switch {
	case d.Request.From == nil:
	case c == nil:
		b.literal("checks", "null")
		b.Text("reason", d.Unchecked)
	default:
		b.Open("checks")
		mapCheck(b, "native", &c.Native, &q.Value)
		mapCheck(b, "balance", &c.Balance, &q.SrcAmount)
		if !q.Pair.SrcToken.Native() {
			mapCheck(b, "allowance", &c.Allowance, &q.SrcAmount)
		}
		if d.Recipient != nil {
			b.Open("recipient")
			mapKnown(b, "source", d.Recipient.Source)
			mapKnown(b, "destination", d.Recipient.Destination)
			b.Close()
		}
		b.Time("checkedAt", c.CheckedAt)
		b.Close()
	}
}

func mapCheck(b *Body, name string, actual, needed *uint256.Int) {
	b.Open(name)
	b.Amount("actual", actual)
	b.Amount("needed", needed)
	b.Close()
}

// mapKnown writes a fact, or null if it is unknown.
func mapKnown(b *Body, name string, is *bool) {
	if is == nil {
		b.literal(name, "null")
		return
	}
	b.literal(name, strconv.FormatBool(*is))
}

func mapSimulation(b *Body, d *quote.Details) {
	s := d.Simulation
	switch {
	case !d.Request.Simulate:
		return
	case s == nil:
		b.literal("simulation", "null")
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
		b.Number("gasLimit", c.GasLimit)
		main := i == len(s.Calls)-1
		switch {
		case c.Error != "":
			b.Text("status", "FAILED")
			b.Text("error", c.Error)
		case main && s.Event == nil:
			b.Text("status", "UNPROVEN")
		default:
			b.Text("status", "SUCCESS")
		}
	}
	b.CloseArray()
	if s.Event != nil {
		b.literal("event", strconv.FormatBool(*s.Event))
	}
	mapCheck(b, "native", &s.Native, &s.Needed)
	b.Close()
}
