package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// planOf retires v1 three days after a time, with a gate of one day.
func planOf(at time.Time, more string) string {
	return fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2027-01-01T00:00:00Z", "sunset": %q, "successor": "/v3/swap/quote",
		"docs": "https://example.org/m", "gate": {"maxClients": 5, "maxCallsPerDay": 100, "days": 1%s}}}}`,
		at.AddDate(0, 0, 3).Format(time.RFC3339), more)
}

// together lets time pass for several instances that write.
func together(t *testing.T, d time.Duration, all ...*recorded.Rig) {
	t.Helper()
	for ; d > 0; d -= time.Hour {
		all[0].Clock.Pass(min(d, time.Hour))
		for _, r := range all {
			r.Flush(t)
		}
	}
}

// An instance that is killed just before the sunset has counted calls that nobody
// else knows of. The gate waits for it; when its silence has become a gap, the gate
// holds because of that.
func TestKilledJustBeforeTheSunset(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		w := retire(t, cfg, at, planOf(recorded.Noon, ""))
		dead := recorded.Begin(t, cfg, at)
		dead.Follow(w.keeper.Snapshot().Hash, []string{"v1"})
		together(t, 3*24*time.Hour-4*time.Second, w.Rig, dead)
		dead.Call("origin https://a.example", 5)
		dead.Kill()
		at.Pass(8 * time.Second)
		w.Flush(t)
		w.held(t, "four seconds after the sunset", "has written no counts since the sunset, but up to")
		at.Pass(4 * time.Minute)
		w.Flush(t)
		w.held(t, "minutes after the sunset", "has not been heard of since")
	})
}

// The same instance stops properly, or goes on: the gate lets the sunset pass as soon
// as its last counts are there.
func TestGateWaitsForLastCounts(t *testing.T) {
	for _, stops := range []bool{true, false} {
		t.Run(fmt.Sprint(stops), func(t *testing.T) {
			recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
				at := recorded.At(recorded.Noon)
				w := retire(t, cfg, at, planOf(recorded.Noon, ""))
				other := recorded.Begin(t, cfg, at)
				other.Follow(w.keeper.Snapshot().Hash, []string{"v1"})
				together(t, 3*24*time.Hour-4*time.Second, w.Rig, other)
				if stops {
					other.Close()
				}
				at.Pass(8 * time.Second)
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
	cfg, at := store.Config{DB: postgres.Shared(t).Fresh(t)}, recorded.At(recorded.Noon)
	w := retire(t, cfg, at, planOf(recorded.Noon, `, "instances": 2`))
	early := w.Gate(t, "v1", lifecycle.Gate{Days: 1, Instances: 2})
	if w.v1().Risk != "" || !strings.Contains(early.Missing, "1 instance is writing counts, of 2") {
		t.Errorf("got %q, want that one is missed, before the sunset too", early.Missing)
	}
	together(t, 3*24*time.Hour+time.Hour, w.Rig)
	w.held(t, "with one of two", "1 instance is writing counts, of 2 that there are", "fewer than 2 instances counted")
	for range 3 { // one that is restarted is still one
		w.Close()
		w = retire(t, cfg, at, planOf(recorded.Noon, `, "instances": 2`))
		together(t, 10*time.Minute, w.Rig)
	}
	w.held(t, "after restarts", "1 instance is writing counts", "fewer than 2 instances counted")
	other := recorded.Begin(t, cfg, at)
	other.Follow(w.keeper.Snapshot().Hash, []string{"v1"})
	together(t, 12*time.Hour, w.Rig, other)
	w.held(t, "half a day after the second came", "fewer than 2 instances counted")
	together(t, 37*time.Hour, w.Rig, other)
	w.poll()
	if got := w.v1(); got.Stage != lifecycle.Retired {
		t.Errorf("got %s, %+v, want that nothing holds the gate", got.Stage, got.Gate)
	}
}
