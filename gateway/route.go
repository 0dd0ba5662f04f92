package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// endpoint is what answers at one path. It is shared if several versions do, of which one
// may have been deleted from the code: then the format of an answer depends on the revision.
type endpoint struct {
	routes map[string]mounted // by the revision that a request names, in lower case
	shared bool
}

// mounted is a route of a version, or one that belongs to none.
type mounted struct {
	module *web.Module // nil for none
	handle http.HandlerFunc
}

// mount adds the routes of all modules. All paths are exact, and all are for GET and
// HEAD.
func (g *Gateway) mount(router chi.Router) {
	g.endpoints = map[string]*endpoint{}
	g.add("/versions", nil, mounted{handle: g.answer(g.versions)})
	g.add("/versions/mine", nil, mounted{handle: g.answer(g.ownUsage)})
	for i := range g.Modules {
		m := &g.Modules[i]
		for _, route := range m.Routes {
			g.add(route.Path, route.Revisions, mounted{m, g.serve(m, route)})
		}
	}
	for _, retired := range g.RetiredVersions {
		gone := g.retiredVersion(retired)
		for _, prefix := range retired.Prefixes {
			router.Handle(prefix+"*", gone)
		}
		if retired.Revision != "" {
			g.add(retired.Successor, []string{retired.Revision}, mounted{handle: gone})
		}
	}
	for path := range g.endpoints {
		router.Get(path, g.byRevision)
		router.Head(path, g.byRevision)
	}
	router.NotFound(g.notFound)
	router.MethodNotAllowed(g.methodNotAllowed)
}

// add mounts a route for the revisions of these names, or for all requests without any.
func (g *Gateway) add(path string, revisions []string, route mounted) {
	at, shared := g.endpoints[path]
	if !shared {
		at = &endpoint{routes: map[string]mounted{}}
		g.endpoints[path] = at
	}
	at.shared = shared
	if revisions == nil {
		revisions = []string{""}
	}
	for _, name := range revisions {
		at.routes[name] = route
	}
}

// byRevision hands a request to the revision that it names.
func (g *Gateway) byRevision(w http.ResponseWriter, r *http.Request) {
	route, wrong := g.route(g.endpoints[r.URL.Path], r)
	if wrong != nil {
		g.refuse(w, r, wrong)
		return
	}
	route.handle(w, r)
}

// route is the route of an endpoint for a request: of the revision in the header
// API-Revision, else of the one that the host stands for. At a path that versions share, a
// slip in the header would change the format of the answer, so what is wrong with it is
// returned, with the route as if there were no header.
func (g *Gateway) route(at *endpoint, r *http.Request) (mounted, *fault.Error) {
	route := at.routes[""]
	if !at.shared {
		return route, nil
	}
	if old, found := at.routes[legacy]; found && len(g.legacyHosts) > 0 && g.legacyHosts[hostName(r.Host)] {
		route = old
	}
	given := r.Header[revisionHeader]
	switch {
	case len(given) > 1:
		return route, fault.New(fault.InvalidParameter,
			"The header API-Revision is given %d times; send it once", len(given)).On("API-Revision")
	case len(given) == 0 || given[0] == "":
		return route, nil
	}
	named, found := at.routes[strings.ToLower(given[0])]
	if !found {
		return route, fault.New(fault.InvalidParameter,
			"Unknown API-Revision. Use a revision that the contract file lists, or omit the header").On("API-Revision")
	}
	return named, nil
}

func (g *Gateway) notFound(w http.ResponseWriter, r *http.Request) {
	m, _ := g.module(r)
	g.refuse(w, r, fault.New(fault.NotFound,
		"Not found. See %s for the available endpoints", web.ContractPath(m.Name)))
}

func (g *Gateway) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD, OPTIONS")
	if r.Method == http.MethodOptions { // and not a preflight, which has been answered before
		w.WriteHeader(http.StatusNoContent)
		return
	}
	g.refuse(w, r, fault.New(fault.MethodNotAllowed, "Method not allowed. Use GET"))
}

// answer replies to the error of a handler.
func (g *Gateway) answer(handle web.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			g.fail(w, r, err)
		}
	}
}

func (g *Gateway) versions(w http.ResponseWriter, _ *http.Request) error {
	return web.JSON(w, http.StatusOK, g.Lifecycle.Document())
}

// retiredVersion answers for a version that is gone, in the format of the current one.
func (g *Gateway) retiredVersion(f RetiredVersion) http.HandlerFunc {
	return g.answer(func(w http.ResponseWriter, r *http.Request) error {
		g.attribute(stateOf(r), r, f.Name, web.Route{})
		w.Header().Set("Link", `<`+f.Successor+`>; rel="successor-version"`)
		e := fault.New(fault.VersionRetired, "%s was retired; use %s instead", f.Name, f.Successor)
		e.Successor = f.Successor
		return e
	})
}

// ownUsage tells a client with a key about its own calls to old versions, and about nobody
// else's. A request costs a quote of the key or, without one, of the address, so that
// nobody can guess keys without a limit.
func (g *Gateway) ownUsage(w http.ResponseWriter, r *http.Request) error {
	who := &stateOf(r).event.Caller
	if refused := g.Limiter.AdmitQuote(w.Header(), payer(who)); refused != nil {
		return refused
	}
	if !who.Proven() {
		w.Header()["Www-Authenticate"] = challenge
		return fault.New(fault.UnknownKey, "This endpoint reports the calls of one client and requires its API key. "+
			"Send the key once, in the API-Key header")
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	own, err := g.Usage.Own(ctx, who.Known.Name)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, g.Lifecycle.OwnUsage(*who, own))
}

// serve handles a request to a route. First it applies the lifecycle of the
// version and the client's rate limit.
func (g *Gateway) serve(m *web.Module, route web.Route) http.HandlerFunc {
	return g.answer(func(w http.ResponseWriter, r *http.Request) error {
		s := stateOf(r)
		g.attribute(s, r, m.Name, route)
		if refused := g.admit(w, r, s, route); refused != nil {
			return refused
		}
		if route.ReadsNodes {
			ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
			defer cancel()
			r = r.WithContext(web.WithNodeReader(ctx, web.NodeReader{
				Caller: s.event.Caller.Network(),
				Admit: func() *fault.Error {
					return g.Limiter.AdmitRead(w.Header(), payer(&s.event.Caller))
				},
			}))
		}
		return route.Handle(w, r)
	})
}

// attribute sets which version and route a request is for, and its client's name.
func (g *Gateway) attribute(s *state, r *http.Request, version string, route web.Route) {
	e := &s.event
	e.Version = version
	e.Route = route.Path
	e.Quotes = route.Quotes
	e.Free = route.Free
	e.Rehearsal = lifecycle.Rehearsing(r)
	e.Client = g.Usage.Name(e.Caller.Identity())
}

// admit returns why a request is refused, or nil: its version is in a brownout or
// retired, its key is not known, or its caller has asked for too many quotes. Only routes
// that quote or read nodes look at whether the key is known. An unknown key costs a quote,
// or keys could be guessed without a limit. A rehearsal of a refusal counts like the quote
// it stands for.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, s *state, route web.Route) *fault.Error {
	h := w.Header()
	gone := g.gone(h, r, s)
	s.event.Exempt = g.Lifecycle.Exempts(s.event.Version, s.event.Caller)
	if route.Free {
		return nil
	}
	if gone != nil && !s.event.Rehearsal {
		return gone
	}
	unknownKey := s.unknownKey && (route.Quotes || route.ReadsNodes)
	if route.Quotes || unknownKey {
		if refused := g.Limiter.AdmitQuote(h, payer(&s.event.Caller)); refused != nil {
			return refused
		}
	}
	if unknownKey {
		h["Www-Authenticate"] = challenge
		return fault.New(fault.UnknownKey, "Unknown API key. Check the API-Key header, "+
			"or omit it: quotes do not require a key")
	}
	return gone
}

// payer is whose limits a request counts against: the holder of the key that it proves,
// or its address.
func payer(who *caller.Caller) limit.Source {
	if who.Proven() {
		return limit.Key(uint64(who.Key), who.Known.Limit())
	}
	return limit.Address(who.Addr)
}

// gone applies the lifecycle of the version, and returns why it refuses a request. A
// rehearsal without a plan names the current version as the successor.
func (g *Gateway) gone(h http.Header, r *http.Request, s *state) *fault.Error {
	e := g.Lifecycle.Admit(h, r, s.event.Version, s.event.Caller)
	if e == nil || e.Successor != "" || e.Code == fault.InvalidParameter || s.event.Version == Current {
		return e
	}
	e.Successor = quotePaths(g.current)[0]
	e.Message += "; use " + e.Successor + " instead"
	return e
}

// refuse answers a request that no route handled. Under a version's prefix, the
// response has the version's lifecycle headers, and is a 410 once the version is
// retired.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, e *fault.Error) {
	if m, owned := g.module(r); owned {
		s := stateOf(r)
		g.attribute(s, r, m.Name, web.Route{})
		if gone := g.gone(w.Header(), r, s); gone != nil {
			e = gone
		}
	}
	g.fail(w, r, e)
}

// fail is the only place that replies to an error and logs its cause.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := fault.From(err)
	s := stateOf(r)
	s.event.Code = e.Code
	m, _ := g.module(r)
	status, body := m.MapFault(e, s.event.RequestID)
	g.logFault(r, e, status)
	if s.response.status != 0 {
		return // a response was already started
	}
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second // rounded up, so that the retry passes
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = web.JSON(w, status, body) // an error body has only text fields, so encoding cannot fail
}

// logFault logs the cause: at error level if the fault is ours, at info level if it is the
// client's, the client has disconnected, or the answer is 501.
func (g *Gateway) logFault(r *http.Request, e *fault.Error, status int) {
	level := slog.LevelInfo
	if status >= 500 && status != http.StatusNotImplemented && !errors.Is(r.Context().Err(), context.Canceled) {
		level = slog.LevelError
	}
	if cause := errors.Unwrap(e); cause != nil {
		id := stateOf(r).event.RequestID
		g.Log.LogAttrs(r.Context(), level, "fault",
			slog.String("requestId", id), slog.String("code", string(e.Code)), slog.Any("cause", cause))
	}
}

// challenge is the WWW-Authenticate header that HTTP requires of a 401. There is no standard
// scheme for API keys.
var challenge = []string{`API-Key realm="quotegate"`}

// The limiter accepts every limit that a clients file may set.
const _ = uint(limit.MaxPerMinute - caller.MaxPerMinute)
