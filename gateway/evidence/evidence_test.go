package evidence_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// The evidence is of all the days, of calls served and calls that a brownout
// refused, with the calls of the busiest day.
func TestEvidence(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
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
			if got := r.Evidence(t, "v1", test.days); got.Clients != test.want.Clients || got.Calls != test.want.Calls || len(got.Missing) > 0 {
				t.Errorf("%d days: got %+v, want %+v", test.days, got, test.want)
			}
		}
		if got := r.Evidence(t, "v3", 7); got.Clients != 0 || got.Calls != 0 {
			t.Errorf("v3: got %+v, want none", got)
		}
		r.Exec(t, "update quotegate_days set day = day + 40 where served = 1000") // as a clock that was ahead would
		if got := r.Evidence(t, "v1", 1); got.Clients != 2 {
			t.Errorf("got %+v, want a client of a day to come to count", got)
		}
	})
}

// The traffic is that of the last hour and the one before, of a day and of a week. Pages
// and metrics have it as soon as it is written.
func TestTraffic(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		midnight := recorded.Noon.Truncate(24 * time.Hour)
		r := recorded.Begin(t, cfg, clock.At(midnight.AddDate(0, 0, -6)))
		r.Call("origin https://week.example", 5)
		r.Up(t, 5*24*time.Hour)
		r.Call("origin https://day.example", 3)
		r.Up(t, 23*time.Hour)
		r.Call("origin https://hour.example", 2)
		r.Refuse("origin https://hour.example", 4, fault.VersionBrownout)
		r.Up(t, time.Hour)
		for calls := range uint64(2) {
			r.Call("origin https://now.example", 1)
			want := evidence.Traffic{
				Hour: evidence.Count{Calls: 7 + calls, Clients: 2}, Day: evidence.Count{Calls: 10 + calls, Clients: 3},
				Week: evidence.Count{Calls: 15 + calls, Clients: 4},
			}
			page := r.Report(t).Versions[1].Traffic
			if metrics := r.Stats().Traffic["v1"]; !reflect.DeepEqual(page, want) || !reflect.DeepEqual(metrics, want) {
				t.Errorf("got %+v and %+v, want %+v", page, metrics, want)
			}
		}
		r.Up(t, 2*time.Hour) // nobody calls
		if hour := r.Stats().Traffic["v1"].Hour; hour != (evidence.Count{}) {
			t.Errorf("two hours later: got %+v in the last hour", hour)
		}
	})
}

// Evidence that is not complete says what is missing.
func TestEvidenceThatIsIncomplete(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		missing := func(what, want string) {
			t.Helper()
			if got := r.Missing(t, 7); got != want && !(want != "" && strings.Contains(got, want)) {
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
		const silent = "instance gate-2 (OTHER7) has not reported since 10 Mar 2027, 12:29 UTC"
		missing("with an instance that is silent", silent)
		r.Up(t, 9*24*time.Hour)
		missing("nine days later", silent)
		if _, err := r.Read.Gone(t.Context(), "OTHER7", time.Time{}); err != nil {
			t.Fatal(err)
		}
		missing("when the operator has said that it is gone", "")
		r.Exec(t, fmt.Sprintf("insert into quotegate_gaps values ('x', %d, %d, 'of a test')", r.Clock.Now().Unix()-7200, r.Clock.Now().Unix()-3600))
		missing("with a gap", "11:32 UTC: of a test")
	})
}

// A release is remembered, once, for its sunset.
func TestReleases(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(recorded.Noon)
		r := recorded.Begin(t, cfg, at)
		sunset := recorded.Noon.Add(-time.Hour).Truncate(time.Second)
		if got, err := r.Read.Released("v1", sunset, "entry"); err != nil || !got.IsZero() {
			t.Errorf("got %s, %v before a release", got, err)
		}
		for range 2 {
			if err := r.Read.Release("v1", sunset, "entry"); err != nil {
				t.Fatal(err)
			}
			at.Advance(time.Hour)
			r.Flush(t)
		}
		if cfg.DB != "" {
			r.Close()
			r = recorded.Begin(t, cfg, at)
		}
		if got, err := r.Read.Released("v1", sunset, "entry"); err != nil || !got.Equal(recorded.Noon) {
			t.Errorf("got %s, %v, want the time of the first release", got, err)
		}
		for _, other := range []struct {
			version, entry string
			sunset         time.Time
		}{{"v3", "entry", sunset}, {"v1", "entry", sunset.Add(time.Second)}, {"v1", "another gate", sunset}} {
			if got, err := r.Read.Released(other.version, other.sunset, other.entry); err != nil || !got.IsZero() {
				t.Errorf("%+v: got %s, %v, want no release", other, got, err)
			}
		}
		if err := r.Read.Release("v1", at.Now().Add(time.Hour), "entry"); err == nil || !strings.Contains(err.Error(), "the sunset comes in 60 minutes") {
			t.Errorf("got %v before the sunset", err)
		}
	})
}

// While instances that are alive follow different plans, gates hold and nothing is
// released. It does not matter which of the plans is the laxest.
func TestInstancesDisagree(t *testing.T) {
	cfg := evidence.Config{DB: postgres.Shared(t).Fresh(t)}
	at := clock.At(recorded.Noon)
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
	}{{"aaaa", 1, nil}, {"", 2, []string{"instances have different plans", "follows aaaa", "follows no plan"}}, {usage.NotYet, 1, nil}, {"bbbb", 2, []string{"follows bbbb"}}} {
		follow(step.plan)
		notes, missing := strings.Join(a.Notes(), "\n"), a.Missing(t, 7)
		err := a.Read.Release("v1", recorded.Noon.Add(-time.Hour), "entry "+step.plan)
		if a.Stats().Plans != step.plans || (len(step.want) == 0) != (notes == "" && missing == "" && err == nil) {
			t.Errorf("%q: got %d plans, %q, %q, %v", step.plan, a.Stats().Plans, notes, missing, err)
		}
		for _, want := range step.want {
			if !strings.Contains(notes, want) || !strings.Contains(missing, want) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%q: got %q, %q, %v, want %q", step.plan, notes, missing, err, want)
			}
		}
	}
	// The notes of both, and every page, name the same instances, and say which one tells.
	name := func(r, of *recorded.Rig) string {
		id := r.Instance()
		if r == of {
			id += ", this one"
		}
		host, _ := os.Hostname()
		return fmt.Sprintf("instance %s (%s)", host, id)
	}
	follow("cccc")
	b.Flush(t)
	for _, r := range []*recorded.Rig{a, b} {
		notes := strings.Join(r.Notes(), "\n")
		contains(t, "notes", notes, name(a, r)+" follows aaaa")
		contains(t, "notes", notes, name(b, r)+" follows cccc")
		expect(t, "report", strings.Join(r.Report(t).Notes, "\n"), notes)
	}
	b.Kill()
	at.Advance(10 * time.Minute)
	running, now, err := evidence.Running(t.Context(), cfg, skew.New(skew.Options{}))
	if err != nil || len(running) != 2 || time.Since(now).Abs() > time.Hour {
		t.Errorf("got %v at %s, %v, want both instances at the server's time", running, now, err)
	}
	a.Flush(t)
	contains(t, "notes", strings.Join(a.Notes(), "\n"), name(b, a)+" has not reported since")
	if a.Stats().Plans != 1 {
		t.Errorf("got %d plans once the other is silent", a.Stats().Plans)
	}
}

// A client's own view has its calls by day and outcome and what the current version
// makes of them, and nothing of others.
func TestOwn(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(recorded.Noon)
		r := recorded.Begin(t, cfg, at)
		r.Found("client Acme", 3, same)
		r.Errs("client Acme", 2)
		r.Call("client Other", 50)
		r.Flush(t)
		r.Up(t, 24*time.Hour)
		r.Found("client Acme", 4, omits)
		r.Found("client Acme", 5, same)
		r.Refuse("client Acme", 6, fault.VersionBrownout)
		r.Flush(t)
		mine := func(client string) usage.OwnVersion {
			t.Helper()
			own, err := r.Read.Own(t.Context(), client, "hash", []lifecycle.Standing{{Name: "v1", State: "deprecated"}})
			if err != nil || own.Client != client || own.Plan != "hash" || len(own.Versions) != 1 {
				t.Fatalf("got %+v, %v, want what it did on v1", own, err)
			}
			return own.Versions[0]
		}
		want := usage.OwnVersion{
			Standing: lifecycle.Standing{Name: "v1", State: "deprecated"}, LastSeen: at.Now(), Compared: "2027-03-11",
			Days: []usage.OwnDay{{Day: "2027-03-10", Served: 3, Failed: 2}, {Day: "2027-03-11", Served: 9, Refused: 6}},
			Findings: []usage.OwnFinding{
				{Says: "4 calls would be refused by v3, because recipient is missing."},
				{Says: "5 calls would get the same transaction and the same amounts from v3, in a new format."},
			},
		}
		want.Findings[0].Finding = omits
		want.Findings[0].Calls = 4
		want.Findings[1].Finding = same
		want.Findings[1].Calls = 5
		if got, want := asJSON(t, mine("Acme")), asJSON(t, want); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		at.Advance(time.Minute)
		r.On("v3", "client Acme")
		r.Flush(t)
		served := at.Now()
		if own := mine("Acme"); !own.Both || !own.Moved.IsZero() {
			t.Errorf("got %+v, want that it calls both", own)
		}
		r.Up(t, 7*24*time.Hour)
		if own := mine("Acme"); own.Both || !own.Moved.Equal(served) {
			t.Errorf("got %+v, want that it has moved", own)
		}
		if own := mine("Nobody"); len(own.Days) != 0 || len(own.Findings) != 0 {
			t.Errorf("got %+v of a client that never called", own)
		}
	})
}
