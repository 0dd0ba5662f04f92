package usage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
)

// refuse has a brownout, or a retired version, refuse calls of a client now.
func (r *rig) refuse(client string, times int, code fault.Code) {
	for range times {
		r.Observe(&event.Event{Time: r.clock.now(), Version: "v1", Client: client, Quotes: true, Code: code})
	}
}

// age makes the database look as if the service had been up for days.
func (r *rig) age(t *testing.T, days int) {
	t.Helper()
	for h := range int64(days*24 + 1) {
		r.hours[r.clock.now().Unix()/hour*hour-h*hour] = struct{}{}
	}
	r.flush(t)
	r.exec(t, fmt.Sprintf("update usage_meta set value = '%d' where name = 'since'", r.clock.now().Unix()-int64(days)*day))
}

// The evidence is of all the days, of calls served and calls that a brownout
// refused, with the calls of the busiest day.
func TestEvidence(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		r.call("origin https://before.example", 1000)
		r.flush(t)
		r.age(t, 30)
		for d := range 8 {
			r.up(t, 24*time.Hour)
			r.call("origin https://daily.example", 10)
			if d == 3 {
				r.call("origin https://weekly.example", 90)
				r.refuse("origin https://refused.example", 50, fault.VersionBrownout)
				r.refuse("origin https://too-late.example", 70, fault.VersionRetired)
			}
			r.flush(t)
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
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		missing := func(what, want string) {
			t.Helper()
			if got := r.Evidence("v1", 7).Missing; got != want && !(want != "" && strings.Contains(got, want)) {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		missing("at the start", "calls are counted only since 2027-03-10T12:32:10Z")
		r.age(t, 6)
		missing("after six days", "calls are counted only since 2027-03-04T12:32:10Z")
		r.age(t, 7)
		missing("after seven days", "")
		r.exec(t, fmt.Sprintf("insert into usage_instances (instance, written, stopped, batch, host, plan, every, ahead) values ('OTHER7', %d, 0, 1, 'gate-2', '', 5, 0)", noon.Unix()-30))
		missing("with an instance that is silent", "instance gate-2 (OTHER7) has not been heard of since 2027-03-10T12:31:40Z")
		r.exec(t, fmt.Sprintf("update usage_instances set written = %d where instance = 'OTHER7'", noon.Unix()-10))
		missing("with one that has just written", "")
		r.exec(t, fmt.Sprintf("update usage_instances set written = %d where instance = 'OTHER7'", noon.Unix()-61))
		r.flush(t)
		missing("with one that is dead", "calls between 2027-03-10T12:31:09Z and 2027-03-10T12:32:10Z are missing: an instance ended without writing its last counts")
		r.up(t, 8*24*time.Hour)
		missing("a week later", "")
		r.failing.Store(&outage{r.clock.now(), fmt.Errorf("no connection")})
		missing("while the database is away", "the counts cannot be read: the database is away since 2027-03-18T12:32:10Z: no connection")
		r.failing.Store(nil)
	})
}

// A release is remembered, once, for its sunset.
func TestReleases(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		at := &clock{t: noon}
		r := begin(t, cfg, at)
		sunset := noon.Add(-time.Hour).Truncate(time.Second)
		if got, err := r.Released("v1", sunset); err != nil || !got.IsZero() {
			t.Errorf("got %s, %v before a release", got, err)
		}
		for range 2 {
			if err := r.Release("v1", sunset); err != nil {
				t.Fatal(err)
			}
			at.pass(time.Hour)
			r.flush(t)
		}
		if cfg.DB != "" {
			r.close()
			r = begin(t, cfg, at)
		}
		if got, err := r.Released("v1", sunset); err != nil || !got.Equal(noon) {
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
	cfg := Config{DB: postgres(t).fresh(t)}
	a, b := begin(t, cfg, &clock{t: noon}), begin(t, cfg, &clock{t: noon})
	a.Follow("aaaa", nil)
	b.Follow("aaaa", nil)
	a.flush(t)
	b.flush(t)
	a.flush(t)
	if got := a.Notes(); len(got) != 0 || a.Plans() != 1 {
		t.Errorf("got %q and %d plans while they agree", got, a.Plans())
	}
	b.Follow("", nil)
	b.flush(t)
	a.flush(t)
	if got := strings.Join(a.Notes(), "\n"); !strings.Contains(got, "instances follow different plans") || !strings.Contains(got, "follows aaaa") || !strings.Contains(got, "follows no plan") || a.Plans() != 2 {
		t.Errorf("got %q and %d plans, want both named", got, a.Plans())
	}
	b.Follow("aaaa", nil)
}
