package v3legacy

import (
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
)

// decodeQuote ignores an integratorId: this revision has none.
func decodeQuote(d *chain.Deployment, q api.Query) (quote.Request, error) {
	return api.DecodeSwap(q, d.ParseID)
}
