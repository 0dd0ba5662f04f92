package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/buildinfo"
	"github.com/quotegate/quotegate/shared/safego"
)

const (
	// readTimeout is for a whole request. A separate one for the headers would
	// cost another deadline per request, and no endpoint takes a body.
	readTimeout    = 5 * time.Second
	writeTimeout   = 20 * time.Second // longer than the gateway's own deadline
	profileTimeout = 3 * time.Minute  // for CPU profiles
	idleTimeout    = 75 * time.Second // longer than load balancers keep theirs, usually 60 seconds
	maxHeaderBytes = 16 << 10
	drainTimeout   = 25 * time.Second // longer than any request may take
	logTimeout     = 2 * time.Second  // for the last lines, if the writer is blocked

	leaveIdle    = time.Second // without any request, when the service drains: connections are idle then
	leaveTimeout = 5 * time.Second
	leavePause   = 10 * time.Millisecond
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
	s.reloadOnHangup(ctx, cfg)

	public, err := net.Listen("tcp", cfg.ListenAddr)
	if err != nil {
		return taken(fmt.Errorf("LISTEN_ADDR: %w", err), "LISTEN_ADDR=:9000")
	}
	defer public.Close()
	if err := s.start(ctx); err != nil {
		return err
	}
	failed := make(chan error, 2)
	adminAddr := ""
	if cfg.Admin.Enabled() {
		listener, err := cfg.Admin.Listen(ctx)
		if err != nil {
			return taken(err, "ADMIN_ADDR=127.0.0.1:9001, or ADMIN_ADDR=off for none")
		}
		adminAddr = listener.Addr().String()
		if cfg.Admin.Token == "" {
			log.Info("admin: anyone on this machine can read client names and change the log level; " +
				"set ADMIN_TOKEN to allow only those who know it")
		}
		adminServer := newServer(s.admin, profileTimeout, log.Logger)
		defer adminServer.Close() // last, so that an operator can watch the drain
		s.serve(adminServer, listener, failed)
	}
	server := newServer(s, writeTimeout, log.Logger)
	s.connections.watch(ctx, server)
	listener := netutil.LimitListener(public, s.connections.max)
	s.serve(server, listener, failed)

	addr := public.Addr().String()
	deployment := s.core.Load().deployment
	log.Info("serving", "version", buildinfo.Release, "instance", s.recorder.Instance(),
		"addr", addr, "admin", adminAddr, "deployment", deployment.Name, "pairs", servedPairs(deployment),
		slog.Group("stages", s.stages()...))
	if log.terminal {
		fmt.Fprintf(log.queue, "open %s\n", pageURL(addr))
	}
	ready(addr, adminAddr)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return s.drain(server, listener, cfg.DrainDelay)
}

// taken adds to an error that an address is in use how to choose another one.
func taken(err error, example string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another port, for example %s", err, example)
	}
	return err
}

// pageURL is where a browser on this machine finds the page of a listener.
func pageURL(addr string) string {
	listener, err := netip.ParseAddrPort(addr)
	if err != nil || !listener.Addr().IsUnspecified() {
		return "http://" + addr + "/"
	}
	return fmt.Sprintf("http://localhost:%d/", listener.Port())
}

// serve serves until the server is closed, and sends why it ended.
func (s *service) serve(server *http.Server, listener net.Listener, ended chan<- error) {
	safego.Go(s.log, "a listener", func() {
		ended <- safego.Try(s.log, "serving", func() error { return server.Serve(listener) })
	})
}

// drain ends the service without losing a request. During the delay it still
// accepts requests, but is no longer ready, so that load balancers stop sending.
func (s *service) drain(server *http.Server, listener net.Listener, delay time.Duration) error {
	s.draining.Store(true)
	s.log.Info("draining")
	time.Sleep(delay)
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	listener.Close() // the server closes it too
	s.letLeave()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, net.ErrClosed) { // the listener is closed already
		return errors.Join(fmt.Errorf("drain: %w", err), server.Close())
	}
	s.log.Info("stopped")
	return nil
}

// letLeave waits until each client has left with an answer that ends its connection, as all
// answers do while the service drains. Shutdown alone would close a connection between two
// requests, just when a busy client sends the next one on it. A connection that brings no
// request for a while is idle, and nothing is lost with it.
func (s *service) letLeave() {
	last := time.Now()
	late := s.late.Load()
	for end := last.Add(leaveTimeout); s.connections.Open() > 0; time.Sleep(leavePause) {
		now := time.Now()
		if n := s.late.Load(); n != late {
			late = n
			last = now
		}
		if now.Sub(last) >= leaveIdle || now.After(end) {
			return
		}
	}
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

// connections bounds the connections of a server. At the bound, new ones wait in the kernel
// until another one closes. Near the bound, the server closes idle connections, so that there
// is room for new requests.
type connections struct {
	max        int
	perAddress int // more from one address are closed; 0 for no bound
	log        *slog.Logger

	mu     sync.Mutex
	open   int
	from   map[limit.Source]int // open connections by source
	warned time.Time
}

func newConnections(cfg *config, log *slog.Logger) *connections {
	c := &connections{max: cfg.MaxConnections, perAddress: cfg.MaxPerAddress, log: log, from: map[limit.Source]int{}}
	if len(cfg.Caller.TrustedProxies) > 0 {
		c.perAddress = 0 // all clients of a proxy share its address
	}
	return c
}

func (c *connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// watch counts the connections of a server and keeps idle ones from using up the
// bound, until ctx ends.
func (c *connections) watch(ctx context.Context, server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateActive || state == http.StateIdle { // with every request
			return
		}
		safego.Do(c.log, "counting connections", func() { c.count(conn, state) }) // net/http does not recover here
	}
	c.watchIdle(ctx, 250*time.Millisecond, server.SetKeepAlivesEnabled)
}

func (c *connections) watchIdle(ctx context.Context, pause time.Duration, keepAlive func(bool)) {
	const what = "watching the connections"
	safego.Go(c.log, what, func() {
		safego.Every(ctx, pause, c.log, what, func() { c.relieve(keepAlive) })
	})
}

func (c *connections) count(conn net.Conn, state http.ConnState) {
	tcp, _ := conn.RemoteAddr().(*net.TCPAddr) // always
	source := limit.Address(tcp.AddrPort().Addr())
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew { // closed or hijacked
		c.open--
		c.from[source]--
		if c.from[source] == 0 {
			delete(c.from, source)
		}
		return
	}
	c.open++
	c.from[source]++
	if c.perAddress == 0 || c.from[source] <= c.perAddress {
		return
	}
	conn.Close() // the server notices when it reads
	if time.Since(c.warned) >= time.Minute {
		c.warned = time.Now()
		c.log.Warn("connection limit per address reached; further connections are closed",
			"MAX_CONNECTIONS_PER_ADDRESS", c.perAddress)
	}
}

// relieve turns keep-alive off while more than three quarters of the bound are open, and on
// again below a half.
func (c *connections) relieve(keepAlive func(bool)) {
	open := c.Open()
	switch {
	case open > c.max*3/4:
		keepAlive(false) // every time: it closes the connections that are idle now
	case open < c.max/2:
		keepAlive(true)
	}
}
