package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/testdata/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that moves when told to.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

// noon is in the middle of slots of every width.
var noon = time.Date(2027, 3, 10, 12, 32, 10, 0, time.UTC)

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// rig is a census under test.
type rig struct {
	*Census
	clock *clock
	log   *journal.Journal
}

var versions = []string{"v3", "v1"}

func start(t testing.TB, cfg Config, redisURL string, at *clock) *rig {
	t.Helper()
	r := &rig{clock: at, log: &journal.Journal{}}
	var err error
	r.Census, err = New(context.Background(), cfg, Options{Versions: versions, RedisURL: redisURL, Now: at.now, Log: slog.New(slog.NewTextHandler(r.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() { r.Close(context.Background()) }

// call records calls of a client of v1 now.
func (r *rig) call(id caller.Identity, times int) {
	for range times {
		r.Record("v1", id, r.clock.now())
	}
}

func (r *rig) v1(t testing.TB) Version {
	t.Helper()
	v := r.Report().Versions[1]
	if v.Version != "v1" {
		t.Fatalf("got version %q in the second place, want v1", v.Version)
	}
	return v
}

func origin(n int) caller.Identity {
	return caller.Identity{Kind: caller.Origin, Text: fmt.Sprintf("https://wallet-%d.example", n)}
}

// agent is what the client package makes of a request without integrator and
// Origin.
func agent(addr string) caller.Identity {
	r := httptest.NewRequest(http.MethodGet, "/v1/quote", nil)
	r.Header.Set("User-Agent", "curl/8.5.0")
	return caller.From(r, netip.MustParseAddr(addr)).Identity()
}

func TestCountsByWindow(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	r.call(origin(1), 3)
	steps := []struct {
		name            string
		pass            time.Duration
		hour, day, week uint64 // calls; there is one client
	}{
		{"at once", 0, 3, 3, 3},
		{"an hour later, all of it is covered", time.Hour, 3, 3, 3},
		{"five minutes more, and the hour is over", 5 * time.Minute, 0, 3, 3},
		{"a day after the calls", 24*time.Hour - 65*time.Minute, 0, 3, 3},
		{"an hour more, and the day is over", time.Hour, 0, 0, 3},
		{"a week after the calls", 6*24*time.Hour - time.Hour, 0, 0, 3},
		{"six hours more, and the week is over", 6 * time.Hour, 0, 0, 0},
	}
	for _, step := range steps {
		r.clock.pass(step.pass)
		clients := func(calls uint64) Count { return Count{calls, min(calls, 1)} }
		got := r.v1(t)
		if want := clients(step.hour); got.Hour != want {
			t.Errorf("%s: got hour %+v, want %+v", step.name, got.Hour, want)
		}
		if want := clients(step.day); got.Day != want {
			t.Errorf("%s: got day %+v, want %+v", step.name, got.Day, want)
		}
		if want := clients(step.week); got.Week != want {
			t.Errorf("%s: got week %+v, want %+v", step.name, got.Week, want)
		}
		if clients, calls := r.LastDay("v1"); uint64(clients) != got.Day.Clients || uint64(calls) != got.Day.Calls {
			t.Errorf("%s: got last day %d, %d, want what the report says: %+v", step.name, clients, calls, got.Day)
		}
		if got, want := len(got.Clients), int(min(step.week, 1)); got != want {
			t.Errorf("%s: got %d clients, want %d", step.name, got, want)
		}
	}
}

// TestNeverLessThanTheWindow makes a call at every phase of the slots and asks
// just before its window is over.
func TestNeverLessThanTheWindow(t *testing.T) {
	for phase := time.Duration(0); phase < 6*time.Hour; phase += 7 * time.Minute {
		r := start(t, Config{}, "", &clock{t: noon.Add(phase)})
		r.call(origin(1), 1)
		r.clock.pass(time.Hour - time.Second)
		if got := r.v1(t).Hour; got != (Count{1, 1}) {
			t.Errorf("phase %v: got hour %+v, want the call", phase, got)
		}
		r.clock.pass(23 * time.Hour)
		if got := r.v1(t).Day; got != (Count{1, 1}) {
			t.Errorf("phase %v: got day %+v, want the call", phase, got)
		}
		r.clock.pass(6 * 24 * time.Hour)
		if got := r.v1(t).Week; got != (Count{1, 1}) {
			t.Errorf("phase %v: got week %+v, want the call", phase, got)
		}
	}
}

func TestVersionsAreCountedApart(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	r.call(origin(1), 2)
	r.Record("v3", origin(1), noon)
	r.Record("v9", origin(1), noon) // not served
	if clients, calls := r.LastDay("v3"); clients != 1 || calls != 1 {
		t.Errorf("v3: got %d clients and %d calls, want 1 and 1", clients, calls)
	}
	if clients, calls := r.LastDay("v9"); clients != 0 || calls != 0 {
		t.Errorf("v9: got %d clients and %d calls, want none", clients, calls)
	}
	if got := len(r.Report().Versions); got != 2 {
		t.Errorf("got %d versions, want 2", got)
	}
}

func TestHeaviestClients(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	integrator := caller.Identity{Kind: caller.Integrator, Text: "0x000000000000000000000000fb6916095ca1df60bb79ce92ce3ea74c37c5d359"}
	r.call(integrator, 6)
	for i := range 60 {
		r.call(origin(i), 1)
	}
	r.clock.pass(25 * time.Hour)
	r.call(integrator, 4)
	r.call(agent("203.0.113.77"), 30)

	got := r.v1(t).Clients
	if len(got) != heaviest {
		t.Fatalf("got %d clients, want the heaviest %d", len(got), heaviest)
	}
	if want := (Client{
		Client: "integrator " + integrator.Text, FirstSeen: noon, LastSeen: noon.Add(25 * time.Hour), Day: 4, Week: 10, Share: 0.1,
	}); got[1] != want {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
	if got[0].Client != r.Name(agent("203.0.113.99")) {
		t.Errorf("got %q first, want the name of the agent's network, %q", got[0].Client, r.Name(agent("203.0.113.99")))
	}
	if got[0].Share != 0.3 || got[0].Week != 30 {
		t.Errorf("got %+v first, want 30 calls and a share of 0.3", got[0])
	}
}

func TestNamesHoldNoAddress(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	for _, test := range []struct {
		name string
		id   caller.Identity
		want func(string) bool
	}{
		{"integrator", caller.Identity{Kind: caller.Integrator, Text: "0xab"}, func(s string) bool { return s == "integrator 0xab" }},
		{"origin", origin(7), func(s string) bool { return s == "origin https://wallet-7.example" }},
		{"IPv4", agent("198.51.100.7"), func(s string) bool { return strings.HasPrefix(s, "agent curl #") && len(s) == len("agent curl #")+16 }},
		{"IPv6", agent("2001:db8:1:2::3"), func(s string) bool { return strings.HasPrefix(s, "agent curl #") && !strings.Contains(s, "db8") }},
		{"no address", caller.Identity{Kind: caller.Agent, Text: "- -"}, func(s string) bool { return s == "agent - -" }},
	} {
		if got := r.Name(test.id); !test.want(got) {
			t.Errorf("%s: got %q", test.name, got)
		}
	}
	other := start(t, Config{}, "", &clock{t: noon})
	if r.Name(agent("198.51.100.7")) == other.Name(agent("198.51.100.7")) {
		t.Error("two deployments give an address the same name")
	}
	if a, b := r.Name(agent("198.51.100.7")), r.Name(agent("198.51.100.200")); a != b {
		t.Errorf("got %q and %q for one network, want one name", a, b)
	}
}

func TestClockThatJumps(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	r.call(origin(1), 1)
	r.clock.pass(400 * 24 * time.Hour)
	r.call(origin(2), 1)
	r.clock.pass(-400 * 24 * time.Hour)
	for range 3 { // forth and back by exactly one turn of the shortest ring
		r.call(origin(3), 1)
		r.clock.pass(hourSlots * hourWidth * time.Second)
		r.call(origin(4), 1)
		r.clock.pass(-hourSlots * hourWidth * time.Second)
	}
	r.call(origin(3), 1)
	got := r.v1(t)
	if got.Hour != (Count{1, 1}) {
		t.Errorf("got hour %+v, want the call since the last jump", got.Hour)
	}
	if got.Week.Calls < 7 || got.Week.Clients < 2 {
		t.Errorf("got week %+v, want at least the 7 calls of 2 clients within a few hours", got.Week)
	}
	r.Record("v1", origin(5), time.Unix(-1e9, 0))
	r.Record("v1", origin(5), time.Time{})
	r.call(origin(5), 1)
	if got := r.v1(t); got.Hour.Clients != 2 {
		t.Errorf("got hour %+v after calls before all time, want 2 clients", got.Hour)
	}
}

func TestReportIsJSONWithoutNulls(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	got, err := json.Marshal(r.Report())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "null") {
		t.Errorf("got %s, want empty lists instead of null", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := start(t, Config{File: t.TempDir() + "/usage"}, "", &clock{t: noon})
	const callers, calls = 8, 2000
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range calls {
				r.call(origin(i*calls+n%50), 1)
				if n%500 == 0 {
					r.clock.pass(time.Minute)
					r.Report()
					r.LastDay("v1")
					r.sync(t.Context())
					r.adopt(randomKey())
				}
			}
		})
	}
	wg.Wait()
	if got := r.v1(t).Day.Calls; got != callers*calls {
		t.Errorf("got %d calls, want %d", got, callers*calls)
	}
}

func TestConfig(t *testing.T) {
	if err := (Config{Key: "short and secret"[:15]}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "USAGE_KEY: ") || strings.Contains(err.Error(), "secre") {
		t.Errorf("got %v, want an error that names the variable and hides its value", err)
	}
	if err := (Config{Key: "0123456789abcdef"}).Validate(); err != nil {
		t.Error(err)
	}
	if _, err := New(t.Context(), Config{Key: "x"}, Options{}); err == nil {
		t.Error("a bad key was taken")
	}
	if _, err := New(t.Context(), Config{}, Options{RedisURL: "http://:hunter2@redis"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the password", err)
	}
}
