package cctp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

const (
	linea   chain.ID = 59144 // built-in 13 bps
	polygon chain.ID = 137   // built-in 0
)

// service is the issuer's service: a real HTTP server whose connections are pipes, so
// that inside a synctest bubble all time is the test's. It can be made to misbehave.
type service struct {
	conns  chan net.Conn
	closed chan struct{}

	mu     sync.Mutex
	behave http.HandlerFunc // nil: refuse the connection
	paths  []string
	times  []time.Time // also of connections that were refused
	open   int         // requests without an answer yet
	most   int         // of them at once
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

// requests are the times at which requests arrived.
func (s *service) requests() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.times)
}

// seen are the requests, and how many of them there were at once.
func (s *service) seen() (paths []string, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths), s.most
}

func (s *service) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	down := s.behave == nil
	if down {
		s.times = append(s.times, time.Now())
	}
	s.mu.Unlock()
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
	s.open++
	s.most = max(s.most, s.open)
	behave := s.behave
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}()
	behave(w, r)
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

func (s *service) Close() error {
	close(s.closed)
	return nil
}

func (s *service) Addr() net.Addr { return &net.UnixAddr{Name: "service"} }

// fees are rates looked up at the service, already warm. The base address has a secret in
// each place where one can be.
func (s *service) issuer(t *testing.T) (*Issuer, *journal.Journal) {
	t.Helper()
	log := new(journal.Journal)
	f := newIssuer(t, "https://hidden:hidden@hidden.example/hidden/", log,
		&http.Transport{DialTLSContext: s.dial, DisableKeepAlives: true})
	t.Cleanup(func() {
		text := log.String()
		for _, s := range f.State() {
			if s.Err != nil {
				text += s.Err.Error()
			}
		}
		if strings.Contains(text, "hidden") {
			t.Errorf("part of the address is told: %s", text)
		}
	})
	f.Warm(t.Context())
	return f, log
}

// newFees uses the transport of production if transport is nil.
func newIssuer(t *testing.T, address string, log io.Writer, transport http.RoundTripper) *Issuer {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(log, nil))
	f, err := New(Config{FeeURL: address}, chain.Reference().Settlement, logger, transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func wantRate(t *testing.T, f *Issuer, source chain.ID, text string) {
	t.Helper()
	if got := f.Of(source).Rate; got.String() != text {
		t.Errorf("chain %s: got %s bps, want %s", source, got, text)
	}
}

func wantOrigin(t *testing.T, f *Issuer, source chain.ID, origin fee.Origin, reason string) {
	t.Helper()
	s := f.Of(source)
	got := ""
	if s.Err != nil {
		got = s.Err.Error()
	}
	if s.Origin != origin || got != reason {
		t.Errorf("chain %s: got %s because %q, want %s because %q", source, s.Origin, got, origin, reason)
	}
}

// levels are the level of each line about a source.
func levels(log *journal.Journal, source chain.ID) string {
	var levels []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, " source="+source.String()+" ") {
			_, rest, _ := strings.Cut(line, "level=")
			level, _, _ := strings.Cut(rest, " ")
			levels = append(levels, level)
		}
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

// fail has a body that would be accepted if the status were ignored.
func fail(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, h := range headers {
			key, value, _ := strings.Cut(h, ": ")
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		charge("77")(w, r)
	}
}

// hang sends nothing until the caller leaves.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// trickle sends an answer so slowly that it never ends.
func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		pause(r, time.Second)
	}
}

// pause ends with the request: no goroutine may outlive a bubble.
func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func delayed(d time.Duration, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		pause(r, d)
		then(w, r)
	}
}

// cut promises more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `[{"finalityThreshold":1000,"minimumFee":77}`)
}

// flood sends far more than is read.
func flood(w http.ResponseWriter, _ *http.Request) {
	kilobyte := strings.Repeat(" ", 1<<10)
	for range 1 << 20 {
		if _, err := io.WriteString(w, kilobyte); err != nil {
			return
		}
	}
}
