package v3

import (
	"cmp"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

var params = append(slices.Clone(wire.Params), "integratorId", "include", "from")

func decodeQuote(q *wire.Query) (quote.Request, error) {
	var include string
	req, err := wire.DecodeSwap(q, chain.ParseID)
	if err == nil {
		req.Integrator, err = q.Integrator()
	}
	err = cmp.Or(err, wire.Read(q, "include", parseInclude, &include), wire.Read(q, "from", parseFrom, &req.From))
	req.Details, req.Simulate = include != "", include == withSimulation
	switch {
	case err != nil:
	case req.From != nil && !req.Details:
		err = fault.New(fault.InvalidParameter, "The parameter from says whose balance to check, which is part of the details: also send include=details, or leave from out").On("from")
	case req.From == nil && req.Simulate:
		err = fault.New(fault.MissingParameter, "The parameter from is missing: a simulation needs the account that would send the transactions").On("from")
	}
	return req, err
}

const withSimulation = "details,simulation"

func parseInclude(text string) (string, error) {
	if text == "details" || text == withSimulation {
		return text, nil
	}
	return "", fault.New(fault.InvalidParameter, "What can be included is details, and a simulation with them: send include=details or include=details,simulation, or leave include out")
}

func parseFrom(text string) (*common.Address, error) {
	address, err := chain.ParseAddress(text)
	if err != nil {
		return nil, fault.New(fault.InvalidParameter, "The sender in from %v", err)
	}
	if address == (common.Address{}) {
		return nil, fault.New(fault.InvalidParameter, "The sender in from is the zero address, which can send nothing: name the account that will sign, or leave from out")
	}
	return &address, nil
}
