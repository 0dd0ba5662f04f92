package v3

import (
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

func decodeQuote(q *wire.Query) (quote.Request, error) {
	req, err := wire.DecodeSwap(q, chain.ParseID)
	if err == nil {
		req.Recipient, err = wire.DecodeRecipient(q)
	}
	if err == nil {
		req.Integrator, err = q.Integrator()
	}
	return req, err
}
