package integrator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// secret is in every place of every endpoint's URL.
const secret = "S3CRET"

// front is an RPC endpoint: a chain behind HTTP that can be made to misbehave.
type front struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int              // by JSON-RPC method
	on    map[string]http.HandlerFunc // what to do instead of asking the chain, by JSON-RPC method
}

func newFront(t testing.TB, node http.Handler) *front {
	f := &front{calls: make(map[string]int), on: make(map[string]http.HandlerFunc)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var request struct{ Method string }
		if err := json.Unmarshal(body, &request); err != nil {
			t.Errorf("the request %s: %v", body, err)
		}
		f.mu.Lock()
		f.calls[request.Method]++
		instead := f.on[request.Method]
		f.mu.Unlock()
		if instead != nil {
			instead(w, r)
		} else {
			node.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *front) url() SecretURL {
	return SecretURL(strings.Replace(f.URL, "http://", "http://"+secret+":"+secret+"@", 1) + "/" + secret + "?key=" + secret)
}

// instead replaces what the chain answers to a method; nil puts it back.
func (f *front) instead(method string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on[method] = h
}

func (f *front) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// says answers every request with a body of the test's making.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

// results answers every request with a JSON-RPC result.
func results(result string) http.HandlerFunc {
	return says(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":%s}`, result))
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// rig is a Registry with a clock that the test moves, and with everything it
// tells the outside recorded. A secret in any of that fails the test.
type rig struct {
	*Registry
	t testing.TB

	mu      sync.Mutex
	time    time.Time
	hits    int
	misses  int
	asked   int // how often latency was reported
	failed  map[Reason]int
	logged  bytes.Buffer
	secrets []string
}

// patient has no deadline that a slow machine could meet.
var patient = limits{try: time.Minute, lookup: time.Minute, calls: defaultLimits.calls, waiting: defaultLimits.waiting}

func config(fronts ...*front) Config {
	cfg := Config{CacheSize: 64, CacheTTL: 30 * time.Second}
	for _, f := range fronts {
		cfg.RPC369 = append(cfg.RPC369, f.url())
	}
	return cfg
}

// newRig reads the registry of chain 369 through these endpoints.
func newRig(t testing.TB, fronts ...*front) *rig { return newRigWith(t, config(fronts...), patient) }

func newRigWith(t testing.TB, cfg Config, l limits) *rig {
	t.Helper()
	g := &rig{t: t, time: time.Unix(1_800_000_000, 0), failed: make(map[Reason]int), secrets: []string{secret}}
	for _, u := range cfg.RPC369 {
		_, host, _ := strings.Cut(string(u), "@")
		host, _, _ = strings.Cut(host, "/")
		g.secrets = append(g.secrets, host)
	}
	r, err := newRegistry(cfg, deployment, Options{
		Log: slog.New(slog.NewJSONHandler(lockedWriter{g}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: g.now,
		Hooks: Hooks{
			Hit:     func(chain.ID) { g.note(func() { g.hits++ }) },
			Miss:    func(chain.ID) { g.note(func() { g.misses++ }) },
			Failure: func(_ chain.ID, reason Reason) { g.note(func() { g.failed[reason]++ }) },
			Latency: func(chain.ID, time.Duration) { g.note(func() { g.asked++ }) },
		},
	}, l)
	if err != nil {
		t.Fatal(err)
	}
	g.Registry = r
	t.Cleanup(func() {
		r.Close()
		g.hush("the log", g.log())
		g.hush("the health report", fmt.Sprintf("%+v", r.Health()))
	})
	return g
}

func (g *rig) note(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

type lockedWriter struct{ g *rig }

func (w lockedWriter) Write(p []byte) (n int, err error) {
	w.g.note(func() { n, err = w.g.logged.Write(p) })
	return n, err
}

func (g *rig) log() (text string) {
	g.note(func() { text = g.logged.String() })
	return text
}

func (g *rig) now() (now time.Time) {
	g.note(func() { now = g.time })
	return now
}

func (g *rig) pass(d time.Duration) { g.note(func() { g.time = g.time.Add(d) }) }

func (g *rig) failures() (counts map[Reason]int) {
	g.note(func() { counts = maps.Clone(g.failed) })
	return counts
}

// hush fails the test when text gives an endpoint away.
func (g *rig) hush(where, text string) {
	g.t.Helper()
	for _, s := range g.secrets {
		if strings.Contains(text, s) {
			g.t.Errorf("%s tells %q: %s", where, s, text)
		}
	}
}

// lookup asks for a wallet on chain 369.
func (g *rig) lookup(n uint64) (Partner, error) {
	return g.lookupIn(context.Background(), n)
}

func (g *rig) lookupIn(ctx context.Context, n uint64) (Partner, error) {
	g.t.Helper()
	p, err := g.Lookup(ctx, 369, idOf(wallet(n)))
	for e := err; e != nil; e = errors.Unwrap(e) {
		g.hush("the error", e.Error())
	}
	// What the core does with it: with a shared fault, a data race.
	if err != nil && fault.From(fault.About(fault.Integrator, err)).Role != fault.Integrator {
		g.t.Errorf("%v is not a fault that can name its role", err)
	}
	return p, err
}

// wantFee looks a wallet up and wants it active with that fee.
func (g *rig) wantFee(n uint64, fee uint16) {
	g.t.Helper()
	got, err := g.lookup(n)
	if err != nil {
		g.t.Fatalf("integrator %d: %v", n, err)
	}
	want := Partner{ID: idOf(wallet(n)), Wallet: chain.NewAddress(wallet(n)), FeeBPS: fee}
	if got != want {
		g.t.Fatalf("integrator %d: got %+v, want %+v", n, got, want)
	}
}

// wantFault looks a wallet up and wants it refused.
func (g *rig) wantFault(n uint64, code fault.Code) *fault.Error {
	g.t.Helper()
	got, err := g.lookup(n)
	if err == nil {
		g.t.Fatalf("integrator %d: got %+v, want %s", n, got, code)
	}
	e := fault.From(err)
	if e.Code != code {
		g.t.Fatalf("integrator %d: got %v, want %s", n, err, code)
	}
	if (got != Partner{}) {
		g.t.Errorf("integrator %d: got %+v beside %v", n, got, err)
	}
	if code == fault.IntegratorUnverified && e.RetryAfter < time.Second {
		g.t.Errorf("integrator %d: retry after %v, want at least a second", n, e.RetryAfter)
	}
	return e
}

// wantUnverified wants a look-up to have failed for that reason.
func (g *rig) wantUnverified(n uint64, reason Reason) *fault.Error {
	g.t.Helper()
	before := g.failures()[reason]
	e := g.wantFault(n, fault.IntegratorUnverified)
	var f *failure
	if !errors.As(e, &f) || f.reason != reason {
		g.t.Fatalf("integrator %d: got %v, want the reason %s", n, e, reason)
	}
	if after := g.failures()[reason]; after != before+1 {
		g.t.Errorf("integrator %d: %d failures for %s reported, want 1", n, after-before, reason)
	}
	return e
}
