package gateway

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/cors"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/version"
)

const (
	// maxURL bounds path and query together. The longest valid quote request
	// has less than 600 bytes.
	maxURL = 4 << 10
	// maxMethod is how much of a method is logged.
	maxMethod = 16
)

// state is what is known about a request while it is answered: the one value that the
// gateway adds to the request's context.
type state struct {
	start    time.Time
	event    event.Event
	response recorder
	id       [1]string       // the value of X-Request-ID
	request  version.Request // as handlers see it
	module   *version.Module // that the request is for; nil for none

	unknownKey    bool         // the request has an API key that is not known
	wrongRevision *fault.Error // what is wrong with its API-Revision
}

type stateKey struct{}

func stateOf(r *http.Request) *state { return r.Context().Value(stateKey{}).(*state) }

// moduleOr is the version that the request is for, or another one if it is for none.
func (s *state) moduleOr(other *version.Module) *version.Module {
	return cmp.Or(s.module, other)
}

// recorder is a response writer that notes the status.
type recorder struct {
	http.ResponseWriter
	status  int  // 0 until the header is written
	noStore bool // overrides the route's Cache-Control
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	if w.noStore {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(body []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(body)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Headers of every response.
var (
	noStore = []string{"no-store"}     // a quote is for one caller, at one time
	varies  = []string{"API-Revision"} // CORS adds Origin; caches already distinguish by Host
)

// observe gives a request its ID and, once it is answered, reports its Event.
func (g *gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &state{start: time.Now()}
		if !tooLong(r) { // it is refused later
			s.request.Query, s.request.QueryErr = version.ParseQuery(r.URL.RawQuery)
		}
		s.event.RequestID = newRequestID()
		// A cached rehearsal would reach other clients.
		s.response = recorder{ResponseWriter: w, noStore: lifecycle.Rehearsing(r)}
		h := w.Header()
		s.id[0] = s.event.RequestID
		h["X-Request-Id"] = s.id[:]
		h["Cache-Control"] = noStore
		h["Vary"] = varies
		r = r.WithContext(context.WithValue(r.Context(), stateKey{}, s))
		s.request.Request = r
		next.ServeHTTP(&s.response, r)
		safego.Do(g.Log, "the report of a request", func() { g.report(s, r) })
	})
}

func tooLong(r *http.Request) bool { return len(r.RequestURI) > maxURL }

// report completes the Event of an answered request and hands it to the observers.
func (g *gateway) report(s *state, r *http.Request) {
	e := &s.event
	e.Time = time.Now()
	e.Took = e.Time.Sub(s.start)
	e.TraceID = traceID(r.Header)
	e.Method = r.Method[:min(len(r.Method), maxMethod)]
	e.Status = s.response.status
	e.Pair = s.request.Quoted.Pair
	if e.Pair != nil && e.Version != Current {
		e.Finding = g.compare(&s.request)
	}
	for _, o := range g.Observers {
		o.Observe(e)
	}
	if g.Log.Enabled(r.Context(), slog.LevelDebug) { // shows amounts and recipients, so only at debug
		g.Log.LogAttrs(r.Context(), slog.LevelDebug, "query",
			slog.String("requestId", e.RequestID), slog.String("query", r.URL.RawQuery))
	}
}

// compare decodes the query of a quote by an old version with the current
// version. If both decode it to the same swap, both give the same quote, as
// one core quotes for all versions.
func (g *gateway) compare(r *version.Request) event.Finding {
	swap, err := g.current.Decode(r)
	if err != nil {
		e := fault.From(err)
		return event.Finding{Outcome: event.Refused, Code: e.Code, Param: api.Param(e)}
	}
	if param := swap.Differs(r.Quoted.Swap); param != "" {
		return event.Finding{Outcome: event.DifferentMoney, Param: param}
	}
	return event.Finding{Outcome: event.SameMoney}
}

// newRequestID makes a random ID. It reveals nothing about other requests.
func newRequestID() string {
	var random [16]byte
	binary.BigEndian.PutUint64(random[:8], rand.Uint64())
	binary.BigEndian.PutUint64(random[8:], rand.Uint64())
	return hex.EncodeToString(random[:])
}

// traceID is the ID of the trace that a request belongs to, if its client sent
// one as W3C Trace Context writes it: 00-<32 digits>-<16 digits>-<2 digits>.
func traceID(h http.Header) string {
	values := h.Values("Traceparent")
	if len(values) != 1 || len(values[0]) < 55 || values[0][2] != '-' || values[0][35] != '-' {
		return ""
	}
	id := values[0][3:35]
	if strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// recoverPanics turns a panic into an answer and a logged stack.
func (g *gateway) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p == http.ErrAbortHandler {
				panic(p)
			} else if p != nil {
				g.fail(w, r, safego.PanicError(p))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// allowOrigins lets web pages of any origin use GET and read our headers. A preflight goes
// on, with its headers.
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
		MaxAge:             int(time.Hour.Seconds()),
		OptionsPassthrough: true,
	})
}

// identify finds out who is calling: the address, the key, and what else names a client.
func (g *gateway) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := stateOf(r)
		// An invalid integrator counts as none. The version refuses it.
		integrator, _ := api.QueryOf(&s.request, nil).Integrator()
		who := &s.event.Caller
		*who = caller.From(r, g.Proxies.Address(r), integrator)
		s.unknownKey = !g.Clients.Recognise(who, r.Header)
		next.ServeHTTP(w, r)
	})
}

// countPreflights answers preflights. Each counts as a request, but is never refused: a page
// can read the 429 of the request after it, not that of a preflight.
func (g *gateway) countPreflights(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		if !asks || r.Header["Origin"] == nil {
			next.ServeHTTP(w, r)
			return
		}
		s := stateOf(r)
		s.event.Preflight = true
		_ = g.Limiter.AdmitRequest(payer(&s.event.Caller))
		w.WriteHeader(http.StatusNoContent)
	})
}

// chooseRevision selects the version at the path where several quote: chi then routes the
// request as if it were for that version's own path.
func (g *gateway) chooseRevision(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routing := chi.RouteContext(r.Context())
		if r.URL.Path == g.revisions.path && r.URL.RawPath == "" {
			routing.RoutePath, stateOf(r).wrongRevision = g.revisions.choose(r)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			routing.RouteMethod = http.MethodPost // chi would answer a method that it does not know
		}
		next.ServeHTTP(w, r)
	})
}

// revisions select the version at a path where several quote.
type revisions struct {
	path   string            // empty without such a path
	serves map[string]string // the path of the route that answers, by the name in API-Revision
	hosts  map[string]bool   // the Host names that stand for the earlier revision
}

// legacy is the revision that the hosts in LEGACY_HOSTS stand for.
const legacy = "legacy"

// newRevisions reads the revisions of all versions, and of those that were deleted.
func newRevisions(modules []version.Module, retired []RetiredVersion, legacyHosts []string) revisions {
	r := revisions{serves: map[string]string{}, hosts: map[string]bool{}}
	for _, m := range modules {
		for _, name := range m.Revision.Names {
			r.path = m.Revision.Path
			r.serves[name] = m.Revision.Serves
		}
	}
	for _, old := range retired {
		if old.Revision != "" {
			r.path = old.Successor
			r.serves[old.Revision] = old.Prefixes[0]
		}
	}
	for _, host := range legacyHosts {
		r.hosts[strings.ToLower(host)] = true
	}
	return r
}

// choose returns the path of the route that answers a request to the shared path: of the
// revision in the header API-Revision, else of the one that the host stands for. A slip in
// the header would change the format of the answer, so it is an error.
func (v *revisions) choose(r *http.Request) (path string, wrong *fault.Error) {
	path = v.path
	if old, served := v.serves[legacy]; served && len(v.hosts) > 0 && v.hosts[hostName(r.Host)] {
		path = old
	}
	given := r.Header["Api-Revision"]
	switch {
	case len(given) > 1:
		return path, fault.New(fault.InvalidParameter,
			"The header API-Revision is given %d times; send it once", len(given)).On("API-Revision")
	case len(given) == 0 || given[0] == "":
		return path, nil
	}
	named, known := v.serves[strings.ToLower(given[0])]
	if !known {
		return path, fault.New(fault.InvalidParameter,
			"Unknown API-Revision. Use a revision that the contract file lists, or omit the header").On("API-Revision")
	}
	return named, nil
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
