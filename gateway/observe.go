package gateway

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// trace holds the state of one request, including its Event. It is the request's
// context, its response writer and its routing context in one, so that the request
// is copied only once.
type trace struct {
	deadline
	http.ResponseWriter
	routing chi.Context

	id     [1]string // a header value
	start  time.Time
	query  wire.Query
	quoted *quote.Request // what was quoted, as the version decoded it; nil without a quote
	event  event.Event

	unknownKey bool        // the request has an API key that is not known
	poll       *limit.Poll // of a polled route; nil if it is not counted
}

func traceOf(r *http.Request) *trace { return r.Context().(*trace) }

// identify sets which version a request is for and who sent it.
func (g *Gateway) identify(t *trace, r *http.Request, m *web.Module, route web.Route) {
	t.query.Parse(r.URL.RawQuery)
	integrator, _ := t.query.Integrator() // an invalid one counts as none here; the version refuses it
	t.event.Version, t.event.Route, t.event.Quotes, t.event.Free = m.Name, route.Path, route.Quotes, route.Free
	t.event.Rehearsal = lifecycle.Rehearsing(r)
	t.event.Caller = caller.From(r, g.Proxies.Address(r), integrator)
	t.unknownKey = !g.Clients.Recognise(&t.event.Caller, r.Header)
	t.event.Client = g.Names.Name(t.event.Caller.Identity())
}

func (t *trace) WriteHeader(status int) {
	if t.event.Status == 0 {
		t.event.Status = status
	}
	if t.event.Rehearsal {
		t.Header()["Cache-Control"] = noStore // whatever the route says: a cache would give it to everyone
	}
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *trace) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Query is for wire.QueryOf, so that the versions do not parse it again.
func (t *trace) Query() *wire.Query { return &t.query }

// NextCheck is for web.NextCheck.
func (t *trace) NextCheck(exists, ours bool, next time.Duration) time.Duration {
	return t.poll.Next(exists, ours, next)
}

// promiseRetry lets the client of a polled route ask again when the error tells it to.
func (t *trace) promiseRetry(err error) error {
	e := fault.From(err)
	if t.poll == nil || e.RetryAfter <= 0 {
		return err
	}
	told := *e
	told.RetryAfter = t.poll.Retry(e.RetryAfter)
	return &told
}

// Value gives chi its routing context, so that chi does not copy the request, and rpc
// the caller's network, which most requests do not need.
func (t *trace) Value(key any) any {
	if key == chi.RouteCtxKey {
		return &t.routing
	}
	if _, asked := key.(rpc.CallerNetwork); asked {
		return t.event.Caller.Network()
	}
	return t.deadline.Value(key)
}

// observe gives a request its ID and its deadline, lets web pages of any origin read
// the answer, and reports its Event.
func (g *Gateway) observe(next http.Handler) http.Handler {
	forPages := allowOrigins()(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &trace{ResponseWriter: w, id: [1]string{newRequestID()}, start: time.Now()}
		t.deadline.parent = r.Context()
		t.deadline.at = t.start.Add(requestTimeout)
		defer t.deadline.release()
		h := w.Header()
		h["X-Request-Id"] = t.id[:]
		h["Cache-Control"] = noStore
		h["Vary"] = varies
		handler := next
		if len(r.Header["Origin"]) > 0 || r.Method == http.MethodOptions {
			h["Vary"] = varies[:1:1] // it adds Origin itself
			handler = forPages
		}
		r = r.WithContext(t)
		handler.ServeHTTP(t, r)
		guard.Do(g.Log, "the report of a request", func() { g.report(t, r) })
	})
}

// report completes the Event of an answered request and hands it to the
// observers.
func (g *Gateway) report(t *trace, r *http.Request) {
	e := &t.event
	e.Took = time.Since(t.start)
	e.Time, e.RequestID, e.TraceID, e.Method = t.start.Add(e.Took), t.id[0], traceID(r.Header), boundedMethod(r.Method)
	if t.quoted != nil && e.Version != g.Current {
		e.Finding = g.compare(t.quoted, r)
	}
	for _, o := range g.Observers {
		o.Observe(e)
	}
	if g.Log.Enabled(t, slog.LevelDebug) { // shows amounts and recipients, so only at debug
		g.Log.LogAttrs(t, slog.LevelDebug, "query",
			slog.String("requestId", e.RequestID), slog.String("query", r.URL.RawQuery))
	}
}

// boundedMethod keeps a client from writing a long text into the log.
func boundedMethod(method string) string {
	const longest = 16
	if len(method) > longest {
		return method[:longest] + "…"
	}
	return method
}

// Headers of every response.
var (
	noStore = []string{"no-store"}               // a quote is for one caller, at one time
	varies  = []string{"API-Revision", "Origin"} // caches already distinguish by Host
)

// newRequestID makes a random ID. It reveals nothing about other requests.
func newRequestID() string {
	var random [16]byte
	binary.BigEndian.PutUint64(random[:8], rand.Uint64())
	binary.BigEndian.PutUint64(random[8:], rand.Uint64())
	var text [2 * len(random)]byte
	hex.Encode(text[:], random[:])
	return string(text[:])
}

// traceID is the ID of the trace that a request belongs to, if its client sent
// one as W3C Trace Context writes it: 00-<32 digits>-<16 digits>-<2 digits>.
func traceID(h http.Header) string {
	values := h[traceparent]
	if len(values) != 1 || len(values[0]) < 55 || values[0][2] != '-' || values[0][35] != '-' {
		return ""
	}
	id := values[0][3:35]
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return id
}

const traceparent = "Traceparent" // as net/http stores it

// protect turns a panic into an answer and a logged stack, and refuses a URL that is
// too long before any route reads it.
func (g *Gateway) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p == http.ErrAbortHandler {
				panic(p)
			} else if p != nil {
				g.fail(w, r, guard.Caught(p))
			}
		}()
		if len(r.RequestURI) > maxURL {
			g.refuse(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
			return
		}
		next.ServeHTTP(w, r)
	})
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

// recordingQuoter is a Quoter that records the quote in the request's trace.
type recordingQuoter struct{ wire.Quoter }

func (r recordingQuoter) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	q, err := r.Quoter.Quote(ctx, req)
	if t, ok := ctx.(*trace); ok && err == nil {
		t.quoted, t.event.Pair = req, q.Pair
	}
	return q, err
}

// deadline is context.WithDeadline, made when it is first asked anything. A quote that
// waits for nothing never asks, and is spared a timer, six allocations and about a
// microsecond of twenty.
//
// It has no answers of its own: whatever it is asked, the context of the standard
// library answers, before and after the end. So Err is set exactly when Done is closed,
// and contexts made of it hang on that context as on any other.
type deadline struct {
	parent context.Context
	at     time.Time

	mu       sync.Mutex
	made     context.Context // nil until it is asked
	cancel   context.CancelFunc
	released bool
}

func (d *deadline) Deadline() (time.Time, bool) { return d.context().Deadline() }
func (d *deadline) Done() <-chan struct{}       { return d.context().Done() }
func (d *deadline) Err() error                  { return d.context().Err() }
func (d *deadline) Value(key any) any           { return d.context().Value(key) }

func (d *deadline) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil {
		d.made, d.cancel = context.WithDeadline(d.parent, d.at)
		if d.released {
			d.cancel()
		}
	}
	return d.made
}

// release ends the context, once the request is answered.
func (d *deadline) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.released = true
	if d.made != nil {
		d.cancel()
	}
}
