package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/safego"
)

// connections bounds the connections of a server. At the bound, new ones wait in the
// kernel until another one closes. Near the bound the server keeps no idle connection
// open, so that there is room for new requests.
type connections struct {
	max        int
	perAddress int // further ones of an address are closed; 0 for no bound
	log        *slog.Logger

	mu     sync.Mutex
	open   int
	from   map[limit.Source]int // those that are open, by their source
	warned time.Time
}

func newConnections(cfg *config, log *slog.Logger) *connections {
	c := &connections{max: cfg.MaxConnections, perAddress: cfg.MaxPerAddress, log: log, from: map[limit.Source]int{}}
	if len(cfg.Caller.TrustedProxies) > 0 {
		c.perAddress = 0 // all clients of a proxy have its address
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
	tcp, _ := conn.RemoteAddr().(*net.TCPAddr) // nil for a unix socket
	source := limit.Address(tcp.AddrPort().Addr())
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew { // it is closed
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

// relieve turns idle connections off while more than three quarters of the bound
// are open, and on again below a half.
func (c *connections) relieve(keepAlive func(bool)) {
	open := c.Open()
	switch {
	case open > c.max*3/4:
		keepAlive(false) // each time: it closes those that are idle now
	case open < c.max/2:
		keepAlive(true)
	}
}
