package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

var long = flag.Bool("long", false, "have clients that never read, too: half a minute")

// hostile is a client that does its worst on a connection until the gateway ends that.
type hostile struct {
	name    string
	clients int
	bound   time.Duration // within which it must be over; the gateway's own is half of that
	head    string        // what it sends at first
	more    string        // what it sends then, again and again
	pause   time.Duration // before each of those
	shuts   bool          // its side of the connection after the head
	answer  string        // how its answer must begin
}

const (
	requestLine = "GET /v3/swap/healthcheck HTTP/1.1\r\nHost: gateway\r\n"
	postLine    = "POST /v3/swap/quote HTTP/1.1\r\nHost: gateway\r\n"
)

var hostiles = []hostile{
	{
		name: "connects and says nothing", clients: 100, bound: 10 * time.Second,
	},
	{
		name: "sends its headers one byte a second", clients: 100, bound: 10 * time.Second,
		head: requestLine + "X-Slow: ", more: "a", pause: time.Second,
	},
	{
		name: "sends half its headers and shuts its side", clients: 20, bound: 10 * time.Second,
		head: requestLine, shuts: true,
	},
	{
		name: "sends headers without end", clients: 5, bound: 10 * time.Second,
		head: requestLine + "X-Huge: ", more: strings.Repeat("a", 1<<10), answer: "HTTP/1.1 431",
	},
	{
		name: "sends a body without end", clients: 5, bound: 20 * time.Second,
		head: postLine + "Transfer-Encoding: chunked\r\n\r\n", more: "400\r\n" + strings.Repeat("a", 1<<10) + "\r\n",
		answer: "HTTP/1.1 405",
	},
	{
		name: "sends a body one byte a second", clients: 20, bound: 20 * time.Second,
		head: postLine + "Content-Length: 100000\r\n\r\n", more: "a", pause: time.Second, answer: "HTTP/1.1 405",
	},
}

// TestHostileClients lets all of them at a gateway at once, while others are served. They are gone within its time
// limits, and leave nothing behind.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	w := startWorld(t)
	before := w.quiet(t.Context())
	serving, stop := context.WithCancel(t.Context())
	var served, attacks sync.WaitGroup
	served.Go(func() { w.drive(serving) })
	var mu sync.Mutex
	longest := map[string]time.Duration{}
	for _, h := range hostiles {
		for range h.clients {
			attacks.Go(func() {
				start := time.Now()
				h.attack(t, w.gateway.Addr)
				mu.Lock()
				defer mu.Unlock()
				longest[h.name] = max(longest[h.name], time.Since(start))
			})
		}
	}
	attacks.Wait()
	stop()
	served.Wait()
	for _, h := range hostiles {
		t.Logf("%d clients, each of which %s: gone after %.1f s", h.clients, h.name, longest[h.name].Seconds())
	}
	after := w.settle(t.Context(), before)
	check(t, w.tally.err())
	peak, err := w.gateway.PeakMemory()
	t.Logf("before: %v\nafter: %v, %.1f MiB at most (%v)\nmeanwhile: %s", before, after, mib(peak), err, &w.tally)
}

// attack lasts until the gateway ends the connection, however it does that.
func (h hostile) attack(t *testing.T, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(h.bound))
	ended := make(chan struct{})
	var answer []byte
	var reading error
	go func() {
		defer close(ended)
		answer, reading = io.ReadAll(conn)
	}()
	_, writing := io.WriteString(conn, h.head)
	if h.shuts {
		writing = conn.(*net.TCPConn).CloseWrite()
	}
	for writing == nil && h.more != "" {
		select {
		case <-ended:
			writing = net.ErrClosed
		case <-time.After(h.pause):
			_, writing = io.WriteString(conn, h.more)
		}
	}
	<-ended
	if errors.Is(reading, os.ErrDeadlineExceeded) || !strings.HasPrefix(string(answer), h.answer) {
		t.Errorf("a client that %s got %q, %v; want %q", h.name, answer, reading, h.answer)
	}
}

// TestDeafClients lets clients ask on and on without reading an answer, until the gateway cannot send any more. Their
// side of the connection stays open, so that what is seen to end is the gateway's.
func TestDeafClients(t *testing.T) {
	if !*long {
		t.Skip("SKIPPED, NOT TESTED: takes half a minute; run with -args -long")
	}
	t.Parallel()
	w := startWorld(t)
	before := w.quiet(t.Context())
	const clients = 100
	start := time.Now()
	var deaf sync.WaitGroup
	for range clients {
		conn, err := net.Dial("tcp", w.gateway.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		request := load.Request{Target: "/v3/app/pairs", Client: w.newClient()}.Bytes("gateway")
		deaf.Go(func() {
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			for err := error(nil); err == nil; { // until nothing has moved for two seconds
				_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
				_, err = conn.Write(request)
			}
		})
	}
	deaf.Wait()
	held := w.vitals()
	if held.files < before.files+clients/2 {
		t.Errorf("the gateway has let go of its clients already: %v, was %v", held, before)
	}
	after := w.settle(t.Context(), before)
	check(t, w.tally.err())
	t.Logf("%d clients, each of which never reads its answers: gone after %.1f s; while they were there: %v; after: %v",
		clients, time.Since(start).Seconds(), held, after)
}
