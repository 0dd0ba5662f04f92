package v1

import (
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

// chains are the routing IDs this version supports.
var chains = []string{"1", "56", "137", "369", "8453", "42161", "69696969", "96969696"}

// decodeQuote ignores an integratorId: this version has none.
func decodeQuote(d *chain.Deployment, q api.Query) (quote.Request, error) {
	return api.DecodeSwapToAnyone(q, func(text string) (chain.ID, error) {
		if slices.Contains(chains, text) {
			return d.ParseID(text)
		}
		return 0, unsupportedChain(d)
	})
}

func unsupportedChain(d *chain.Deployment) error {
	var served []string
	for _, id := range d.IDs() {
		if slices.Contains(chains, id.String()) {
			served = append(served, id.String())
		}
	}
	return fault.New(fault.UnsupportedChain,
		"This chain is not supported in v1; supported chain IDs are %s", strings.Join(served, ", "))
}
