package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/version"
)

// core is the part of the service that depends on the deployment and the
// endpoints. It is replaced as a whole when these are read again.
type core struct {
	deployment *chain.Deployment
	endpoints  rpc.Config
	issuer     *cctp.Issuer
	chains     *rpc.Client
	registry   *integrator.Registry
	checks     *selfcheck.Watch
	stopChecks context.CancelFunc // nil if they do not run
	running    safego.Group       // the checks
	modules    []version.Module
	public     http.Handler
}

// newCore reads the deployment and the endpoints and prepares to quote. It reuses what has not
// changed since the previous core, and returns that core if nothing has.
func (s *service) newCore(ctx context.Context, cfg *config, before *core) (_ *core, err error) {
	d, err := cfg.deployment()
	endpoints, unread := cfg.endpoints()
	if err := errors.Join(err, unread); err != nil {
		return nil, err
	}
	c := &core{deployment: d, endpoints: endpoints}
	if before != nil && len(c.changes(before)) == 0 {
		return before, nil
	}
	if before != nil && before.deployment.Settlement == c.deployment.Settlement {
		c.issuer = before.issuer
	} else {
		c.issuer, err = cctp.New(cfg.IssuerFees, c.deployment.Settlement, s.log, nil)
		if err != nil {
			return nil, err
		}
		c.issuer.Warm(ctx) // so that no quote of a healthy service uses the built-in table
	}
	c.chains, err = rpc.New(c.endpoints, rpc.Options{Log: s.log, Clock: s.clock})
	if err != nil {
		c.close(before)
		return nil, err
	}
	c.registry, err = integrator.New(cfg.Integrators, c.deployment, c.chains, integrator.Options{
		Hooks:    s.hooks,
		Validity: cfg.Quote.TTL,
		Log:      s.log,
		Now:      time.Now,
	})
	if err != nil {
		c.close(before)
		return nil, err
	}
	c.checks = selfcheck.NewWatch(c.deployment, c.chains, s.log)
	if before != nil {
		c.checks.Inherit(before.checks)
	}
	c.modules = gateway.Modules(s.answers(cfg, c))
	return c, nil
}

// answers is the service of a core that the versions share.
func (s *service) answers(cfg *config, c *core) api.Service {
	tracker := status.New(c.deployment, c.chains, c.issuer, s.tracking)
	return api.Service{
		Deployment: c.deployment,
		Engine: quote.NewEngine(quote.Parts{
			Deployment:  c.deployment,
			IssuerFees:  c.issuer,
			Integrators: c.registry,
			Accounts:    account.New(c.chains, time.Now),
			Missing:     c.checks.Missing,
			TTL:         cfg.Quote.TTL,
		}),
		Tracker:    tracker,
		Registries: c.registry.Health,
		IssuerFees: c.issuer.State,
		Problems: func() []string {
			return slices.Concat(c.checks.Problems(), s.lifecycle.Problems(), tracker.Problems())
		},
		Draining: s.draining.Load,
	}
}

// changes lists the differences in the deployment and the endpoints.
func (c *core) changes(before *core) []string {
	changes := c.deployment.Changes(before.deployment)
	if !c.endpoints.Equal(before.endpoints) {
		changes = append(changes, "the RPC endpoints")
	}
	return changes
}

// use makes this the current core, and starts its self-checks if there are endpoints.
func (s *service) use(ctx context.Context, cfg *config, c *core) {
	parts := s.parts
	parts.Modules = c.modules
	c.public = gateway.New(cfg.Gateway, parts)
	if len(c.endpoints) > 0 {
		ctx, c.stopChecks = context.WithCancel(ctx)
		c.running.Go(s.log, "testing the deployment", func() { c.checks.Run(ctx) })
	}
	s.core.Store(c)
	s.logLimitations(ctx, cfg, c)
	for _, warning := range c.deployment.Warnings {
		if warning != unsignable(c.deployment) { // it is among the limitations
			s.log.Warn("deployment: " + warning)
		}
	}
	for _, warning := range c.endpoints.Warnings() {
		s.log.Warn("RPC endpoints: " + warning)
	}
}

// logLimitations says in one line what is served, and what is not.
func (s *service) logLimitations(ctx context.Context, cfg *config, c *core) {
	found := cfg.limitations(c.deployment, c.endpoints)
	if found == nil {
		return
	}
	level := slog.LevelInfo
	if c.deployment.Unsignable() != "" {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "deployment: "+strings.Join(found, "; "))
}

// close closes the parts that the other core, if any, does not use.
func (c *core) close(other *core) {
	if c.stopChecks != nil {
		c.stopChecks()
		c.running.Wait()
	}
	if c.chains != nil {
		c.chains.Close()
	}
	if other == nil || other.issuer != c.issuer {
		c.issuer.Close()
	}
}

// reload reads the deployment and the endpoints again. If either is invalid, nothing changes.
func (s *service) reload(ctx context.Context, cfg *config) {
	before := s.core.Load()
	after, err := s.newCore(ctx, cfg, before)
	if err != nil {
		s.log.Error("deployment and endpoints are not reloaded; the old ones stay", "error", err)
		return
	}
	if after == before {
		s.log.Info("deployment and endpoints are unchanged")
		return
	}
	s.use(ctx, cfg, after)
	s.log.Info("deployment and endpoints are reloaded",
		"deployment", after.deployment.Name, "pairs", servedPairs(after.deployment), "changed", after.changes(before))
	s.background.Go(s.log, "closing what a reload replaced", func() {
		select { // until no request can use it any more
		case <-time.After(drainTimeout):
		case <-s.stopped:
		}
		before.close(after)
	})
}

// reloadOnHangup reloads the known clients, the plan, the deployment and the endpoints on
// SIGHUP, until ctx ends. After that, the signal is ignored: it must not end a draining process.
func (s *service) reloadOnHangup(ctx context.Context, cfg *config) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	s.background.Go(s.log, "waiting for SIGHUP", func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
			}
			safego.Do(s.log, "reloading", func() {
				s.clients.Reload()
				s.lifecycle.Reload()
				s.reload(ctx, cfg)
			})
		}
	})
}
