package limit

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/testdata/journal"
)

// go-redis tries to reach a server that is away until a second after its client
// is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

var quiet = slog.New(slog.DiscardHandler)

// clock is a clock that moves when told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// logTo is a log that the test reads.
func logTo(j *journal.Journal) *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func newTestLimiter(t testing.TB, cfg Config, c *clock) *Limiter {
	t.Helper()
	return start(t, cfg, quiet, c, calm)
}

func start(t testing.TB, cfg Config, log *slog.Logger, c *clock, p timeouts) *Limiter {
	t.Helper()
	l, err := newLimiter(t.Context(), cfg, log, c.now, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// guarded answers 200 to requests that l admits, and refuses others as the gateway does.
func guarded(l *Limiter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := l.Admit(r.Context(), w.Header(), Address(peer(r)), false); e != nil {
			w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
			http.Error(w, e.Error(), http.StatusTooManyRequests)
		}
	})
}

// asked is an ordinary request of a client.
func asked(c clientKey, limit int) question { return question{client: c, limit: limit} }

func get(h http.Handler, peer string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/v3/swap/quote", nil)
	r.RemoteAddr = peer
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Fatalf("got %d, want %d (%s)", w.Code, want, w.Body)
	}
}

const alice, bob = "203.0.113.1:1", "203.0.113.2:1"

// peer is the address a request comes from; the zero Addr for a unix socket.
func peer(r *http.Request) netip.Addr { return peerOf(r.RemoteAddr) }

func peerOf(remote string) netip.Addr {
	at, _ := netip.ParseAddrPort(remote)
	return at.Addr()
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it takes seconds; make test-all runs it")
	}
}
