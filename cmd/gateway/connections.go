package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/quotegate/quotegate/shared/guard"
)

// connections bounds the connections of a server. At the bound, new ones wait in
// the kernel until another one closes. Near the bound the server keeps no idle
// connection, so that those who ask have room: it closes those there are, and
// each new one after its answer.
type connections struct {
	max     int
	open    atomic.Int64
	crowded atomic.Bool
}

// limit is a listener that accepts at most max connections at a time.
func (c *connections) limit(l net.Listener) net.Listener {
	return steadyListener{netutil.LimitListener(l, c.max)}
}

type steadyListener struct{ net.Listener }

func (l steadyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &steadyConn{Conn: conn}, nil
}

// steadyConn moves the deadline for writes once a second at most. net/http moves it
// before every answer and takes it away after, which costs more than the log line.
type steadyConn struct {
	net.Conn
	writeBy time.Time
}

func (c *steadyConn) SetWriteDeadline(t time.Time) error {
	if later := t.Sub(c.writeBy); t.IsZero() || later >= 0 && later < time.Second {
		return nil
	}
	c.writeBy = t
	return c.Conn.SetWriteDeadline(t)
}

// Open is how many connections there are.
func (c *connections) Open() int { return int(c.open.Load()) }

// watch counts the connections of a server and keeps it from being crowded, until
// ctx ends.
func (c *connections) watch(ctx context.Context, server *http.Server, log *slog.Logger) {
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
		}
	}
	go guard.Every(ctx, 250*time.Millisecond, log, "watching the connections", func() { c.relieve(server.SetKeepAlivesEnabled) })
}

// relieve turns idle connections off while more than three quarters of the bound
// are open, and on again below a half.
func (c *connections) relieve(keepAlive func(bool)) {
	switch open := c.Open(); {
	case open > c.max*3/4:
		keepAlive(false) // again each time: it closes those that are idle now
		c.crowded.Store(true)
	case open < c.max/2 && c.crowded.Swap(false):
		keepAlive(true)
	}
}
