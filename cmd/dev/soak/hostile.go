package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// hostile is a client that does its worst on a connection until the gateway ends that.
type hostile struct {
	name   string
	head   string        // what it sends at first
	more   string        // what it sends then, again and again
	pause  time.Duration // before each of those
	answer string        // how its answer must begin
}

const (
	getLine  = "GET /v3/swap/healthcheck HTTP/1.1\r\nHost: gateway\r\n"
	postLine = "POST /v3/swap/quote HTTP/1.1\r\nHost: gateway\r\n"
)

var hostiles = []hostile{
	{"connects and says nothing", "", "", 0, ""},
	{"sends its headers one byte a second", getLine + "X-Slow: ", "a", time.Second, ""},
	{"sends headers without end", getLine + "X-Huge: ", strings.Repeat("a", 1<<10), 0, "HTTP/1.1 431"},
	{"sends a body one byte a second", postLine + "Content-Length: 100000\r\n\r\n", "a", time.Second, "HTTP/1.1 405"},
}

const (
	hostileClients = 25               // of each kind
	hostileBound   = 20 * time.Second // within which they are gone; the gateway's own is a quarter of that
)

// harass lets all hostile clients at the gateway at once.
func (w *world) harass(ctx context.Context) {
	var attacks sync.WaitGroup
	for _, h := range hostiles {
		for range hostileClients {
			attacks.Go(func() { w.attack(ctx, h) })
		}
	}
	attacks.Wait()
	w.tell("ended %d connections of hostile clients", len(hostiles)*hostileClients)
}

// attack lasts until the gateway ends the connection, however it does that.
func (w *world) attack(ctx context.Context, h hostile) {
	conn, err := net.Dial("tcp", w.gateway.Addr)
	if err != nil {
		w.tally.fail("a client that %s: %w", h.name, err)
		return
	}
	ended, end := context.WithCancel(ctx)
	var writing sync.WaitGroup
	writing.Go(func() {
		_, err := io.WriteString(conn, h.head)
		for err == nil && h.more != "" && ended.Err() == nil {
			pause(ended, h.pause)
			_, err = io.WriteString(conn, h.more)
		}
	})
	_ = conn.SetReadDeadline(time.Now().Add(hostileBound))
	answer, err := io.ReadAll(conn) // an error is how the gateway may end it
	end()
	conn.Close()
	writing.Wait()
	if errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(string(answer), h.answer) {
		w.tally.fail("a client that %s got %q, %w; want %q", h.name, answer, err, h.answer)
	}
}
