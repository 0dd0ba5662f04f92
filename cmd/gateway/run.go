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

	"golang.org/x/net/netutil"

	"github.com/quotegate/quotegate/shared/buildinfo"
	"github.com/quotegate/quotegate/shared/safego"
)

const (
	// readTimeout is for a whole request. A separate one for the headers would
	// cost another deadline per request, and no endpoint takes a body.
	readTimeout    = 5 * time.Second
	writeTimeout   = 20 * time.Second // longer than the gateway's own deadline
	profileTimeout = 3 * time.Minute  // a CPU profile takes as long as it is asked to
	idleTimeout    = 75 * time.Second // longer than load balancers keep theirs, usually 60 seconds
	maxHeaderBytes = 16 << 10
	drainTimeout   = 25 * time.Second // longer than any request may take
	logTimeout     = 2 * time.Second  // for the last lines, if nobody reads them
)

// run serves until ctx ends. Then it drains: it stops being ready, finishes the
// running requests and refuses new ones. Once it listens, it calls ready with the
// public address and, if there is one, the admin address.
func run(ctx context.Context, env environment, stderr io.Writer, ready func(public, admin string)) (err error) {
	cfg, err := readConfig(ctx, env)
	if err != nil {
		return err
	}
	cfg.settings = settings(env)
	log := newLogs(cfg, stderr)
	defer log.queue.Close(logTimeout) // last, after everything that logs
	if cfg.warning != "" {
		log.Warn("environment: " + cfg.warning)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newService(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	defer cancel() // first: also where listening or serving fails
	safego.Go(s.log, "watching the clients file", func() { s.clients.Run(ctx) })
	safego.Go(s.log, "watching the plan", func() { s.lifecycle.Run(ctx) })
	s.reloadOnHangup(ctx, cfg)

	public, err := net.Listen("tcp", cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("LISTEN_ADDR: %w", err)
	}
	defer public.Close()
	failed := make(chan error, 2)
	adminAddr := ""
	if cfg.Admin.Enabled() {
		listener, err := cfg.Admin.Listen(ctx)
		if err != nil {
			return err
		}
		adminAddr = listener.Addr().String()
		adminServer := newServer(s.admin, profileTimeout, log.Logger)
		defer adminServer.Close() // last, so that an operator can watch the drain
		s.serve(adminServer, listener, failed)
	}
	server := newServer(s, writeTimeout, log.Logger)
	s.connections.watch(ctx, server)
	s.serve(server, netutil.LimitListener(public, s.connections.max), failed)

	addr := public.Addr().String()
	deployment := s.core.Load().deployment
	log.Info("serving", "version", buildinfo.Release,
		"addr", addr, "admin", adminAddr, "deployment", deployment.Name, "pairs", servedPairs(deployment))
	ready(addr, adminAddr)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return s.drain(server, cfg.DrainDelay)
}

// serve serves until the server is closed, and says why it ended.
func (s *service) serve(server *http.Server, listener net.Listener, ended chan<- error) {
	safego.Go(s.log, "a listener", func() {
		ended <- safego.Try(s.log, "serving", func() error { return server.Serve(listener) })
	})
}

// drain ends the service without losing a request. During the delay it still
// accepts requests, but is no longer ready, so that load balancers stop sending.
func (s *service) drain(server *http.Server, delay time.Duration) error {
	s.draining.Store(true)
	s.log.Info("draining")
	time.Sleep(delay)
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain: %w", err), server.Close())
	}
	s.log.Info("stopped")
	return nil
}

func newServer(h http.Handler, writeTimeout time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:        h,
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// reloadOnHangup reads the known clients, the plan, the deployment and the
// endpoints again on SIGHUP, until ctx ends. After that a signal does nothing: it
// must not end a process that drains.
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
