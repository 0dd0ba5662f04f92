package v1

import (
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// chains are the routing IDs this version supports.
var chains = []string{"1", "56", "137", "369", "8453", "42161", "69696969", "96969696"}

// decodeQuote ignores an integratorId: this version has none.
func decodeQuote(q *wire.Query) (quote.Request, error) {
	return wire.DecodeSwapToAnyone(q, parseChain)
}

func parseChain(text string) (chain.ID, error) {
	if slices.Contains(chains, text) {
		return chain.ParseID(text)
	}
	return 0, fault.New(fault.UnsupportedChain,
		"This chain is not supported in v1; supported chain IDs are %s", strings.Join(chains, ", "))
}
