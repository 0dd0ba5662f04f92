package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
)

// service is the whole gateway.
type service struct {
	core      atomic.Pointer[core]
	admin     http.Handler
	clients   *caller.Clients
	lifecycle *lifecycle.Keeper
	metrics   *metrics.Metrics
	hooks     integrator.Hooks // that count look-ups in metrics
	tracking  status.Options   // that counts answers in metrics
	log       *slog.Logger
	mount     func([]web.Module) http.Handler
	draining  atomic.Bool
	connections

	closers  []func()
	stopped  chan struct{} // closed by close
	retiring sync.WaitGroup
}

// newService builds the parts and connects them. close stops them.
func newService(ctx context.Context, cfg *config, log logs) (*service, error) {
	s := &service{
		connections: connections{max: cfg.MaxConnections},
		metrics:     metrics.New(), log: log.Logger, stopped: make(chan struct{}),
	}
	s.hooks, s.tracking = s.metrics.IntegratorHooks(), s.metrics.StatusOptions()
	if err := s.build(ctx, cfg, log); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *service) build(ctx context.Context, cfg *config, log logs) error {
	if err := railgun.SelfTest(); err != nil {
		return fmt.Errorf("shield notes cannot be trusted on this machine: %w", err)
	}
	first, err := s.newCore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	s.onClose(func() { s.current(first).close(nil) })
	versions := gateway.Names(first.modules)

	limiter, err := limit.New(ctx, cfg.Limit, s.log, time.Now)
	if err != nil {
		return err
	}
	s.onClose(func() { _ = limiter.Close() })
	s.clients, err = caller.NewClients(cfg.Caller.ClientsFile, s.log)
	if err != nil {
		return fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	recorder, err := usage.New(ctx, cfg.Usage, usage.Options{
		Versions: versions, Current: versions[0], Log: s.log, Contacts: contacts(s.clients),
	})
	if err != nil {
		return err
	}
	s.onClose(closeWithin(5*time.Second, recorder.Close))
	s.lifecycle, err = lifecycle.New(lifecycle.Options{
		File: cfg.Gateway.LifecycleFile, Versions: versions, Usage: recorder, Log: s.log,
		Known: func(name string) bool { _, known := s.clients.Find(name); return known },
	})
	if err != nil {
		return fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	proxies, err := cfg.Caller.Proxies()
	if err != nil {
		return err
	}
	observers := []event.Observer{s.metrics.Requests(first.modules), recorder, log.access}
	s.mount = func(modules []web.Module) http.Handler {
		return gateway.New(cfg.Gateway, gateway.Parts{
			Modules: modules, Lifecycle: s.lifecycle, Limiter: limiter, Proxies: proxies, Clients: s.clients, Names: recorder, Observers: observers, Log: s.log,
		})
	}
	sources := metrics.Sources{
		IssuerFees: func() []cctp.State { return s.core.Load().fees.State() },
		Registries: func() []integrator.Health { return s.core.Load().registry.Health() },
		Limiter:    limiter.Stats,
		Lifecycle:  s.lifecycle.Snapshot, Usage: recorder.Totals, UsageNotes: recorder.Notes, UsagePlans: recorder.Plans, UsageSize: recorder.Size, ClientsBad: s.clients.Refused,
		LogDropped: log.queue.Dropped, Connections: s.Open, MaxConnections: cfg.MaxConnections,
		Checks: func() []selfcheck.Result { return s.core.Load().checks.Results() },
	}
	s.metrics.Watch(sources)
	s.admin = admin.Handler(admin.Options{
		Token:    cfg.Admin.Token,
		Metrics:  s.metrics.Handler(s.log),
		Versions: versions,
		Usage:    recorder,
		Plan:     s.lifecycle.Snapshot,
		Moves:    moves(first.modules),
		Health:   s.health(cfg, sources, time.Now()),
		Ready:    s.ready,
		Level:    log.level,
		Log:      s.log,
	})
	s.use(ctx, first)
	return nil
}

// current is the core that answers or, before there is one, the first.
func (s *service) current(first *core) *core { return cmp.Or(s.core.Load(), first) }

// ServeHTTP answers with the core that is current.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.core.Load().public.ServeHTTP(w, r)
}

// ready is false from the moment the service drains.
func (s *service) ready() error {
	if s.draining.Load() {
		return errors.New("draining")
	}
	return nil
}

func (s *service) onClose(f func()) { s.closers = append(s.closers, f) }

// close stops the parts in reverse order.
func (s *service) close() {
	close(s.stopped)
	s.retiring.Wait()
	for _, f := range slices.Backward(s.closers) {
		f()
	}
}

// closeWithin gives close a limited time.
func closeWithin(d time.Duration, close func(context.Context)) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		close(ctx)
	}
}

// moves are the steps out of each version.
func moves(modules []web.Module) map[string][]string {
	steps := map[string][]string{}
	for _, m := range modules {
		steps[m.Name] = m.Moves
	}
	return steps
}

// contacts tells reports what the operator wrote down about a known client.
func contacts(clients *caller.Clients) func(string) (usage.Contact, bool) {
	return func(name string) (usage.Contact, bool) {
		c, known := clients.Find(name)
		return usage.Contact{Contact: c.Contact, Notes: c.Notes}, known
	}
}
