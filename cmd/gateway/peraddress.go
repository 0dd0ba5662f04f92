package main

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// perAddress is a listener that takes so many connections at a time from one source
// address, an IPv4 address or an IPv6 /64, and closes further ones at once. Without it
// one address could hold all connections that there are.
type perAddress struct {
	net.Listener
	most int
	log  *slog.Logger

	mu     sync.Mutex
	open   map[netip.Addr]int
	warned time.Time
}

func newPerAddress(l net.Listener, most int, log *slog.Logger) *perAddress {
	return &perAddress{Listener: l, most: most, log: log, open: map[netip.Addr]int{}}
}

func (l *perAddress) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source := sourceOf(conn.RemoteAddr())
		if l.enter(source) {
			return &countedConn{Conn: conn, leave: func() { l.leave(source) }}, nil
		}
		conn.Close()
	}
}

// sourceOf is the address that a connection counts for. Those without one (of a unix
// socket) count together.
func sourceOf(addr net.Addr) netip.Addr {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	source := tcp.AddrPort().Addr().Unmap().WithZone("")
	if source.Is6() {
		network, _ := source.Prefix(64) // fails only for lengths that no address has
		return network.Addr()
	}
	return source
}

func (l *perAddress) enter(source netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[source] < l.most {
		l.open[source]++
		return true
	}
	if time.Since(l.warned) >= time.Minute {
		l.warned = time.Now()
		l.log.Warn("connection limit per address reached; further connections are closed",
			"MAX_CONNECTIONS_PER_ADDRESS", l.most)
	}
	return false
}

func (l *perAddress) leave(source netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[source]--
	if l.open[source] == 0 {
		delete(l.open, source)
	}
}

// countedConn leaves when it is closed for the first time.
type countedConn struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}
