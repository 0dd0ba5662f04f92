package limit

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

var alice = Address(netip.MustParseAddr("203.0.113.1"))

// admit is one of the methods AdmitQuote and AdmitRead.
type admit func(*Limiter, http.Header, Source) *fault.Error

// wantPassed has a source ask until it is refused, and returns the refusal.
func wantPassed(t *testing.T, l *Limiter, ask admit, from Source, want int) (refused *fault.Error) {
	t.Helper()
	passed := 0
	for passed <= want && refused == nil {
		if refused = ask(l, http.Header{}, from); refused == nil {
			passed++
		}
	}
	if passed != want {
		t.Errorf("%s: got %d passed, want %d", from.id, passed, want)
	}
	return refused
}

func TestHeadersAndRefusals(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]admit{"requests": (*Limiter).AdmitQuote, "status look-ups": (*Limiter).AdmitRead} {
		c := newClock()
		l := start(t, Config{PerMinute: 3}, quiet, c.Now, patient)
		for i, step := range []struct {
			after                   time.Duration
			limit, remaining, reset string
			refused                 string
		}{
			{0, "3", "2", "60", ""},
			{10 * time.Second, "3", "1", "50", ""},
			{10 * time.Second, "3", "0", "40", ""},
			{500 * time.Millisecond, "3", "0", "40", "Rate limit exceeded: 3 " + name + " per minute. Retry in 40 seconds."},
			{38600 * time.Millisecond, "3", "0", "1", "Rate limit exceeded: 3 " + name + " per minute. Retry in 1 second."},
			{900 * time.Millisecond, "3", "0", "10", ""},
		} {
			c.Advance(step.after)
			h := http.Header{}
			refused := ask(l, h, alice)
			if h.Get("RateLimit-Limit") != step.limit || h.Get("RateLimit-Remaining") != step.remaining ||
				h.Get("RateLimit-Reset") != step.reset {
				t.Errorf("%s, request %d: got %v, want %+v", name, i+1, h, step)
			}
			switch {
			case refused == nil && step.refused != "":
				t.Errorf("%s, request %d passed, want %q", name, i+1, step.refused)
			case refused != nil && (refused.Code != fault.RateLimited || refused.Message != step.refused):
				t.Errorf("%s, request %d: got %+v, want %q", name, i+1, refused, step.refused)
			case refused != nil && refused.RetryAfter <= 0:
				t.Errorf("%s, request %d: got no time to retry", name, i+1)
			}
		}
		if got := l.Stats(); got.Allowed != 4 || got.Refused != 2 || got.Backend != Memory {
			t.Errorf("%s: got %+v, want 4 allowed and 2 refused in memory", name, got)
		}
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	address := func(text string) Source { return Address(netip.MustParseAddr(text)) }
	for _, tt := range []struct {
		name       string
		one, other Source
		same       bool
		text       string // of one
	}{
		{"IPv4", address("203.0.113.1"), address("203.0.113.2"), false, "203.0.113.1"},
		{"IPv4 in IPv6", address("203.0.113.1"), address("::ffff:203.0.113.1"), true, "203.0.113.1"},
		{"one /64", address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::2"), true, "2001:db8:1:2::/64"},
		{"two /64", address("2001:db8:1:2::1"), address("2001:db8:1:3::1"), false, "2001:db8:1:2::/64"},
		{"with a zone", address("fe80::1%eth0"), address("fe80::2"), true, "fe80::/64"},
		{"keys", Key(1, 0), Key(2, 0), false, "key:0000000000000001"},
		{"a key with another limit", Key(1, 10), Key(1, 0), true, "key:0000000000000001"},
		{"a key is no address", Key(0xcb007101, 0), address("203.0.113.1"), false, "key:00000000cb007101"},
		{"an IPv4 address is no /64", address("0.0.0.1"), address("::"), false, "0.0.0.1"},
	} {
		if same := tt.one.id == tt.other.id; same != tt.same || tt.one.id.String() != tt.text {
			t.Errorf("%s: got %v for %s and %s, want %v", tt.name, same, tt.one.id, tt.other.id, tt.same)
		}
	}
}

func TestLimitsOfSources(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		from Source
		want int
	}{
		{"address", alice, 30},
		{"key without a limit of its own", Key(1, 0), 30},
		{"key with a lower limit", Key(2, 5), 5},
		{"key with the highest limit", Key(3, MaxPerMinute), MaxPerMinute},
	} {
		l := start(t, Config{PerMinute: 30}, quiet, newClock().Now, patient)
		// Neither uses up the other.
		wantPassed(t, l, (*Limiter).AdmitRead, tt.from, tt.want)
		wantPassed(t, l, (*Limiter).AdmitQuote, tt.from, tt.want)
		wantPassed(t, l, (*Limiter).AdmitQuote, source(1), 30)
	}
}

func TestWhoIsNotLimited(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
		from Source
		want Stats
	}{
		{"RATE_LIMIT is 0", Config{}, alice, Stats{Backend: Off}},
		{"RATE_LIMIT is 0, with a key", Config{}, Key(1, 2), Stats{Backend: Off}},
	} {
		l := start(t, tt.cfg, quiet, newClock().Now, patient)
		h := http.Header{}
		for range 1000 {
			for _, refused := range []*fault.Error{
				l.AdmitQuote(h, tt.from), l.AdmitRead(h, tt.from), l.AdmitRequest(tt.from),
			} {
				if refused != nil {
					t.Fatalf("%s: got %v", tt.name, refused)
				}
			}
		}
		if got := l.Stats(); got != tt.want || len(h) != 0 {
			t.Errorf("%s: got %+v and headers %v, want %+v and none", tt.name, got, h, tt.want)
		}
	}
}

// The metric of forgotten sources has those of both budgets. However many holders of keys
// there are, all are held.
func TestForgottenSources(t *testing.T) {
	t.Parallel()
	clock := newClock()
	l := start(t, Config{PerMinute: 30}, quiet, clock.Now, patient)
	l.quotes = newBudget(shardCount, clock.Now) // one in each shard
	l.reads = newBudget(shardCount, clock.Now)
	const holders, addresses = 20, 200
	for n := range uint64(holders) {
		l.AdmitQuote(http.Header{}, Key(n+1, 0))
	}
	for n := range addresses {
		l.AdmitQuote(http.Header{}, source(n))
		l.AdmitRead(http.Header{}, source(n))
	}
	forgotten := 2 * addresses
	for i := range shardCount {
		forgotten -= len(l.quotes.shards[i].addresses) + len(l.reads.shards[i].addresses)
	}
	got := l.Stats()
	if got.Ceiling != shardCount || got.Sources > holders+shardCount || got.Sources <= holders ||
		got.Forgotten != uint64(forgotten) {
		t.Errorf("got %+v, want %d forgotten", got, forgotten)
	}
}
