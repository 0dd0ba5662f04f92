package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/access"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
)

// Integrators of the tests: one in good standing, one switched off, one whose
// registry cannot be reached. All others are unknown.
var (
	partner  = common.HexToAddress("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
	inactive = common.HexToAddress("0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB")
	unknown  = common.HexToAddress("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb")
)

// registry is a registry that answers from memory; the real one is tested on
// a real chain in its own package.
type registry struct{}

func (registry) Lookup(_ context.Context, network chain.ID, id integrator.ID) (integrator.Partner, error) {
	switch wallet := common.BytesToAddress(id[:]); wallet {
	case partner:
		return integrator.Partner{ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: 25}, nil
	case inactive:
		return integrator.Partner{}, fault.New(fault.IntegratorInactive, "The integrator is registered on chain %s but not active", network)
	case unknown:
		return integrator.Partner{}, fault.New(fault.IntegratorUnregistered, "The integrator is not registered on chain %s", network)
	}
	e := fault.New(fault.IntegratorUnverified, "The integrator cannot be verified on chain %s now", network)
	e.RetryAfter = 5e9
	return integrator.Partner{}, e
}

func modules() []web.Module {
	deployment := chain.Reference()
	fees, err := cctp.New(cctp.Config{}, deployment.Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		panic(err)
	}
	return gateway.Modules(gateway.Core{
		Deployment: deployment,
		Engine:     quote.NewEngine(deployment, fees, registry{}),
		Registries: func() []integrator.Health {
			return []integrator.Health{{Network: 1, State: integrator.NoEndpoint}, {Network: 369, State: integrator.Working}}
		},
		IssuerFees: fees.State,
	})
}

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
		File: s.LifecycleFile, Versions: gateway.Names(s.modules), Caller: gateway.Caller, Usage: counts, Now: s.now, Log: log,
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

func (u *counter) LastDay(version string) (clients, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.calls[version] {
		calls += n
	}
	return len(u.calls[version]), calls
}
