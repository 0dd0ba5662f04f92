package v3legacy

import (
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// decodeQuote ignores an integratorId: this revision has none.
func decodeQuote(d *chain.Deployment, q *wire.Query) (quote.Request, error) {
	return wire.DecodeSwap(q, d.ParseID)
}
