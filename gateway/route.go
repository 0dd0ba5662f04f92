package gateway

import (
	"cmp"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/cors"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// legacy is the revision for the hosts in LEGACY_HOSTS.
const legacy = "legacy"

// revisionHeader names a revision: API-Revision, in canonical form.
const revisionHeader = "Api-Revision"

// revisions are the handlers of one path, by revision. The one without a name
// serves requests that name no revision, or an unknown one.
type revisions struct {
	handlers map[string]http.Handler
	of       func(*http.Request) string
}

func (p *revisions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := p.handlers[""]
	if len(p.handlers) > 1 {
		if named, ok := p.handlers[p.of(r)]; ok {
			handler = named
		}
	}
	handler.ServeHTTP(w, r)
}

// router finds the handlers of a path. All paths are exact, and all are for GET and
// HEAD.
func (g *Gateway) router() http.HandlerFunc {
	paths := map[string]*revisions{}
	for i := range g.modules {
		m := &g.modules[i]
		for _, route := range m.Routes {
			p := paths[route.Path]
			if p == nil {
				p = &revisions{handlers: map[string]http.Handler{}, of: g.revision}
				paths[route.Path] = p
			}
			p.handlers[route.Revision] = g.serve(m, route)
		}
	}
	paths["/versions"] = &revisions{handlers: map[string]http.Handler{"": http.HandlerFunc(g.versions)}}
	return func(w http.ResponseWriter, r *http.Request) {
		p := paths[cmp.Or(r.URL.RawPath, r.URL.Path)] // RawPath is set for a path with unusual escapes
		switch {
		case len(r.RequestURI) > maxURL:
			g.refuse(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
		case p == nil:
			m, _ := g.module(r)
			g.refuse(w, r, fault.New(fault.NotFound, "There is nothing at this path; /%s/openapi.yaml describes what there is", m.Name))
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			p.ServeHTTP(w, r)
		case r.Method == http.MethodOptions: // and not a preflight, which has been answered before
			w.Header().Set("Allow", allowed)
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", allowed)
			g.refuse(w, r, fault.New(fault.MethodNotAllowed, "Use GET: every endpoint only reads"))
		}
	}
}

const allowed = "GET, HEAD, OPTIONS"

// versions answers with the lifecycle of every version.
func (g *Gateway) versions(w http.ResponseWriter, r *http.Request) {
	if err := web.JSON(w, http.StatusOK, g.lifecycle.Document()); err != nil {
		g.fail(w, r, err)
	}
}

// serve handles a request to a route. First it applies the lifecycle of the
// version and the client's budget.
func (g *Gateway) serve(m *web.Module, route web.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := traceOf(r)
		g.identify(t, r, m, route)
		if e := g.admit(w.Header(), r, t, route); e != nil {
			g.fail(w, r, e)
			return
		}
		if err := route.Handle(w, r); err != nil {
			g.fail(w, r, err)
		}
	})
}

// admit returns why a request is refused, or nil: its version is in a brownout or
// retired, its key is not known, or its client has no budget left. Free routes refuse
// nobody, and do not look at the key. A rehearsal of a refusal counts like the quote
// it stands for.
func (g *Gateway) admit(h http.Header, r *http.Request, t *trace, route web.Route) *fault.Error {
	who := &t.event.Caller
	gone := g.gone(h, r, t)
	t.event.Exempt = g.lifecycle.Exempts(t.event.Version, *who)
	from := limit.Address(who.Addr)
	if who.Proven() {
		from = limit.Key(uint64(who.Key), who.Known.PerMinute)
	}
	switch {
	case route.Free:
		return nil
	case gone != nil && !t.event.Rehearsal, route.Listing:
		return gone
	}
	if refused := g.limiter.Admit(h, from, route.Polled); refused != nil {
		return refused
	}
	if t.unknownKey { // counts, or keys could be guessed without a limit
		h["Www-Authenticate"] = challenge
		return fault.New(fault.UnknownKey, "The API-Key header is not a key that we know: send the key you were given, once and unchanged, or leave the header out, since no endpoint needs one")
	}
	return gone
}

// gone applies the lifecycle of the version, and returns why it refuses a request. A
// rehearsal without a plan names the current version as the successor.
func (g *Gateway) gone(h http.Header, r *http.Request, t *trace) *fault.Error {
	e := g.lifecycle.Admit(h, r, t.event.Version, t.event.Caller)
	if e == nil || e.Successor != "" || e.Code == fault.InvalidParameter || t.event.Version == g.modules[0].Name {
		return e
	}
	for _, route := range g.modules[0].Routes {
		if route.Quotes {
			e.Successor = route.Path
			e.Message += "; use " + route.Path + " instead"
			break
		}
	}
	return e
}

// challenge is the header of a 401. HTTP demands one, and knows no scheme for keys.
var challenge = []string{`API-Key realm="quotegate"`}

// The limiter takes every limit that a clients file may give.
const _ = uint(limit.MaxPerMinute - caller.MaxPerMinute)

// revision is the revision that a request names, by header or by its host.
func (g *Gateway) revision(r *http.Request) string {
	if named := r.Header.Get(revisionHeader); named != "" {
		return strings.ToLower(named)
	}
	if len(g.legacyHosts) > 0 && g.legacyHosts[hostName(r.Host)] {
		return legacy
	}
	return ""
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// module is the version that a request is for, and whether the path belongs to
// it. For other paths it is the current version.
func (g *Gateway) module(r *http.Request) (m *web.Module, owned bool) {
	if revision := g.revision(r); revision != "" {
		for i := range g.modules {
			for _, route := range g.modules[i].Routes {
				if route.Revision == revision && route.Path == r.URL.Path {
					return &g.modules[i], true
				}
			}
		}
	}
	for i := range g.modules {
		for _, prefix := range g.modules[i].Prefixes {
			if strings.HasPrefix(r.URL.Path, prefix) {
				return &g.modules[i], true
			}
		}
	}
	return &g.modules[0], false
}

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
