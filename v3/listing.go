package v3

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// pairsBody is all that a selection list needs. Chain IDs are routing IDs.
type pairsBody struct {
	Deployment string          `json:"deployment"`
	Chains     []chainBody     `json:"chains"`
	Tokens     []tokenBody     `json:"tokens"`
	Pairs      []pairBody      `json:"pairs"`
	Settlement wire.Settlement `json:"settlement"`
	Tracking   bool            `json:"tracking"` // whether status can be told
	Client     string          `json:"client"`
	Contact    string          `json:"contact,omitempty"`
}

// oldestClient is the oldest client module that understands this gateway.
const oldestClient = "1.0.0"

type chainBody struct {
	ChainID chain.ID `json:"chainId"`
	Name    string   `json:"name"`
	Network chain.ID `json:"network,omitempty"` // of a privacy pool
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
		Deployment: d.Name, Settlement: wire.MapSettlement(d), Tracking: tracking, Client: oldestClient, Contact: d.Contact,
	}
	for _, id := range chain.IDs() {
		row := chainBody{ChainID: id, Name: id.Name()}
		if id.Private() {
			row.Network = id.Network()
		}
		body.Chains = append(body.Chains, row)
		tokens := chain.Tokens(id)
		slices.SortFunc(tokens, func(a, b chain.Token) int { return cmp.Compare(a.Symbol, b.Symbol) })
		for _, t := range tokens {
			least, most := fee.Limits(&t)
			body.Tokens = append(body.Tokens, tokenBody{id, t.Symbol, t.Address.String(), t.Decimals, least.Dec(), most.Dec()})
		}
	}
	for _, p := range chain.Pairs() {
		body.Pairs = append(body.Pairs, pairBody{
			SrcChain: p.Src, SrcToken: p.SrcToken.Symbol, DstChain: p.Dst, DstToken: p.DstToken.Symbol,
			Type:        p.Route.String(),
			ProtocolFee: json.Number(fee.Protocol(p.Src, p.Dst).AppendPercent(nil)),
			FeeChainID:  d.FeeChain(p.Dst),
			To:          d.Target(&p).String(),
			Seconds:     d.Seconds(&p),
		})
	}
	return body
}

// Health is what the health check reports on.
type Health struct {
	Registries func() []integrator.Health
	IssuerFees func() []cctp.State
	Draining   func() bool     // whether the service is about to end; nil for never
	Problems   func() []string // what the service found wrong with its deployment, in sentences for everyone
}

func (h handler) healthcheck(w http.ResponseWriter, _ *http.Request) error {
	registries, fees := h.health.Registries(), h.health.IssuerFees()
	body := healthBody{
		Status:     "ok",
		Deployment: h.deployment.Name,
		Settlement: wire.MapSettlement(h.deployment),
		Registries: make([]registryBody, len(registries)),
		IssuerFees: make([]issuerFee, len(fees)),
		Untracked:  h.tracker.Missing(),
		Problems:   h.health.Problems(),
	}
	for i, r := range registries {
		body.Registries[i] = registryBody{r.Network, r.State}
	}
	for i, f := range fees {
		body.IssuerFees[i] = issuerFee{f.Source, json.Number(f.Rate.String()), f.Origin, int64(f.Age.Seconds()), ""}
		if f.Err != nil {
			body.IssuerFees[i].Problem = f.Err.Error()
		}
	}
	if h.health.Draining != nil && h.health.Draining() {
		body.Status = "draining"
		return web.JSON(w, http.StatusServiceUnavailable, body)
	}
	return web.JSON(w, http.StatusOK, body)
}

type healthBody struct {
	Status     string          `json:"status"`
	Deployment string          `json:"deployment"`
	Settlement wire.Settlement `json:"settlement"`
	Registries []registryBody  `json:"registries"`
	IssuerFees []issuerFee     `json:"issuerFees"`
	Untracked  []chain.ID      `json:"untracked,omitempty"` // chains on which swaps cannot be followed, for want of an endpoint
	Problems   []string        `json:"problems,omitempty"`
}

type registryBody struct {
	ChainID chain.ID  `json:"chainId"`
	RPC     rpc.State `json:"rpc"`
}

type issuerFee struct {
	ChainID    chain.ID    `json:"chainId"`
	BPS        json.Number `json:"bps"`
	Origin     cctp.Origin `json:"origin"`
	AgeSeconds int64       `json:"ageSeconds"`
	Problem    string      `json:"problem,omitempty"`
}
