package api

import (
	"cmp"
	"embed"
	"encoding/json"
	"slices"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/static"
	"github.com/quotegate/quotegate/shared/version"
)

// listingAge is how long clients may cache a listing. It is short because a client with an
// old listing rejects the quotes of a new deployment.
const listingAge = time.Minute

// Routers lists the contracts that receive source transactions, one row for each source
// chain and token that can be quoted.
func (s Service) Routers() version.Handler {
	rows := s.Deployment.Routers()
	body := struct {
		Data       []router   `json:"data"`
		Settlement settlement `json:"settlement"`
	}{make([]router, len(rows)), mapSettlement(s.Deployment)}
	for i, r := range rows {
		body.Data[i] = router{r.ChainID, r.Token.Symbol, r.Token.Address.String(), r.Router.String()}
	}
	return static.JSON(body, listingAge)
}

type router struct {
	ChainID chain.ID `json:"chainId"`
	Symbol  string   `json:"symbol"`
	Token   string   `json:"token"`
	Router  string   `json:"router"`
}

// settlement lets a client check who receives a burn.
type settlement struct {
	ChainID  chain.ID `json:"chainId"`
	Domain   uint32   `json:"domain"`
	Receiver string   `json:"receiver,omitempty"` // left out where no burn is served
}

func mapSettlement(d *chain.Deployment) settlement {
	return settlement{d.Settlement.ChainID, d.Settlement.Domain, d.Settlement.Receiver.String()}
}

// Pairs lists what can be swapped.
func (s Service) Pairs() version.Handler {
	tracking := s.Tracker != nil && s.Tracker.Ready()
	return static.JSON(mapPairs(s.Deployment, tracking), listingAge)
}

// pairsBody is all that a selection list needs. Chain IDs are routing IDs.
type pairsBody struct {
	Deployment string      `json:"deployment"`
	Chains     []chainBody `json:"chains"`
	Tokens     []tokenBody `json:"tokens"`
	Pairs      []pairBody  `json:"pairs"`
	Settlement settlement  `json:"settlement"`
	Tracking   bool        `json:"tracking"` // whether swaps can be tracked
	Client     string      `json:"client"`
	Contact    string      `json:"contact,omitempty"`
}

// oldestClient is the oldest client module that understands this gateway.
const oldestClient = "1.0.0"

// chainBody is a network with what a wallet needs to add it, or a privacy pool on a network.
type chainBody struct {
	ChainID        chain.ID  `json:"chainId"`
	Name           string    `json:"name"`
	Network        chain.ID  `json:"network,omitempty"` // of a privacy pool
	NativeCurrency *coinBody `json:"nativeCurrency,omitempty"`
	Explorer       string    `json:"explorer,omitempty"`
	RPCURLs        []string  `json:"rpcUrls,omitempty"`
}

type coinBody struct {
	Name     string `json:"name"`
	Symbol   string `json:"symbol"`
	Decimals uint8  `json:"decimals"`
}

func mapChain(d *chain.Deployment, id chain.ID) chainBody {
	row := chainBody{ChainID: id, Name: id.Name()}
	if id.Private() {
		row.Network = id.Network()
		return row
	}
	network, _ := chain.FindNetwork(id)
	row.NativeCurrency = &coinBody{network.CoinName, network.Coin, chain.CoinDecimals}
	row.Explorer = d.Explorer(id)
	row.RPCURLs = d.RPCURLs(id)
	return row
}

type tokenBody struct {
	ChainID   chain.ID `json:"chainId"`
	Symbol    string   `json:"symbol"`
	Address   string   `json:"address"`
	Decimals  uint8    `json:"decimals"`
	MinAmount string   `json:"minAmount"`
	MaxAmount string   `json:"maxAmount"`
}

type pairBody struct {
	SrcChain    chain.ID    `json:"srcChain"`
	SrcToken    string      `json:"srcToken"`
	DstChain    chain.ID    `json:"dstChain"`
	DstToken    string      `json:"dstToken"`
	Type        string      `json:"type"`
	ProtocolFee json.Number `json:"protocolFee"` // in percent
	FeeChainID  chain.ID    `json:"feeChainId"`
	To          string      `json:"to"`
	Seconds     uint32      `json:"seconds,omitempty"`
}

func mapPairs(d *chain.Deployment, tracking bool) pairsBody {
	body := pairsBody{
		Deployment: d.Name,
		Settlement: mapSettlement(d),
		Tracking:   tracking,
		Client:     oldestClient,
		Contact:    d.Contact,
	}
	for _, id := range d.IDs() {
		body.Chains = append(body.Chains, mapChain(d, id))
		tokens := d.Tokens(id)
		slices.SortFunc(tokens, func(a, b chain.Token) int { return cmp.Compare(a.Symbol, b.Symbol) })
		for _, t := range tokens {
			least, most := fee.Limits(&t)
			body.Tokens = append(body.Tokens, tokenBody{
				ChainID:   id,
				Symbol:    t.Symbol,
				Address:   t.Address.String(),
				Decimals:  t.Decimals,
				MinAmount: least.Dec(),
				MaxAmount: most.Dec(),
			})
		}
	}
	for _, p := range d.Pairs() {
		body.Pairs = append(body.Pairs, pairBody{
			SrcChain:    p.Src,
			SrcToken:    p.SrcToken.Symbol,
			DstChain:    p.Dst,
			DstToken:    p.DstToken.Symbol,
			Type:        p.Route.String(),
			ProtocolFee: json.Number(fee.Protocol(p.Src, p.Dst).AppendPercent(nil)),
			FeeChainID:  d.FeeChain(p.Dst),
			To:          d.Target(&p).String(),
			Seconds:     d.Seconds(&p),
		})
	}
	return body
}

// contractAge is how long clients may cache a contract file.
const contractAge = 5 * time.Minute

// Contract serves the contract file of a version, as YAML and as JSON.
func Contract(name string, files embed.FS) []version.Route {
	serve := func(file, contentType string) version.Route {
		body, err := files.ReadFile(file)
		if err != nil {
			panic("a version lacks its contract: " + err.Error())
		}
		return version.Route{
			Path:   "/" + name + "/" + file,
			Free:   true,
			Handle: static.Document(contentType, body, contractAge),
		}
	}
	return []version.Route{
		serve("openapi.yaml", "application/yaml"),
		serve("openapi.json", version.JSONType),
	}
}
