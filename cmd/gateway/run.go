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
	"sync/atomic"
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
	defer closeWithin(logTimeout, log.queue.Close)() // last, after everything that logs
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newService(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() {
		s.close()
		err = errors.Join(err, s.lost)
	}()
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
		safego.Go(s.log, "the admin listener", func() { failed <- serveOn(adminServer, listener, s.log) })
	}
	server := newServer(s, writeTimeout, log.Logger)
	s.connections.watch(ctx, server, log.Logger)
	if cfg.MaxPerAddress > 0 && len(cfg.Caller.TrustedProxies) == 0 { // all clients of a proxy have its address
		public = newPerAddress(public, cfg.MaxPerAddress, s.log)
	}
	limited := netutil.LimitListener(public, s.connections.max)
	safego.Go(s.log, "the public listener", func() { failed <- serveOn(server, limited, s.log) })

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
	return s.drain(server, cfg.DrainDelay, log.Logger)
}

// drain ends the service without losing a request. During the delay it still
// accepts requests, but is no longer ready, so that load balancers stop sending.
func (s *service) drain(server *http.Server, delay time.Duration, log *slog.Logger) error {
	s.draining.Store(true)
	log.Info("draining")
	time.Sleep(delay)
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain: %w", err), server.Close())
	}
	log.Info("stopped")
	return nil
}

// serveOn serves until the server is closed. Whatever panics while a connection is
// accepted ends that attempt alone.
func serveOn(server *http.Server, listener net.Listener, log *slog.Logger) error {
	return safego.Try(log, "a listener", func() error { return server.Serve(guardedListener{listener, log}) })
}

type guardedListener struct {
	net.Listener
	log *slog.Logger
}

func (l guardedListener) Accept() (conn net.Conn, err error) {
	err = errAccept
	safego.Do(l.log, "accepting a connection", func() { conn, err = l.Listener.Accept() })
	return conn, err
}

// errAccept is one after which net/http tries again.
var errAccept net.Error = temporary{errors.New("accepting a connection panicked")}

type temporary struct{ error }

func (temporary) Timeout() bool   { return false }
func (temporary) Temporary() bool { return true }

// guarded answers requests. The gateway and the admin pages answer after a panic of
// their own; one in what is around them is counted too, and ends the connection.
func guarded(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
				return
			case http.ErrAbortHandler:
			default:
				log.Error("panic", "in", "answering a request", "cause", safego.PanicError(p))
			}
			panic(http.ErrAbortHandler) // net/http closes the connection, without a line of its own
		}()
		h.ServeHTTP(w, r)
	})
}

func newServer(h http.Handler, writeTimeout time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:        guarded(h, log),
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// reloadOnHangup reads the known clients, the plan, the deployment and the
// endpoints again on SIGHUP, until ctx ends. From then on a signal does nothing, and
// does not end the process either.
func (s *service) reloadOnHangup(ctx context.Context, cfg *config) {
	s.hangup = make(chan os.Signal, 1)
	signal.Notify(s.hangup, syscall.SIGHUP)
	s.reloading.Go(s.log, "waiting for SIGHUP", func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.hangup:
			}
			safego.Do(s.log, "reloading", func() {
				s.clients.Reload()
				s.lifecycle.Reload()
				s.reload(ctx, cfg)
			})
		}
	})
}

// connections bounds the connections of a server. At the bound, new ones wait in
// the kernel until another one closes. Near the bound the server keeps no idle
// connection, so that those who ask have room: it closes those there are, and
// each new one after its answer.
type connections struct {
	max     int
	open    atomic.Int64
	crowded atomic.Bool
}

func (c *connections) Open() int { return int(c.open.Load()) }

// watch counts the connections of a server and keeps it from being crowded, until
// ctx ends.
func (c *connections) watch(ctx context.Context, server *http.Server, log *slog.Logger) {
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		safego.Do(log, "counting connections", func() { c.count(state) }) // net/http would end the process
	}
	const what = "watching the connections"
	safego.Go(log, what, func() {
		safego.Every(ctx, 250*time.Millisecond, log, what, func() { c.relieve(server.SetKeepAlivesEnabled) })
	})
}

func (c *connections) count(state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	}
}

// relieve turns idle connections off while more than three quarters of the bound
// are open, and on again below a half.
func (c *connections) relieve(keepAlive func(bool)) {
	open := c.Open()
	switch {
	case open > c.max*3/4:
		keepAlive(false) // again each time: it closes those that are idle now
		c.crowded.Store(true)
	case open < c.max/2:
		wasCrowded := c.crowded.Swap(false)
		if wasCrowded {
			keepAlive(true)
		}
	}
}
