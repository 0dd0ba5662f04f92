package api

import (
	"encoding/json"
	"net/http"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/version"
)

// Health reports whether the service can quote, and which dependencies do not answer. It
// answers 503 while the service shuts down.
func (s Service) Health(w http.ResponseWriter, _ *version.Request) error {
	registries := s.Registries()
	fees := s.IssuerFees()
	body := healthBody{
		Status:     "ok",
		Deployment: s.Deployment.Name,
		Settlement: mapSettlement(s.Deployment),
		Registries: make([]registryBody, len(registries)),
		IssuerFees: make([]issuerFee, len(fees)),
		Untracked:  s.Tracker.Untracked(),
		Single:     s.Tracker.SingleEndpoint(),
		Problems:   s.problems(),
	}
	for i, r := range registries {
		body.Registries[i] = registryBody{r.Network, r.State}
	}
	for i, f := range fees {
		body.IssuerFees[i] = issuerFee{
			ChainID: f.Source, BPS: json.Number(f.Rate.String()), Origin: f.Origin, AgeSeconds: int64(f.Age.Seconds()),
		}
		if f.Err != nil {
			body.IssuerFees[i].Problem = f.Err.Error()
		}
	}
	if s.Draining != nil && s.Draining() {
		body.Status = "draining"
		return version.JSON(w, http.StatusServiceUnavailable, body)
	}
	return version.JSON(w, http.StatusOK, body)
}

// problems are those of the deployment, the worst first.
func (s Service) problems() []string {
	if reason := s.Deployment.Unsignable(); reason != "" {
		return append([]string{"No quote of this gateway may be signed: " + reason}, s.Problems()...)
	}
	return s.Problems()
}

type healthBody struct {
	Status     string         `json:"status"`
	Deployment string         `json:"deployment"`
	Settlement settlement     `json:"settlement"`
	Registries []registryBody `json:"registries"`
	IssuerFees []issuerFee    `json:"issuerFees"`
	// Untracked are the chains without an endpoint, on which swaps cannot be tracked.
	Untracked []chain.ID `json:"untracked,omitempty"`
	// Single are the chains with a single endpoint, which is trusted.
	Single   []chain.ID `json:"singleEndpoint,omitempty"`
	Problems []string   `json:"problems,omitempty"`
}

type registryBody struct {
	ChainID chain.ID  `json:"chainId"`
	RPC     rpc.State `json:"rpc"`
}

type issuerFee struct {
	ChainID    chain.ID    `json:"chainId"`
	BPS        json.Number `json:"bps"`
	Origin     fee.Origin  `json:"origin"`
	AgeSeconds int64       `json:"ageSeconds"`
	Problem    string      `json:"problem,omitempty"`
}
