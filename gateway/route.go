package gateway

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/cors"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/web"
)

// router mounts the routes of all modules. All paths are exact, and all are for GET
// and HEAD.
func (g *Gateway) router() http.Handler {
	router := chi.NewRouter()
	paths := g.paths()
	for _, f := range g.Formers {
		gone := g.former(f)
		for _, prefix := range f.Prefixes {
			router.Handle(prefix+"*", gone)
		}
		if shared := paths[f.Successor]; shared != nil && f.Revision != "" {
			shared[f.Revision] = gone
		}
	}
	for path, revisions := range paths {
		handler := g.byRevision(revisions)
		router.Get(path, handler)
		router.Head(path, handler)
	}
	router.NotFound(g.notFound)
	router.MethodNotAllowed(g.methodNotAllowed)
	return router
}

// paths are the handlers of all routes, by path and revision.
func (g *Gateway) paths() map[string]map[string]http.HandlerFunc {
	paths := map[string]map[string]http.HandlerFunc{
		"/versions":      {"": g.versions},
		"/versions/mine": {"": g.mine},
	}
	for i := range g.Modules {
		m := &g.Modules[i]
		for _, route := range m.Routes {
			if paths[route.Path] == nil {
				paths[route.Path] = map[string]http.HandlerFunc{}
			}
			paths[route.Path][route.Revision] = g.serve(m, route)
		}
	}
	return paths
}

// byRevision is the handler of a path: that of the revision which a request names, or
// the one without a revision.
func (g *Gateway) byRevision(revisions map[string]http.HandlerFunc) http.HandlerFunc {
	if len(revisions) == 1 {
		return revisions[""]
	}
	return func(w http.ResponseWriter, r *http.Request) {
		named, known := revisions[g.revision(r)]
		if !known {
			named = revisions[""]
		}
		named(w, r)
	}
}

func (g *Gateway) notFound(w http.ResponseWriter, r *http.Request) {
	m, _ := g.module(r)
	g.refuse(w, r, fault.New(fault.NotFound,
		"There is nothing at this path; %s describes what there is", web.ContractPath(m.Name)))
}

func (g *Gateway) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD, OPTIONS")
	if r.Method == http.MethodOptions { // and not a preflight, which has been answered before
		w.WriteHeader(http.StatusNoContent)
		return
	}
	g.refuse(w, r, fault.New(fault.MethodNotAllowed, "Use GET: every endpoint only reads"))
}

func (g *Gateway) versions(w http.ResponseWriter, r *http.Request) {
	if err := web.JSON(w, http.StatusOK, g.Lifecycle.Document()); err != nil {
		g.fail(w, r, err)
	}
}

// former answers for a version that is gone, in the format of the current one.
func (g *Gateway) former(f Former) http.HandlerFunc {
	link := []string{`<` + f.Successor + `>; rel="successor-version"`}
	return func(w http.ResponseWriter, r *http.Request) {
		g.identify(traceOf(r), r, &web.Module{Name: f.Name}, web.Route{})
		w.Header()["Link"] = link
		e := fault.New(fault.VersionRetired, "%s was retired; use %s instead", f.Name, f.Successor)
		e.Successor = f.Successor
		g.fail(w, r, e)
	}
}

// mine tells a client with a key about its own calls to old versions, and about nobody
// else's. A request costs the budget of the key or, without one, that of the address,
// so that nobody can guess keys without a limit.
func (g *Gateway) mine(w http.ResponseWriter, r *http.Request) {
	t := traceOf(r)
	who := &t.event.Caller
	*who = caller.From(r, g.Proxies.Address(r), integrator.ID{})
	g.Clients.Recognise(who, r.Header)
	if refused := g.Limiter.Admit(w.Header(), payer(who)); refused != nil {
		g.fail(w, r, refused)
		return
	}
	if !who.Proven() {
		w.Header()["Www-Authenticate"] = challenge
		g.fail(w, r, fault.New(fault.UnknownKey, "This is about the calls of one client, and only a key proves whose "+
			"they are: send the key you were given in the API-Key header, once and unchanged"))
		return
	}
	own, err := g.Own.Own(r.Context(), who.Known.Name)
	if err == nil {
		err = web.JSON(w, http.StatusOK, g.Lifecycle.Mine(*who, own))
	}
	if err != nil {
		g.fail(w, r, err)
	}
}

// serve handles a request to a route. First it applies the lifecycle of the
// version and the client's budget.
func (g *Gateway) serve(m *web.Module, route web.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t := traceOf(r)
		g.identify(t, r, m, route)
		e := g.admit(w, r, t, route)
		defer t.poll.End()
		if e != nil {
			g.fail(w, r, e)
			return
		}
		if err := route.Handle(w, r); err != nil {
			g.fail(w, r, t.promiseRetry(err))
		}
	}
}

// admit returns why a request is refused, or nil: its version is in a brownout or
// retired, its key is not known, or its client has no budget left. Free routes refuse
// nobody, and neither they nor listings look at whether the key is known. A rehearsal of
// a refusal counts like the quote it stands for.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, t *trace, route web.Route) *fault.Error {
	h := w.Header()
	who := &t.event.Caller
	gone := g.gone(h, r, t)
	t.event.Exempt = g.Lifecycle.Exempts(t.event.Version, *who)
	from := payer(who)
	switch {
	case route.Free:
		return nil
	case gone != nil && !t.event.Rehearsal:
		return gone
	case route.Listing:
		if refused := g.Limiter.AdmitListing(w, from); refused != nil {
			return refused
		}
		return gone
	}
	if refused := g.count(h, r, t, route, from); refused != nil {
		return refused
	}
	if t.unknownKey { // counts, or keys could be guessed without a limit
		h["Www-Authenticate"] = challenge
		return fault.New(fault.UnknownKey, "The API-Key header is not a key that we know: send the key you were "+
			"given, once and unchanged, or leave the header out, since no endpoint needs one")
	}
	return gone
}

// payer is whose budget a request costs: that of the key it proves, or of its address.
func payer(who *caller.Caller) limit.Client {
	if who.Proven() {
		return limit.Key(uint64(who.Key), who.Known.PerMinute)
	}
	return limit.Address(who.Addr)
}

// count counts a request against the client's budget, or that for polled routes.
func (g *Gateway) count(
	h http.Header, r *http.Request, t *trace, route web.Route, from limit.Client,
) (refused *fault.Error) {
	if route.Polled == nil {
		return g.Limiter.Admit(h, from)
	}
	t.poll, refused = g.Limiter.AdmitPolled(r.Context(), h, from, route.Polled(r))
	return refused
}

// gone applies the lifecycle of the version, and returns why it refuses a request. A
// rehearsal without a plan names the current version as the successor.
func (g *Gateway) gone(h http.Header, r *http.Request, t *trace) *fault.Error {
	e := g.Lifecycle.Admit(h, r, t.event.Version, t.event.Caller)
	if e == nil || e.Successor != "" || e.Code == fault.InvalidParameter || t.event.Version == g.Current {
		return e
	}
	if i := slices.IndexFunc(g.current.Routes, func(route web.Route) bool { return route.Quotes }); i >= 0 {
		e.Successor = g.current.Routes[i].Path
		e.Message += "; use " + e.Successor + " instead"
	}
	return e
}

// refuse answers a request that no route handled. Under a version's prefix, the
// response has the version's lifecycle headers, and is a 410 once the version is
// retired.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, e *fault.Error) {
	if m, owned := g.module(r); owned {
		t := traceOf(r)
		g.identify(t, r, m, web.Route{})
		if gone := g.gone(w.Header(), r, t); gone != nil {
			e = gone
		}
	}
	g.fail(w, r, e)
}

// challenge is the header of a 401. HTTP demands one, and knows no scheme for keys.
var challenge = []string{`API-Key realm="quotegate"`}

// The limiter takes every limit that a clients file may give.
const _ = uint(limit.MaxPerMinute - caller.MaxPerMinute)

// allowOrigins lets web pages of any origin use GET and read our headers.
func allowOrigins() func(http.Handler) http.Handler {
	return cors.Handler(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: []string{http.MethodGet, http.MethodHead},
		AllowedHeaders: []string{
			"Accept", "Content-Type", "API-Revision", "API-Rehearse", "API-Key", "If-None-Match", "X-Request-ID",
			"Traceparent", "Tracestate", "Baggage", "Sentry-Trace", // added by tracing libraries to every request
		},
		ExposedHeaders: append(lifecycle.ResponseHeaders(),
			"X-Request-ID", "Retry-After", "Quote-Warning", "Request-Warning", "ETag",
			"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
		MaxAge: int(time.Hour.Seconds()),
	})
}
