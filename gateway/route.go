package gateway

import (
	"net"
	"net/http"
	"strings"

	"github.com/quotegate/quotegate/gateway/caller"
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

// routes collects the routes of all modules by path.
func (g *Gateway) routes() map[string]*revisions {
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
	return paths
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
	gone := g.lifecycle.Admit(h, r, t.event.Version, *who)
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
