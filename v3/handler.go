// Package v3 is the current version of the interface: a structured fee with
// integrators, an approval ready to send, and the kind of route.
package v3

import (
	"cmp"
	"context"
	"embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// Quoter answers quote requests.
type Quoter interface {
	Quote(context.Context, *quote.Request) (*quote.Quote, error)
}

// Tracker tells what became of a transaction.
type Tracker interface {
	Status(ctx context.Context, src chain.ID, hash common.Hash) (*status.Status, error)
	Ready() bool         // whether the status of every swap can be told
	Missing() []chain.ID // the chains that swaps are followed on, and that have no endpoint
}

//go:embed openapi.yaml
var contract []byte

// clientFiles are the client module, an npm package that is also served.
//
//go:embed client/*.js client/*.d.ts
var clientFiles embed.FS

// Module is this version over a core.
func Module(quoter Quoter, tracker Tracker, deployment *chain.Deployment, health Health) web.Module {
	h := handler{quoter, tracker, deployment, health}
	return web.Module{
		Name:     "v3",
		Prefixes: []string{"/v3/"},
		Routes: append([]web.Route{
			{Path: "/v3/swap/quote", Quotes: true, Handle: h.quote},
			{Path: "/v3/swap/status", Polled: true, Handle: h.status},
			{Path: "/v3/swap/healthcheck", Handle: h.healthcheck, Free: true},
			{Path: "/v3/app/routers", Listing: true, Handle: wire.ListRouters(deployment)},
			{Path: "/v3/app/pairs", Listing: true, Handle: web.JSONDocument(mapPairs(deployment, tracker != nil && tracker.Ready()), wire.ListingAge)},
			{Path: "/v3/openapi.yaml", Handle: wire.Contract(contract), Free: true},
		}, clientRoutes()...),
		Decode:   wire.Decoder(decodeQuote),
		MapFault: wire.MapFault,
	}
}

// clientRoutes serve the module for browsers, and its types for those who copy it. The part that checks has a path of its own besides.
func clientRoutes() []web.Route {
	serve := func(path, name string) web.Route {
		kind := "text/javascript; charset=utf-8"
		if strings.HasSuffix(name, ".d.ts") {
			kind = "text/plain; charset=utf-8"
		}
		body, err := clientFiles.ReadFile("client/" + name)
		if err != nil {
			panic("the client lacks a file: " + err.Error())
		}
		return web.Route{Path: path, Handle: web.Document(kind, body, 5*time.Minute), Free: true}
	}
	routes := []web.Route{serve("/v3/verify.js", "verify.js")}
	for _, name := range []string{"index.js", "index.d.ts", "verify.js", "verify.d.ts"} {
		routes = append(routes, serve("/v3/client/"+name, name))
	}
	return routes
}

type handler struct {
	quoter     Quoter
	tracker    Tracker
	deployment *chain.Deployment
	health     Health
}

func (h handler) quote(w http.ResponseWriter, r *http.Request) error {
	query := wire.QueryOf(r)
	wire.WarnOfSlips(w.Header(), query, params)
	req, err := decodeQuote(query)
	if err != nil {
		return err
	}
	q, err := h.quoter.Quote(r.Context(), &req)
	if err != nil {
		return err
	}
	return mapQuote(q).Send(w)
}

// params are the query parameters of a quote.
var params = append(slices.Clone(wire.Params), "integratorId", "include", "from")

func decodeQuote(q *wire.Query) (quote.Request, error) {
	var include string
	req, err := wire.DecodeSwap(q, chain.ParseID)
	if err == nil {
		req.Integrator, err = q.Integrator()
	}
	err = cmp.Or(err, wire.Read(q, "include", parseInclude, &include), wire.Read(q, "from", parseFrom, &req.From))
	req.Details, req.Simulate = include != "", include == withSimulation
	switch {
	case err != nil:
	case req.From != nil && !req.Details:
		err = fault.New(fault.InvalidParameter, "The parameter from says whose balance to check, which is part of the details: also send include=details, or leave from out").On("from")
	case req.From == nil && req.Simulate:
		err = fault.New(fault.MissingParameter, "The parameter from is missing: a simulation needs the account that would send the transactions").On("from")
	}
	return req, err
}

const withSimulation = "details,simulation"

func parseInclude(text string) (string, error) {
	if text == "details" || text == withSimulation {
		return text, nil
	}
	return "", fault.New(fault.InvalidParameter, "What can be included is details, and a simulation with them: send include=details or include=details,simulation, or leave include out")
}

func parseFrom(text string) (*common.Address, error) {
	address, err := chain.ParseAddress(text)
	if err != nil {
		return nil, fault.New(fault.InvalidParameter, "The sender in from %v", err)
	}
	if address == (common.Address{}) {
		return nil, fault.New(fault.InvalidParameter, "The sender in from is the zero address, which can send nothing: name the account that will sign, or leave from out")
	}
	return &address, nil
}
