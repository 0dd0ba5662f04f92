// Package api holds what the versions have in common on the wire: the query, the bodies of
// answers and errors, a quote's details, the status of a swap, the listings and the health
// check. What differs is in the package of each version.
package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
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
	Problems   func() []string // of the deployment, in sentences fit for the public
}

// Tracker reports the status of a transaction.
type Tracker interface {
	Status(context.Context, status.Request) (*status.Status, error)
	Ready() bool                // whether every swap can be tracked
	Untracked() []chain.ID      // the chains that tracking needs and that have no endpoint
	SingleEndpoint() []chain.ID // those with a single endpoint, which is trusted
}

// Routes are the service's own routes, under the paths of a version.
func (s Service) Routes(name string) []version.Route {
	return []version.Route{
		{Path: "/" + name + "/swap/status", ReadsNodes: true, Handle: s.Status},
		{Path: "/" + name + "/swap/healthcheck", Free: true, Handle: s.Health},
		{Path: "/" + name + "/app/routers", Handle: s.Routers()},
		{Path: "/" + name + "/app/pairs", Handle: s.Pairs()},
	}
}

// Quoter computes a quote.
type Quoter interface {
	Quote(context.Context, *quote.Request) (*quote.Quote, error)
}

// Quotes answers the quote requests of a version.
type Quotes struct {
	Deployment *chain.Deployment
	Quoter     Quoter
	// Params are the parameters that Read sees. All others are ignored, and a header
	// names them.
	Params []string
	Read   func(*chain.Deployment, Query) (quote.Request, error)
	// Warn says why a quote must not be signed, or nothing. It may be nil.
	Warn func(Query, quote.Recipient) string
	Map  func(*quote.Quote) *Body
}

// Decode is the version.Module.Decode of the version.
func (v Quotes) Decode(r *version.Request) (version.Swap, error) {
	req, err := v.Read(v.Deployment, QueryOf(r, v.Params))
	return swap{&req}, err
}

func (v Quotes) Handle(w http.ResponseWriter, r *version.Request) error {
	query := QueryOf(r, v.Params)
	query.warn(w.Header())
	req, err := v.Read(v.Deployment, query)
	if err != nil {
		return err
	}
	req.Caller = r.Caller
	ctx := r.Context()
	if req.From != nil { // only these read an account: a deadline adds a tenth to the time of a quote
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, version.ReadTimeout)
		defer cancel()
	}
	q, err := v.Quoter.Quote(ctx, &req)
	if err != nil {
		return err
	}
	r.Quoted = version.Quoted{Pair: q.Pair, Swap: swap{&req}}
	if warning := v.warning(query, &req, q); warning != "" {
		w.Header().Set(quoteWarning, warning)
	}
	return v.Map(q).send(w)
}

// swap is a quote request that can be compared with one of another version.
type swap struct{ request *quote.Request }

func (s swap) Differs(from version.Swap) (param string) {
	return paramNames[s.request.Difference(from.(swap).request)]
}

// warning says why a quote must not be signed. It is empty if the quote may be.
func (v Quotes) warning(query Query, req *quote.Request, q *quote.Quote) string {
	const unsignable = "This quote must not be signed: "
	var reasons []string
	if reason := v.Deployment.Unsignable(); reason != "" {
		reasons = append(reasons, unsignable+reason)
	} else if c := q.Missing; c != nil {
		reasons = append(reasons, fmt.Sprintf(unsignable+"chain %s has no contract at %s", c.Network, c.Address))
	}
	if v.Warn != nil {
		if reason := v.Warn(query, req.Recipient); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}
