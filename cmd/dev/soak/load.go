package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

const (
	perMinute = 60 // requests of one client
	callers   = 8  // connections that a load comes over

	// Client numbers: a crowd that stays within its rate limit, one that does not, and above it those who ask once.
	crowdSize = 1 << 16
	overLimit = crowdSize
)

// ask asks on a connection, and tallies what comes of it. An error is about the connection: there must be an answer,
// unless the gateway was told to stop before it took the request.
func (w *world) ask(conn *child.Conn, q question, client int) (child.Answer, error) {
	q.refusing = w.refusing.Load()
	a, err := conn.Ask(q.target, client)
	if err != nil {
		isTaken := q.kind == heldAtNode || !errors.Is(err, child.ErrUnanswered)
		if isTaken || !w.stopping.Load() {
			w.tally.fail(fmt.Errorf("%s: %s: %w", q.kind, q.target, err))
		}
		return a, err
	}
	w.tally.count(fmt.Sprintf("%d %s", a.Status, q.kind), 1)
	if q.asksForQuote() {
		w.tally.count(answered, 1)
	}
	if err := w.check(q, a); err != nil {
		w.tally.fail(fmt.Errorf("%s: %s\ngot %d %v %s\n%w", q.kind, q.target, a.Status, a.Header, a.Body, err))
	}
	return a, nil
}

// askOnce asks on a connection of its own, for a client that has hardly asked before.
func (w *world) askOnce(q question) (child.Answer, error) {
	conn := &child.Conn{Addr: w.gateway.Addr}
	defer conn.Close()
	return w.ask(conn, q, overLimit+1+rand.IntN(1<<20))
}

// drive asks all kinds of questions until ctx ends, or until the gateway stops as it was told to.
func (w *world) drive(ctx context.Context) { w.crowd(ctx, callers, w.question, 100) }

// rush asks what a node is needed for until ctx ends. Every other client leaves.
func (w *world) rush(ctx context.Context) { w.crowd(ctx, 2*callers, w.slowQuestion, 2) }

// crowd asks. One in so many clients leaves within 20 ms, and closes its connection.
func (w *world) crowd(ctx context.Context, callers int, some func() question, leaves int) {
	_, _ = child.Load(ctx, w.gateway.Addr, callers, 0, func(conn *child.Conn, _ int) error {
		q := some()
		client := rand.IntN(crowdSize)
		if rand.IntN(leaves) > 0 {
			_, err := w.ask(conn, q, client)
			return err
		}
		if q.asksForQuote() {
			w.tally.count(givenUp, 1)
		}
		conn.Leave(q.target, client, time.Duration(1+rand.IntN(20))*time.Millisecond)
		return nil
	}) // errors are in the tally
}

// overdraw asks more than one client may until ctx ends, and holds the gateway to its limit: a minute has perMinute
// answers and not one more, and a client that has some left is not refused.
func (w *world) overdraw(ctx context.Context) {
	var granted []time.Time // when they were sent
	conn := &child.Conn{Addr: w.gateway.Addr}
	defer conn.Close()
	for ctx.Err() == nil {
		sent := time.Now()
		answer, err := w.ask(conn, w.quoteQuestion(overTheLimit, "v3", isPlain), overLimit)
		if err != nil {
			return
		}
		isFull := len(granted) >= perMinute
		if answer.Status == http.StatusTooManyRequests {
			if !isFull {
				w.tally.fail(fmt.Errorf("refused after %d requests of %d", len(granted), perMinute))
			}
			time.Sleep(150 * time.Millisecond) // more would be over the limit for everything
			continue
		}
		if isFull && time.Since(granted[len(granted)-perMinute]) < time.Minute {
			w.tally.fail(fmt.Errorf("%d requests were granted within a minute", perMinute+1))
		}
		granted = append(granted, sent)
	}
}

// hostile is a client that does its worst on a connection until the gateway ends that.
type hostile struct {
	name   string
	head   string // what it sends at first
	more   string // what it sends then, every second
	answer string // how its answer must begin
}

const (
	getLine  = "GET /v3/swap/healthcheck HTTP/1.1\r\nHost: gateway\r\n"
	postLine = "POST /v3/swap/quote HTTP/1.1\r\nHost: gateway\r\n"

	hostileClients = 100              // of all kinds together
	hostileBound   = 20 * time.Second // within which they are gone; the gateway's own is a quarter of that
)

var hostiles = []hostile{
	{"connects and says nothing", "", "", ""},
	{"sends its headers one byte a second", getLine + "X-Slow: ", "a", ""},
	{"sends headers without end", getLine + "X-Huge: ", strings.Repeat("a", 1<<18), "HTTP/1.1 431"},
	{"sends a body one byte a second", postLine + "Content-Length: 100000\r\n\r\n", "a", "HTTP/1.1 405"},
}

// attack lasts until the gateway ends the connection, however it does that.
func (w *world) attack(h hostile) {
	conn, err := net.Dial("tcp", w.gateway.Addr)
	if err != nil {
		w.tally.fail(fmt.Errorf("a client that %s: %w", h.name, err))
		return
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		_, err := io.WriteString(conn, h.head)
		for err == nil && h.more != "" {
			time.Sleep(time.Second)
			_, err = io.WriteString(conn, h.more)
		}
	})
	_ = conn.SetReadDeadline(time.Now().Add(hostileBound))
	answer, err := io.ReadAll(conn) // an error is how the gateway may end it
	conn.Close()
	writing.Wait()
	if errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(string(answer), h.answer) {
		w.tally.fail(fmt.Errorf("a client that %s got %q, %w; want %q", h.name, answer, err, h.answer))
	}
}

// What is counted beside the answers, which are counted by their status and kind.
const (
	answered = "quotes: answered"
	givenUp  = "quotes: given up by the client"
	logged   = "quotes: in the access log"
	dropped  = "lines missing from the log, as it says itself"
)

// tally counts what came of the requests, and ends the soak when something went wrong.
type tally struct {
	end context.CancelCauseFunc
	log sync.RWMutex // locked while nobody reads the log

	mu     sync.Mutex
	counts map[string]int
}

// fail ends the soak with an error, if there is one.
func (t *tally) fail(err error) {
	if err != nil {
		t.end(err)
	}
}

func (t *tally) count(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[name] += n
}

// Write reads a line of the gateway's log.
func (t *tally) Write(line []byte) (int, error) {
	t.log.RLock()
	defer t.log.RUnlock()
	var entry struct {
		Msg, Route      string
		Lines, Unlogged int
	}
	_ = json.Unmarshal(line, &entry) // the runtime's own messages are not JSON
	if entry.Msg == "request" && strings.HasSuffix(entry.Route, "/quote") {
		t.count(logged, 1)
	}
	t.count(dropped, entry.Lines+entry.Unlogged)
	for _, wrong := range []string{"DATA RACE", "panic", "fatal error", secret} {
		if bytes.Contains(line, []byte(wrong)) {
			t.fail(fmt.Errorf("the gateway's log shows %q: %s", wrong, line))
		}
	}
	return len(line), nil
}

// verdict prints the counts, and finds what the judges of single answers cannot see.
func (t *tally) verdict(out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(out, "  %-48s %d\n", name, t.counts[name])
	}
	inLog, missing := t.counts[logged], t.counts[dropped]
	asked, left := t.counts[answered], t.counts[givenUp]
	if inLog+missing < asked || inLog > asked+left {
		t.fail(fmt.Errorf("of %d quotes answered and %d given up the log has %d, and dropped %d lines",
			asked, left, inLog, missing))
	}
	for _, kind := range []string{aboutIntegrator, aboutStatus} {
		if t.counts["200 "+kind] == 0 || t.counts["503 "+kind] == 0 {
			t.fail(fmt.Errorf("%s: not seen with working nodes and with failing ones", kind))
		}
	}
}
