package gateway

import (
	"net"
	"net/http"
	"strings"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// legacy is the revision that hosts on the operator's list speak.
const legacy = "legacy"

// revisionHeader names a revision: API-Revision, in canonical form.
const revisionHeader = "Api-Revision"

// revisions are the handlers of one path, by revision. The unnamed one serves
// whoever asks for no revision there is.
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

// routes arranges what the modules offer by path.
func (g *Gateway) routes() map[string]*revisions {
	paths := map[string]*revisions{}
	for i := range g.modules {
		m := &g.modules[i]
		book := g.book(m)
		for _, route := range m.Routes {
			p := paths[route.Path]
			if p == nil {
				p = &revisions{handlers: map[string]http.Handler{}, of: g.revision}
				paths[route.Path] = p
			}
			p.handlers[route.Revision] = g.serve(m, route, book)
		}
	}
	return paths
}

// serve takes a request of one version through the steps it shares with all:
// its life, its budget, and the books.
func (g *Gateway) serve(m *web.Module, route web.Route, book func(*http.Request, *trace)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := traceOf(r)
		t.enter(m, route.Path, g.caller(r))
		if e := g.admit(w.Header(), r, t, route.Free); e != nil {
			g.fail(w, r, e)
			return
		}
		if err := route.Handle(w, r); err != nil {
			g.fail(w, r, err)
			return
		}
		if route.Quotes && t.status == http.StatusOK {
			book(r, t)
		}
	})
}

// caller finds out who sent a request.
func (g *Gateway) caller(r *http.Request) caller.Caller {
	return caller.From(r, g.proxies.Address(r))
}

// admit says why a request is refused, if it is: its version is going or gone,
// or its client has asked too often. What is free outlives its version and
// counts against no budget.
func (g *Gateway) admit(h http.Header, r *http.Request, t *trace, free bool) *fault.Error {
	gone := g.life.Admit(h, r, t.version, t.caller)
	switch {
	case free:
		return nil
	case gone != nil:
		return gone
	}
	return g.limiter.Admit(t, h, t.caller.Addr)
}

// book gives what enters a quote that was given: that the version was used,
// and, for an old version, whether the current one would have given it too.
func (g *Gateway) book(m *web.Module) func(*http.Request, *trace) {
	record := func(_ *http.Request, t *trace) { g.usage.Record(m.Name, t.client, t.start) }
	current := &g.modules[0]
	if m == current {
		return record
	}
	subject := g.survey.Subject(m.Name, current.Name, trial(current))
	return func(r *http.Request, t *trace) {
		record(r, t)
		subject.Ask(g.clientName(t), r.URL.RawQuery)
	}
}

// revision is the one a request names, by header or by the host it came to.
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

// module is the version whose dialect a request expects, and whether the path
// is one of its own.
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
