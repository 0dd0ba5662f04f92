package wire

import "github.com/quotegate/quotegate/shared/chain"

// Routers is the listing of the contracts that receive source transactions, one
// row for each source chain and token that can be quoted.
type Routers struct {
	Data       []router   `json:"data"`
	Settlement Settlement `json:"settlement"`
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

// MapRouters lists the routers of a deployment.
func MapRouters(d *chain.Deployment) Routers {
	rows := d.Routers()
	body := Routers{Data: make([]router, len(rows)), Settlement: MapSettlement(d)}
	for i, r := range rows {
		body.Data[i] = router{r.ChainID, r.Token.Symbol, r.Token.Address.String(), r.Router.String()}
	}
	return body
}

// MapSettlement is where burns into a deployment are minted, and for whom.
func MapSettlement(d *chain.Deployment) Settlement {
	return Settlement{d.Settlement.ChainID, d.Settlement.Domain, d.Settlement.Receiver.String()}
}
