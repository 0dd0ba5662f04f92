package integrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// newFront is an RPC endpoint of a chain that can be made to misbehave.
func newFront(t testing.TB, chain http.Handler) *node.Front { return node.NewFront(t, chain) }

// rig is a Registry with a clock that the test moves, and with everything it
// tells the outside recorded. A secret in any of that fails the test.
type rig struct {
	*Registry
	chains *rpc.Client
	t      testing.TB

	mu      sync.Mutex
	time    time.Time
	hits    int
	misses  int
	asked   int // how often latency was reported
	failed  map[rpc.Reason]int
	differs int // how often endpoints told different things
	logged  journal.Journal
	secrets []string
}

// patient has no deadline that a slow machine could meet.
var patient = rpc.Limits{Try: time.Minute, Total: time.Minute, Calls: 16, Waiting: 128}

const validity = time.Minute

var config = Config{CacheSize: 64, CacheTTL: 30 * time.Second}

// endpoints are these of chain 369.
func endpoints(fronts ...*node.Front) rpc.Config {
	cfg := make(rpc.Config)
	for _, f := range fronts {
		cfg[369] = append(cfg[369], rpc.SecretURL(f.SecretURL()))
	}
	return cfg
}

// newRig reads the registry of chain 369 through these endpoints.
func newRig(t testing.TB, fronts ...*node.Front) *rig {
	return newRigWith(t, config, endpoints(fronts...), patient)
}

func newRigWith(t testing.TB, cfg Config, chains rpc.Config, l rpc.Limits) *rig {
	t.Helper()
	g := &rig{t: t, time: time.Unix(1_800_000_000, 0), failed: make(map[rpc.Reason]int), secrets: []string{node.Secret}}
	for _, u := range chains[369] {
		_, host, _ := strings.Cut(string(u), "@")
		host, _, _ = strings.Cut(host, "/")
		g.secrets = append(g.secrets, host)
	}
	var err error
	log := slog.New(slog.NewJSONHandler(&g.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g.chains, err = rpc.New(chains, rpc.Options{
		Log:    log,
		Now:    g.now,
		Limits: map[rpc.Lane]rpc.Limits{rpc.Partners: l, rpc.Unverified: l},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Registry, err = New(cfg, deployment, g.chains, Options{
		Now: g.now, Validity: validity, Log: log,
		Hooks: Hooks{
			Hit:     func(chain.ID) { g.note(func() { g.hits++ }) },
			Miss:    func(chain.ID) { g.note(func() { g.misses++ }) },
			Failure: func(_ chain.ID, reason rpc.Reason) { g.note(func() { g.failed[reason]++ }) },
			Latency: func(chain.ID, time.Duration) { g.note(func() { g.asked++ }) },
			Differ:  func(chain.ID) { g.note(func() { g.differs++ }) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.chains.Close()
		g.hush("the log", g.log())
		g.hush("the health report", fmt.Sprintf("%+v", g.Health()))
	})
	return g
}

func (g *rig) note(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *rig) log() string { return g.logged.String() }

func (g *rig) now() (now time.Time) {
	g.note(func() { now = g.time })
	return now
}

func (g *rig) pass(d time.Duration) { g.note(func() { g.time = g.time.Add(d) }) }

func (g *rig) failures() (counts map[rpc.Reason]int) {
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
	if now := g.now(); got.CheckedAt.After(now) || !got.CheckedAt.Add(g.ttl).After(now) || got.GoodUntil.Sub(got.CheckedAt) != g.ttl+validity/2 {
		g.t.Fatalf("integrator %d: checked at %v and good until %v; it is %v", n, got.CheckedAt, got.GoodUntil, now)
	}
	want := Partner{ID: idOf(wallet(n)), Wallet: chain.NewAddress(wallet(n)), FeeBPS: fee, CheckedAt: got.CheckedAt, GoodUntil: got.GoodUntil}
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
func (g *rig) wantUnverified(n uint64, reason rpc.Reason) *fault.Error {
	g.t.Helper()
	before := g.failures()[reason]
	e := g.wantFault(n, fault.IntegratorUnverified)
	var f *rpc.Failure
	if !errors.As(e, &f) || f.Reason != reason {
		g.t.Fatalf("integrator %d: got %v, want the reason %s", n, e, reason)
	}
	if after := g.failures()[reason]; after != before+1 {
		g.t.Errorf("integrator %d: %d failures for %s reported, want 1", n, after-before, reason)
	}
	return e
}
