package v3

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// params are the query parameters of a quote.
var params = append(slices.Clone(wire.Params), "integratorId", "include", "from")

func decodeQuote(q *wire.Query) (quote.Request, error) {
	req, err := wire.DecodeSwap(q, chain.ParseID)
	if err == nil {
		req.Integrator, err = q.Integrator()
	}
	if err == nil {
		err = wire.Read(q, "include", parseInclude, &req.Details)
	}
	if err == nil {
		err = wire.Read(q, "from", parseFrom, &req.From)
	}
	if err == nil && req.From != nil && !req.Details {
		err = fault.New(fault.InvalidParameter, "The parameter from says whose balance to check, which is part of the details: also send include=details, or leave from out").On("from")
	}
	return req, err
}

func parseInclude(text string) (bool, error) {
	if text != "details" {
		return false, fault.New(fault.InvalidParameter, "The only thing that can be included is details: send include=details, or leave include out")
	}
	return true, nil
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
