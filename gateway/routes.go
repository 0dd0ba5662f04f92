package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/version"
)

// routes says which path goes where, and through what. All paths are whole and exact.
func (g *gateway) routes() http.Handler {
	root := chi.NewRouter()
	root.Use(g.observe, g.recoverPanics, allowOrigins(), g.identify, g.countPreflights, g.chooseRevision)
	root.Group(func(r chi.Router) { // what belongs to no version
		r.Use(g.limitAll, g.checkRequest)
		r.With(g.onlyGet).Handle("/versions", g.answer(g.versions))
		r.With(g.onlyGet).Handle("/versions/mine", g.answer(g.ownUsage))
		r.NotFound(g.notFound)
	})
	for i := range g.Modules {
		m := &g.Modules[i]
		root.Group(func(r chi.Router) {
			r.Use(g.enter(m), g.limitAll, g.checkRequest)
			for _, route := range m.Routes {
				r.With(g.onlyGet, g.lifecycle(route), g.budget(route)).Handle(route.Path, g.answer(route.Handle))
			}
			for _, prefix := range m.Prefixes {
				r.HandleFunc(prefix+"*", g.notFound)
			}
		})
	}
	for _, old := range g.RetiredVersions {
		for _, prefix := range old.Prefixes {
			root.With(g.limitAll, g.checkRequest).Handle(prefix+"*", g.answer(g.retired(old)))
		}
	}
	return root
}

// enter names the version that a request is for.
func (g *gateway) enter(m *version.Module) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := stateOf(r)
			s.module = m
			g.attribute(s, r, m.Name)
			next.ServeHTTP(w, r)
		})
	}
}

// attribute sets which version a request is for, and the name of its client.
func (g *gateway) attribute(s *state, r *http.Request, name string) {
	s.event.Version = name
	s.event.Rehearsal = lifecycle.Rehearsing(r)
	s.event.Client = g.Names.Name(s.event.Caller.Identity())
}

// limitAll refuses a caller that exceeds its limit on all requests.
func (g *gateway) limitAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused := g.Limiter.AdmitRequest(payer(&stateOf(r).event.Caller)); refused != nil {
			g.fail(w, r, refused)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkRequest refuses what no route should read: a URL that is too long, or a revision that
// does not exist.
func (g *gateway) checkRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s := stateOf(r); {
		case tooLong(r):
			g.refuse(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
		case s.wrongRevision != nil:
			g.refuse(w, r, s.wrongRevision)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// onlyGet refuses other methods, and answers OPTIONS where it is no preflight.
func (g *gateway) onlyGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		g.refuse(w, r, fault.New(fault.MethodNotAllowed, "Method not allowed. Use GET"))
	})
}

// lifecycle announces what is planned for the version, and refuses the request if the
// version is in a brownout or retired, but for free routes. A rehearsal of a refusal counts
// like the quote it stands for.
func (g *gateway) lifecycle(route version.Route) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := stateOf(r)
			s.event.Route = r.URL.Path // which is exactly the route's, or the shared one
			s.event.Quotes = route.Quotes
			s.event.Free = route.Free
			gone := g.gone(w.Header(), r, s)
			s.event.Exempt = g.Lifecycle.Exempts(s.event.Version, s.event.Caller)
			if gone == nil || route.Free {
				next.ServeHTTP(w, r)
				return
			}
			if s.event.Rehearsal {
				if refused := g.spend(w.Header(), s, route); refused != nil {
					gone = refused
				}
			}
			g.fail(w, r, gone)
		})
	}
}

// budget refuses a caller that has used up its quotes, or whose key is unknown. Reads of
// nodes have a separate budget, which the handler spends if it reads any.
func (g *gateway) budget(route version.Route) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := stateOf(r)
			if refused := g.spend(w.Header(), s, route); refused != nil {
				g.fail(w, r, refused)
				return
			}
			if route.ReadsNodes {
				ctx, cancel := context.WithTimeout(r.Context(), version.ReadTimeout)
				defer cancel()
				r = r.WithContext(ctx)
				s.request.AdmitRead = func() *fault.Error {
					return g.Limiter.AdmitRead(w.Header(), payer(&s.event.Caller))
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// spend counts a quote of the caller, or returns why it is refused. Only routes that quote
// or read nodes check the key. An unknown key costs a quote, so that keys cannot be guessed
// without a limit.
func (g *gateway) spend(h http.Header, s *state, route version.Route) *fault.Error {
	if route.Free {
		return nil
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
	return nil
}

// challenge is the WWW-Authenticate header that HTTP requires of a 401. There is no standard
// scheme for API keys.
var challenge = []string{`API-Key realm="quotegate"`}

// payer is whose limits a request counts against: the holder of the key that it proves,
// or its address.
func payer(who *caller.Caller) limit.Source {
	if who.Proven() {
		return limit.Key(uint64(who.Key), who.Known.Limit())
	}
	return limit.Address(who.Addr)
}

// The limiter accepts every limit that a clients file may set.
const _ = uint(limit.MaxPerMinute - caller.MaxPerMinute)

// gone applies the lifecycle of the version, and returns why it refuses a request. A
// rehearsal without a plan names the current version as the successor.
func (g *gateway) gone(h http.Header, r *http.Request, s *state) *fault.Error {
	e := g.Lifecycle.Admit(h, r, s.event.Version, s.event.Caller)
	if e == nil || e.Successor != "" || e.Code == fault.InvalidParameter || s.event.Version == Current {
		return e
	}
	e.Successor = g.current.QuotePaths()[0]
	e.Message += "; use " + e.Successor + " instead"
	return e
}

func (g *gateway) notFound(w http.ResponseWriter, r *http.Request) {
	name := stateOf(r).moduleOr(g.current).Name
	g.refuse(w, r, fault.New(fault.NotFound,
		"Not found. See %s for the available endpoints", version.ContractPath(name)))
}

// retired answers for a version that is gone, in the format of the current one.
func (g *gateway) retired(old RetiredVersion) version.Handler {
	return func(w http.ResponseWriter, r *version.Request) error {
		g.attribute(stateOf(r.Request), r.Request, old.Name)
		w.Header().Set("Link", `<`+old.Successor+`>; rel="successor-version"`)
		e := fault.New(fault.VersionRetired, "%s was retired; use %s instead", old.Name, old.Successor)
		e.Successor = old.Successor
		return e
	}
}

func (g *gateway) versions(w http.ResponseWriter, _ *version.Request) error {
	return version.JSON(w, http.StatusOK, g.Lifecycle.Document())
}

// ownUsage reports a client's own calls to old versions, and no one else's. It requires the
// client's key. A request costs a quote of the key or, without one, of the address, so that
// keys cannot be guessed without a limit.
func (g *gateway) ownUsage(w http.ResponseWriter, r *version.Request) error {
	who := &stateOf(r.Request).event.Caller
	if refused := g.Limiter.AdmitQuote(w.Header(), payer(who)); refused != nil {
		return refused
	}
	if !who.Proven() {
		w.Header()["Www-Authenticate"] = challenge
		return fault.New(fault.UnknownKey, "This endpoint reports the calls of one client and requires its API key. "+
			"Send the key once, in the API-Key header")
	}
	ctx, cancel := context.WithTimeout(r.Context(), version.ReadTimeout)
	defer cancel()
	plan, versions := g.Lifecycle.Standings(*who)
	own, err := g.Usage.Own(ctx, who.Known.Name, plan, versions)
	if err != nil {
		away := fault.New(fault.UsageUnavailable, "Your calls cannot be read at the moment. Retry in 10 seconds")
		away.RetryAfter = 10 * time.Second
		return away.Because(err)
	}
	return version.JSON(w, http.StatusOK, own)
}

// answer has a handler answer, and replies to its error.
func (g *gateway) answer(handle version.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := stateOf(r)
		s.request.Request = r
		s.request.Caller = s.event.Caller.Network()
		if err := handle(w, &s.request); err != nil {
			g.fail(w, r, err)
		}
	}
}

// refuse answers a request that no route handled. Where it is for a version, the response
// has the version's lifecycle headers, and is a 410 once the version is retired.
func (g *gateway) refuse(w http.ResponseWriter, r *http.Request, e *fault.Error) {
	if s := stateOf(r); s.module != nil {
		if gone := g.gone(w.Header(), r, s); gone != nil {
			e = gone
		}
	}
	g.fail(w, r, e)
}

// fail is the only place that replies to an error and logs its cause.
func (g *gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := fault.From(err)
	s := stateOf(r)
	s.event.Code = e.Code
	status, body := s.moduleOr(g.current).MapFault(e, s.event.RequestID)
	g.logFault(r, e, status)
	if s.response.status != 0 {
		return // a response was already started
	}
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second // rounded up, so that the retry passes
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = version.JSON(w, status, body) // an error body has only text fields, so encoding cannot fail
}

// logFault logs the cause: at error level if the fault is ours, at info level if it is the
// client's, the client has disconnected, or the answer is 501.
func (g *gateway) logFault(r *http.Request, e *fault.Error, status int) {
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
