// Package wire holds the parts of the format that all versions have in common:
// the query and its parameters, a token, an approval, a call, an error. What is
// different in a version is in its own package.
package wire

import (
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/web"
)

// How long clients may keep a document without asking again.
const (
	// ListingAge is short: a client with an old listing refuses the quotes of a
	// new deployment.
	ListingAge  = time.Minute
	contractAge = 5 * time.Minute
)

// Contract serves the contract file of a version.
func Contract(yaml []byte) web.Handler { return web.Document("application/yaml", yaml, contractAge) }

// ListRouters serves the contracts that receive source transactions, one row for
// each source chain and token that can be quoted.
func ListRouters(d *chain.Deployment) web.Handler {
	rows := d.Routers()
	body := struct {
		Data       []router   `json:"data"`
		Settlement Settlement `json:"settlement"`
	}{make([]router, len(rows)), MapSettlement(d)}
	for i, r := range rows {
		body.Data[i] = router{r.ChainID, r.Token.Symbol, r.Token.Address.String(), r.Router.String()}
	}
	return web.JSONDocument(body, ListingAge)
}

type router struct {
	ChainID chain.ID `json:"chainId"`
	Symbol  string   `json:"symbol"`
	Token   string   `json:"token"`
	Router  string   `json:"router"`
}

// Settlement lets a client check whom a burn pays.
type Settlement struct {
	ChainID  chain.ID `json:"chainId"`
	Domain   uint32   `json:"domain"`
	Receiver string   `json:"receiver"`
}

// MapSettlement is where burns into a deployment are minted, and for whom.
func MapSettlement(d *chain.Deployment) Settlement {
	return Settlement{d.Settlement.ChainID, d.Settlement.Domain, d.Settlement.Receiver.String()}
}
