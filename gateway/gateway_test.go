package gateway_test

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/web"
)

// modules are the real versions. Their pages and documents take long to make, so that all tests share them.
func modules() []web.Module { return slices.Clone(shared()) }

var shared = sync.OnceValue(func() []web.Module { return gateway.Modules(golden.Core()) })

// newGateway serves the real versions without a limit.
func newGateway(t testing.TB) *gateway.Gateway {
	t.Helper()
	return mount(t, setup{Config: gateway.Config{LegacyHosts: []string{"legacy.example"}}})
}

// setup is a gateway to be mounted. Left out: the real versions, no limit, no
// known clients, no plan, the real clock, no log.
type setup struct {
	gateway.Config
	modules   []web.Module
	current   string // empty: gateway.Current
	formers   []gateway.RetiredVersion
	budget    limit.Config
	clients   *caller.Clients
	now       func() time.Time
	logs      io.Writer
	level     slog.Level
	observers []event.Observer
	own       gateway.Counts // nil: nobody called
}

// mount puts a gateway together.
func mount(t testing.TB, s setup) *gateway.Gateway {
	t.Helper()
	if s.modules == nil {
		s.modules = modules()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logs == nil {
		s.logs = io.Discard
	}
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: s.level}))
	limiter, err := limit.New(t.Context(), s.budget, log, s.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	counts := &counter{}
	life, err := lifecycle.New(lifecycle.Options{File: s.LifecycleFile, Versions: gateway.Names(s.modules), Usage: counts, Now: s.now, Log: log,
		Known: func(name string) bool { _, known := s.clients.Find(name); return known }})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.New(s.Config, gateway.Parts{
		Modules: s.modules, Current: cmp.Or(s.current, gateway.Current), RetiredVersions: s.formers, Lifecycle: life, Limiter: limiter, Clients: s.clients, Names: counts,
		Own: cmp.Or[gateway.Counts](s.own, counts), Log: log,
		Observers: append(s.observers, counts, gateway.NewAccessLog(s.logs, "json", s.level, false)),
	})
}

// counter counts quotes in memory, for ever.
type counter struct {
	mu       sync.Mutex
	calls    map[string]map[string]int // by version and client
	released map[string]time.Time
}

func (c *counter) Observe(e *event.Event) {
	if e.Pair == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]map[string]int{}
	}
	if c.calls[e.Version] == nil {
		c.calls[e.Version] = map[string]int{}
	}
	c.calls[e.Version][e.Client]++
}

// Name hides the address that is part of an agent, as the recorder does.
func (c *counter) Name(who caller.Identity) string {
	if who.Kind == caller.Agent {
		return "client agent"
	}
	return who.String()
}

// Evidence says that the counts are always complete.
func (c *counter) Evidence(version string, _ lifecycle.Gate, _ time.Time) (e lifecycle.Evidence, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.calls[version] {
		e.Calls += n
	}
	e.Clients = len(c.calls[version])
	return e, nil
}

func (c *counter) Own(context.Context, string) ([]lifecycle.Own, error) { return nil, nil }

func (c *counter) Released(version string, _ time.Time, _ string) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.released[version], nil
}

func (c *counter) Release(version string, sunset time.Time, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released == nil {
		c.released = map[string]time.Time{}
	}
	c.released[version] = sunset
	return nil
}

func (c *counter) Follow(string, []string) {}

// events keeps what a gateway tells its observers.
type events struct {
	mu  sync.Mutex
	all []event.Event
}

func (e *events) Observe(event *event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, *event)
}

// last gives the latest event.
func (e *events) last() event.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[len(e.all)-1]
}
