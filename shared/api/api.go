// Package api is what the service answers beside the quote: its details, the status of
// a swap, the listings and the health check. They are the same in every version that has
// them. A version mounts them under paths of its own, and says only what differs.
package api

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// Service is what a version needs from the shared code.
type Service struct {
	Deployment *chain.Deployment
	Engine     wire.Quoter
	Tracker    Tracker
	Registries func() []integrator.Health
	IssuerFees func() []cctp.State
	Draining   func() bool     // whether the service is about to end; nil for never
	Problems   func() []string // what is wrong with the deployment, in sentences for everyone
}

// Tracker tells what became of a transaction.
type Tracker interface {
	Status(ctx context.Context, src chain.ID, hash common.Hash) (*status.Status, error)
	Ready() bool         // whether the status of every swap can be told
	Missing() []chain.ID // the chains that swaps are followed on, and that have no endpoint
	Alone() []chain.ID   // those that have one endpoint, which is believed
}

// Routes are the answers beside the quote, under the paths of a version.
func (s Service) Routes(version string) []web.Route {
	return []web.Route{
		{Path: "/" + version + "/swap/status", ReadsNodes: true, Handle: s.Status},
		{Path: "/" + version + "/swap/healthcheck", Free: true, Handle: s.Health},
		{Path: "/" + version + "/app/routers", Handle: s.Routers()},
		{Path: "/" + version + "/app/pairs", Handle: s.Pairs()},
	}
}
