package limit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// list asks for a listing, and returns what the answer tells.
func list(l *Limiter, from Client) (http.Header, *fault.Error) {
	w := httptest.NewRecorder()
	refused := l.AdmitListing(w, from)
	return w.Header(), refused
}

func newListingLimiter(t *testing.T) *Limiter {
	t.Helper()
	l, err := New(t.Context(), Config{PerMinute: 30}, quiet, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Listings have ten times the limit, beside it, for an address and for a key.
func TestListingsHaveABudgetOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		for _, tt := range []struct {
			who   Client
			limit int
			want  string
		}{
			{Address(peerOf(alice)), 300, "The limit is 300 requests a minute for listings from one address; the next one passes in "},
			{Address(netip.MustParseAddr("2001:db8::1")), 300, "The limit is 300 requests a minute for listings from one address; the next one passes in "},
			{holder, 1000, "The limit is 1,000 requests a minute for listings with this key; the next one passes in "},
		} {
			for i := range tt.limit {
				h, refused := list(l, tt.who)
				if refused != nil {
					t.Fatalf("request %d of %d: %v", i+1, tt.limit, refused)
				}
				if h.Get("RateLimit-Limit") != strconv.Itoa(tt.limit) || h.Get("RateLimit-Remaining") != strconv.Itoa(tt.limit-1-i) {
					t.Fatalf("request %d: got headers %v", i+1, h)
				}
			}
			h, refused := list(l, tt.who)
			if refused == nil {
				t.Fatalf("request %d passed", tt.limit+1)
			}
			wait := strconv.Itoa(int(refused.RetryAfter.Seconds()))
			if refused.Code != fault.RateLimited || refused.Message[:len(tt.want)] != tt.want || h.Get("RateLimit-Remaining") != "0" || h.Get("RateLimit-Reset") != wait {
				t.Errorf("got %q and headers %v, want %q", refused.Message, h, tt.want)
			}
			if h, refused := admit(t, l, tt.who, false); refused != nil || h.Get("RateLimit-Remaining") != strconv.Itoa(l.limitOf(tt.who)-1) {
				t.Errorf("a quote: got %v and %v, want a budget of its own", refused, h)
			}
		}
	})
}

// Whoever waits as long as told passes, at whatever time within the minute it was
// refused, and is never let in much more often than the limit says.
func TestListingsKeepTheirPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		for offset := range 13 {
			from := Address(netip.AddrFrom4([4]byte{203, 0, 113, byte(offset)}))
			time.Sleep(time.Duration(offset) * 4999 * time.Millisecond)
			began, passed := time.Now(), 0
			for time.Since(began) < 10*time.Minute {
				h, refused := list(l, from)
				if reset, err := strconv.Atoi(h.Get("RateLimit-Reset")); err != nil || reset < 1 || reset > 61 {
					t.Fatalf("got RateLimit-Reset %q", h.Get("RateLimit-Reset"))
				}
				if refused == nil {
					passed++
					continue
				}
				time.Sleep(refused.RetryAfter)
				if _, again := list(l, from); again != nil {
					t.Fatalf("refused again after %v", refused.RetryAfter)
				}
				passed++
			}
			if passed < 10*300-300 || passed > 11*300+300 {
				t.Errorf("%d passed in ten minutes, want about 3000", passed)
			}
		}
	})
}

// A flood of addresses takes a bounded memory, and those that are counted stay counted.
func TestListingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		a := Address(netip.MustParseAddr("192.0.2.1"))
		for range 300 {
			list(l, a)
		}
		for _, addr := range addresses(2 * maxListingClients) {
			if _, refused := list(l, Address(addr)); refused != nil {
				t.Fatal(refused)
			}
		}
		if n := len(l.listings.counter.current); n != maxListingClients {
			t.Errorf("%d clients are counted, want %d", n, maxListingClients)
		}
		if _, refused := list(l, a); refused == nil {
			t.Error("the flood has displaced a client")
		}
		time.Sleep(2 * window)
		list(l, a)
		if n := len(l.listings.counter.current) + len(l.listings.counter.previous); n != 1 {
			t.Errorf("%d clients are counted two minutes later, want 1", n)
		}
	})
}

// A request that read the clock before the minute changed does not begin a new one, and
// a clock that is set back does.
func TestWindowCounterTurns(t *testing.T) {
	c := newListings(30).counter
	start := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, tt := range []struct {
		at                time.Time
		current, previous int
	}{
		{start, 1, 0}, {start, 2, 0}, {start.Add(window), 1, 2}, {start, 2, 2}, {start.Add(2 * window), 1, 2},
		{start.Add(-time.Hour), 1, 0}, {start.Add(time.Hour), 1, 0},
	} {
		if err := c.Increment("x", tt.at); err != nil {
			t.Fatal(err)
		}
		if current, previous, _ := c.Get("x", tt.at, time.Time{}); current != tt.current || previous != tt.previous {
			t.Errorf("at %v: got %d and %d, want %d and %d", tt.at, current, previous, tt.current, tt.previous)
		}
	}
}

// At the start of a minute, a whole minute is left.
func TestListingsResetAtTheStartOfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which starts at midnight
		h, refused := list(newListingLimiter(t), Address(netip.MustParseAddr("203.0.113.7")))
		if got := h.Get("RateLimit-Reset"); got != "60" || refused != nil {
			t.Errorf("got RateLimit-Reset %q and %v, want 60", got, refused)
		}
	})
}

// A refused client waits until the estimate is below 299.5 of 300, and a millisecond.
func TestListingWait(t *testing.T) {
	for _, tt := range []struct {
		current, previous int
		elapsed, want     time.Duration
	}{
		{0, 0, 0, time.Millisecond},
		{0, 400, 0, 15_076 * time.Millisecond},                  // 400 * 44.925/60 = 299.5
		{100, 400, 10 * time.Second, 20_076 * time.Millisecond}, // 100 + 400 * 29.925/60 = 299.5
		{300, 0, 0, 60_101 * time.Millisecond},                  // 300 * 59.9/60 = 299.5, in the next minute
		{300, 500, 20 * time.Second, 40_101 * time.Millisecond},
	} {
		got := listingWait(tt.current, tt.previous, 300, tt.elapsed)
		if (got - tt.want).Abs() > time.Microsecond {
			t.Errorf("%d after %d, %v into the minute: got %v, want %v", tt.current, tt.previous, tt.elapsed, got, tt.want)
		}
	}
}

// A client without a limit of its own is asked for with a request that is there already.
func TestTheUsualLimitOfListings(t *testing.T) {
	if got := newListings(30).limit; got != 300 {
		t.Errorf("got %d, want 300", got)
	}
}
