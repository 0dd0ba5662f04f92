package evidence_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// clockPlan retires v1 on 15 February with a gate of five days.
const clockPlan = `{"versions": {"v1": {"deprecated": "2027-01-01T00:00:00Z", "sunset": "2027-02-15T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m",
	"gate": {"maxClients": 5, "maxCallsPerDay": 10, "days": 5}}}}`

// thirty are clients that call every few hours.
func thirty() (clients []string) {
	for i := range 30 {
		clients = append(clients, fmt.Sprintf("origin https://daily-%d.example", i))
	}
	return clients
}

// held fails unless the gate holds and says why.
func (w *retirement) held(t *testing.T, when string, why ...string) {
	t.Helper()
	w.poll()
	g := w.v1().Gate
	for _, why := range why {
		if w.stage() != lifecycle.Held || !g.Holds || !strings.Contains(g.Why, why) {
			t.Errorf("%s: got %s, %+v, want it to hold because %q", when, w.stage(), g, why)
		}
	}
}

// A service that was stopped for ten days has counted nobody, which is not the same
// as that nobody called.
func TestGateHoldsAfterAStop(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(time.Date(2027, 2, 4, 0, 0, 0, 0, time.UTC))
		w := retire(t, cfg, at, clockPlan)
		w.live(t, 2*24, thirty()...)
		w.Close()
		at.Advance(10 * 24 * time.Hour)
		w = retire(t, cfg, at, clockPlan)
		w.Flush(t)
		w.held(t, "after a stop", "no instance was counting")
	})
}

// A backup knows nothing of the days since it was made.
func TestGateHoldsAfterARestoredBackup(t *testing.T) {
	dir := t.TempDir()
	cfg, copied := evidence.Config{DB: filepath.Join(dir, "usage.db")}, filepath.Join(dir, "backup.db")
	at := clock.At(time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC))
	w := retire(t, cfg, at, clockPlan)
	w.live(t, 24)
	if err := evidence.Backup(t.Context(), cfg, copied); err != nil {
		t.Fatal(err)
	}
	w.live(t, 13*24+12, thirty()...)
	w.Close()
	w = retire(t, evidence.Config{DB: copied}, at, clockPlan)
	w.live(t, 12)
	w.held(t, "on a backup 14 days old", "it ended without its last counts")
}

// One of two instances has a clock that is ahead, by minutes or by weeks. Its calls are
// counted by the database's clock, there is no gap, and it releases nothing.
func TestGateHoldsWhileClocksAreApart(t *testing.T) {
	for _, ahead := range []time.Duration{3 * time.Minute, -3 * time.Minute, 21 * 24 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			cfg := evidence.Config{DB: postgres.Shared(t).Fresh(t)}
			real := clock.At(recorded.Noon)
			good := recorded.Begin(t, cfg, real)
			good.Age(t, 10)
			wrong := beginApart(t, cfg, real, ahead)
			for _, r := range []*recorded.Rig{good, wrong} {
				r.Follow("plan", []string{"v1"})
				r.Flush(t)
			}
			for range 30 {
				real.Advance(5 * time.Second)
				wrong.Clock.Advance(5 * time.Second)
				wrong.Call("origin https://a.example", 1)
				good.Flush(t)
				wrong.Flush(t)
			}
			sunset := real.Now().Add(-time.Hour).Truncate(time.Second)
			if err := wrong.Read.Release("v1", sunset, "entry"); err == nil || !strings.Contains(err.Error(), "the database's") {
				t.Errorf("got %v, want a refusal because of the clock", err)
			}
			late, err := wrong.Read.Evidence("v1", lifecycle.Gate{Days: 7}, real.Now().Add(time.Minute))
			if ahead := ahead > time.Minute; err != nil || ahead != strings.Contains(strings.Join(late.Missing, ";"), "by the database's clock") {
				t.Errorf("got %+v, %v, want that the database's clock decides", late, err)
			}
			if e := good.Evidence(t, "v1", 7); len(e.Missing) > 0 || e.Clients != 1 || e.Calls != 30 {
				t.Errorf("got %+v, want 30 calls, and nothing missing", e)
			}
		})
	}
}

// beginApart starts a recorder whose clock is ahead of the database's.
func beginApart(t *testing.T, cfg evidence.Config, real *clock.Clock, ahead time.Duration) *recorded.Rig {
	t.Helper()
	r := recorded.Begin(t, cfg, real, recorded.Ahead(ahead))
	r.Clock = clock.At(real.Now().Add(ahead)) // at which it is called
	return r
}

// Clients of the last 90 days that did not call within the gate's days, and have not
// moved, are named. A mark of the operator counts until a call with the client's key.
func TestWaitingClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		mark := &caller.Mark{On: caller.Date(recorded.Noon.AddDate(0, 0, -1).Format(time.DateOnly)), Why: "they wrote so"}
		known := func(name string) (caller.Client, bool) {
			if name != "client Marked" && name != "client Back" {
				return caller.Client{}, false
			}
			return caller.Client{Moved: mark}, true
		}
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), recorded.Knowing(known))
		r.As("v1", caller.Caller{Known: &caller.Client{Name: "Marked"}})
		r.As("v1", caller.Caller{Known: &caller.Client{Name: "Back"}, Key: 3})
		for i := range 12 {
			r.Call(fmt.Sprintf("origin https://monthly-%02d.example", i), 1)
		}
		r.Call("client Acme", 1)
		r.Call("origin https://moved.example", 1)
		r.Up(t, 20*24*time.Hour)
		r.On("v3", "origin https://moved.example")
		r.Call("origin https://daily.example", 1)
		r.Flush(t)
		e := r.Evidence(t, "v1", 7)
		if e.Clients != 1 || e.WaitingCount != 14 || len(e.Waiting) != 10 ||
			!slices.Equal(e.Waiting[:2], []string{"client Acme", "client Back"}) {
			t.Errorf("got %+v, want the 14 that wait, the known ones first, and ten names", e)
		}
		if e := r.Evidence(t, "v1", 30); e.WaitingCount != 0 || e.Clients != 17 {
			t.Errorf("got %+v of 30 days, want all, and nobody waiting", e)
		}
	})
}

// planOf retires v1 three days after a time, with a gate of one day.
func planOf(at time.Time, more string) string {
	return fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2027-01-01T00:00:00Z", "sunset": %q, "successor": "/v3/swap/quote",
		"docs": "https://example.org/m", "gate": {"maxClients": 5, "maxCallsPerDay": 100, "days": 1%s}}}}`,
		at.AddDate(0, 0, 3).Format(time.RFC3339), more)
}

// together lets time pass for several instances that write.
func together(t *testing.T, d time.Duration, all ...*recorded.Rig) {
	t.Helper()
	const pause = 6 * time.Hour
	for ; d > 0; d -= pause {
		all[0].Clock.Advance(min(d, pause))
		for _, r := range all {
			r.Flush(t)
		}
	}
}

// An instance that is killed just before the sunset has counted calls that nobody
// else knows of. The gate waits for it; when its silence has become a gap, the gate
// holds because of that.
func TestKilledJustBeforeTheSunset(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(recorded.Noon)
		w := retire(t, cfg, at, planOf(recorded.Noon, ""))
		dead := recorded.Begin(t, cfg, at)
		dead.Follow(w.keeper.Snapshot().Hash, []string{"v1"})
		together(t, 3*24*time.Hour-4*time.Second, w.Rig, dead)
		dead.Call("origin https://a.example", 5)
		dead.Kill()
		at.Advance(8 * time.Second)
		w.Flush(t)
		w.held(t, "four seconds after the sunset", "has written no counts since the sunset, but up to")
		at.Advance(4 * time.Minute)
		w.Flush(t)
		w.held(t, "minutes after the sunset", "has not reported since")
	})
}

// The same instance stops properly, or goes on: the gate lets the sunset pass as soon
// as its last counts are there.
func TestGateWaitsForLastCounts(t *testing.T) {
	for _, stops := range []bool{true, false} {
		t.Run(fmt.Sprint(stops), func(t *testing.T) {
			recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
				at := clock.At(recorded.Noon)
				w := retire(t, cfg, at, planOf(recorded.Noon, ""))
				other := recorded.Begin(t, cfg, at)
				other.Follow(w.keeper.Snapshot().Hash, []string{"v1"})
				together(t, 3*24*time.Hour-4*time.Second, w.Rig, other)
				if stops {
					other.Close()
				}
				at.Advance(8 * time.Second)
				w.poll()
				w.held(t, "before this instance has written", "has written no counts since the sunset")
				w.Flush(t)
				if !stops {
					w.held(t, "before the other has written", "has written no counts since the sunset")
					other.Flush(t)
				}
				w.poll()
				if got := w.v1(); got.Stage != lifecycle.Retired {
					t.Errorf("got %s, %+v, want that nothing holds the gate", got.Stage, got.Gate)
				}
			})
		})
	}
}

// A gate that says how many instances there are does not let the sunset pass while one
// of them writes nothing, even if nothing is known of it. It does so when all have
// written for as long as it looks back.
func TestGateThatCountsInstances(t *testing.T) {
	cfg, at := evidence.Config{DB: postgres.Shared(t).Fresh(t)}, clock.At(recorded.Noon)
	w := retire(t, cfg, at, planOf(recorded.Noon, `, "instances": 2`))
	early := w.Gate(t, "v1", lifecycle.Gate{Days: 1, Instances: 2})
	if w.v1().Risk != "" || !strings.Contains(strings.Join(early.Missing, ";"), "1 instance is writing counts, of 2") {
		t.Errorf("got %q, want that one is missed, before the sunset too", early.Missing)
	}
	together(t, 3*24*time.Hour+time.Hour, w.Rig)
	w.held(t, "with one of two", "1 instance is writing counts, of 2 that there are", "fewer than 2 instances were counting")
	for range 3 { // one that is restarted is still one
		w.Close()
		w = retire(t, cfg, at, planOf(recorded.Noon, `, "instances": 2`))
		together(t, 10*time.Minute, w.Rig)
	}
	w.held(t, "after restarts", "1 instance is writing counts", "fewer than 2 instances were counting")
	other := recorded.Begin(t, cfg, at)
	other.Follow(w.keeper.Snapshot().Hash, []string{"v1"})
	together(t, 12*time.Hour, w.Rig, other)
	w.held(t, "half a day after the second came", "fewer than 2 instances were counting")
	together(t, 37*time.Hour, w.Rig, other)
	w.poll()
	if got := w.v1(); got.Stage != lifecycle.Retired {
		t.Errorf("got %s, %+v, want that nothing holds the gate", got.Stage, got.Gate)
	}
}

// What a report says that a gate counted on each day is what the gate itself said then. Days whose
// gate would look back to before counting began are not known.
func TestCounted(t *testing.T) {
	marked := caller.Client{Name: "Marked", Moved: &caller.Mark{On: "2027-01-01"}}
	harbour := caller.Client{Name: "Harbour"}
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), recorded.Knowing(func(name string) (caller.Client, bool) {
			return marked, name == "client Marked"
		}))
		gates := map[string]lifecycle.Gate{
			"all": {Days: 3}, "one day": {Days: 1}, "proven": {Days: 4, Count: lifecycle.CountProven},
		}
		said := map[string][]int{}
		for d := range 16 {
			if d > 0 {
				r.Up(t, 24*time.Hour)
			}
			for i, every := range []int{1, 2, 3, 5, 8} {
				if d%every == 0 {
					r.Call(fmt.Sprintf("origin https://app-%d.example", i), 2)
				}
			}
			if d == 4 || d == 12 {
				r.As("v1", caller.Caller{Known: &harbour, Key: 7})
				r.Errs("origin https://errs.example", 3)
			}
			if d%5 == 0 {
				r.As("v1", caller.Caller{Known: &harbour})
				r.As("v1", caller.Caller{Known: &marked})
				r.Refuse("origin https://refused.example", 1, fault.VersionBrownout)
			}
			r.Flush(t)
			for name, gate := range gates {
				said[name] = append(said[name], r.Gate(t, "v1", gate).Clients)
			}
		}
		for name, gate := range gates {
			plan := &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{"v1": {Gate: &gate}}}
			read, err := r.Read.Report(t.Context(), evidence.Query{Gates: plan})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range read.Versions {
				if v.Version != "v1" && v.Counted != nil {
					t.Errorf("%s has counts of a gate, and no gate", v.Version)
				}
				if v.Version != "v1" {
					continue
				}
				unknown := len(v.Counted) - 15 + gate.Days // counting began at noon of the first day
				known := slices.IndexFunc(v.Counted, func(n int) bool { return n >= 0 })
				if want := said[name][gate.Days+1:]; known != unknown || !slices.Equal(v.Counted[max(0, known):], want) {
					t.Errorf("%s: got %v, want %v from day %d", name, v.Counted, want, unknown)
				}
			}
		}
	})
}
