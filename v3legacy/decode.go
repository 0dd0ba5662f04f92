package v3legacy

import (
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// decodeQuote ignores an integratorId: this revision has none.
func decodeQuote(q *web.Query) (quote.Request, error) {
	req := wire.DecodeSwap(q, chain.ParseID)
	req.Recipient = wire.DecodeRecipient(q)
	return req, q.Err()
}
