package v3

import (
	"encoding/json"
	"net/http"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// Health is what the health check reports on.
type Health struct {
	Registries func() []integrator.Health
	IssuerFees func() []cctp.State
	Draining   func() bool     // whether the service is about to end; nil for never
	Problems   func() []string // what the service found wrong with its deployment, in sentences for everyone
}

func (h handler) healthcheck(w http.ResponseWriter, _ *http.Request) error {
	body := mapHealth(h.deployment, h.health.Registries(), h.health.IssuerFees(), h.tracker.Missing(), h.health.Problems())
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

func mapHealth(deployment *chain.Deployment, registries []integrator.Health, fees []cctp.State, untracked []chain.ID, problems []string) healthBody {
	body := healthBody{
		Status:     "ok",
		Deployment: deployment.Name,
		Settlement: wire.MapSettlement(deployment),
		Registries: make([]registryBody, len(registries)),
		IssuerFees: make([]issuerFee, len(fees)),
		Untracked:  untracked,
		Problems:   problems,
	}
	for i, r := range registries {
		body.Registries[i] = registryBody{r.Network, r.State}
	}
	for i, f := range fees {
		body.IssuerFees[i] = issuerFee{f.Source, json.Number(f.Rate.String()), f.Origin, int64(f.Age.Seconds()), problem(f.Err)}
	}
	return body
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
