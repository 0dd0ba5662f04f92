package gateway

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/cors"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// state is what is known about a request while it is answered. It is a value of the
// request's context.
type state struct {
	start    time.Time
	event    event.Event
	response recorder
	query    *wire.Query
	quoted   *quote.Request // what was quoted, as the version decoded it; nil without a quote

	unknownKey bool // the request has an API key that is not known
}

type stateKey struct{}

func stateOf(r *http.Request) *state { return r.Context().Value(stateKey{}).(*state) }

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
func (g *Gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.RawQuery
		if tooLong(r) {
			query = "" // it is refused later
		}
		s := &state{start: time.Now(), query: wire.ParseQuery(query)}
		s.event.RequestID = newRequestID()
		// A cached rehearsal would reach other clients.
		s.response = recorder{ResponseWriter: w, noStore: lifecycle.Rehearsing(r)}
		h := w.Header()
		h["X-Request-Id"] = []string{s.event.RequestID}
		h["Cache-Control"] = noStore
		h["Vary"] = varies
		ctx := wire.WithQuery(r.Context(), s.query)
		r = r.WithContext(context.WithValue(ctx, stateKey{}, s))
		next.ServeHTTP(&s.response, r)
		safego.Do(g.Log, "the report of a request", func() { g.report(s, r) })
	})
}

func tooLong(r *http.Request) bool { return len(r.RequestURI) > maxURL }

// report completes the Event of an answered request and hands it to the observers.
func (g *Gateway) report(s *state, r *http.Request) {
	e := &s.event
	e.Time = time.Now()
	e.Took = e.Time.Sub(s.start)
	e.TraceID = traceID(r.Header)
	e.Method = r.Method[:min(len(r.Method), maxMethod)]
	e.Status = s.response.status
	if s.quoted != nil && e.Version != Current {
		e.Finding = g.compare(s.quoted, r)
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
// version. If both decode it to the same Request, both give the same quote, as
// one core quotes for all versions.
func (g *Gateway) compare(old *quote.Request, r *http.Request) event.Finding {
	current, err := g.current.Decode(r)
	if err != nil {
		e := fault.From(err)
		return event.Finding{Outcome: event.Refused, Code: e.Code, Param: wire.Param(e)}
	}
	if same, differs := current.Same(old); !same {
		return event.Finding{Outcome: event.DifferentMoney, Param: wire.Name(differs)}
	}
	return event.Finding{Outcome: event.SameMoney}
}

// recordingQuoter is a Quoter that records the quote in the state of the request. A quote
// that may ask nodes has the network of its caller, and one that reads an account has a
// deadline. One for every quote would cost a tenth of it.
type recordingQuoter struct{ wire.Quoter }

func (q recordingQuoter) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	s := ctx.Value(stateKey{}).(*state)
	if req.From != nil || req.Integrator != (calldata.IntegratorID{}) {
		req.Caller = s.event.Caller.Network()
	}
	if req.From != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	quoted, err := q.Quoter.Quote(ctx, req)
	if err == nil {
		s.quoted = req
		s.event.Pair = quoted.Pair
	}
	return quoted, err
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
func (g *Gateway) recoverPanics(next http.Handler) http.Handler {
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

// allowOrigins lets web pages of any origin use GET and read our headers. It answers
// preflights.
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

// identify finds out who is calling: the address, the key, and what else names a client.
func (g *Gateway) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := stateOf(r)
		integrator, _ := s.query.Integrator() // an invalid one counts as none here; the version refuses it
		who := &s.event.Caller
		*who = caller.From(r, g.Proxies.Address(r), integrator)
		s.unknownKey = !g.Clients.Recognise(who, r.Header)
		next.ServeHTTP(w, r)
	})
}

// limitAll refuses a caller that asks too often, whatever it asks for.
func (g *Gateway) limitAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := stateOf(r)
		if refused := g.Limiter.AdmitRequest(payer(&s.event.Caller)); refused != nil {
			if m, owned := g.module(r); owned {
				g.attribute(s, r, m.Name, web.Route{})
			}
			g.fail(w, r, refused)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// boundURL refuses a URL that is too long before any route reads it.
func (g *Gateway) boundURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tooLong(r) {
			g.refuse(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
			return
		}
		next.ServeHTTP(w, r)
	})
}
