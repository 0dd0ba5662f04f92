package lifecycle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/integrator"
)

var errAway = errors.New("the database is away")

// confirmed is the plan with a release that the operator has written down.
var confirmed = strings.Replace(fullPlan, `"maxCallsPerDay": 100}`, `"maxCallsPerDay": 100, "released": true}`, 1)

func entryOf(t *testing.T, plan string) string { return parse(t, plan).Versions["v1"].Entry() }

// v1 is what an operator reads about v1.
func (w *world) v1() lifecycle.Status { return w.keeper.Snapshot().Versions[2] }

func (w *world) wantStatus(status int, when string) {
	w.t.Helper()
	if a := w.get("/v1/quote"); a.status != status {
		w.t.Errorf("%s: got %d, want %d", when, a.status, status)
	}
}

func TestGateHoldsAndReleases(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:00Z", fullPlan)
	w.usage.clients.Store(6)
	w.usage.calls.Store(90)
	w.keeper.Poll()
	s := w.keeper.Snapshot()
	if g := s.Versions[2].Gate; s.Versions[2].Stage != lifecycle.Deprecated || g == nil || !g.Holds || g.Evidence == nil || g.Clients != 6 || g.Calls != 90 {
		t.Errorf("got %+v, want to read before the sunset that the gate would hold", s.Versions[2])
	}
	if public := w.keeper.Document().Versions[2].Gate; public == nil || !public.Holds {
		t.Errorf("got %+v for everyone, and %+v for the operator", public, s.Versions[2].Gate)
	}

	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	a := w.get("/v1/quote")
	checkHeaders(t, a, map[string]string{"Deprecation": fullHeaders["Deprecation"], "Sunset": fullHeaders["Sunset"], "Link": fullHeaders["Link"]})
	if a.status != http.StatusOK || w.state("v1") != lifecycle.Held {
		t.Errorf("got %d in state %s, want service while the gate holds", a.status, w.state("v1"))
	}
	for _, e := range w.keeper.Document().Versions {
		if e.Name == "v1" && (e.Gate == nil || !e.Gate.Holds) {
			t.Errorf("got gate %+v in the document", e.Gate)
		}
	}

	// Calls alone hold it too.
	w.usage.clients.Store(1)
	w.usage.calls.Store(101)
	w.advance(time.Minute)
	w.keeper.Poll()
	if a := w.get("/v1/quote"); a.status != http.StatusOK {
		t.Errorf("got %d with 101 calls a day, want service", a.status)
	}

	// Let go, it answers 410, and no request counts usage.
	w.usage.calls.Store(100)
	w.advance(time.Minute)
	w.keeper.Poll()
	before := w.usage.asked.Load()
	for range 20 {
		if a := w.get("/v1/quote"); a.status != http.StatusGone {
			t.Errorf("got %d with 100 calls a day, want 410", a.status)
		}
	}
	if got := w.usage.asked.Load() - before; got != 0 {
		t.Errorf("20 refusals counted usage %d times, want never", got)
	}
	if w.state("v1") != lifecycle.Retired {
		t.Errorf("got state %s", w.state("v1"))
	}
}

// Without the evidence of all its days, a gate holds and says what is missing.
func TestGateWaitsForEvidence(t *testing.T) {
	counts := incomplete("calls are counted only since 2027-05-01T00:00:00Z")
	w := newWorld(t, "2027-05-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = counts })
	if a := w.get("/v1/quote"); a.status != http.StatusOK {
		t.Errorf("got %d with nothing counted yet, want service", a.status)
	}
	if g := w.keeper.Snapshot().Versions[2].Gate; g.Why != "the evidence of 7 days is incomplete: calls are counted only since 2027-05-01T00:00:00Z" {
		t.Errorf("got %+v", g)
	}
	counts.missing.Store(nil)
	w.keeper.Poll()
	if a := w.get("/v1/quote"); a.status != http.StatusGone {
		t.Errorf("got %d with complete evidence of no use, want 410", a.status)
	}
}

// A release counts for the sunset and the gate by which it was made, in the process and
// after a restart; no other change of the plan undoes it.
func TestReleaseCountsForItsEntry(t *testing.T) {
	const gate = `"gate": {"maxClients": 5, "maxCallsPerDay": 100`
	for name, tt := range map[string]struct {
		old, new string
		same     bool
	}{
		"nothing":             {"", "", true},
		"the release":         {gate, gate + `, "released": true`, true},
		"the default days":    {gate, gate + `, "days": 7`, true},
		"the default count":   {gate, gate + `, "count": ""`, true},
		"the zone":            {"2027-03-01T00:00:00Z", "2027-03-01T01:00:00+01:00", true},
		"the docs":            {"example.org/migrate-v1", "example.org/elsewhere", true},
		"a window":            {`"share": 0.5`, `"share": 0.75`, true},
		"an exempt client":    {`"203.0.113.0/24", `, "", true},
		"another version":     {`{"versions": {`, `{"versions": {` + legacy, true},
		"the sunset":          {"2027-03-01T00:00:00Z", "2027-03-01T00:00:01Z", false},
		"fewer clients":       {`"maxClients": 5`, `"maxClients": 0`, false},
		"fewer calls":         {`"maxCallsPerDay": 100`, `"maxCallsPerDay": 0`, false},
		"more days":           {gate, gate + `, "days": 8`, false},
		"more instances":      {gate, gate + `, "instances": 1`, false},
		"only proven clients": {gate, gate + `, "count": "proven"`, false},
		"strangers":           {gate, gate + `, "strangers": {"maxCallsPerDay": 1, "maxShare": 0.1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(fullPlan, tt.old, tt.new, 1)
			if same := entryOf(t, changed) == entryOf(t, fullPlan); same != tt.same {
				t.Errorf("the same entry: got %t, want %t", same, tt.same)
			}
			w := newWorld(t, "2027-03-01T00:01:00Z", fullPlan)
			w.usage.clients.Store(1_000)
			restarted := newWorld(t, "2027-03-01T00:02:00Z", changed, func(o *lifecycle.Options) { o.Usage = w.usage })
			w.reload(changed)
			for _, w := range []*world{w, restarted} {
				if got := w.v1(); (got.Stage == lifecycle.Retired) != tt.same || w.keeper.Snapshot().Refused != nil {
					t.Errorf("got %s with %+v, want it to stay retired: %t", got.Stage, got.Gate, tt.same)
				}
			}
		})
	}
	// Releases are recorded under it: another hash would bring retired versions back.
	if got := entryOf(t, fullPlan); got != "c0295fdabd86" {
		t.Errorf("got the entry %s", got)
	}
}

const legacy = `"v3legacy": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
	"successor": "/v3/swap/quote", "docs": "https://example.org/m", "gate": {"maxClients": 5, "maxCallsPerDay": 100}},`

// A gate that cannot be read holds, and shows no numbers: neither zeros nor old ones.
func TestUnknownGateHasNoNumbers(t *testing.T) {
	for name, broken := range map[string]func(*usage) *atomic.Pointer[error]{
		"releases": func(u *usage) *atomic.Pointer[error] { return &u.broken },
		"evidence": func(u *usage) *atomic.Pointer[error] { return &u.uncounted },
	} {
		w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
		broken(w.usage).Store(&errAway)
		w.keeper.Poll()
		g := w.v1().Gate
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"maxClients":5,"maxCallsPerDay":100,"days":7,"holds":true,"unknown":true,` +
			`"why":"the counts cannot be read: the database is away"}`
		if g.Evidence != nil || string(text) != want {
			t.Errorf("%s: got %s, want %s", name, text, want)
		}
	}
}

// A gate whose reading takes long is read less often, but once a minute, and at once on
// demand or when the plan has changed.
func TestHowOftenAGateIsRead(t *testing.T) {
	for took, pause := range map[time.Duration]time.Duration{
		0:                0,
		time.Millisecond: 10 * time.Millisecond,
		2 * time.Second:  20 * time.Second,
		6 * time.Second:  time.Minute,
		7 * time.Second:  time.Minute,
	} {
		w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
		during := func() { w.advance(took) }
		w.usage.during.Store(&during)
		count := func(what string, want int64, poll func()) {
			t.Helper()
			before := w.usage.asked.Load()
			poll()
			if got := w.usage.asked.Load() - before; got != want {
				t.Errorf("%s, %s: read %d times, want %d", took, what, got, want)
			}
		}
		count("first", 1, w.keeper.Poll)
		if pause > 0 {
			w.advance(pause - took - 1)
			count("too early", 0, w.keeper.Poll)
			w.advance(1)
		}
		count("after the pause", 1, w.keeper.Poll)
		count("on demand", 1, w.keeper.Reload)
		w.write(strings.Replace(fullPlan, `"share": 0.5`, `"share": 0.75`, 1))
		count("a changed plan", 2, w.keeper.Poll) // to see whether it is abrupt, and once it is in force
	}
}

// A gate holds for some seconds at every sunset, and a database may be away for some:
// neither is an error at once.
func TestWhenAGateIsAnError(t *testing.T) {
	const (
		waits      = `"level":"INFO","msg":"the sunset of a version waits for its gate"`
		holds      = `"level":"ERROR","msg":"the sunset of a version does not take effect: its gate holds"`
		unreadable = `"level":"ERROR","msg":"the gate of a version cannot be read"`
	)
	w := newWorld(t, "2027-02-28T23:50:00Z", fullPlan)
	w.usage.clients.Store(6)
	w.usage.calls.Store(90)
	for _, step := range []struct {
		at                       string
		broken                   *error
		waits, holds, unreadable int
	}{
		{"2027-02-28T23:51:00Z", &errAway, 0, 0, 0},
		{"2027-02-28T23:51:59Z", &errAway, 0, 0, 0},
		{"2027-02-28T23:52:00Z", nil, 0, 0, 0},
		{"2027-02-28T23:53:00Z", &errAway, 0, 0, 0},
		{"2027-02-28T23:54:00Z", &errAway, 0, 0, 1},
		{"2027-02-28T23:55:00Z", &errAway, 0, 0, 1},
		{"2027-03-01T00:00:00Z", nil, 1, 0, 1},
		{"2027-03-01T00:04:59Z", nil, 1, 0, 1},
		{"2027-03-01T00:05:00Z", nil, 1, 1, 1},
		{"2027-03-01T01:04:59Z", nil, 1, 1, 1},
		{"2027-03-01T01:05:00Z", nil, 1, 2, 1},
	} {
		w.usage.broken.Store(step.broken)
		w.setTime(step.at)
		w.keeper.Poll()
		for line, want := range map[string]int{waits: step.waits, holds: step.holds, unreadable: step.unreadable} {
			if got := len(w.log.lines(line)); got != want {
				t.Errorf("%s: got %d of %s, want %d", step.at, got, line, want)
			}
		}
	}
	const why = "6 clients in 7 days (limit 5)"
	if got := len(w.log.lines(why)); got != 3 {
		t.Errorf("got %d lines that say why, want 3", got)
	}
}

// After a release the gate shows the numbers by which it let the sunset pass, also when
// the operator has written it down.
func TestReleasedGateShowsWhatItHad(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:00Z", fullPlan)
	w.usage.clients.Store(2)
	w.usage.calls.Store(9)
	other := newWorld(t, "2027-02-28T23:59:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = w.usage })
	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	w.usage.clients.Store(0)
	w.usage.calls.Store(0)
	other.setTime("2027-03-01T00:00:00Z")
	other.keeper.Poll()
	if g := other.v1().Gate; g.Released.IsZero() || g.Evidence == nil || g.Clients != 2 {
		t.Errorf("another instance: got %+v, want the release with the evidence before it", g)
	}
	for _, plan := range []string{fullPlan, confirmed} {
		w.write(plan)
		w.keeper.Poll()
		if g := w.v1().Gate; g.Released.IsZero() || g.Clients != 2 || g.Calls != 9 {
			t.Errorf("got %+v, want the release with its 2 clients and 9 calls", g)
		}
	}
}

// A release that cannot be recorded would not be final, so the gate holds.
func TestReleaseThatCannotBeRecorded(t *testing.T) {
	counts := &usage{}
	counts.broken.Store(&errAway)
	w := newWorld(t, "2027-03-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = counts })
	if g := w.keeper.Snapshot().Versions[2]; g.Stage != lifecycle.Held || !strings.Contains(g.Gate.Why, "the database is away") {
		t.Errorf("got %+v %+v, want held with the reason", g, g.Gate)
	}
	counts.broken.Store(nil)
	w.keeper.Poll()
	if got := w.state("v1"); got != lifecycle.Retired {
		t.Errorf("got %s once it can be recorded, want retired", got)
	}
}

// A plan that is refused releases nothing.
func TestRefusedPlanReleasesNothing(t *testing.T) {
	w := newWorld(t, "2027-03-01T00:00:00Z", nothingPlanned)
	w.write(fullPlan)
	w.keeper.Poll()
	if got := w.state("v1"); got != lifecycle.Active {
		t.Fatalf("got %s, want the plan refused", got)
	}
	w.usage.releases.Range(func(key, _ any) bool {
		t.Errorf("%v was released by a plan that is not in force", key)
		return true
	})
}

// TestHeldVersionRehearsesWithoutADate, since its sunset has passed and did not
// take effect.
func TestHeldVersionRehearsesWithoutADate(t *testing.T) {
	w := newWorld(t, "2027-05-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = incomplete("calls are missing") })
	if got := w.state("v1"); got != lifecycle.Held {
		t.Fatalf("got %s, want held", got)
	}
	for rehearsal, want := range map[string]string{
		"retired":  "Version v1 was retired; use ",
		"brownout": "Version v1 is temporarily unavailable until 2027-05-01T00:15:00Z, and permanently once few enough clients remain; use ",
	} {
		if a := w.get("/v1/quote", "API-Rehearse", rehearsal); a.status != http.StatusGone || !strings.Contains(a.body, want) {
			t.Errorf("%s: got %d %s, want %q", rehearsal, a.status, a.body, want)
		}
	}
}

// A release that was seen once is remembered, whatever the database says later.
func TestReleasedVersionStaysRetiredWithoutTheDatabase(t *testing.T) {
	w := newWorld(t, "2027-03-01T00:00:00Z", fullPlan)
	w.wantStatus(http.StatusGone, "after the release")
	w.usage.clients.Store(1_000)
	w.usage.broken.Store(&errAway)
	for range 3 {
		w.advance(time.Minute)
		w.keeper.Poll()
		w.wantStatus(http.StatusGone, "while the database is away")
	}
	w.usage.broken.Store(nil)
	w.usage.releases.Clear() // an older backup
	w.keeper.Poll()
	w.wantStatus(http.StatusGone, "with a database that has lost the release")
}

// A plan that confirms a release needs no database at a start.
func TestConfirmedReleaseSurvivesARestartWithoutTheDatabase(t *testing.T) {
	for name, tt := range map[string]struct {
		plan string
		want int
	}{"confirmed": {confirmed, http.StatusGone}, "not confirmed": {fullPlan, http.StatusOK}} {
		counts := &usage{}
		counts.broken.Store(&errAway)
		w := newWorld(t, "2027-03-02T00:00:00Z", tt.plan, func(o *lifecycle.Options) { o.Usage = counts })
		w.wantStatus(tt.want, name)
		w.keeper.Poll()
		w.wantStatus(tt.want, name)
		if got := w.v1(); tt.want == http.StatusGone && (got.Gate.Holds || !got.Gate.Released.Equal(at("2027-03-01T00:00:00Z")) || counts.asked.Load() != 0) {
			t.Errorf("%s: got %+v", name, got.Gate)
		}
	}
}

// Until a plan confirms a release, log and page remind of it.
func TestUnconfirmedReleaseIsRemindedOf(t *testing.T) {
	w := newWorld(t, "2027-03-01T00:00:00Z", fullPlan)
	const reminder = `write "released": true into it`
	for range 47 {
		w.advance(time.Hour)
		w.keeper.Poll()
	}
	if n := len(w.log.lines("lifecycle plan: the gate has let the sunset pass")); n != 2 || !strings.Contains(w.v1().Warning, reminder) {
		t.Errorf("got %d log lines in two days, want 2, and the warning %q", n, w.v1().Warning)
	}
	w.reload(confirmed)
	if s := w.keeper.Snapshot(); s.Refused != nil || w.v1().Warning != "" || w.v1().Stage != lifecycle.Retired {
		t.Errorf("got %+v and %+v once it is confirmed", s.Refused, w.v1())
	}
}

// Nothing can be confirmed before the sunset, and a plan cannot pass its gate by
// confirming what never was.
func TestFalseConfirmationIsRefused(t *testing.T) {
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	w.usage.clients.Store(1_000)
	w.reload(confirmed)
	if r := w.keeper.Snapshot().Refused; r == nil || !strings.Contains(r.Faults[0], "versions.v1.gate.released: the sunset has not come") {
		t.Errorf("before the sunset: got %+v", r)
	}
	w.setTime("2027-03-02T00:00:00Z")
	w.reload(confirmed + " ")
	if r := w.keeper.Snapshot().Refused; r == nil || !strings.Contains(r.Faults[0], "this would retire the version at once") || w.v1().Stage != lifecycle.Held {
		t.Errorf("while the gate holds: got %+v", r)
	}
	early := newWorld(t, "2027-02-20T00:00:00Z", confirmed)
	if got := early.v1(); !strings.Contains(got.Warning, "the sunset has not come") || got.Stage != lifecycle.Deprecated || len(early.log.lines("nothing to confirm")) != 1 {
		t.Errorf("at a start: got %+v, want a warning", got)
	}
}

// What speaks against a release holds the gate, with the reason.
func TestRefusedReleaseHoldsTheGate(t *testing.T) {
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	why := errors.New("no counts from 2 to 12 February")
	w.usage.refuses.Store(&why)
	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	if got := w.v1(); got.Stage != lifecycle.Held || !got.Gate.Holds || !strings.Contains(got.Gate.Why, why.Error()) {
		t.Errorf("got %+v with the gate %+v", got, got.Gate)
	}
	w.usage.refuses.Store(nil)
	w.keeper.Poll()
	w.wantStatus(http.StatusGone, "once nothing speaks against it")
}

// A clock that jumps past the sunset and back leaves no release that takes effect
// weeks later, neither in the process nor after a restart.
func TestReleaseByAWrongClockDoesNotCount(t *testing.T) {
	w := newWorld(t, "2027-02-01T00:00:00Z", fullPlan)
	w.setTime("2027-03-01T00:00:05Z")
	w.keeper.Poll()
	w.wantStatus(http.StatusGone, "while the clock is wrong")
	w.setTime("2027-02-01T00:00:13Z")
	w.usage.clients.Store(1_000)
	w.keeper.Poll()
	w.keeper.Poll()
	w.wantStatus(http.StatusOK, "when the clock is right again")
	restarted := newWorld(t, "2027-02-02T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = w.usage })
	for name, w := range map[string]*world{"the process": w, "a restarted one": restarted} {
		if n := len(w.log.lines("a gate was released at a time in the future")); n != 1 {
			t.Errorf("%s: said %d times that a clock was wrong, want once", name, n)
		}
		w.setTime("2027-03-01T00:00:10Z")
		w.keeper.Poll()
		if got := w.v1(); got.Stage != lifecycle.Held || got.Gate.Clients != 1_000 {
			t.Errorf("%s, at the sunset: got %+v with the gate %+v", name, got, got.Gate)
		}
	}
}

// A release counts neither before the sunset, though clocks may differ by a minute,
// nor while it lies in the future.
func TestReleaseOfAnotherClock(t *testing.T) {
	for name, tt := range map[string]struct {
		now, released string
		counts        bool
	}{
		"before the sunset, a little ahead": {"2027-02-28T23:59:30Z", "2027-03-01T00:00:10Z", false},
		"after the sunset, an hour ahead":   {"2027-03-01T00:01:00Z", "2027-03-01T01:01:00Z", false},
		"after the sunset, a little ahead":  {"2027-03-01T00:01:00Z", "2027-03-01T00:01:30Z", true},
		"after the sunset":                  {"2027-03-01T00:01:00Z", "2027-03-01T00:00:30Z", true},
	} {
		counts := &usage{}
		counts.clients.Store(1_000)
		counts.releases.Store("v1"+"2027-03-01T00:00:00Z"+entryOf(t, fullPlan), at(tt.released))
		w := newWorld(t, tt.now, fullPlan, func(o *lifecycle.Options) { o.Usage = counts })
		if got := w.v1(); got.Gate.Released.IsZero() == tt.counts || (got.Stage == lifecycle.Retired) != tt.counts {
			t.Errorf("%s: got %s, released at %s, want it to count: %t", name, got.Stage, got.Gate.Released, tt.counts)
		}
	}
}

const twoGates = `{"versions": {
  "v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote",
         "docs": "https://example.org/m", "gate": {"maxClients": 5, "maxCallsPerDay": 100}},
  "v3legacy": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote",
         "docs": "https://example.org/m", "gate": {"maxClients": 5, "maxCallsPerDay": 100}}}}`

// Every gate of a plan is read: neither a version without one nor a gate that is
// decided hides another. The order of versions is a matter of chance.
func TestEveryGateIsRead(t *testing.T) {
	without := strings.Replace(twoGates, `"gate": {"maxClients": 5, "maxCallsPerDay": 100}`, `"brownouts": []`, 1)
	for name, plan := range map[string]string{"one has no gate": without, "one is decided": twoGates} {
		w := newWorld(t, "2027-03-01T00:00:00Z", plan)
		for range 40 {
			w.keeper.Poll()
			old := w.keeper.Snapshot().Versions[1]
			if old.Gate == nil || old.Gate.Clients != 1<<20 || old.Stage != lifecycle.Held {
				t.Fatalf("%s: got %s with the gate %+v, want to read the other one", name, old.Stage, old.Gate)
			}
		}
	}
}

// Nothing changes a gate that has let its sunset pass, so nobody is asked about it.
func TestDecidedGateAsksNobody(t *testing.T) {
	w := newWorld(t, "2027-03-01T00:00:00Z", fullPlan)
	asked, looked := w.usage.asked.Load(), w.usage.looked.Load()
	w.keeper.Poll()
	w.keeper.Poll()
	if a, l := w.usage.asked.Load(), w.usage.looked.Load(); a != asked || l != looked || looked == 0 {
		t.Errorf("counted %d and looked %d times, then %d and %d", asked, looked, a, l)
	}
}

// A gate that was out of the plan is not judged by what was read before.
func TestGateThatComesBackIsReadAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	w.reload(strings.Replace(fullPlan, `"maxClients": 5`, `"maxClients": 7`, 1))
	w.keeper.Poll()
	answer := make(chan struct{})
	w.usage.slow.Store(&answer)
	w.reload(fullPlan)
	if got := w.v1().Gate; !got.Unknown || !strings.Contains(got.Why, "have not been read yet") {
		t.Errorf("got %+v, want a gate that was not read yet", got)
	}
	close(answer)
	w.usage.slow.Store(nil)
	w.keeper.Poll()
}

// While a database is slow, neither polls nor requests wait for it, and the reading
// before stands.
func TestSlowGateKeepsItsReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	w.usage.clients.Store(6)
	w.keeper.Poll()
	before := *w.v1().Gate
	answer := make(chan struct{})
	w.usage.slow.Store(&answer)
	w.usage.clients.Store(7)
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		w.reload(strings.Replace(fullPlan, `"share": 0.5`, `"share": 0.75`, 1)) // the file is read meanwhile
		w.keeper.Poll()
	}()
	select {
	case <-polled:
	case <-time.After(30 * time.Second):
		close(answer)
		t.Fatal("a poll waits for the database")
	}
	w.wantStatus(http.StatusOK, "while the database is slow")
	if got := *w.v1().Gate; fmt.Sprint(got) != fmt.Sprint(before) || w.keeper.Snapshot().Plan.Versions["v1"].Brownouts[1].Share != 0.75 {
		t.Errorf("got %+v, want %+v and the new plan", got, before)
	}
	close(answer)
	w.usage.slow.Store(nil)
	for deadline := time.Now().Add(30 * time.Second); w.v1().Gate.Clients != 7; w.keeper.Poll() {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v when the database is quick again", w.v1().Gate)
		}
	}
}

// A gate that would let the sunset pass warns of clients that call more rarely than
// it looks back.
func TestGateWarnsOfMonthlyClients(t *testing.T) {
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("client Monthly %d", i)
	}
	w.usage.waiting.Store(&names)
	w.keeper.Poll()
	w.keeper.Poll()
	const want = "40 clients of the last 90 days did not call within the gate's 7 days and did not move: client Monthly 0, client Monthly 1"
	if got := w.v1().Warning; !strings.Contains(got, want) || !strings.Contains(got, "client Monthly 9 and 30 more") || len(w.log.lines(want)) != 1 {
		t.Errorf("got %q and the log\n%s", got, w.log.String())
	}
	few := names[:3]
	w.usage.waiting.Store(&few)
	w.keeper.Poll()
	const all = "did not move: client Monthly 0, client Monthly 1, client Monthly 2; a gate"
	if got := w.v1().Warning; !strings.Contains(got, all) {
		t.Errorf("got %q, want %q", got, all)
	}
	w.usage.clients.Store(6)
	w.keeper.Poll()
	if got := w.v1().Warning; got != "" {
		t.Errorf("got %q while the gate holds", got)
	}
}

// A window treats a recorded client as it treated the same client when it called.
func TestRecordedClientsAreHitLikeLiveOnes(t *testing.T) {
	id, err := integrator.ParseID(partner)
	if err != nil {
		t.Fatal(err)
	}
	for _, exempt := range []string{`[]`, `["client:Acme"]`, `["` + partner + `"]`, `["origin:https://a.example"]`, `["203.0.113.0/24"]`, `["agent:curl"]`, `["agent:curl", "client:Acme"]`} {
		schedule := parse(t, planOf(`"sunset": "2027-03-01T00:00:00Z", "exempt": `+exempt)).Versions["v1"]
		for _, known := range []*caller.Client{nil, {Name: "Acme"}, {Name: "Other"}} {
			for _, c := range []caller.Caller{
				{Agent: "curl", Addr: netip.MustParseAddr("203.0.113.7")}, {Agent: "okhttp", Addr: netip.MustParseAddr("198.51.100.7")},
				{Agent: "curl", Origin: "https://a.example"}, {Origin: "https://b.example", Addr: netip.MustParseAddr("203.0.113.7")}, {Integrator: id, Origin: "https://a.example"},
			} {
				c.Known = known
				live := lifecycle.Calling("v1", c)
				recorded := lifecycle.Recorded(c.Identity().String(), c.Identity().Position("v1"), schedule.Exempts(live))
				for _, share := range []float64{0.001, 0.25, 0.5, 0.75, 1} {
					b := lifecycle.Brownout{Share: share}
					if got, want := schedule.Hits(b, recorded), schedule.Hits(b, live); got != want {
						t.Errorf("%s, %s, share %v: got %t when recorded and %t live", exempt, c.Identity(), share, got, want)
					}
				}
			}
		}
	}
}
