package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("USAGE_TEST_CHILD"); file != "" {
		countUntilKilled(file)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgres.StopShared()
		os.Exit(code)
	}))
}

// begin starts a recorder under test.
var begin = recorded.New(func(
	ctx context.Context, db *store.Store, o evidence.Options,
) (recorded.Recorder, *evidence.Reader, error) {
	r, err := New(ctx, db, Options{Options: o, After: recorded.Never})
	if err != nil {
		return nil, nil, err
	}
	return r, r.Reader, nil
}).Begin

// own is the recorder of a rig.
func own(r *recorded.Rig) *Recorder { return r.Recorder.(*Recorder) }

// between has a test change fields of a recorder while nothing is written.
func between(r *recorded.Rig, change func(*Recorder)) {
	own(r).writing <- struct{}{}
	change(own(r))
	<-own(r).writing
}

func TestCountsByWindow(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		r.Call("origin https://a.example", 2)
		r.Call("origin https://b.example", 1)
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
			r.Clock.Pass(step.pass)
			got := r.Report(t).Versions[1]
			for _, window := range []struct {
				name  string
				got   evidence.Count
				calls uint64
			}{{"hour", got.Hour, step.hour}, {"day", got.Day, step.day}, {"week", got.Week, step.week}} {
				if want := (evidence.Count{Calls: window.calls, Clients: min(window.calls, 2)}); window.got != want {
					t.Errorf("%s: got %s %+v, want %+v", step.name, window.name, window.got, want)
				}
			}
			if e := r.Evidence("v1", 1); uint64(e.Clients) != got.Day.Clients || uint64(e.Calls) != got.Day.Calls {
				t.Errorf("%s: got evidence %+v of a day, want what the report says: %+v", step.name, e, got.Day)
			}
		}
		totals := own(r).Totals()
		if len(totals) != 6 || totals[3].Version != "v1" || totals[3].Window != "hour" || totals[5].Window != "week" {
			t.Errorf("got totals %+v, want v3 and v1 by hour, day and week", totals)
		}
	})
}

// What counts of an old version is what its sunset ends; of the current one, quotes.
func TestWhatCounts(t *testing.T) {
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	for _, e := range []event.Event{
		{Version: "v1", Pair: recorded.Pair},
		{Version: "v1", Pair: recorded.Pair, Quotes: true, Route: "/v1/quote"},
		{Version: "v1", Route: "/v1/app/routers"},
		{Version: "v3", Pair: recorded.Pair},
		{Version: "v3", Route: "/v3/swap/status"},
		{Version: "v1", Route: "/v1/openapi.yaml", Free: true},
		{Version: "v9", Pair: recorded.Pair}, // not served here
		{Pair: recorded.Pair},                // of no version
		{Code: fault.NotFound},               // of no version
		{Version: "v1", Quotes: true, Code: fault.VersionBrownout},
		{Version: "v1", Route: "/v1/app/routers", Code: fault.VersionBrownout},
		{Version: "v1", Quotes: true, Code: fault.VersionRetired},
		{Version: "v1", Quotes: true, Code: fault.VersionRetired, Rehearsal: true},
		{Version: "v1", Quotes: true, Code: fault.RateLimited},
		{Version: "v1", Quotes: true, Code: fault.UnsupportedPair, Time: time.Unix(0, 0)}, // long ago
		{Version: "v1", Code: fault.NotFound},                                             // no route
	} {
		if e.Time.IsZero() {
			e.Time = recorded.Noon
		}
		e.Client = "origin https://a.example"
		r.Observe(&e)
	}
	read := r.Report(t)
	if got := read.Versions[0].Week; got != (evidence.Count{Calls: 1, Clients: 1}) {
		t.Errorf("v3: got %+v, want one call", got)
	}
	v1 := read.Versions[1]
	if v1.Week != (evidence.Count{Calls: 3, Clients: 1}) {
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
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	for _, test := range []struct {
		name string
		id   caller.Identity
		want string
	}{
		{"integrator", caller.Identity{Kind: caller.Integrator, Text: "0xab"}, "integrator 0xab"},
		{"origin", caller.Identity{Kind: caller.Origin, Text: "https://a.example"}, "origin https://a.example"},
		{"IPv4", recorded.Agent("198.51.100.7"), "agent curl #0000000000000000"},
		{"IPv6", recorded.Agent("2001:db8:1:2::3"), "agent curl #0000000000000000"},
		{"no address", caller.Identity{Kind: caller.Agent, Text: "- -"}, "agent - -"},
	} {
		got := r.Name(test.id)
		if prefix, _, hashed := strings.Cut(test.want, "#"); len(got) != len(test.want) || !strings.HasPrefix(got, prefix) || !hashed && got != test.want {
			t.Errorf("%s: got %q, want something like %q", test.name, got, test.want)
		}
	}
	if a, b := r.Name(recorded.Agent("198.51.100.7")), r.Name(recorded.Agent("198.51.100.200")); a != b {
		t.Errorf("got %q and %q for one network, want one name", a, b)
	}
	other := begin(t, store.Config{}, recorded.At(recorded.Noon))
	if r.Name(recorded.Agent("198.51.100.7")) == other.Name(recorded.Agent("198.51.100.7")) {
		t.Error("two keys give an address the same name")
	}
}

func TestClockThatJumps(t *testing.T) {
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 1)
	r.Clock.Pass(3 * 24 * time.Hour)
	r.Call("origin https://b.example", 1)
	r.Clock.Pass(-3 * 24 * time.Hour)
	r.Call("origin https://a.example", 1)
	r.Observe(&event.Event{Time: time.Time{}, Version: "v1", Client: "origin https://a.example", Pair: recorded.Pair})
	if got := r.Report(t).Versions[1]; got.Hour != (evidence.Count{Calls: 2, Clients: 1}) || got.Week != (evidence.Count{Calls: 2, Clients: 1}) {
		t.Errorf("got %+v, want what is not in the future, nor long ago", got)
	}
}

func TestReportIsJSONWithoutNulls(t *testing.T) {
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	read := r.Report(t)
	read.Instances = nil
	for i := range read.Versions {
		if got := read.Versions[i].Days; len(got) != store.ReportDays || got[0].Day.String() != "2026-12-11" || got[store.ReportDays-1].Day.String() != "2027-03-10" {
			t.Errorf("got days %v, want the last 90", got)
		}
		read.Versions[i].Days = read.Versions[i].Days[store.ReportDays-1:]
	}
	got, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	none := `{"calls":0,"clients":0}`
	version := `"hour":` + none + `,"day":` + none + `,"week":` + none + `,"unserved":{},"unnamed":0,` +
		`"days":[{"day":"2027-03-10","served":0,"refused":0,"clients":0}],"groups":{"clients":0,"moved":0,"refused":0,"different":0,"same":0,"uncompared":0,"addresses":0,"probably":0,"marked":0,"probablyMoved":0,"told":0,"untold":0,"proven":0,"claimed":0}`
	want := `{"at":"2027-03-10T12:32:10Z","since":"2027-03-10T12:32:10Z","instances":null,"notes":[],"versions":[` +
		`{"version":"v3",` + version + `},{"version":"v1",` + version + `,` +
		`"findings":{"successor":"v3","summary":"no v1 call was compared with v3","same":0,"different":0,"refused":0,"reasons":[]}}],` +
		`"clients":[],"matching":0,"distinct":0,"sum":{"calls7":0,"calls30":0,"calls90":0},"page":1,"pages":1}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := begin(t, store.Config{DB: filepath.Join(t.TempDir(), "usage.db")}, recorded.At(recorded.Noon))
	const callers, calls = 8, 300
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range calls {
				r.Call(fmt.Sprintf("origin https://wallet-%d.example", i*calls+n%20), 1)
				if n%100 == 0 {
					r.Clock.Pass(time.Minute)
					r.Report(t)
					r.Evidence("v1", 7)
					own(r).Totals()
				}
			}
		})
	}
	wg.Wait()
	if got := r.Report(t).Versions[1].Day.Calls; got != callers*calls {
		t.Errorf("got %d calls, want %d", got, callers*calls)
	}
}

// A server that never answers is no error either, and its password stays secret.
func TestServerIsAway(t *testing.T) {
	r := begin(t, store.Config{DB: "postgres://gate:hunter2@127.0.0.1:1/usage"}, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 1)
	if e := r.Evidence("v1", 1); e.Clients != 0 || e.Calls != 0 || !strings.Contains(e.Missing, "the counts cannot be read: the database is away since") || !r.Since().Equal(recorded.Noon) || len(own(r).Totals()) != 6 {
		t.Errorf("got %d clients, %d calls since %s, want none since the start", e.Clients, e.Calls, r.Since())
	}
	_, err := r.Pages.Report(t.Context(), report.Query{})
	r.Close()
	notes := r.Notes()
	if err == nil || len(notes) != 1 || !strings.HasPrefix(notes[0], "counts are not written since 2027-03-10T12:32:10Z") {
		t.Errorf("got error %v and notes %q, want to be told", err, notes)
	}
	if log := r.Log.String(); strings.Contains(log+notes[0]+err.Error(), "hunter2") || r.Log.Count("takes no counts") != 1 || r.Log.Count("are lost") != 1 {
		t.Errorf("got log %s, notes %q and error %v, want one line at the start, one at the end, and no password", log, notes, err)
	}
}

var eventOfAcme = event.Event{Time: recorded.Noon, Version: "v1", Client: "client Acme", Caller: caller.Caller{Known: &caller.Client{Name: "Acme"}}, Quotes: true, Code: fault.RateLimited}

// late is a call that is counted long after it was answered.
func late(at time.Time) *event.Event {
	return &event.Event{Time: at, Version: "v1", Client: "origin https://a.example", Pair: recorded.Pair}
}
