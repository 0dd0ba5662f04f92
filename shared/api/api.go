// Package api is what the versions have in common on the wire: the query, the body of an
// answer and of an error, a quote's details, the status of a swap, the listings and the
// health check. What differs is in the package of each version.
package api

import (
	"context"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/version"
)

// Service is what a version needs from the shared code.
type Service struct {
	Deployment *chain.Deployment
	Engine     Quoter
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

// Routes are those of the service itself, under the paths of a version.
func (s Service) Routes(name string) []version.Route {
	return []version.Route{
		{Path: "/" + name + "/swap/status", ReadsNodes: true, Handle: s.Status},
		{Path: "/" + name + "/swap/healthcheck", Free: true, Handle: s.Health},
		{Path: "/" + name + "/app/routers", Handle: s.Routers()},
		{Path: "/" + name + "/app/pairs", Handle: s.Pairs()},
	}
}
