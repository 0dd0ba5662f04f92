package evidence_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// The evidence is of all the days, of calls served and calls that a brownout
// refused, with the calls of the busiest day.
func TestEvidence(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon))
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
			{1, lifecycle.Evidence{Clients: 1, Calls: 20}}, // 24 hours and the rest of the hour before
			{3, lifecycle.Evidence{Clients: 1, Calls: 20}},
			{9, lifecycle.Evidence{Clients: 4, Calls: 1000}},
		} {
			if got := r.Evidence("v1", test.days); got.Clients != test.want.Clients || got.Calls != test.want.Calls || got.Missing != "" {
				t.Errorf("%d days: got %+v, want %+v", test.days, got, test.want)
			}
		}
		if got := r.Evidence("v3", 7); got.Clients != 0 || got.Calls != 0 {
			t.Errorf("v3: got %+v, want none", got)
		}
	})
}

// Evidence that is not complete says what is missing.
func TestEvidenceThatIsIncomplete(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon))
		missing := func(what, want string) {
			t.Helper()
			if got := r.Evidence("v1", 7).Missing; got != want && !(want != "" && strings.Contains(got, want)) {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		missing("at the start", "calls are counted only since 2027-03-10T12:32:10Z")
		r.Age(t, 6)
		missing("after six days", "calls are counted only since 2027-03-04T12:32:10Z")
		r.Age(t, 7)
		missing("after seven days", "")
		r.Exec(t, fmt.Sprintf("insert into usage_instances (instance, written, stopped, batch, host, plan, every, ahead) values ('OTHER7', %d, 0, 1, 'gate-2', '', 5, 0)", recorded.Noon.Unix()-30))
		missing("with an instance that is silent", "instance gate-2 (OTHER7) has not been heard of since 2027-03-10T12:31:40Z")
		r.Exec(t, fmt.Sprintf("update usage_instances set written = %d where instance = 'OTHER7'", recorded.Noon.Unix()-10))
		missing("with one that has just written", "")
		r.Exec(t, fmt.Sprintf("update usage_instances set written = %d where instance = 'OTHER7'", recorded.Noon.Unix()-61))
		r.Flush(t)
		missing("with one that is dead", "calls between 2027-03-10T12:31:09Z and 2027-03-10T12:32:10Z are missing: an instance ended without writing its last counts")
		r.Up(t, 8*24*time.Hour)
		missing("a week later", "")
		r.Writer.Away = func() error { return errors.New("the database is away") }
		missing("while the database is away", "the counts cannot be read: the database is away")
	})
}

// A release is remembered, once, for its sunset.
func TestReleases(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := counted.Begin(t, cfg, at)
		sunset := recorded.Noon.Add(-time.Hour).Truncate(time.Second)
		if got, err := r.Released("v1", sunset); err != nil || !got.IsZero() {
			t.Errorf("got %s, %v before a release", got, err)
		}
		for range 2 {
			if err := r.Release("v1", sunset); err != nil {
				t.Fatal(err)
			}
			at.Pass(time.Hour)
			r.Flush(t)
		}
		if cfg.DB != "" {
			r.Close()
			r = counted.Begin(t, cfg, at)
		}
		if got, err := r.Released("v1", sunset); err != nil || !got.Equal(recorded.Noon) {
			t.Errorf("got %s, %v, want the time of the first release", got, err)
		}
		for version, sunset := range map[string]time.Time{"v3": sunset, "v1": sunset.Add(time.Second)} {
			if got, err := r.Released(version, sunset); err != nil || !got.IsZero() {
				t.Errorf("%s at %s: got %s, %v, want no release", version, sunset, got, err)
			}
		}
	})
}

// Instances that follow different plans, or whose clocks differ, are told.
func TestInstancesDisagree(t *testing.T) {
	cfg := store.Config{DB: postgres.Shared(t).Fresh(t)}
	a, b := counted.Begin(t, cfg, recorded.At(recorded.Noon)), counted.Begin(t, cfg, recorded.At(recorded.Noon))
	a.Follow("aaaa", nil)
	b.Follow("aaaa", nil)
	a.Flush(t)
	b.Flush(t)
	a.Flush(t)
	if got := a.Notes(); len(got) != 0 || a.Plans() != 1 {
		t.Errorf("got %q and %d plans while they agree", got, a.Plans())
	}
	b.Follow("", nil)
	b.Flush(t)
	a.Flush(t)
	if got := strings.Join(a.Notes(), "\n"); !strings.Contains(got, "instances follow different plans") || !strings.Contains(got, "follows aaaa") || !strings.Contains(got, "follows no plan") || a.Plans() != 2 {
		t.Errorf("got %q and %d plans, want both named", got, a.Plans())
	}
	b.Follow("aaaa", nil)
}
