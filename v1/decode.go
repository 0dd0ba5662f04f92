package v1

import (
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// chains are the routing IDs this version knows.
var chains = []string{"1", "56", "137", "369", "8453", "42161", "69696969", "96969696"}

func decodeQuote(q *web.Query) (quote.Request, error) {
	req := wire.DecodeSwap(q, parseChain)
	req.Recipient = wire.DecodeOptionalRecipient(q)
	return req, q.Err()
}

func parseChain(text string) (chain.ID, error) {
	for _, known := range chains {
		if text == known {
			return chain.ParseID(text)
		}
	}
	return 0, fault.New(fault.UnsupportedChain, "This chain is not supported in v1; supported chain IDs are %s", strings.Join(chains, ", "))
}
