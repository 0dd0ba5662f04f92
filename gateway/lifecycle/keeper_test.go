package lifecycle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/integrator"
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
}

func TestNoPlanLeavesVersionsActive(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.File = "" })
	w.keeper.Reload()
	if a := w.get("/v1/quote"); a.status != http.StatusOK || w.state("v1") != lifecycle.Active {
		t.Errorf("got %d in state %s", a.status, w.state("v1"))
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

func TestDeletedPlanFileKeepsThePlan(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan)
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.keeper.Poll()
	}
	checkHeaders(t, w.get("/v1/quote"), fullHeaders)
	if n := len(w.log.lines("the lifecycle plan is gone")); n != 1 {
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
func TestPlanOfSameSizeAndTimeIsNoticed(t *testing.T) {
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

func TestStageChangesAreLogged(t *testing.T) {
	w := newWorld(t, "2026-08-01T00:00:00Z", fullPlan)
	w.setTime("2026-09-01T00:00:00Z")
	w.keeper.Poll()
	w.keeper.Poll()
	if got := w.log.lines("version stage changes"); len(got) != 1 || !strings.Contains(got[0], `"version":"v1","from":"active","to":"deprecated"`) {
		t.Errorf("got %v, want one record of v1 being deprecated", got)
	}
}

// At the start, stages other than active are logged, louder where clients are refused.
func TestStagesAtTheStartAreLogged(t *testing.T) {
	for moment, want := range map[string][2]int{
		"2026-08-01T00:00:00Z": {0, 0}, // active
		"2026-10-01T00:00:00Z": {1, 0}, // deprecated
		"2027-01-12T14:05:00Z": {0, 1}, // browning out
		"2027-03-01T00:00:00Z": {0, 1}, // retired
	} {
		w := newWorld(t, moment, fullPlan)
		got := [2]int{len(w.log.lines(`"msg":"version stage"`)), len(w.log.lines("clients are refused from the start"))}
		if got != want || len(w.log.lines(`"version":"v3"`)) != 0 {
			t.Errorf("%s: got %v records, want %v, and none of v3:\n%s", moment, got, want, w.log.String())
		}
	}
}

// A client is told of the old versions: all but the first, and the first too where it is
// in the plan.
func TestMine(t *testing.T) {
	w := newWorld(t, "2027-01-12T14:05:00Z", fullPlan)
	id, err := integrator.ParseID(partner)
	if err != nil {
		t.Fatal(err)
	}
	who := caller.Caller{Known: &caller.Client{Name: "Acme"}, Integrator: id}
	own := []lifecycle.Own{{Version: "v1", Compared: "2027-01-11"}, {Version: "v3", Compared: "2027-01-10"}}
	mine := w.keeper.OwnUsage(who, own)
	if mine.Client != "Acme" || len(mine.Versions) != 2 {
		t.Fatalf("got %+v, want v3legacy and v1", mine)
	}
	if legacy := mine.Versions[0]; legacy.Name != "v3legacy" || legacy.State != lifecycle.Active ||
		!legacy.Sunset.IsZero() || legacy.Window != nil || legacy.Exempt || legacy.Compared != "" || legacy.Days == nil {
		t.Errorf("got %+v of a version without a plan", legacy)
	}
	v1 := mine.Versions[1]
	if v1.Name != "v1" || v1.State != lifecycle.BrowningOut || !v1.Sunset.Equal(at("2027-03-01T00:00:00Z")) ||
		v1.Successor != "/v3/swap/quote" || v1.Migration != "https://example.org/migrate-v1" || v1.Compared != "2027-01-11" {
		t.Errorf("got %+v", v1)
	}
	if !v1.Exempt || v1.Window == nil || v1.Window.Share != 0.25 || v1.Window.Refused {
		t.Errorf("got %+v, want the open window, which spares an exempt client", v1)
	}
	w.reload(`{"versions": {"v3": {"deprecated": "2026-09-01T00:00:00Z", "successor": "/v3legacy/x",
		"docs": "https://example.org/m"}}}`)
	mine = w.keeper.OwnUsage(who, own)
	if len(mine.Versions) != 3 || mine.Versions[0].Name != "v3" || mine.Versions[0].Compared != "2027-01-10" {
		t.Errorf("got %+v, want the first version too, which is in the plan", mine)
	}
}

// The evidence is told which plan is in force.
func TestUsageIsToldThePlanInForce(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", nothingPlanned)
	if got, want := *w.usage.plan.Load(), w.keeper.Snapshot().Hash; got != want || got == "" {
		t.Errorf("got %q, want %q", got, want)
	}
	asked := "" // while the gates are read, which release only for a plan that all instances follow
	during := func() { asked = *w.usage.plan.Load() }
	w.usage.during.Store(&during)
	w.write(fullPlan)
	w.keeper.Poll()
	if want := w.keeper.Snapshot().Hash; asked != want {
		t.Errorf("got %q while the gates are read, want %q", asked, want)
	}
	if got, want := *w.usage.plan.Load(), w.keeper.Snapshot().Hash; got != want || !slices.Equal(*w.usage.planned.Load(), []string{"v1"}) {
		t.Errorf("got %q and %v after a change, want %q and v1", got, *w.usage.planned.Load(), want)
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

func TestRunPollsTheFile(t *testing.T) {
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
func TestConcurrentUse(t *testing.T) {
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

// planOf is a plan for v1.
func planOf(more string) string {
	return fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2026-01-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/v1", %s}}}`, more)
}

// TestAbruptPlansAreRefused: a changed plan that would refuse clients the moment
// it is read is not taken, unless it says so.
func TestAbruptPlansAreRefused(t *testing.T) {
	const (
		now    = "2026-11-15T12:00:00Z"
		later  = `"sunset": "2027-03-01T00:00:00Z"`
		past   = `"sunset": "2026-03-01T00:00:00Z"` // a year too early
		window = `, "brownouts": [{"from": "2026-11-15T11:00:00Z", "to": "2026-11-15T13:00:00Z", "share": 0.5}]`
		gate   = `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`
	)
	for name, tt := range map[string]struct {
		before, after string
		refused       string // empty: it is taken
		stage         lifecycle.Stage
	}{
		"a sunset in the past":        {later, past, "v1: this would retire the version at once: its sunset, 2026-03-01T00:00:00Z, has passed", lifecycle.Deprecated},
		"a window under way":          {later, later + window, "v1: this would refuse clients at once: the window from 2026-11-15T11:00:00Z", lifecycle.Deprecated},
		"a sunset that is meant":      {later, past + `, "immediate": true`, "", lifecycle.Retired},
		"a window that is meant":      {later, later + window + `, "immediate": true`, "", lifecycle.BrowningOut},
		"a sunset that a gate holds":  {later, past + gate, "", lifecycle.Held},
		"a window that was there":     {later + window, later + window + `, "exempt": ["203.0.113.0/24"]`, "", lifecycle.BrowningOut},
		"a version brought back":      {past, later, "", lifecycle.Deprecated},
		"a date that changes nothing": {later, `"sunset": "2027-04-01T00:00:00Z"`, "", lifecycle.Deprecated},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, now, planOf(tt.before))
			w.usage.clients.Store(1) // so that the gate holds
			before := w.keeper.Document().Plan
			w.reload(planOf(tt.after))
			if got := w.state("v1"); got != tt.stage {
				t.Errorf("got stage %s, want %s", got, tt.stage)
			}
			refused := w.keeper.Snapshot().Refused
			if tt.refused == "" {
				if refused != nil || w.keeper.Document().Plan == before || len(w.log.lines("lifecycle plan in force")) != 1 {
					t.Errorf("it is refused or not in force: %v", refused)
				}
				return
			}
			if refused == nil || !strings.Contains(strings.Join(refused.Faults, "\n"), tt.refused) || !strings.Contains(refused.Faults[0], `"immediate": true`) {
				t.Errorf("got %v, want it refused with %q", refused, tt.refused)
			}
			if w.keeper.Document().Plan != before {
				t.Error("the hash is that of a plan which is not in force")
			}
		})
	}
}

func TestPlanChangesAreLogged(t *testing.T) {
	w := newWorld(t, "2026-11-15T12:00:00Z", planOf(`"sunset": "2027-03-01T00:00:00Z"`))
	from := w.keeper.Document().Plan
	w.reload(planOf(`"sunset": "2027-04-01T00:00:00Z", "gate": {"maxClients": 5, "maxCallsPerDay": 9}`))
	lines := w.log.lines("lifecycle plan in force")
	if len(lines) != 1 {
		t.Fatalf("got %q, want one line", lines)
	}
	for _, want := range []string{`"from":"` + from, `"to":"` + w.keeper.Document().Plan, "v1: sunset 2027-03-01T00:00:00Z becomes 2027-04-01T00:00:00Z"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%q is missing from %s", want, lines[0])
		}
	}
	w.reload(`{"versions": {}}`)
	if lines := w.log.lines("lifecycle plan in force"); len(lines) != 2 || !strings.Contains(lines[1], "v1: sunset 2027-04-01T00:00:00Z becomes none") {
		t.Errorf("got %q", lines)
	}
}

// Inspect says what a Keeper would say, and lets no sunset pass.
func TestInspect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	text := `{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/v1", "gate": {"maxClients": 5, "maxCallsPerDay": 100}}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	after := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC)
	counts := &usage{}
	got, err := lifecycle.Inspect(file, served, counts, after)
	if err != nil {
		t.Fatal(err)
	}
	v1 := got.Versions[len(got.Versions)-1]
	if v1.Version != "v1" || v1.Stage != lifecycle.Held || v1.Gate == nil || v1.Gate.Holds || got.Hash == "" || got.File != file {
		t.Errorf("got %+v with the gate %+v", got, v1.Gate)
	}
	counts.releases.Range(func(key, _ any) bool { t.Errorf("the gate of %v was released", key); return true })
	if counts.plan.Load() != nil {
		t.Error("an inspected plan was announced as followed")
	}
	counts.clients.Store(9)
	if got, err := lifecycle.Inspect(file, served, counts, after); err != nil || !got.Versions[len(got.Versions)-1].Gate.Holds {
		t.Errorf("got %+v and %v with 9 clients, want a gate that holds", got, err)
	}
	if got, err := lifecycle.Inspect("", served, counts, after); err != nil || got.Hash != "" || len(got.Versions) != len(served) || got.Versions[0].Stage != lifecycle.Active {
		t.Errorf("got %+v and %v without a plan", got, err)
	}
	if _, err := lifecycle.Inspect(file+"x", served, counts, after); err == nil || !strings.HasPrefix(err.Error(), "LIFECYCLE_FILE: ") {
		t.Errorf("got %v for a file that is not there", err)
	}
}

// TestExemptClientsThatAreNotKnown: the log warns each time the list of such names
// changes, whether the plan has changed or the known clients have.
func TestExemptClientsThatAreNotKnown(t *testing.T) {
	known := map[string]bool{"Acme": true}
	plan := func(exempt string) string {
		return strings.Replace(fullPlan, `"origin:https://partner.example"]`, exempt+`]`, 1)
	}
	w := newWorld(t, "2026-10-01T00:00:00Z", plan(`"client:Acme"`), func(o *lifecycle.Options) {
		o.Known = func(name string) bool { return known[name] }
	})
	const warning = "the plan exempts clients that CLIENTS_FILE does not have"
	want := func(n int, names string) {
		t.Helper()
		w.keeper.Poll()
		w.keeper.Poll()
		lines := w.log.lines(warning)
		if len(lines) != n || n > 0 && !strings.Contains(lines[n-1], `"clients":[`+names+`]`) {
			t.Errorf("got %q, want %d, the last with %s", lines, n, names)
		}
	}
	want(0, "")
	w.write(plan(`"client:Zeta", "client:Acme", "client:Beta", "203.0.112.0/24"`))
	want(1, `"Beta","Zeta"`)
	known["Beta"] = true
	want(2, `"Zeta"`)
	known["Zeta"] = true
	want(2, `"Zeta"`)
	delete(known, "Acme")
	want(3, `"Acme"`)
}
