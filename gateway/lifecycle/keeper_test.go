package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

func TestNewRefusesABadPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	o := lifecycle.Options{File: file, Versions: served, Usage: &usage{}}
	if _, err := lifecycle.New(o); err == nil || !strings.Contains(err.Error(), "plan.json") {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"versions":{"v9":{},"v1":{}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := lifecycle.New(o)
	for _, want := range []string{"plan.json", "versions.v9: unknown", "versions.v1.deprecated: missing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %q", err, want)
		}
	}
	if _, err := lifecycle.New(lifecycle.Options{Versions: served}); err == nil {
		t.Error("a keeper that knows no usage is made")
	}
}

func TestWithoutAFile(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.File = "" })
	w.keeper.Reload()
	if a := w.get("/v1/quote"); a.status != http.StatusOK || w.state("v1") != lifecycle.Active {
		t.Errorf("got %d in state %s", a.status, w.state("v1"))
	}
	if n := len(w.log.lines("no lifecycle plan is configured")); n != 1 {
		t.Errorf("a reload on demand says %d times that there is nothing to read, want once", n)
	}
}

func TestABadPlanIsRefusedAndTheOldOneStays(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan)
	loaded := w.keeper.Snapshot().LoadedAt
	w.advance(time.Minute)
	w.reload(`{"versions":{"v9":{},"v1":{}}}`)
	w.keeper.Poll()
	checkHeaders(t, w.get("/v1/quote"), fullHeaders)
	records := w.log.lines("lifecycle plan refused")
	if len(records) != 1 || !strings.Contains(records[0], `"level":"ERROR"`) {
		t.Fatalf("got records %v, want one at error level", records)
	}
	s := w.keeper.Snapshot()
	if s.Refused == nil || !s.Refused.At.Equal(at("2026-10-01T00:01:00Z")) || !s.LoadedAt.Equal(loaded) {
		t.Fatalf("got %+v, want the refusal and the old plan", s)
	}
	for _, want := range []string{"versions.v9: unknown version", "versions.v1.deprecated: missing", "versions.v1.docs: missing"} {
		if !strings.Contains(records[0], want) || !strings.Contains(strings.Join(s.Refused.Faults, "\n"), want) {
			t.Errorf("%q is missing from %s or %q", want, records[0], s.Refused.Faults)
		}
	}

	// On demand the same refusal is said again; another file has its own.
	w.keeper.Reload()
	w.reload(`{"versions":`)
	if n := len(w.log.lines("lifecycle plan refused")); n != 3 {
		t.Errorf("got %d refusals, want 3", n)
	}

	// Back to what is in force: nothing is wrong any more.
	w.reload(fullPlan)
	if s := w.keeper.Snapshot(); s.Refused != nil || !s.LoadedAt.Equal(loaded) {
		t.Errorf("got %+v, want no refusal and no new plan", s)
	}
}

func TestADeletedFileIsSaidOnce(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan)
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.keeper.Poll()
	}
	checkHeaders(t, w.get("/v1/quote"), fullHeaders)
	if n := len(w.log.lines("file is gone")); n != 1 {
		t.Errorf("said %d times that the file is gone, want once", n)
	}
	if s := w.keeper.Snapshot(); s.Refused == nil || s.Plan.Versions["v1"] == nil {
		t.Errorf("got %+v, want the plan in force and word that its file is gone", s)
	}
	w.reload(fullPlan)
	if s := w.keeper.Snapshot(); s.Refused != nil {
		t.Errorf("got %+v although the file is back", s.Refused)
	}
}

// A file of the same size, put in place at the same instant, is noticed.
func TestAChangeThatHidesIsNoticed(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan)
	info, err := os.Stat(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.write(strings.Replace(fullPlan, "2027-03-01", "2027-04-01", 1))
	if err := os.Chtimes(w.file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	w.keeper.Poll()
	if got := w.get("/v1/quote").Get("Sunset"); got != "Thu, 01 Apr 2027 00:00:00 GMT" {
		t.Errorf("got Sunset %q, want that of the new file", got)
	}
}

func TestStagesAreLogged(t *testing.T) {
	w := newWorld(t, "2026-08-01T00:00:00Z", fullPlan)
	w.setTime("2026-09-01T00:00:00Z")
	w.keeper.Poll()
	w.keeper.Poll()
	if got := w.log.lines("version stage changes"); len(got) != 1 || !strings.Contains(got[0], `"version":"v1","from":"active","to":"deprecated"`) {
		t.Errorf("got %v, want one record of v1 being deprecated", got)
	}
}

func TestGateHoldsAndReleases(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:00Z", fullPlan)
	w.usage.clients.Store(6)
	w.usage.calls.Store(90)
	w.keeper.Poll()
	s := w.keeper.Snapshot()
	if g := s.Versions[2].Gate; s.Versions[2].Stage != lifecycle.Deprecated || g == nil || !g.Holds || g.Clients != 6 || g.Calls != 90 {
		t.Errorf("got %+v, want to read before the sunset that the gate would hold", s.Versions[2])
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

	// Loud, and once an hour.
	for range 59 {
		w.advance(time.Minute)
		w.keeper.Poll()
	}
	records := w.log.lines("its gate holds")
	if len(records) != 1 || !strings.Contains(records[0], `"level":"ERROR"`) || !strings.Contains(records[0], "6 clients called within 7 days, with 90 calls on the busiest day") {
		t.Errorf("got %v within an hour, want one record that says why", records)
	}
	w.advance(time.Minute)
	w.keeper.Poll()
	if n := len(w.log.lines("its gate holds")); n != 2 {
		t.Errorf("got %d records after an hour, want 2", n)
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

func TestGateOfNullLetsTheDateDecide(t *testing.T) {
	for name, gate := range map[string]string{"null": `"gate": null`, "absent": ``} {
		plan := strings.Replace(fullPlan, `"gate": {"maxClients": 5, "maxCallsPerDay": 100}`, gate, 1)
		plan = strings.Replace(plan, `"],
         }`, `"]}`, 1)
		w := newWorld(t, "2027-03-01T00:00:00Z", plan)
		w.usage.clients.Store(1_000)
		if a := w.get("/v1/quote"); a.status != http.StatusGone {
			t.Errorf("%s: got %d, want 410", name, a.status)
		}
		if w.usage.asked.Load() != 0 {
			t.Errorf("%s: usage was counted although no gate asks for it", name)
		}
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

// Once a gate has let a sunset pass, neither calls nor a restart nor lost counts
// bring the version back. Another sunset is another decision.
func TestReleaseIsFinal(t *testing.T) {
	w := newWorld(t, "2027-03-01T00:00:00Z", fullPlan)
	if got := w.state("v1"); got != lifecycle.Retired {
		t.Fatalf("got %s without any use, want retired", got)
	}
	if g := w.keeper.Snapshot().Versions[2].Gate; g.Holds || !g.Released.Equal(at("2027-03-01T00:00:00Z")) {
		t.Errorf("got %+v, want to see when it was released", g)
	}
	w.usage.clients.Store(1_000)
	w.usage.missing.Store(new(string))
	w.advance(time.Hour)
	w.keeper.Poll()
	if got := w.state("v1"); got != lifecycle.Retired {
		t.Errorf("got %s after retries, want retired", got)
	}
	again := newWorld(t, "2027-03-02T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = w.usage })
	if got := again.state("v1"); got != lifecycle.Retired {
		t.Errorf("got %s after a restart, want retired", got)
	}
	moved := newWorld(t, "2027-05-01T00:00:00Z", strings.ReplaceAll(fullPlan, "2027-03-01", "2027-04-01"), func(o *lifecycle.Options) { o.Usage = w.usage })
	if got := moved.state("v1"); got != lifecycle.Held {
		t.Errorf("got %s with another sunset and many clients, want held", got)
	}
}

// A release that cannot be recorded would not be final, so the gate holds.
func TestReleaseThatCannotBeRecorded(t *testing.T) {
	counts := &usage{}
	away := errors.New("the database is away")
	counts.broken.Store(&away)
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
	if at, _ := w.usage.Released("v1", at("2027-03-01T00:00:00Z")); !at.IsZero() {
		t.Errorf("the gate was released at %s by a plan that is not in force", at)
	}
}

// The evidence is told which plan is in force.
func TestUsageIsToldThePlan(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", nothingPlanned)
	if got, want := *w.usage.plan.Load(), w.keeper.Snapshot().Hash; got != want || got == "" {
		t.Errorf("got %q, want %q", got, want)
	}
	w.write(fullPlan)
	w.keeper.Poll()
	if got, want := *w.usage.plan.Load(), w.keeper.Snapshot().Hash; got != want {
		t.Errorf("got %q after a change, want %q", got, want)
	}
}

func TestSnapshot(t *testing.T) {
	w := newWorld(t, "2027-01-12T14:05:00Z", fullPlan)
	s := w.keeper.Snapshot()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if s.File != w.file || !strings.Contains(string(text), `"exempt":["0x000000000000000000000000`+partner[2:]) {
		t.Errorf("got %s", text)
	}
	var got []string
	for _, e := range s.Next {
		got = append(got, e.At.Format(time.RFC3339)+" "+e.Version+" "+e.What)
	}
	want := []string{
		"2027-01-12T14:15:00Z v1 brownout ends",
		"2027-02-10T14:00:00Z v1 brownout begins: 50 % of clients get 410 for 1h",
		"2027-02-10T15:00:00Z v1 brownout ends",
		"2027-03-01T00:00:00Z v1 sunset: every client gets 410 from here on, unless there were more than 5 clients within 7 days, or more than 100 calls on one of them",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRunLooksByItself(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", nothingPlanned)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.keeper.Run(ctx); close(done) }()
		w.write(fullPlan)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.state("v1"); got != lifecycle.Deprecated {
			t.Errorf("got %s a minute after the file changed, want deprecated", got)
		}
		cancel()
		<-done
	})
}

// Requests, polls and reports at once, for the race detector.
func TestAllAtOnce(t *testing.T) {
	w := newWorld(t, "2027-03-01T00:00:00Z", fullPlan)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 25 {
				w.get("/v1/quote")
				w.advance(time.Second)
				w.keeper.Document()
				w.keeper.Snapshot()
				if i == 0 {
					w.keeper.Reload()
				}
			}
		})
	}
	wg.Wait()
	if w.state("v1") != lifecycle.Retired {
		t.Errorf("got %s", w.state("v1"))
	}
}

// TestAHeldVersionRehearsesWithoutADate, since its sunset has passed and did not
// take effect.
func TestAHeldVersionRehearsesWithoutADate(t *testing.T) {
	w := newWorld(t, "2027-05-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.Usage = incomplete("calls are missing") })
	if got := w.state("v1"); got != lifecycle.Held {
		t.Fatalf("got %s, want held", got)
	}
	for rehearsal, want := range map[string]string{
		"retired":  "Version v1 was retired; use ",
		"brownout": "Version v1 is switched off for a while, until 2027-05-01T00:15:00Z, and for good once few enough clients are left; use ",
	} {
		if a := w.get("/v1/quote", "API-Rehearse", rehearsal); a.status != http.StatusGone || !strings.Contains(a.body, want) {
			t.Errorf("%s: got %d %s, want %q", rehearsal, a.status, a.body, want)
		}
	}
}
