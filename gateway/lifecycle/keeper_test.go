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
	_, err := lifecycle.New(lifecycle.Options{File: r.file, Versions: served, Usage: newUsage(database{}), Now: r.Now})
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
	if r.log.String() != "" {
		t.Errorf("got the log %s", r.log.String())
	}
}

// A stage is logged once when it changes, whether a plan, time or a restart changes it. A start
// that finds it as it was logs nothing, and neither does the first start.
func TestStagesAreLogged(t *testing.T) {
	const (
		deprecating = `"msg":"version stage","version":"v1","from":"active","to":"deprecated"`
		browningOut = `"msg":"version stage","version":"v1","from":"deprecated","to":"brownout"`
		window      = "2027-01-12T14:05:00Z"
	)
	undated := strings.Replace(fullPlan, `"2027-01-12T15:00:00+01:00"`, `"2027-01-12T14:10:00Z"`, 1)
	wider := strings.Replace(undated, `"2027-01-12T14:10:00Z"`, `"2027-01-12T14:00:00Z"`, 1)
	immediate := strings.Replace(wider, `{"deprecated"`, `{"immediate": true, "deprecated"`, 1)
	for name, tt := range map[string]struct {
		now  string
		plan string
		then func(*rig) *rig
		want string // the only line; empty for none
	}{
		"first start": {"2026-10-01T00:00:00Z", fullPlan, func(r *rig) *rig { return r }, ""},
		"its date came": {"2026-08-01T00:00:00Z", fullPlan, func(r *rig) *rig {
			r.pollAt("2026-09-01T00:00:00Z")
			return r
		}, deprecating},
		"a new plan":       {"2026-10-01T00:00:00Z", nothingPlanned, func(r *rig) *rig { r.reload(fullPlan); return r }, deprecating},
		"the same plan":    {"2026-10-01T00:00:00Z", fullPlan, func(r *rig) *rig { return r.restart(fullPlan) }, ""},
		"in a window":      {window, fullPlan, func(r *rig) *rig { return r.restart(fullPlan) }, ""},
		"first plan":       {"2026-10-01T00:00:00Z", nothingPlanned, func(r *rig) *rig { return r.restart(fullPlan) }, deprecating},
		"other plan":       {window, undated, func(r *rig) *rig { return r.restart(immediate) }, browningOut},
		"plan refused":     {window, undated, func(r *rig) *rig { return r.restart(wider) }, ""},
		"database is late": {window, fullPlan, lateRestart, browningOut},
	} {
		r := tt.then(newRig(t, tt.now, tt.plan))
		r.Poll()
		got := r.log.Count("version stage")
		if want := map[bool]int{true: 1}[tt.want != ""]; got != want || r.log.Count(tt.want) < want {
			t.Errorf("%s: got %s, want one line of a stage: %q", name, r.log.String(), tt.want)
		}
	}
}

// lateRestart is a restart with a database that answers only the second poll.
func lateRestart(r *rig) *rig {
	r.usage.errKept = errAway
	restarted := r.restart(fullPlan)
	restarted.usage.set(func(u *usage) { u.errKept = nil })
	restarted.Poll()
	return restarted
}

// A client is told of the old versions: all but the first, and the first too where it is
// in the plan.
func TestStandings(t *testing.T) {
	r := newRig(t, "2027-01-12T14:05:00Z", fullPlan)
	who := integratorOf(0xc0de)
	plan, all := r.Standings(who)
	if plan != r.Snapshot().Hash || len(all) != 2 {
		t.Fatalf("got %q and %+v, want v3legacy and v1", plan, all)
	}
	if legacy := all[0]; legacy.Name != "v3legacy" || legacy.State != lifecycle.Active ||
		!legacy.Sunset.IsZero() || legacy.Window != nil || legacy.Exempt {
		t.Errorf("got %+v of a version without a plan", legacy)
	}
	v1 := all[1]
	if v1.Name != "v1" || v1.State != lifecycle.BrowningOut || !v1.Sunset.Equal(at("2027-03-01T00:00:00Z")) ||
		v1.Successor != "/v3/swap/quote" || v1.Migration != "https://example.org/migrate-v1" ||
		!v1.Exempt || v1.Window == nil || v1.Window.Share != 0.25 || v1.Window.Refused {
		t.Errorf("got %+v, want the open window, which spares an exempt client", v1)
	}
	r.reload(strings.Replace(strings.Replace(planOf(""), "/v3/", "/v1/", 1), `"v1"`, `"v3"`, 1))
	if _, all = r.Standings(who); len(all) != 3 || all[0].Name != "v3" {
		t.Errorf("got %+v, want the first version too, which is in the plan", all)
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

// A keeper that only reads says what another would say, and lets no sunset pass.
func TestReadOnly(t *testing.T) {
	const after = "2027-03-02T00:00:00Z"
	readOnly := func(o *lifecycle.Options) { o.ReadOnly = true }
	for clients, holds := range map[int]bool{0: false, 9: true} {
		u := newUsage(database{evidence: lifecycle.Evidence{Clients: clients}})
		r := newRig(t, after, fullPlan, with(u), readOnly)
		v1 := r.v1()
		if v1.Stage != lifecycle.Held || v1.Gate == nil || v1.Gate.Holds != holds || r.Snapshot().File != r.file {
			t.Errorf("%d clients: got %+v with the gate %+v", clients, v1, v1.Gate)
		}
		if len(u.releases) != 0 || u.accepts != 0 {
			t.Errorf("describing a plan released %v, and accepted %v", u.releases, u.kept)
		}
	}
	r := newRig(t, after, nothingPlanned)
	if got := r.restart(fullPlan, readOnly); got.refused() == "" || got.v1().Stage != lifecycle.Active {
		t.Errorf("got %q and %+v, want a gateway that starts to refuse the plan", got.refused(), got.v1())
	}
	got := r.restart("", readOnly, func(o *lifecycle.Options) { o.File = "" })
	if s := got.Snapshot(); s.Hash != "" || len(s.Versions) != 3 || got.v1().Stage != lifecycle.Active {
		t.Errorf("got %+v without a plan", s)
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
	want(1, `"Zeta","Beta"`)
	known["Beta"] = true
	want(2, `"Zeta"`)
	known["Zeta"] = true
	want(2, `"Zeta"`)
	delete(known, "Acme")
	want(3, `"Acme"`)
}
