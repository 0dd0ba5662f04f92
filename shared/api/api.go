// Package api answers everything but the quote itself: its details, the status of a
// swap, the listings and the health check. Versions mount these answers under their own
// paths.
package api

import (
	"context"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// Service is what a version needs from the shared code.
type Service struct {
	Deployment *chain.Deployment
	Engine     wire.Quoter
	Tracker    Tracker
	Registries func() []rpc.Health
	IssuerFees func() []fee.IssuerFee
	Draining   func() bool     // whether the service is shutting down; nil for never
	Problems   func() []string // of the deployment, in sentences that anybody may read
}

// Tracker reports the status of a transaction.
type Tracker interface {
	Status(context.Context, status.Request) (*status.Status, error)
	Ready() bool         // whether every swap can be tracked
	Missing() []chain.ID // the chains that tracking needs and that have no endpoint
	Alone() []chain.ID   // those with a single endpoint, which is trusted
}

// Routes mounts them under the paths of a version.
func (s Service) Routes(version string) []web.Route {
	return []web.Route{
		{Path: "/" + version + "/swap/status", ReadsNodes: true, Handle: s.Status},
		{Path: "/" + version + "/swap/healthcheck", Free: true, Handle: s.Health},
		{Path: "/" + version + "/app/routers", Handle: s.Routers()},
		{Path: "/" + version + "/app/pairs", Handle: s.Pairs()},
	}
}
