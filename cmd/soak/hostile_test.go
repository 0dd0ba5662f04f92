package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

var long = flag.Bool("long", false, "wait for clients that never read, too: half a minute")

// A hostile client does its worst on a connection. It returns when the gateway
// has ended that, with what it got to read.
type hostile struct {
	name    string
	clients int
	bound   time.Duration // within which it must be over; the gateway's own is half of that
	attack  func(conn net.Conn) (answer string, err error)
	answer  string // how its answer must begin
}

const (
	requestLine = "GET /v3/swap/healthcheck HTTP/1.1\r\nHost: gateway\r\n"
	postLine    = "POST /v3/swap/quote HTTP/1.1\r\nHost: gateway\r\n"
)

var hostiles = []hostile{
	{"connects and says nothing", 100, 10 * time.Second, silent, ""},
	{"sends its headers one byte a second", 100, 10 * time.Second, trickle(requestLine + "X-Slow: " + strings.Repeat("a", 100)), ""},
	{"sends half its headers and shuts its side", 20, 10 * time.Second, halfClosed, ""},
	{"sends headers without end", 5, 10 * time.Second, flood(requestLine+"X-Huge: ", strings.Repeat("a", 1<<10)), "HTTP/1.1 431"},
	{"sends a body without end", 5, 20 * time.Second, flood(postLine+"Transfer-Encoding: chunked\r\n\r\n", "400\r\n"+strings.Repeat("a", 1<<10)+"\r\n"), "HTTP/1.1 405"},
	{"sends a body one byte a second", 20, 20 * time.Second, trickle(postLine + "Content-Length: 100000\r\n\r\n" + strings.Repeat("a", 100)), "HTTP/1.1 405"},
}

// TestHostileClients lets all of them at a gateway at once, while others are
// served. They are gone within its time limits, and leave nothing behind.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	w := startWorld(t)
	before, err := w.quiet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() { w.work(serving, rand.New(rand.NewPCG(1, 1))) })

	var attacks sync.WaitGroup
	for _, h := range hostiles {
		attacks.Go(func() { h.run(t, w.gateway.Addr) })
	}
	attacks.Wait()
	stop()
	served.Wait()
	for _, err := range w.tally.errors() {
		t.Error(err)
	}
	after, err := w.settle(t.Context(), before)
	if err != nil {
		t.Error(err)
	}
	t.Logf("before: %v\nafter: %v\nmeanwhile: %s", before, after, &w.tally)
}

// run has so many clients attack at once.
func (h hostile) run(t *testing.T, addr string) {
	var clients sync.WaitGroup
	var mu sync.Mutex
	var least, most time.Duration
	for range h.clients {
		clients.Go(func() {
			start := time.Now()
			answer, err := h.attackOnce(addr)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			if least == 0 {
				least = took
			}
			least, most = min(least, took), max(most, took)
			if err != nil {
				t.Errorf("a client that %s: after %s: %v", h.name, took, err)
			}
			if !strings.HasPrefix(answer, h.answer) {
				t.Errorf("a client that %s got %q, want %q", h.name, answer, h.answer)
			}
		})
	}
	clients.Wait()
	t.Logf("%d clients, each of which %s: gone after %.1f to %.1f s", h.clients, h.name, least.Seconds(), most.Seconds())
}

func (h hostile) attackOnce(addr string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(h.bound)); err != nil {
		return "", err
	}
	answer, err := h.attack(conn)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return answer, fmt.Errorf("it is still connected after %s", h.bound)
	}
	return answer, nil // how a connection ends is the gateway's choice
}

func silent(conn net.Conn) (string, error) { return readAll(conn) }

func halfClosed(conn net.Conn) (string, error) {
	io.WriteString(conn, requestLine)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return "", err
	}
	return readAll(conn)
}

// trickle writes a byte a second until it is cut off.
func trickle(text string) func(net.Conn) (string, error) {
	return func(conn net.Conn) (string, error) {
		read := make(chan struct{})
		var answer string
		var err error
		go func() {
			defer close(read)
			answer, err = readAll(conn)
		}()
		head := strings.LastIndexAny(text, "\n:") + 1
		io.WriteString(conn, text[:head])
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for i := head; i < len(text); i++ {
			select {
			case <-read:
				return answer, err
			case <-second.C:
				_, _ = conn.Write([]byte{text[i]}) // that it was cut off is seen by reading
			}
		}
		<-read
		return answer, err
	}
}

// flood writes on and on until it is cut off.
func flood(head, more string) func(net.Conn) (string, error) {
	return func(conn net.Conn) (string, error) {
		read := make(chan struct{})
		var answer string
		go func() {
			defer close(read)
			answer, _ = readAll(conn)
		}()
		_, err := io.WriteString(conn, head)
		for err == nil {
			_, err = io.WriteString(conn, more)
		}
		<-read
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			err = nil
		}
		return answer, err
	}
}

func readAll(conn net.Conn) (string, error) {
	var answer strings.Builder
	_, err := io.Copy(&answer, bufio.NewReader(conn))
	return answer.String(), err
}

// TestDeafClients lets clients ask on and on without reading an answer, until
// the gateway cannot send any more. Their side of the connection stays open, so
// that what is seen to end is the gateway's.
func TestDeafClients(t *testing.T) {
	if !*long {
		t.Skip("SKIPPED, NOT TESTED: takes half a minute; run with -args -long")
	}
	t.Parallel()
	w := startWorld(t)
	before, err := w.quiet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const clients = 100
	start := time.Now()
	var deaf sync.WaitGroup
	for i := range clients {
		conn, err := net.Dial("tcp", w.gateway.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		deaf.Go(func() {
			request := load.AppendRequest(nil, "gateway", "/v3/swap/healthcheck", load.ClientAddress(firstOfMany+i))
			_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
			for err := error(nil); err == nil; {
				_, err = conn.Write(request)
			}
		})
	}
	deaf.Wait()
	held, err := w.vitals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if held.files < before.files+clients/2 {
		t.Errorf("the gateway has let go of its clients already: %v, was %v", held, before)
	}
	after, err := w.settle(t.Context(), before)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d clients, each of which never reads its answers: gone after %.1f s; while they were there: %v; after: %v",
		clients, time.Since(start).Seconds(), held, after)
}
