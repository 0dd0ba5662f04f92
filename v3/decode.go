package v3

import (
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

func decodeQuote(q *web.Query) (quote.Request, error) {
	req := wire.DecodeSwap(q, chain.ParseID)
	req.Recipient = wire.DecodeRecipient(q)
	req.Integrator = web.Optional(q, "integratorId", integrator.ParseID)
	return req, q.Err()
}
