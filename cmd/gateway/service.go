package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
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
	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/words"
)

type service struct {
	core      atomic.Pointer[core]
	admin     http.Handler
	clients   *caller.Clients
	lifecycle *lifecycle.Keeper
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
func newService(ctx context.Context, cfg *config, log logs) (_ *service, err error) {
	if err := railgun.SelfTest(); err != nil {
		return nil, fmt.Errorf("shield notes cannot be trusted on this machine: %w", err)
	}
	figures := metrics.New()
	s := &service{
		connections: connections{max: cfg.MaxConnections}, log: log.Logger, stopped: make(chan struct{}),
		hooks: figures.IntegratorHooks(), tracking: figures.StatusOptions(),
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	first, err := s.newCore(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	s.core.Store(first)
	s.onClose(func() { s.core.Load().close(nil) })
	versions := gateway.Names(first.modules)

	limiter, err := limit.New(ctx, cfg.Limit, s.log, time.Now)
	if err != nil {
		return nil, err
	}
	s.onClose(func() { _ = limiter.Close() })
	s.clients, err = caller.NewClients(cfg.Caller.ClientsFile, s.log)
	if err != nil {
		return nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	recorder, err := usage.New(ctx, cfg.Usage, usage.Options{
		Versions: versions, Current: versions[0], Log: s.log, Known: s.clients.Find,
	})
	if err != nil {
		return nil, err
	}
	s.onClose(closeWithin(15*time.Second, recorder.Close))
	s.lifecycle, err = lifecycle.New(lifecycle.Options{
		File: cfg.Gateway.LifecycleFile, Versions: versions, Usage: recorder, Log: s.log,
		Known: func(name string) bool { _, known := s.clients.Find(name); return known },
	})
	if err != nil {
		return nil, fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	proxies, _ := cfg.Caller.Proxies() // validated
	observers := []event.Observer{figures.Requests(first.modules), recorder, log.access}
	s.mount = func(modules []web.Module) http.Handler {
		return gateway.New(cfg.Gateway, gateway.Parts{
			Modules: modules, Lifecycle: s.lifecycle, Limiter: limiter, Proxies: proxies, Clients: s.clients, Names: recorder, Observers: observers, Log: s.log,
		})
	}
	moves := map[string][]string{} // the steps out of each version
	for _, m := range first.modules {
		moves[m.Name] = m.Moves
	}
	sources := metrics.Sources{
		IssuerFees: func() []cctp.State { return s.core.Load().fees.State() },
		Registries: func() []integrator.Health { return s.core.Load().registry.Health() },
		Limiter:    limiter.Stats,
		Lifecycle:  s.lifecycle.Snapshot, Usage: recorder.Totals, UsageNotes: recorder.Notes, UsagePlans: recorder.Plans, UsageSize: recorder.Size, ClientsBad: s.clients.Refused,
		LogDropped: log.queue.Dropped, Connections: s.Open, MaxConnections: cfg.MaxConnections,
		Checks: func() []selfcheck.Result { return s.core.Load().checks.Results() },
	}
	figures.Watch(sources)
	s.admin = admin.Handler(admin.Options{
		Token:    cfg.Admin.Token,
		Metrics:  figures.Handler(s.log),
		Versions: versions,
		Usage:    recorder,
		Plan:     s.lifecycle.Snapshot,
		Moves:    moves,
		Health:   s.health(cfg, sources, time.Now()),
		Ready:    s.ready,
		Level:    log.level,
		Log:      s.log,
	})
	s.use(ctx, first)
	return s, nil
}

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

func closeWithin(d time.Duration, close func(context.Context)) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		close(ctx)
	}
}

// core is the part of the service that depends on the deployment and the
// endpoints. It is replaced as a whole when these are read again.
type core struct {
	deployment *chain.Deployment
	endpoints  rpc.Config
	fees       *cctp.Fees
	chains     *rpc.Client
	registry   *integrator.Registry
	checks     *selfcheck.Watch
	stopChecks func() // waits for them
	modules    []web.Module
	public     http.Handler
}

// newCore reads the deployment and the endpoints and prepares to quote. What has not
// changed is taken from the core before. If nothing has, it is that core.
func (s *service) newCore(ctx context.Context, cfg *config, before *core) (_ *core, err error) {
	c := &core{}
	if c.deployment, err = cfg.deployment(); err != nil {
		return nil, fmt.Errorf("DEPLOYMENT_FILE: %w", err)
	}
	if c.endpoints, err = cfg.endpoints(); err != nil {
		return nil, err
	}
	if before != nil && len(c.changes(before)) == 0 {
		return before, nil
	}
	if before != nil && before.deployment.Settlement == c.deployment.Settlement {
		c.fees = before.fees
	} else {
		if c.fees, err = cctp.New(cfg.IssuerFees, c.deployment.Settlement, s.log, nil); err != nil {
			return nil, err
		}
		c.fees.Warm(ctx) // so that no quote of a healthy service uses the built-in table
	}
	if before != nil && before.endpoints.Equal(c.endpoints) {
		c.chains = before.chains
	} else if c.chains, err = rpc.New(c.endpoints, rpc.Options{Log: s.log}); err != nil {
		c.close(before)
		return nil, err
	}
	c.registry, err = integrator.New(cfg.Integrators, c.deployment, c.chains, integrator.Options{Hooks: s.hooks, Validity: cfg.Quote.TTL})
	if err != nil {
		c.close(before)
		return nil, err
	}
	c.checks = selfcheck.NewWatch(c.deployment, c.chains, s.log)
	c.modules = gateway.Modules(gateway.Core{
		Deployment: c.deployment,
		Engine: quote.NewEngine(quote.Parts{
			Deployment: c.deployment, IssuerFees: c.fees, Integrators: c.registry, Accounts: account.New(c.chains, nil), TTL: cfg.Quote.TTL,
		}),
		Tracker:    status.New(c.deployment, c.chains, c.fees, s.tracking),
		Registries: c.registry.Health,
		IssuerFees: c.fees.State,
		Problems:   c.checks.Problems,
		Draining:   s.draining.Load,
	})
	return c, nil
}

// changes says in what the deployment or the endpoints differ.
func (c *core) changes(before *core) []string {
	changes := c.deployment.Changes(before.deployment)
	if !c.endpoints.Equal(before.endpoints) {
		changes = append(changes, "the RPC endpoints")
	}
	return changes
}

// use makes this the core that answers, and has it test its deployment where
// there are endpoints.
func (s *service) use(ctx context.Context, c *core) {
	c.public = s.mount(c.modules)
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	if len(c.endpoints) > 0 {
		running.Go(func() { c.checks.Run(ctx) })
	}
	c.stopChecks = func() {
		stop()
		running.Wait()
	}
	s.core.Store(c)
	for _, warning := range c.deployment.Warnings {
		s.log.Warn("deployment: " + warning)
	}
}

// close ends the parts that the other core does not use.
func (c *core) close(other *core) {
	if c.stopChecks != nil {
		c.stopChecks()
	}
	if c.chains != nil && (other == nil || other.chains != c.chains) {
		c.chains.Close()
	}
	if c.fees != nil && (other == nil || other.fees != c.fees) {
		c.fees.Close()
	}
}

// reload reads the deployment and the endpoints again. If anything is wrong with
// them, all stays as it is.
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
	s.use(ctx, after)
	s.log.Info("deployment and endpoints are reloaded", "deployment", after.deployment.Name, "changed", after.changes(before))
	s.retiring.Go(func() {
		select { // until no request can be using it any more
		case <-time.After(drainTimeout):
		case <-s.stopped:
		}
		before.close(after)
	})
}

// health returns what the page about this process shows. It has the same sources as
// the metrics.
func (s *service) health(cfg *config, from metrics.Sources, started time.Time) func() []admin.Table {
	return func() []admin.Table {
		return []admin.Table{
			s.processTable(cfg, from, started), registryTable(from), feeTable(from), limiterTable(from.Limiter(), cfg.Limit),
			databaseTable(cfg, from), checkTable(from), settingTable(cfg),
		}
	}
}

func row(wrong bool, cells ...any) admin.Row { return admin.Row{Cells: cells, Wrong: wrong} }

func (s *service) processTable(cfg *config, from metrics.Sources, started time.Time) admin.Table {
	ready := "ready"
	if err := s.ready(); err != nil {
		ready = err.Error()
	}
	open, dropped, panics, deployment := from.Connections(), from.LogDropped(), guard.Total(), s.core.Load().deployment
	rows := []admin.Row{
		row(ready != "ready", "State", ready),
		row(false, "Version", metrics.Build()["version"]),
		row(false, "Built with", fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)),
		row(false, "Running", time.Since(started).Round(time.Second).String()+", since "+words.Stamp(started)),
		row(open*10 >= cfg.MaxConnections*9, "Connections", fmt.Sprintf("%d of %d", open, cfg.MaxConnections)),
		row(dropped > 0, "Log lines dropped", dropped),
		row(panics > 0, "Panics caught", panics),
		row(false, "Deployment", deployment.Name),
	}
	for _, warning := range deployment.Warnings {
		rows = append(rows, row(true, "Warning", warning))
	}
	return admin.Table{Title: "Process", Head: []string{"What", "Now"}, Rows: rows}
}

func registryTable(from metrics.Sources) admin.Table {
	t := admin.Table{Title: "Integrator registries", About: "By chain. A chain without an endpoint quotes, but not for integrators.", Head: []string{"Chain", "State", "Endpoints", "Resting"}}
	for _, h := range from.Registries() {
		wrong := h.State == rpc.Failing || h.State == rpc.OverQuota || h.Resting > 0
		t.Rows = append(t.Rows, row(wrong, h.Network, h.State, h.Endpoints, h.Resting))
	}
	return t
}

func feeTable(from metrics.Sources) admin.Table {
	t := admin.Table{Title: "Issuer's fees", About: "By source chain, in basis points.", Head: []string{"Chain", "Fee", "Origin", "Age", "Last look-up"}}
	for _, f := range from.IssuerFees() {
		age, last := f.Age.Round(time.Second).String(), "in order"
		if f.Origin == cctp.BuiltIn {
			age, last = "", "never"
		}
		if f.Err != nil {
			last = f.Err.Error()
		}
		t.Rows = append(t.Rows, row(f.Err != nil || f.Origin == cctp.LastGood, f.Source, f.Rate, f.Origin, age, last))
	}
	return t
}

func limiterTable(l limit.Stats, cfg limit.Config) admin.Table {
	backend := string(l.Backend)
	if l.Backend == limit.Fallback {
		backend = "memory, because Redis does not answer"
	}
	return admin.Table{Title: "Request budget", Head: []string{"What", "Now"}, Rows: []admin.Row{
		row(l.Backend == limit.Fallback, "Counted in", backend),
		row(false, "Requests a minute", cfg.PerMinute),
		row(false, "Allowed", l.Allowed),
		row(false, "Refused", l.Refused),
		row(l.Uncounted > 0, "Passed uncounted", l.Uncounted),
		row(l.Ceiling > 0 && l.Clients*10 >= l.Ceiling*9, "Clients in memory", fmt.Sprintf("%d of %d", l.Clients, l.Ceiling)),
	}}
}

func databaseTable(cfg *config, from metrics.Sources) admin.Table {
	kind := "SQLite in a file"
	switch {
	case cfg.Usage.DB == "":
		kind = "in memory: the counts end with the process"
	case strings.HasPrefix(cfg.Usage.DB, "postgres"):
		kind = "PostgreSQL, shared by all instances"
	}
	t := admin.Table{Title: "Database of the counts", Head: []string{"What", "Now"}, Rows: []admin.Row{row(false, "Kept", kind)}}
	for _, note := range from.UsageNotes() {
		t.Rows = append(t.Rows, row(true, "Note", note))
	}
	return t
}

// checkTable shows what failed, and how many tests there were.
func checkTable(from metrics.Sources) admin.Table {
	results := from.Checks()
	sum, _ := tally(results)
	t := admin.Table{Title: "Self-checks", About: "Of endpoints and contracts, in the last round: " + sum + ". The failed ones are:", Head: []string{"Test", "Found"}}
	for _, r := range results {
		if r.Outcome == selfcheck.Failed {
			t.Rows = append(t.Rows, row(true, r.Name, r.Detail))
		}
	}
	return t
}

func settingTable(cfg *config) admin.Table {
	t := admin.Table{Title: "Configuration", About: "Secrets are hidden.", Head: []string{"Variable", "Value", "From"}}
	var unset []string
	for _, s := range cfg.settings {
		if s.text == "" && s.from == "default" {
			unset = append(unset, s.name)
			continue
		}
		t.Rows = append(t.Rows, row(false, s.name, s.shown(), s.from))
	}
	t.About += " Not set, and without a default: " + strings.Join(unset, ", ") + "."
	return t
}
