package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/status"
)

type service struct {
	core      atomic.Pointer[core]
	admin     http.Handler
	clients   *caller.Clients
	lifecycle *lifecycle.Keeper
	limiter   *limit.Limiter
	counts    *evidence.DB
	recorder  *usage.Recorder
	clock     *skew.Clock      // outlives a reload
	hooks     integrator.Hooks // count lookups in metrics
	tracking  status.Options   // count answers in metrics
	log       *slog.Logger
	parts     gateway.Parts // of the public handler, without the modules
	draining  atomic.Bool
	late      atomic.Uint64 // requests since it drains

	connections *connections
	background  safego.Group  // waits for SIGHUP, and closes what a reload has replaced
	stopped     chan struct{} // closed by close
}

// newService builds the parts and connects them. start has them use the database, and close
// stops them.
func newService(ctx context.Context, cfg *config, log logs) (_ *service, err error) {
	if err := railgun.SelfTest(); err != nil {
		return nil, fmt.Errorf("shield notes cannot be trusted on this machine: %w", err)
	}
	figures := metrics.New(log.Logger)
	s := &service{
		connections: newConnections(cfg, log.Logger),
		clock:       skew.New(skew.Options{}),
		hooks:       figures.IntegratorHooks(),
		tracking:    figures.StatusOptions(),
		log:         log.Logger,
		stopped:     make(chan struct{}),
	}
	s.tracking.Log = s.log
	defer func() {
		if err != nil {
			_ = s.close() // the first error matters
		}
	}()
	first, err := s.newCore(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	s.core.Store(first)
	versions := gateway.Names(first.modules)

	s.limiter, err = limit.New(ctx, cfg.Limit, s.log, time.Now)
	if err != nil {
		return nil, err
	}
	s.clients, err = caller.NewClients(cfg.Caller.ClientsFile, s.log)
	if err != nil {
		return nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	if err := s.newRecorder(cfg, versions); err != nil {
		return nil, err
	}
	s.lifecycle, err = lifecycle.New(lifecycle.Options{
		File: cfg.Gateway.LifecycleFile, Versions: versions, Deleted: deletedVersions(),
		Usage: s.counts, Follow: s.recorder.Follow, Now: time.Now, Log: s.log,
		Known: func(name string) bool {
			_, known := s.clients.Find(name)
			return known
		},
	})
	if err != nil {
		return nil, fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	proxies, _ := cfg.Caller.Proxies() // validated
	s.parts = gateway.Parts{
		RetiredVersions: gateway.RetiredVersions,
		Lifecycle:       s.lifecycle,
		Limiter:         s.limiter,
		Proxies:         proxies,
		Clients:         s.clients,
		Names:           s.recorder,
		Usage:           s.counts,
		Observers:       []event.Observer{figures.Requests(first.modules, deletedVersions()), s.recorder, log.access},
		Log:             s.log,
	}
	sources := s.sources(cfg, log)
	figures.Watch(sources)
	s.admin = admin.Handler(admin.Options{
		Token:    cfg.Admin.Token,
		Instance: s.recorder.Instance(),
		Metrics:  figures.Handler(),
		Versions: versions,
		Current:  gateway.Current,
		Usage:    s.counts,
		Plan:     s.freshPlan,
		Moves:    gateway.Moves(first.modules),
		Health:   s.health(cfg, sources, time.Now()),
		Ready:    s.ready,
		Level:    log.level,
		Log:      s.log,
	})
	s.use(ctx, cfg, first)
	return s, nil
}

// freshPlan is the plan for a page, whose other figures are read at the same time.
func (s *service) freshPlan() lifecycle.Snapshot {
	s.recorder.WriteSoon(context.Background()) // which ends it soon
	s.lifecycle.Refresh()
	return s.lifecycle.Snapshot()
}

// countsTimeout is how long the last counts may take to be written. A test shortens it.
var countsTimeout = 15 * time.Second

// startWait is how long a start waits for the database. A test changes it.
var startWait = time.Second

// start has the recorder write, and the keeper read what was accepted of the plan and the
// gates. What takes longer than startWait goes on in the background: no quote waits for a
// database, and until the plan is known it refuses nobody. It is an error if the database
// will never work.
func (s *service) start(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := s.recorder.Start(starting); err != nil {
		return err
	}
	read := make(chan struct{})
	safego.Go(s.log, "reading the plan and its gates", func() {
		defer close(read)
		s.lifecycle.Poll() // if that takes long, Run waits for it
	})
	safego.Go(s.log, "watching the plan", func() { s.lifecycle.Run(ctx) })
	select {
	case <-read:
	case <-starting.Done():
		s.log.Warn("USAGE_DB has not answered yet; serving without it")
	}
	return nil
}

// stages are the versions that are not active, each with its stage, for the log.
func (s *service) stages() (all []any) {
	for _, v := range s.lifecycle.Snapshot().Versions {
		if v.Stage != lifecycle.Active {
			all = append(all, slog.String(v.Version, string(v.Stage)))
		}
	}
	return all
}

// newRecorder records who calls which version.
func (s *service) newRecorder(cfg *config, versions []string) (err error) {
	s.counts, err = evidence.Open(cfg.Usage, evidence.Options{
		Versions: versions, Current: gateway.Current, Log: s.log, Known: s.clients.FindRecorded,
		Registered: func(ctx context.Context, id string) (bool, error) {
			return s.core.Load().registry.Registered(ctx, id)
		},
	})
	if err != nil {
		return err
	}
	s.recorder = usage.New(s.counts, usage.Options{
		Versions: versions, Current: gateway.Current, Log: s.log, Clock: s.clock,
	})
	s.counts.Attach(s.recorder)
	return nil
}

// sources are the data of the metrics and the health page.
func (s *service) sources(cfg *config, log logs) metrics.Sources {
	return metrics.Sources{
		IssuerFees: func() []fee.IssuerFee { return s.core.Load().issuer.State() },
		Registries: func() []rpc.Health { return s.core.Load().registry.Health() },
		Limiter:    s.limiter.Stats,
		Lifecycle:  s.lifecycle.Snapshot,
		Instance:   s.recorder.Instance(),
		Clock:      s.clock.Skew,
		Usage:      s.counts.Stats,
		UsageNotes: s.usageNotes,
		UsageLimit: s.counts.MaxBytes(),
		ClientsBad: s.clients.Refused,
		LogDropped: log.queue.Dropped,

		Connections:    s.connections.Open,
		MaxConnections: cfg.MaxConnections,

		Checks: func() []selfcheck.Result { return s.core.Load().checks.Results() },
	}
}

// usageNotes says what the counts do not include, and what is wrong with clocks. It is empty if all
// is well.
func (s *service) usageNotes() []string { return append(s.recorder.Notes(), s.counts.Stats().Notes...) }

// ServeHTTP answers with the current core. While the service drains, each answer ends its connection.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.late.Add(1)
		w.Header().Set("Connection", "close")
	}
	s.core.Load().public.ServeHTTP(w, r)
}

// ready is an error while the service drains, and while its counts cannot be stored because
// this release does not know the schema of the database.
func (s *service) ready() error {
	if s.draining.Load() {
		return errors.New("draining")
	}
	return s.recorder.Unfit()
}

// close stops the parts that were started, and returns an error if counts are lost. Cancel the
// context of reloadOnHangup first: a reload in progress may still start parts, which close then
// stops too.
func (s *service) close() (err error) {
	close(s.stopped)
	s.background.Wait()
	if s.recorder != nil {
		ctx, cancel := context.WithTimeout(context.Background(), countsTimeout)
		defer cancel()
		err = s.recorder.Close(ctx)
	}
	if s.limiter != nil {
		_ = s.limiter.Close()
	}
	if c := s.core.Load(); c != nil {
		c.close(nil)
	}
	return err
}
