package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// The evidence is of all the days, of calls served and calls that a brownout
// refused, with the calls of the busiest day.
func TestEvidence(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, recorded.At(recorded.Noon))
		r.Call("origin https://before.example", 1000)
		r.Flush(t)
		r.Age(t, 30)
		for d := range 8 {
			r.Up(t, 24*time.Hour)
			r.Call("origin https://daily.example", 10)
			if d == 3 {
				r.Call("origin https://weekly.example", 90)
				r.Refuse("origin https://refused.example", 50, fault.VersionBrownout)
				r.Refuse("origin https://too-late.example", 70, fault.VersionRetired)
			}
			r.Flush(t)
		}
		for _, test := range []struct {
			days int
			want lifecycle.Evidence
		}{
			{7, lifecycle.Evidence{Clients: 3, Calls: 150}},
			{1, lifecycle.Evidence{Clients: 1, Calls: 10}},
			{4, lifecycle.Evidence{Clients: 3, Calls: 150}},
			{3, lifecycle.Evidence{Clients: 1, Calls: 10}},
			{8, lifecycle.Evidence{Clients: 4, Calls: 1000}},
		} {
			if got := r.Evidence(t, "v1", test.days); got.Clients != test.want.Clients || got.Calls != test.want.Calls || got.Missing != "" {
				t.Errorf("%d days: got %+v, want %+v", test.days, got, test.want)
			}
		}
		if got := r.Evidence(t, "v3", 7); got.Clients != 0 || got.Calls != 0 {
			t.Errorf("v3: got %+v, want none", got)
		}
	})
}

// Evidence that is not complete says what is missing.
func TestEvidenceThatIsIncomplete(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, recorded.At(recorded.Noon))
		missing := func(what, want string) {
			t.Helper()
			if got := r.Evidence(t, "v1", 7).Missing; got != want && !(want != "" && strings.Contains(got, want)) {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		missing("at the start", "calls are counted only since 10 Mar 2027, 12:32 UTC")
		r.Age(t, 6)
		missing("after six days", "calls are counted only since 4 Mar 2027, 12:32 UTC")
		r.Age(t, 8)
		missing("after eight days", "")
		other := func(ago time.Duration) {
			r.Exec(t, "delete from quotegate_instances where instance = 'OTHER7'")
			r.Exec(t, fmt.Sprintf("insert into quotegate_instances (instance, host, plan, batch, started, written, stopped) values ('OTHER7', 'gate-2', '', 1, 0, %d, 0)", recorded.Noon.Add(-ago).Unix()))
		}
		other(10 * time.Second)
		missing("with one that has just written", "")
		other(3 * time.Minute)
		missing("with an instance that is silent", "instance gate-2 (OTHER7) has not been heard of since 10 Mar 2027, 12:29 UTC")
		r.Up(t, 9*24*time.Hour)
		missing("nine days later", "")
		r.Exec(t, fmt.Sprintf("insert into quotegate_gaps values ('x', %d, %d, 'of a test')", r.Clock.Now().Unix()-7200, r.Clock.Now().Unix()-3600))
		missing("with a gap", "are missing: of a test")
	})
}

// A release is remembered, once, for its sunset.
func TestReleases(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := recorded.Begin(t, cfg, at)
		sunset := recorded.Noon.Add(-time.Hour).Truncate(time.Second)
		if got, err := r.Released("v1", sunset, "entry"); err != nil || !got.IsZero() {
			t.Errorf("got %s, %v before a release", got, err)
		}
		for range 2 {
			if err := r.Release("v1", sunset, "entry"); err != nil {
				t.Fatal(err)
			}
			at.Pass(time.Hour)
			r.Flush(t)
		}
		if cfg.DB != "" {
			r.Close()
			r = recorded.Begin(t, cfg, at)
		}
		if got, err := r.Released("v1", sunset, "entry"); err != nil || !got.Equal(recorded.Noon) {
			t.Errorf("got %s, %v, want the time of the first release", got, err)
		}
		for _, other := range []struct {
			version, entry string
			sunset         time.Time
		}{{"v3", "entry", sunset}, {"v1", "entry", sunset.Add(time.Second)}, {"v1", "another gate", sunset}} {
			if got, err := r.Released(other.version, other.sunset, other.entry); err != nil || !got.IsZero() {
				t.Errorf("%+v: got %s, %v, want no release", other, got, err)
			}
		}
		if err := r.Release("v1", at.Now().Add(time.Hour), "entry"); err == nil || !strings.Contains(err.Error(), "the sunset comes in 60 minutes") {
			t.Errorf("got %v before the sunset", err)
		}
	})
}

// While instances that are alive follow different plans, gates hold and nothing is
// released. It does not matter which of the plans is the laxest.
func TestInstancesDisagree(t *testing.T) {
	cfg := store.Config{DB: postgres.Shared(t).Fresh(t)}
	at := recorded.At(recorded.Noon)
	a, b := recorded.Begin(t, cfg, at), recorded.Begin(t, cfg, at)
	a.Age(t, 9)
	follow := func(plan string) {
		a.Follow("aaaa", nil)
		b.Follow(plan, nil)
		for _, r := range []*recorded.Rig{a, b, a} {
			r.Flush(t)
		}
	}
	for _, step := range []struct {
		plan  string
		plans int
		want  []string
	}{{"aaaa", 1, nil}, {"", 2, []string{"instances follow different plans", "follows aaaa", "follows no plan"}}, {store.NotYet, 1, nil}, {"bbbb", 2, []string{"follows bbbb"}}} {
		follow(step.plan)
		notes, missing := strings.Join(a.Notes(), "\n"), a.Evidence(t, "v1", 7).Missing
		err := a.Release("v1", recorded.Noon.Add(-time.Hour), "entry "+step.plan)
		if a.Plans() != step.plans || (len(step.want) == 0) != (notes == "" && missing == "" && err == nil) {
			t.Errorf("%q: got %d plans, %q, %q, %v", step.plan, a.Plans(), notes, missing, err)
		}
		for _, want := range step.want {
			if !strings.Contains(notes, want) || !strings.Contains(missing, want) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%q: got %q, %q, %v, want %q", step.plan, notes, missing, err, want)
			}
		}
	}
	b.Kill()
	at.Pass(10 * time.Minute)
	if a.Flush(t); a.Plans() != 1 {
		t.Errorf("got %d plans once the other is silent", a.Plans())
	}
}
