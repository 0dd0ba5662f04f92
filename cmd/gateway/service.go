package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/shared/rpc"
)

// service is the whole gateway.
type service struct {
	public     http.Handler
	admin      http.Handler
	lifecycle  *lifecycle.Keeper
	deployment string
	draining   atomic.Bool
	connections

	closers []func()
}

// newService builds the parts and connects them. close stops them.
func newService(ctx context.Context, cfg *config, log logs) (*service, error) {
	s := &service{connections: connections{max: cfg.MaxConnections}}
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
	deployment, err := cfg.deployment()
	if err != nil {
		return fmt.Errorf("DEPLOYMENT_FILE: %w", err)
	}
	s.deployment = deployment.Name
	for _, warning := range deployment.Warnings {
		log.Warn("deployment: " + warning)
	}
	promMetrics := metrics.New()

	fees, err := cctp.New(cfg.IssuerFees, deployment.Settlement, log.Logger, nil)
	if err != nil {
		return err
	}
	s.onClose(fees.Close)
	chains, err := rpc.New(cfg.RPC, rpc.Options{Log: log.Logger})
	if err != nil {
		return err
	}
	s.onClose(chains.Close)
	registry, err := integrator.New(cfg.Integrators, deployment, chains, integrator.Options{Hooks: promMetrics.IntegratorHooks()})
	if err != nil {
		return err
	}
	modules := gateway.Modules(gateway.Core{
		Deployment: deployment,
		Engine:     quote.NewEngine(quote.Parts{Deployment: deployment, IssuerFees: fees, Integrators: registry, Accounts: account.New(chains, nil), TTL: cfg.Quote.TTL}),
		Registries: registry.Health,
		IssuerFees: fees.State,
	})
	versions := gateway.Names(modules)

	limiter, err := limit.New(ctx, cfg.Limit, log.Logger, time.Now)
	if err != nil {
		return err
	}
	s.onClose(func() { _ = limiter.Close() })
	recorder, err := usage.New(ctx, cfg.Usage, usage.Options{Versions: versions, Current: versions[0], Log: log.Logger})
	if err != nil {
		return err
	}
	s.onClose(closeWithin(5*time.Second, recorder.Close))
	s.lifecycle, err = lifecycle.New(lifecycle.Options{File: cfg.Gateway.LifecycleFile, Versions: versions, Usage: recorder, Log: log.Logger})
	if err != nil {
		return fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	proxies, err := cfg.Caller.Proxies()
	if err != nil {
		return err
	}
	s.public = gateway.New(cfg.Gateway, gateway.Parts{
		Modules: modules, Lifecycle: s.lifecycle, Limiter: limiter, Proxies: proxies, Names: recorder,
		Observers: []gateway.Observer{promMetrics.Requests(modules), recorder, log.access}, Log: log.Logger,
	})
	promMetrics.Watch(metrics.Sources{
		IssuerFees: fees.State, Registries: registry.Health, Limiter: limiter.Stats,
		Lifecycle: s.lifecycle.Snapshot, Usage: recorder.Totals, UsageNotes: recorder.Notes,
		LogDropped: log.queue.Dropped, Connections: s.Open, MaxConnections: cfg.MaxConnections,
	})
	s.admin = admin.Handler(admin.Options{
		Token:     cfg.Admin.Token,
		Metrics:   promMetrics.Handler(log.Logger),
		Usage:     func(ctx context.Context) (any, error) { return recorder.Report(ctx) },
		Lifecycle: func() any { return s.lifecycle.Snapshot() },
		Ready:     s.ready,
		Level:     log.level,
		Log:       log.Logger,
	})
	fees.Warm(ctx) // so that no quote of a healthy service uses the built-in table
	return nil
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
