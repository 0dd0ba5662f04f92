package cctp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

const (
	linea    chain.ID = 59144 // built-in 13 bps
	optimism chain.ID = 10    // built-in 1.3 bps
	polygon  chain.ID = 137   // built-in 0
)

// sources are the chains from which USDC is burned.
func sources() []chain.ID {
	var ids []chain.ID
	for _, pair := range chain.Pairs() {
		if pair.Route == chain.CCTPInbound {
			ids = append(ids, pair.Src)
		}
	}
	return ids
}

// turns is how often four look-ups at once are made until all sources were looked up.
func turns() int { return (len(sources()) + 3) / 4 }

// allTimeOut is how long it takes until a look-up of every source has timed out.
func allTimeOut() time.Duration { return time.Duration(turns()) * 5 * time.Second }

func bps(t testing.TB, text string) cctp.Rate {
	t.Helper()
	rate, err := cctp.ParseRate(text)
	if err != nil {
		t.Fatalf("%s %v", text, err)
	}
	return rate
}

// service is the issuer's fee service: a real HTTP server whose connections
// are pipes, so that inside a synctest bubble all time is the test's. It can
// be told to misbehave.
type service struct {
	conns  chan net.Conn
	closed chan struct{}

	mu     sync.Mutex
	behave http.HandlerFunc // nil: refuse the connection
	deaf   bool             // do not even refuse it
	paths  []string
	times  []time.Time

	waiting int // requests without an answer yet
	most    int // of them at once
}

func startService(t *testing.T, behave http.HandlerFunc) *service {
	s := &service{conns: make(chan net.Conn), closed: make(chan struct{}), behave: behave}
	server := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go server.Serve(s)
	t.Cleanup(func() { server.Close() })
	return s
}

// become changes how the service behaves.
func (s *service) become(behave http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behave = behave
}

// requests are the times at which the service was asked, or would have been
// had it not been down.
func (s *service) requests() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.times...)
}

// asked are the requests that reached the service, and how many waited for an
// answer at once.
func (s *service) asked() (paths []string, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.paths...), s.most
}

func (s *service) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	down, deaf := s.behave == nil, s.deaf
	if down || deaf {
		s.times = append(s.times, time.Now())
	}
	s.mu.Unlock()
	if deaf {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if down {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	select {
	case s.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.times = append(s.times, time.Now())
	s.paths = append(s.paths, r.Method+" "+r.URL.RequestURI())
	behave := s.behave
	s.mu.Unlock()
	behave(w, r)
}

// transport is the way to the service. It counts the requests that wait for an
// answer.
type transport struct {
	*http.Transport
	s *service
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.count(1)
	defer t.count(-1)
	return t.Transport.RoundTrip(r)
}

func (t *transport) count(more int) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.waiting += more
	t.s.most = max(t.s.most, t.s.waiting)
}

// Accept, Close and Addr make the service its own listener.
func (s *service) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *service) Close() error   { close(s.closed); return nil }
func (s *service) Addr() net.Addr { return &net.UnixAddr{Name: "service"} }

// fees are rates looked up at the service, already warm. The base address has
// a secret in each place where one can be.
func (s *service) fees(t *testing.T) (*cctp.Fees, *logged) {
	t.Helper()
	log := &logged{}
	f, err := cctp.New(cctp.Config{FeeURL: "https://hidden:hidden@hidden.example/hidden/"}, chain.Reference().Settlement,
		slog.New(slog.NewTextHandler(log, nil)),
		&transport{&http.Transport{DialTLSContext: s.dial, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10}, s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	t.Cleanup(func() {
		if strings.Contains(log.String(), "hidden") {
			t.Errorf("the log has part of the address: %s", log)
		}
		for _, s := range f.State() {
			if s.Err != nil && strings.Contains(s.Err.Error(), "hidden") {
				t.Errorf("the state has part of the address: %v", s.Err)
			}
		}
	})
	f.Warm(t.Context())
	return f, log
}

// logged keeps what was logged.
type logged struct{ journal.Journal }

// levels are the level of each line about a source.
func (l *logged) levels(source chain.ID) string {
	var levels []string
	for line := range strings.Lines(l.String()) {
		if !strings.Contains(line, " source="+source.String()+" ") {
			continue
		}
		_, rest, _ := strings.Cut(line, "level=")
		level, _, _ := strings.Cut(rest, " ")
		levels = append(levels, level)
	}
	return strings.Join(levels, " ")
}

// Ways to behave.

// charge answers as the issuer does; fee is the JSON of the fee at 1000.
func charge(fee string) http.HandlerFunc {
	return say(`[{"finalityThreshold":1000,"minimumFee":` + fee + `},{"finalityThreshold":2000,"minimumFee":0}]`)
}

func say(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

func fail(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			key, value, _ := strings.Cut(h, ": ")
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		// A body that would be believed if the status were not looked at.
		charge("77")(w, nil)
	}
}

// hang says nothing until the caller leaves.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// trickle sends a good answer so slowly that it never ends.
func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
		}
	}
}

func delay(d time.Duration, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			then(w, r)
		case <-r.Context().Done():
		}
	}
}

// cut promises more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `[{"finalityThreshold":1000,"minimumFee":77}`)
}

func flood(w http.ResponseWriter, _ *http.Request) {
	for range 1 << 20 {
		if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<10)); err != nil {
			return
		}
	}
}
