package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/testdata/journal"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("USAGE_TEST_CHILD"); file != "" {
		countUntilKilled(file)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		stopCluster()
		os.Exit(code)
	}))
}

// clock is a time that moves when told to.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

// noon is in the middle of an hour.
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

// rig is a recorder under test.
type rig struct {
	*Recorder
	clock *clock
	log   *journal.Journal
}

func begin(t testing.TB, cfg Config, at *clock) *rig {
	t.Helper()
	r := &rig{clock: at, log: &journal.Journal{}}
	var err error
	r.Recorder, err = New(t.Context(), cfg, Options{Versions: []string{"v3", "v1"}, Current: "v3", Now: at.now, database: at.now, Log: slog.New(slog.NewTextHandler(r.log, nil))})
	if err != nil {
		t.Error(err)
		t.FailNow()
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() { r.Close(context.Background()) }

func (r *rig) flush(t testing.TB) {
	t.Helper()
	if err := r.write(context.Background()); err != nil {
		t.Error(err)
	}
}

// up lets time pass while the service is up, and writes.
func (r *rig) up(t testing.TB, d time.Duration) {
	t.Helper()
	r.writing <- struct{}{} // which guards the hours
	for ; d > time.Hour; d -= time.Hour {
		r.clock.pass(time.Hour)
		r.hours[r.clock.now().Unix()/hour*hour] = struct{}{}
	}
	<-r.writing
	r.clock.pass(d)
	r.flush(t)
}

func (r *rig) report(t testing.TB) Report {
	t.Helper()
	report, err := r.Report(context.Background(), Query{Per: maxPer})
	if err != nil {
		t.Error(err)
		t.FailNow()
	}
	return report
}

var pair = &chain.Pair{}

// call has v1 serve calls of a client now.
func (r *rig) call(client string, times int) {
	for range times {
		r.Observe(&event.Event{Time: r.clock.now(), Version: "v1", Client: client, Pair: pair})
	}
}

// found has v1 serve calls of which the current version makes something.
func (r *rig) found(client string, times int, what event.Finding) {
	for range times {
		r.Observe(&event.Event{Time: r.clock.now(), Version: "v1", Client: client, Pair: pair, Finding: what})
	}
}

// agent is the identity of a caller without integrator and Origin.
func agent(addr string) caller.Identity {
	return caller.Caller{Agent: "curl", Addr: netip.MustParseAddr(addr)}.Identity()
}

// onEach runs a test on an empty database of every kind.
func onEach(t *testing.T, test func(*testing.T, Config)) {
	t.Run("memory", func(t *testing.T) { test(t, Config{}) })
	onDisk(t, test)
}

// onDisk runs a test on an empty database of every kind that outlives a process.
func onDisk(t *testing.T, test func(*testing.T, Config)) {
	t.Run("file", func(t *testing.T) { test(t, Config{DB: filepath.Join(t.TempDir(), "usage ?%41.db")}) })
	t.Run("postgres", func(t *testing.T) { test(t, Config{DB: postgres(t).fresh(t)}) })
}

func TestCountsByWindow(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		r.call("origin https://a.example", 2)
		r.call("origin https://b.example", 1)
		for _, step := range []struct {
			name            string
			pass            time.Duration
			hour, day, week uint64 // calls; there are two clients
		}{
			{"at once", 0, 3, 3, 3},
			{"an hour later", time.Hour, 3, 3, 3},
			{"when the next hour begins", 28 * time.Minute, 0, 3, 3},
			{"a day after the calls", 22*time.Hour + 32*time.Minute, 0, 3, 3},
			{"an hour more", time.Hour, 0, 0, 3},
			{"a week after the calls", 6*24*time.Hour - time.Hour, 0, 0, 3},
			{"an hour more, too", time.Hour, 0, 0, 0},
		} {
			r.clock.pass(step.pass)
			got := r.report(t).Versions[1]
			for _, window := range []struct {
				name  string
				got   Count
				calls uint64
			}{{"hour", got.Hour, step.hour}, {"day", got.Day, step.day}, {"week", got.Week, step.week}} {
				if want := (Count{window.calls, min(window.calls, 2)}); window.got != want {
					t.Errorf("%s: got %s %+v, want %+v", step.name, window.name, window.got, want)
				}
			}
			if e := r.Evidence("v1", 1); uint64(e.Clients) != got.Day.Clients || uint64(e.Calls) != got.Day.Calls {
				t.Errorf("%s: got evidence %+v of a day, want what the report says: %+v", step.name, e, got.Day)
			}
		}
		totals := r.Totals()
		if len(totals) != 6 || totals[3].Version != "v1" || totals[3].Window != "hour" || totals[5].Window != "week" {
			t.Errorf("got totals %+v, want v3 and v1 by hour, day and week", totals)
		}
	})
}

// What counts of an old version is what its sunset ends; of the current one, quotes.
func TestWhatCounts(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	for _, e := range []event.Event{
		{Version: "v1", Pair: pair},
		{Version: "v1", Pair: pair, Quotes: true, Route: "/v1/quote"},
		{Version: "v1", Route: "/v1/app/routers"},
		{Version: "v3", Pair: pair},
		{Version: "v3", Route: "/v3/swap/status"},
		{Version: "v1", Route: "/v1/openapi.yaml", Free: true},
		{Version: "v9", Pair: pair}, // not served here
		{Pair: pair},                // of no version
		{Code: fault.NotFound},      // of no version
		{Version: "v1", Quotes: true, Code: fault.VersionBrownout},
		{Version: "v1", Route: "/v1/app/routers", Code: fault.VersionBrownout},
		{Version: "v1", Quotes: true, Code: fault.VersionRetired},
		{Version: "v1", Quotes: true, Code: fault.VersionRetired, Rehearsal: true},
		{Version: "v1", Quotes: true, Code: fault.RateLimited},
		{Version: "v1", Quotes: true, Code: fault.UnsupportedPair, Time: time.Unix(0, 0)}, // long ago
		{Version: "v1", Code: fault.NotFound},                                             // no route
	} {
		if e.Time.IsZero() {
			e.Time = noon
		}
		e.Client = "origin https://a.example"
		r.Observe(&e)
	}
	report := r.report(t)
	if got := report.Versions[0].Week; got != (Count{1, 1}) {
		t.Errorf("v3: got %+v, want one call", got)
	}
	v1 := report.Versions[1]
	if v1.Week != (Count{3, 1}) {
		t.Errorf("v1: got %+v, want three calls", v1.Week)
	}
	want := map[string]uint64{"brownout": 2, "retired": 1, "rehearsed": 1, "failed": 1}
	if !maps.Equal(v1.Unserved, want) {
		t.Errorf("v1: got %v, want %v", v1.Unserved, want)
	}
	if e := r.Evidence("v1", 1); e.Calls != 5 || e.Clients != 1 {
		t.Errorf("got %+v, want the served calls and those that the brownout refused", e)
	}
}

func TestNamesHoldNoAddress(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	for _, test := range []struct {
		name string
		id   caller.Identity
		want string
	}{
		{"integrator", caller.Identity{Kind: caller.Integrator, Text: "0xab"}, "integrator 0xab"},
		{"origin", caller.Identity{Kind: caller.Origin, Text: "https://a.example"}, "origin https://a.example"},
		{"IPv4", agent("198.51.100.7"), "agent curl #0000000000000000"},
		{"IPv6", agent("2001:db8:1:2::3"), "agent curl #0000000000000000"},
		{"no address", caller.Identity{Kind: caller.Agent, Text: "- -"}, "agent - -"},
	} {
		got := r.Name(test.id)
		if prefix, _, hashed := strings.Cut(test.want, "#"); len(got) != len(test.want) || !strings.HasPrefix(got, prefix) || !hashed && got != test.want {
			t.Errorf("%s: got %q, want something like %q", test.name, got, test.want)
		}
	}
	if a, b := r.Name(agent("198.51.100.7")), r.Name(agent("198.51.100.200")); a != b {
		t.Errorf("got %q and %q for one network, want one name", a, b)
	}
	other := begin(t, Config{}, &clock{t: noon})
	if r.Name(agent("198.51.100.7")) == other.Name(agent("198.51.100.7")) {
		t.Error("two keys give an address the same name")
	}
}

func TestClockThatJumps(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	r.call("origin https://a.example", 1)
	r.clock.pass(3 * 24 * time.Hour)
	r.call("origin https://b.example", 1)
	r.clock.pass(-3 * 24 * time.Hour)
	r.call("origin https://a.example", 1)
	r.Observe(&event.Event{Time: time.Time{}, Version: "v1", Client: "origin https://a.example", Pair: pair})
	if got := r.report(t).Versions[1]; got.Hour != (Count{2, 1}) || got.Week != (Count{2, 1}) {
		t.Errorf("got %+v, want what is not in the future, nor long ago", got)
	}
}

func TestReportIsJSONWithoutNulls(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	report := r.report(t)
	report.Instances = nil
	for i := range report.Versions {
		if got := report.Versions[i].Days; len(got) != reportDays || got[0].Day.String() != "2026-12-11" || got[reportDays-1].Day.String() != "2027-03-10" {
			t.Errorf("got days %v, want the last 90", got)
		}
		report.Versions[i].Days = report.Versions[i].Days[reportDays-1:]
	}
	got, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	none := `{"calls":0,"clients":0}`
	version := `"hour":` + none + `,"day":` + none + `,"week":` + none + `,"unserved":{},"unnamed":0,` +
		`"days":[{"day":"2027-03-10","served":0,"refused":0,"clients":0}],"groups":{"clients":0,"moved":0,"refused":0,"different":0,"same":0,"uncompared":0,"addresses":0}`
	want := `{"at":"2027-03-10T12:32:10Z","since":"2027-03-10T12:32:10Z","instances":null,"notes":[],"versions":[` +
		`{"version":"v3",` + version + `},{"version":"v1",` + version + `,` +
		`"findings":{"successor":"v3","summary":"no v1 call was compared with v3","same":0,"different":0,"refused":0,"reasons":[]}}],` +
		`"clients":[],"matching":0,"distinct":0,"sum":{"calls7":0,"calls30":0,"calls90":0},"page":1,"pages":1}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := begin(t, Config{DB: filepath.Join(t.TempDir(), "usage.db")}, &clock{t: noon})
	const callers, calls = 8, 300
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range calls {
				r.call(fmt.Sprintf("origin https://wallet-%d.example", i*calls+n%20), 1)
				if n%100 == 0 {
					r.clock.pass(time.Minute)
					r.report(t)
					r.Evidence("v1", 7)
					r.Totals()
				}
			}
		})
	}
	wg.Wait()
	if got := r.report(t).Versions[1].Day.Calls; got != callers*calls {
		t.Errorf("got %d calls, want %d", got, callers*calls)
	}
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  Config
		want []string // how the lines begin
	}{
		"zero":       {Config{}, nil},
		"file":       {Config{DB: "/var/lib/quotegate/postgres.db"}, nil},
		"PostgreSQL": {Config{DB: "postgresql://gate:hunter2@db.example:5433/usage?sslmode=require"}, nil},
		"bad port":   {Config{DB: "postgres://gate:hunter2@db.example:port/usage"}, []string{"USAGE_DB: "}},
		"MySQL":      {Config{DB: "mysql://gate:hunter2@db.example/usage"}, []string{"USAGE_DB: "}},
	} {
		err := test.cfg.Validate()
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if len(got) != len(test.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: got %q, want %q and no secret", name, got, test.want)
			continue
		}
		for i, line := range got {
			if !strings.HasPrefix(line, test.want[i]) {
				t.Errorf("%s: got %q, want %q", name, line, test.want[i])
			}
		}
		if err != nil {
			if _, err := New(t.Context(), test.cfg, Options{}); err == nil {
				t.Errorf("%s: New took it", name)
			}
		}
	}
}

// A server that never answers is no error either, and its password stays secret.
func TestServerIsAway(t *testing.T) {
	r := begin(t, Config{DB: "postgres://gate:hunter2@127.0.0.1:1/usage"}, &clock{t: noon})
	r.call("origin https://a.example", 1)
	if e := r.Evidence("v1", 1); e.Clients != 0 || e.Calls != 0 || e.Missing == "" || !r.Since().Equal(noon) || len(r.Totals()) != 6 {
		t.Errorf("got %d clients, %d calls since %s, want none since the start", e.Clients, e.Calls, r.Since())
	}
	_, err := r.Report(t.Context(), Query{})
	r.close()
	notes := r.Notes()
	if err == nil || len(notes) != 1 || !strings.HasPrefix(notes[0], "counts are not written since 2027-03-10T12:32:10Z") {
		t.Errorf("got error %v and notes %q, want to be told", err, notes)
	}
	if log := r.log.String(); strings.Contains(log+notes[0]+err.Error(), "hunter2") || r.log.Count("takes no counts") != 1 || r.log.Count("are lost") != 1 {
		t.Errorf("got log %s, notes %q and error %v, want one line at the start, one at the end, and no password", log, notes, err)
	}
}

var eventOfAcme = event.Event{Time: noon, Version: "v1", Client: "client Acme", Caller: caller.Caller{Known: &caller.Client{Name: "Acme"}}, Quotes: true, Code: fault.RateLimited}

// late is a call that is counted long after it was answered.
func late(at time.Time) *event.Event {
	return &event.Event{Time: at, Version: "v1", Client: "origin https://a.example", Pair: pair}
}
