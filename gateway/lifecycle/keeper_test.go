package lifecycle_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// TestBadPlan: a keeper does not start with a bad plan, and one that runs keeps the plan
// it has.
func TestBadPlan(t *testing.T) {
	faults := []string{"versions.v9: unknown version", "versions.v1.deprecated: missing", "versions.v1.docs: "}
	const bad = `{"versions":{"v9":{},"v1":{}}}`
	r := newRig(t, "2026-10-01T00:00:00Z", fullPlan)
	loaded := r.Snapshot().LoadedAt
	r.Advance(time.Minute)
	r.reload(bad)
	r.Poll()
	_, err := lifecycle.New(lifecycle.Options{File: r.file, Versions: served, Usage: newUsage(database{})})
	for _, want := range append(faults, "plan.json") {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %q", err, want)
		}
	}
	h, _ := r.admit("v1", caller.Caller{})
	wantHeaders(t, "with a bad file", h, firstWindow)
	for _, want := range faults {
		if !strings.Contains(r.refused(), want) || r.log.Count(want) != 1 {
			t.Errorf("%q is not in %q, or not once in the log %s", want, r.refused(), r.log.String())
		}
	}
	if s := r.Snapshot(); !s.Refused.At.Equal(at("2026-10-01T00:01:00Z")) || !s.LoadedAt.Equal(loaded) {
		t.Errorf("got %+v, want the refusal and the old plan", s)
	}
	r.reload(fullPlan)
	if s := r.Snapshot(); s.Refused != nil || !s.LoadedAt.Equal(loaded) {
		t.Errorf("got %+v, want no refusal and no new plan", s)
	}
}

func TestNoPlanLeavesVersionsActive(t *testing.T) {
	r := newRig(t, "2026-10-01T00:00:00Z", fullPlan, func(o *lifecycle.Options) { o.File = "" })
	r.Reload()
	if h, e := r.admit("v1", caller.Caller{}); e != nil || len(h) != 0 || r.v1().Stage != lifecycle.Active {
		t.Errorf("got %v and %v in stage %s", h, e, r.v1().Stage)
	}
}

// A stage is logged at the start unless it is active, and when it changes.
func TestStagesAreLogged(t *testing.T) {
	r := newRig(t, "2026-08-01T00:00:00Z", fullPlan)
	r.pollAt("2026-09-01T00:00:00Z")
	r.Poll()
	restarted := newRig(t, "2026-10-01T00:00:00Z", fullPlan)
	const change = `"msg":"version stage","version":"v1","from":"active","to":"deprecated"`
	for _, r := range []*rig{r, restarted} {
		if r.log.Count("version stage") != 1 || r.log.Count(change) != 1 {
			t.Errorf("got %s, want one record of v1 being deprecated", r.log.String())
		}
	}
}

// A client is told of the old versions: all but the first, and the first too where it is
// in the plan.
func TestOwnUsage(t *testing.T) {
	r := newRig(t, "2027-01-12T14:05:00Z", fullPlan)
	who := integratorOf(0xc0de)
	who.Known = &caller.Client{Name: "Acme"}
	own := []lifecycle.Own{{Version: "v1", Compared: "2027-01-11"}, {Version: "v3", Compared: "2027-01-10"}}
	mine := r.OwnUsage(who, own)
	if mine.Client != "Acme" || mine.Plan != r.Snapshot().Hash || len(mine.Versions) != 2 {
		t.Fatalf("got %+v, want v3legacy and v1", mine)
	}
	if legacy := mine.Versions[0]; legacy.Name != "v3legacy" || legacy.State != lifecycle.Active ||
		!legacy.Sunset.IsZero() || legacy.Window != nil || legacy.Exempt || legacy.Compared != "" || legacy.Days == nil {
		t.Errorf("got %+v of a version without a plan", legacy)
	}
	v1 := mine.Versions[1]
	if v1.Name != "v1" || v1.State != lifecycle.BrowningOut || !v1.Sunset.Equal(at("2027-03-01T00:00:00Z")) ||
		v1.Successor != "/v3/swap/quote" || v1.Migration != "https://example.org/migrate-v1" || v1.Compared != "2027-01-11" ||
		!v1.Exempt || v1.Window == nil || v1.Window.Share != 0.25 || v1.Window.Refused {
		t.Errorf("got %+v, want the open window, which spares an exempt client", v1)
	}
	r.reload(strings.Replace(strings.Replace(planOf(""), "/v3/", "/v1/", 1), `"v1"`, `"v3"`, 1))
	mine = r.OwnUsage(who, own)
	if len(mine.Versions) != 3 || mine.Versions[0].Name != "v3" || mine.Versions[0].Compared != "2027-01-10" {
		t.Errorf("got %+v, want the first version too, which is in the plan", mine)
	}
	if h, _ := r.admit("v3", who); h.Get("Deprecation") == "" {
		t.Errorf("got %v, want the end of the first version announced", h)
	}
}

// The evidence is told which plan is in force before the gates are read, which release
// only for a plan that all instances follow.
func TestUsageIsToldThePlanInForce(t *testing.T) {
	r := newRig(t, "2026-10-01T00:00:00Z", nothingPlanned)
	whileRead := ""
	r.usage.set(func(u *usage) {
		if want := r.Snapshot().Hash; u.plan != want || want == "" {
			t.Errorf("got %q, want %q", u.plan, want)
		}
		u.during = func() { whileRead = u.plan }
	})
	r.reload(fullPlan)
	r.usage.set(func(u *usage) {
		want := r.Snapshot().Hash
		if u.plan != want || whileRead != want || !slices.Equal(u.planned, []string{"v1"}) {
			t.Errorf("got %q, %q while the gates are read, and %v; want %q and v1", u.plan, whileRead, u.planned, want)
		}
	})
}

func TestSnapshotListsWhatComesNext(t *testing.T) {
	r := newRig(t, "2027-01-12T14:05:00Z", fullPlan)
	var got []string
	for _, e := range r.Snapshot().Next {
		got = append(got, e.At.Format(time.RFC3339)+" "+e.Version+" "+e.What)
	}
	want := []string{
		"2027-01-12T14:15:00Z v1 brownout ends",
		"2027-02-10T14:00:00Z v1 brownout begins: 50 % of clients get 410 for 1h",
		"2027-02-10T15:00:00Z v1 brownout ends",
		"2027-03-01T00:00:00Z v1 sunset: every client gets 410 from here on, unless its gate holds",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRunPollsTheFile(t *testing.T) {
	r := newRig(t, "2026-10-01T00:00:00Z", nothingPlanned)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			r.Run(ctx)
			close(done)
		}()
		r.write(fullPlan)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.v1().Stage; got != lifecycle.Deprecated {
			t.Errorf("got %s a minute after the file changed, want deprecated", got)
		}
		cancel()
		<-done
	})
}

// Requests, polls and reports at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	r := newRig(t, "2027-03-01T00:00:00Z", fullPlan)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 25 {
				r.admit("v1", caller.Caller{})
				r.Advance(time.Second)
				r.Document()
				r.Snapshot()
				if i == 0 {
					r.Reload()
				}
			}
		})
	}
	wg.Wait()
	if got := r.v1().Stage; got != lifecycle.Retired {
		t.Errorf("got %s", got)
	}
}

// TestChangedPlans: a plan that would refuse clients the moment it is read is not taken,
// unless it says so. The log says what a plan that is taken changes.
func TestChangedPlans(t *testing.T) {
	const (
		now     = "2026-11-15T12:00:00Z"
		later   = `"sunset": "2027-03-01T00:00:00Z"`
		past    = `"sunset": "2026-03-01T00:00:00Z"` // a year too early
		window  = `, "brownouts": [{"from": "2026-11-15T11:00:00Z", "to": "2026-11-15T13:00:00Z", "share": 0.5}]`
		gate    = `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`
		meant   = `, "immediate": true`
		retires = "v1: this would retire the version at once: its sunset, 2026-03-01T00:00:00Z, has passed; " +
			`correct the date, or add "immediate": true if it is meant`
		refuses = "v1: this would refuse clients at once: the window from 2026-11-15T11:00:00Z to 2026-11-15T13:00:00Z " +
			`is under way; correct the date, or add "immediate": true if it is meant`
		becomesPast = `["v1: sunset 2027-03-01T00:00:00Z becomes 2026-03-01T00:00:00Z"]`
	)
	for name, tt := range map[string]struct {
		before, after string
		refused       string // empty: it is taken
		changed       string // in the log, if it is taken
		stage         lifecycle.Stage
	}{
		"a sunset in the past":       {later, past, retires, "", lifecycle.Deprecated},
		"a window under way":         {later, later + window, refuses, "", lifecycle.Deprecated},
		"a sunset that is meant":     {later, past + meant, "", becomesPast, lifecycle.Retired},
		"a window that is meant":     {later, later + window + meant, "", `["v1"]`, lifecycle.BrowningOut},
		"a sunset that a gate holds": {later, past + gate, "", becomesPast, lifecycle.Held},
		"a window that was there":    {later + window, later + window + meant, "", `["v1"]`, lifecycle.BrowningOut},
		"a version brought back": {
			past, later, "", `["v1: sunset 2026-03-01T00:00:00Z becomes 2027-03-01T00:00:00Z"]`, lifecycle.Deprecated,
		},
		"no sunset any more": {later, "", "", `["v1: sunset 2027-03-01T00:00:00Z becomes none"]`, lifecycle.Deprecated},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, now, planOf(tt.before))
			r.usage.set(func(u *usage) { u.evidence.Clients = 1 }) // so that the gate holds
			before := r.Document().Plan
			r.reload(planOf(tt.after))
			if got := r.v1().Stage; got != tt.stage || !strings.HasSuffix(r.refused(), tt.refused) || (r.refused() == "") != (tt.refused == "") {
				t.Errorf("got %s and %q, want %s and %q", got, r.refused(), tt.stage, tt.refused)
			}
			after := r.Document().Plan
			if (after == before) != (tt.refused != "") {
				t.Errorf("the plan in force was %s and is %s", before, after)
			}
			line := `"from":"` + before + `","to":"` + after + `","changed":` + tt.changed
			if taken := r.log.Count(line) == 1; taken != (tt.refused == "") {
				t.Errorf("got the log %s, want %s", r.log.String(), line)
			}
		})
	}
}

// Inspect says what a Keeper would say, and lets no sunset pass.
func TestInspect(t *testing.T) {
	const after = "2027-03-02T00:00:00Z"
	r := newRig(t, after, nothingPlanned)
	r.write(fullPlan)
	for clients, holds := range map[int]bool{0: false, 9: true} {
		counts := newUsage(database{evidence: lifecycle.Evidence{Clients: clients}})
		got, err := lifecycle.Inspect(r.file, served, counts, at(after))
		if err != nil {
			t.Fatal(err)
		}
		v1 := got.Versions[2]
		if v1.Stage != lifecycle.Held || v1.Gate == nil || v1.Gate.Holds != holds || got.Hash == "" || got.File != r.file {
			t.Errorf("%d clients: got %+v with the gate %+v", clients, got, v1.Gate)
		}
		if len(counts.releases) != 0 || counts.plan != "" {
			t.Errorf("inspecting a plan released %v, and announced %q as followed", counts.releases, counts.plan)
		}
	}
	got, err := lifecycle.Inspect("", served, r.usage, at(after))
	if err != nil || got.Hash != "" || len(got.Versions) != 3 || got.Versions[2].Stage != lifecycle.Active {
		t.Errorf("got %+v and %v without a plan", got, err)
	}
	if _, err := lifecycle.Inspect(r.file+"x", served, r.usage, at(after)); err == nil || !strings.HasPrefix(err.Error(), "LIFECYCLE_FILE: ") {
		t.Errorf("got %v for a file that is not there", err)
	}
}

// The log warns of exempt clients that are not known each time the list of their names
// changes, whether the plan has changed or the known clients have.
func TestExemptClientsThatAreNotKnown(t *testing.T) {
	known := map[string]bool{"Acme": true}
	plan := func(exempt string) string {
		return strings.Replace(fullPlan, `"origin:https://partner.example"]`, exempt+`]`, 1)
	}
	r := newRig(t, "2026-10-01T00:00:00Z", plan(`"client:Acme"`), func(o *lifecycle.Options) {
		o.Known = func(name string) bool { return known[name] }
	})
	want := func(n int, names string) {
		t.Helper()
		r.Poll()
		r.Poll()
		const warning = `"msg":"the plan exempts clients that CLIENTS_FILE does not have"`
		if r.log.Count(warning) != n || n > 0 && !strings.HasSuffix(r.log.String(), `"clients":[`+names+"]}\n") {
			t.Errorf("got %s, want %d warnings, the last with %s", r.log.String(), n, names)
		}
	}
	want(0, "")
	r.write(plan(`"client:Zeta", "client:Acme", "client:Beta", "203.0.112.0/24"`))
	want(1, `"Beta","Zeta"`)
	known["Beta"] = true
	want(2, `"Zeta"`)
	known["Zeta"] = true
	want(2, `"Zeta"`)
	delete(known, "Acme")
	want(3, `"Acme"`)
}
