package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/railgun"
)

const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 20 * time.Second // longer than the gateway's own deadline
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
	drainTimeout      = 25 * time.Second // longer than any request may take
)

// run serves until ctx ends, then drains: requests under way are finished,
// new ones refused. It calls ready with the address once it listens.
func run(ctx context.Context, env envconfig.Lookuper, logs io.Writer, ready func(addr string)) error {
	cfg, err := readConfig(ctx, env)
	if err != nil {
		return err
	}
	log, _ := newLogger(cfg, logs)
	deployment, err := cfg.deployment()
	if err != nil {
		return fmt.Errorf("DEPLOYMENT_FILE: %w", err)
	}
	if err := railgun.SelfTest(); err != nil {
		return fmt.Errorf("shield notes cannot be trusted on this machine: %w", err)
	}
	fees, err := cctp.New(cfg.IssuerFees, deployment.Settlement, log, nil)
	if err != nil {
		return err
	}
	defer fees.Close()
	registry, err := integrator.New(cfg.Integrators, deployment, integrator.Options{Log: log})
	if err != nil {
		return err
	}
	defer registry.Close()
	modules := gateway.Modules(gateway.Core{
		Deployment: deployment,
		Engine:     quote.NewEngine(deployment, fees, registry),
		Registries: registry.Health,
		IssuerFees: fees.State,
	})
	limiter, err := limit.New(ctx, cfg.Limit, log, time.Now)
	if err != nil {
		return err
	}
	defer limiter.Close()
	versions := gateway.Names(modules)
	census, err := usage.New(ctx, cfg.Usage, usage.Options{Versions: versions, RedisURL: cfg.Limit.RedisURL, Log: log})
	if err != nil {
		return err
	}
	defer closeWithin(drainTimeout, census.Close)
	trials := survey.New(survey.Options{Caller: gateway.Caller, Log: log})
	defer closeWithin(time.Second, trials.Close)
	life, err := lifecycle.New(lifecycle.Options{
		File: cfg.Gateway.LifecycleFile, Versions: versions, Caller: gateway.Caller,
		Usage: census, UsageSince: census.Since(), Log: log,
	})
	if err != nil {
		return fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	go life.Run(ctx)
	reloadOnHangup(ctx, life)
	handler := gateway.New(cfg.Gateway, gateway.Parts{
		Modules: modules, Life: life, Survey: trials, Usage: census, Limiter: limiter, Log: log,
	})

	listener, err := net.Listen("tcp", cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("LISTEN_ADDR: %w", err)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	addr := listener.Addr().String()
	log.Info("serving", "addr", addr, "deployment", deployment.Name)
	ready(addr)
	return serve(ctx, server, listener, log)
}

func serve(ctx context.Context, server *http.Server, listener net.Listener, log *slog.Logger) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("draining")
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	log.Info("stopped")
	return nil
}

// reloadOnHangup has the plan read again on SIGHUP, until ctx ends.
func reloadOnHangup(ctx context.Context, life *lifecycle.Keeper) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangup)
		for {
			select {
			case <-hangup:
				life.Reload()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// closeWithin gives what is being closed some time to finish its work.
func closeWithin(d time.Duration, close func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	close(ctx)
}
