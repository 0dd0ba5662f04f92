package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/access"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/testdata/golden"
)

func modules() []web.Module { return gateway.Modules(golden.Core()) }

// newGateway serves the real versions without a limit.
func newGateway(t testing.TB) *gateway.Gateway {
	t.Helper()
	return mount(t, setup{Config: gateway.Config{LegacyHosts: []string{"legacy.example"}}})
}

// setup is a gateway to be mounted. Left out: the real versions, no limit, no
// plan, the real clock, no log.
type setup struct {
	gateway.Config
	modules []web.Module
	budget  limit.Config
	now     func() time.Time
	logs    io.Writer
	level   slog.Level
	survey  *survey.Survey
	metrics gateway.Metrics
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
	if s.survey == nil {
		s.survey = newSurvey(t)
	}
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: s.level}))
	limiter, err := limit.New(t.Context(), s.budget, log, s.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	counts := &counter{}
	if s.metrics == nil {
		s.metrics = metrics.New().Requests(nil)
	}
	life, err := lifecycle.New(lifecycle.Options{
		File: s.LifecycleFile, Versions: gateway.Names(s.modules), Usage: counts, Now: s.now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.New(s.Config, gateway.Parts{Modules: s.modules, Life: life, Survey: s.survey, Usage: counts, Metrics: s.metrics, Limiter: limiter, Access: access.New(s.logs, "json", s.level), Log: log})
}

func newSurvey(t testing.TB) *survey.Survey {
	s := survey.New(survey.Options{})
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// counter counts in memory, for ever.
type counter struct {
	mu    sync.Mutex
	calls map[string]map[caller.Identity]int
}

func (u *counter) Record(version string, who caller.Identity, _ time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = map[string]map[caller.Identity]int{}
	}
	if u.calls[version] == nil {
		u.calls[version] = map[caller.Identity]int{}
	}
	u.calls[version][who]++
}

// Name hides the address that is part of an agent, as the census does.
func (u *counter) Name(who caller.Identity) string {
	if who.Kind == caller.Agent {
		return "client agent"
	}
	return who.String()
}

func (u *counter) Since() time.Time { return time.Time{} }

func (u *counter) LastDay(version string) (clients, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.calls[version] {
		calls += n
	}
	return len(u.calls[version]), calls
}
