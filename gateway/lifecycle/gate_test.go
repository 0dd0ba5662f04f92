package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/safego"
)

// TestGate walks gates through the ways in which a sunset is held back and let pass.
// A released version is refused to everyone, a held one is served.
func TestGate(t *testing.T) {
	const (
		before = "2027-02-20T00:00:00Z"
		sunset = "2027-03-01T00:00:00Z"
		after  = "2027-03-02T00:00:00Z"
	)
	quiet := database{}
	clients := database{evidence: lifecycle.Evidence{Clients: 6, Calls: 90}}
	calls := database{evidence: lifecycle.Evidence{Clients: 5, Calls: 101}}
	atLimits := database{evidence: lifecycle.Evidence{Clients: 5, Calls: 100}}
	missing := database{evidence: lifecycle.Evidence{Missing: []string{"no counts on 2 May"}}}
	refusing := database{errRelease: errors.New("the instances follow different plans")}
	away := database{err: errAway}
	uncounted := database{errEvidence: errAway}
	lost := func(r *rig) { r.usage.set(func(u *usage) { clear(u.releases) }) }

	type step struct {
		at    string
		says  database
		plan  string // a new one; empty: as before
		stage lifecycle.Stage
		why   string // why the gate holds, or why the plan is refused; empty: neither
	}
	for name, tt := range map[string]struct {
		plan  string
		steps []step
		then  func(*rig) // before the last step
	}{
		"clients, calls, then few enough": {plan: fullPlan, steps: []step{
			{before, clients, "", lifecycle.Deprecated, "6 clients in 7 days (limit 5)"},
			{sunset, clients, "", lifecycle.Held, "6 clients in 7 days (limit 5)"},
			{after, calls, "", lifecycle.Held, "101 calls on the busiest day (limit 100)"},
			{after, atLimits, "", lifecycle.Retired, ""},
		}},
		"incomplete evidence": {plan: fullPlan, steps: []step{
			{sunset, missing, "", lifecycle.Held, "the evidence of 7 days is incomplete: no counts on 2 May"},
			{after, quiet, "", lifecycle.Retired, ""},
		}},
		"a release that is seen once is final": {plan: fullPlan, then: lost, steps: []step{
			{sunset, quiet, "", lifecycle.Retired, ""},
			{after, away, "", lifecycle.Retired, ""},
			{after, clients, "", lifecycle.Retired, ""}, // a backup without the release
		}},
		"a release that cannot be recorded": {plan: fullPlan, steps: []step{
			{sunset, refusing, "", lifecycle.Held, "cannot be recorded: the instances follow different plans"},
			{after, quiet, "", lifecycle.Retired, ""},
		}},
		"no database": {plan: fullPlan, steps: []step{
			{before, away, "", lifecycle.Deprecated, "the counts cannot be read: the database is away"},
			{sunset, away, "", lifecycle.Held, "the counts cannot be read: the database is away"},
			{sunset, uncounted, "", lifecycle.Held, "the counts cannot be read: the database is away"},
			{after, quiet, "", lifecycle.Retired, ""},
		}},
		"a confirmed release needs no counts": {plan: confirmed, steps: []step{
			{after, uncounted, "", lifecycle.Retired, ""},
			{after, away, "", lifecycle.Retired, ""},
		}},
		"a plan that is refused releases nothing": {plan: nothingPlanned, steps: []step{
			{sunset, quiet, fullPlan, lifecycle.Active, "this would retire the version at once"},
			{after, clients, fullPlan + " ", lifecycle.Held, "6 clients in 7 days (limit 5)"},
		}},
		"a confirmation cannot pass the gate": {plan: fullPlan, steps: []step{
			{before, clients, confirmed, lifecycle.Deprecated, "versions.v1.gate.released: the sunset has not come"},
			{sunset, clients, confirmed + " ", lifecycle.Held, "this would retire the version at once"},
		}},
		"a clock that jumps past the sunset and back": {plan: fullPlan, steps: []step{
			{sunset, quiet, "", lifecycle.Retired, ""},
			{before, clients, "", lifecycle.Deprecated, "6 clients in 7 days (limit 5)"},
			{sunset, clients, "", lifecycle.Held, "6 clients in 7 days (limit 5)"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.steps[0].at, tt.plan, with(newUsage(tt.steps[0].says)))
			for i, step := range tt.steps {
				if tt.then != nil && i == len(tt.steps)-1 {
					tt.then(r)
				}
				r.usage.set(func(u *usage) { u.database = step.says })
				if step.plan != "" {
					r.write(step.plan)
				}
				r.pollAt(step.at)
				got := r.v1()
				why := r.refused()
				if why == "" && got.Gate != nil {
					why = got.Gate.Why
				}
				if got.Stage != step.stage || !strings.Contains(why, step.why) || (why == "") != (step.why == "") {
					t.Errorf("step %d: got %s because %q, want %s because %q", i, got.Stage, why, step.stage, step.why)
				}
				_, refusal := r.admit("v1", caller.Caller{})
				if refused := codeOf(refusal) == fault.VersionRetired; refused != (step.stage == lifecycle.Retired) {
					t.Errorf("step %d: a call got %v", i, refusal)
				}
				if public := r.Document().Versions[2].Gate; got.Gate != nil && public.Holds != got.Gate.Holds {
					t.Errorf("step %d: got %+v for everyone, and %+v for the operator", i, public, got.Gate)
				}
				if public := r.Document().Versions[2].State; public != step.stage {
					t.Errorf("step %d: got %s for everyone", i, public)
				}
			}
		})
	}
}

// A release counts for the sunset and the gate by which it was made, in the process and
// after a restart; no other change of the plan undoes it.
func TestReleaseCountsForItsEntry(t *testing.T) {
	const legacy = `"v3legacy": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
		"successor": "/v3/swap/quote", "docs": "https://example.org/m", "gate": {"maxClients": 5}},`
	for name, tt := range map[string]struct {
		old, new string
		same     bool
	}{
		"nothing":             {"", "", true},
		"the release":         {gateFields, gateFields + `, "released": true`, true},
		"the default days":    {gateFields, gateFields + `, "days": 7`, true},
		"the default count":   {gateFields, gateFields + `, "count": "all"`, true},
		"the zone":            {"2027-03-01T00:00:00Z", "2027-03-01T01:00:00+01:00", true},
		"the docs":            {"example.org/migrate-v1", "example.org/elsewhere", true},
		"a window":            {`"share": 0.5`, `"share": 0.75`, true},
		"an exempt client":    {`"203.0.113.0/24", `, "", true},
		"another version":     {`{"versions": {`, `{"versions": {` + legacy, true},
		"the sunset":          {"2027-03-01T00:00:00Z", "2027-03-01T00:00:01Z", false},
		"fewer clients":       {`"maxClients": 5`, `"maxClients": 0`, false},
		"fewer calls":         {`"maxCallsPerDay": 100`, `"maxCallsPerDay": 0`, false},
		"more days":           {gateFields, gateFields + `, "days": 8`, false},
		"more instances":      {gateFields, gateFields + `, "instances": 1`, false},
		"the default gap":     {gateFields, gateFields + `, "maxGap": "15m"`, true},
		"another gap":         {gateFields, gateFields + `, "maxGap": "16m"`, false},
		"only proven clients": {gateFields, gateFields + `, "count": "proven"`, false},
		"unverified clients":  {gateFields, gateFields + `, "strangers": {"maxCallsPerDay": 1, "maxShare": 0.1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(fullPlan, tt.old, tt.new, 1)
			if same := scheduleOf(t, changed).Entry() == scheduleOf(t, fullPlan).Entry(); same != tt.same {
				t.Errorf("the same entry: got %t, want %t", same, tt.same)
			}
			r := newRig(t, "2027-03-01T00:01:00Z", fullPlan)
			r.usage.set(func(u *usage) { u.evidence.Clients = 1000 })
			restarted := newRig(t, "2027-03-01T00:02:00Z", changed, with(r.usage))
			r.reload(changed)
			for _, r := range []*rig{r, restarted} {
				if got := r.v1(); (got.Stage == lifecycle.Retired) != tt.same || r.refused() != "" {
					t.Errorf("got %s with %+v, want it to stay retired: %t", got.Stage, got.Gate, tt.same)
				}
			}
		})
	}
}

// A gate that cannot be read shows no numbers. Past the sunset the instance serves the
// version, and says so in its health.
func TestUnreadableGate(t *testing.T) {
	r := newRig(t, "2027-02-28T23:00:00Z", fullPlan)
	r.usage.set(func(u *usage) { u.err = errAway })
	r.Poll()
	text, _ := json.Marshal(r.v1().Gate)
	const want = `{"maxClients":5,"maxCallsPerDay":100,"days":7,"holds":true,"unknown":true,` +
		`"why":"the counts cannot be read: the database is away"}`
	if string(text) != want || len(r.Problems()) != 0 {
		t.Errorf("got %s and the problems %q, want %s", text, r.Problems(), want)
	}
	r.pollAt("2027-03-01T00:00:01Z")
	if got := r.Problems(); len(got) != 1 || !strings.HasPrefix(got[0], "Version v1: its sunset has come") {
		t.Errorf("got problems %q, want one about v1", got)
	}
	r.usage.set(func(u *usage) { u.err = nil })
	r.Poll()
	if got := r.Problems(); len(got) != 0 {
		t.Errorf("got problems %q once the gate can be read", got)
	}
}

// A gate whose reading takes long is read less often, but once a minute, and at once on
// demand or when the plan has changed. It asks about its own days, instances and sunset.
func TestHowOftenAGateIsRead(t *testing.T) {
	for took, pause := range map[time.Duration]time.Duration{
		0:                0,
		time.Millisecond: 10 * time.Millisecond,
		2 * time.Second:  20 * time.Second,
		6 * time.Second:  time.Minute,
		7 * time.Second:  time.Minute,
	} {
		r := newRig(t, "2027-02-20T00:00:00Z", counted)
		r.usage.set(func(u *usage) { u.during = func() { r.Advance(took) } })
		count := func(what string, want int, poll func()) {
			t.Helper()
			before := 0
			r.usage.set(func(u *usage) { before = u.asked })
			poll()
			r.usage.set(func(u *usage) {
				if got := u.asked - before; got != want {
					t.Errorf("%s, %s: read %d times, want %d", took, what, got, want)
				}
			})
		}
		count("first", 1, r.Poll)
		if pause > 0 {
			r.Advance(pause - took - 1)
			count("too early", 0, r.Poll)
			r.Advance(1)
		}
		count("after the pause", 1, r.Poll)
		count("on demand", 1, r.Reload)
		r.write(strings.Replace(counted, `"share": 0.5`, `"share": 0.75`, 1))
		count("a changed plan", 2, r.Poll) // to see whether it is abrupt, and once it is in force
		r.usage.set(func(u *usage) {
			want := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 3}
			if u.gate != want || !u.sunset.Equal(at("2027-03-01T00:00:00Z")) {
				t.Errorf("got %+v and the sunset %s, want %+v", u.gate, u.sunset, want)
			}
		})
	}
}

// A gate holds for some seconds at every sunset, and a database may be away for some: neither
// is an error at once. After five minutes the log says hourly why the sunset does not take effect.
func TestWhenAGateIsAnError(t *testing.T) {
	const holds = `"level":"ERROR","msg":"the sunset of a version does not take effect: its gate holds"`
	for why, says := range map[string]database{
		"6 clients in 7 days (limit 5)":                   {evidence: lifecycle.Evidence{Clients: 6}},
		"the counts cannot be read: the database is away": {errEvidence: errAway},
	} {
		r := newRig(t, "2027-02-28T23:50:00Z", fullPlan, with(newUsage(says)))
		for _, step := range []struct {
			at   string
			want int
		}{
			{"2027-02-28T23:59:00Z", 0},
			{"2027-03-01T00:00:00Z", 0},
			{"2027-03-01T00:04:59Z", 0},
			{"2027-03-01T00:05:00Z", 1},
			{"2027-03-01T01:04:59Z", 1},
			{"2027-03-01T01:05:00Z", 2},
		} {
			r.pollAt(step.at)
			if got := r.log.Count(holds); got != step.want || r.log.Count(why) != step.want {
				t.Errorf("%s: got %d errors, want %d because %s: %s", step.at, got, step.want, why, r.log.String())
			}
		}
		r.usage.set(func(u *usage) { u.database = database{} })
		r.pollAt("2027-03-01T03:00:00Z")
		if got := r.log.Count(holds); got != 2 {
			t.Errorf("got %d errors once the gate is released, want 2", got)
		}
	}
}

// After a release the gate shows the numbers by which it let the sunset pass, here and on
// another instance, also when the operator has confirmed it, and asks nobody any more.
func TestReleasedGateShowsWhatItHad(t *testing.T) {
	r := newRig(t, "2027-02-28T23:59:00Z", fullPlan)
	r.usage.set(func(u *usage) { u.evidence = lifecycle.Evidence{Clients: 2, Calls: 9} })
	other := newRig(t, "2027-02-28T23:59:00Z", fullPlan, with(r.usage))
	r.pollAt("2027-03-01T00:00:00Z")
	asked, looked := 0, 0
	r.usage.set(func(u *usage) {
		u.evidence = lifecycle.Evidence{}
		asked = u.asked
	})
	other.pollAt("2027-03-01T00:00:00Z")
	r.usage.set(func(u *usage) { looked = u.looked })
	r.reload(confirmed)
	for _, r := range []*rig{r, other} {
		r.Poll()
		if g := r.v1().Gate; g.Released.IsZero() || g.Evidence == nil || g.Clients != 2 || g.Calls != 9 {
			t.Errorf("got %+v, want the release with its 2 clients and 9 calls", g)
		}
	}
	r.usage.set(func(u *usage) {
		if u.asked != asked || u.looked != looked {
			t.Errorf("after the release, evidence was read %d times, and a release %d times", u.asked-asked, u.looked-looked)
		}
	})
}

// What an operator should do about a gate is logged once a day, and shown on the page,
// until it is done.
func TestGateReminders(t *testing.T) {
	twoDays := func(r *rig, line string) int {
		for range 47 {
			r.Advance(time.Hour)
			r.Poll()
		}
		return r.log.Count(line)
	}
	r := newRig(t, "2027-03-01T00:00:00Z", fullPlan)
	n := twoDays(r, "lifecycle plan: the gate has let the sunset pass")
	if got := r.v1(); n != 2 || !strings.Contains(got.Warning, `write "released": true into it`) || got.Risk != "" {
		t.Errorf("released: got %d log lines and %+v", n, got)
	}
	r.reload(confirmed)
	if got := r.v1(); r.refused() != "" || got.Warning != "" || got.Stage != lifecycle.Retired {
		t.Errorf("confirmed: got %q and %+v", r.refused(), got)
	}

	early := newRig(t, "2027-02-20T00:00:00Z", confirmed)
	if got := early.v1(); !strings.Contains(got.Warning, "the sunset has not come") || early.log.Count("nothing to confirm") != 1 {
		t.Errorf("confirmed too early: got %+v", got)
	}

	const risk = "the gate does not say how many instances there are"
	r = newRig(t, "2027-02-20T00:00:00Z", fullPlan)
	if n := twoDays(r, risk); n != 2 || !strings.Contains(r.v1().Risk, risk) {
		t.Errorf("without instances: got %d log lines and %+v", n, r.v1())
	}
	r.reload(counted)
	if got := r.v1().Risk; got != "" {
		t.Errorf("with instances: got %q", got)
	}

	// Clients that call more rarely than the gate looks back, while it would not hold.
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("client Monthly %d", i))
	}
	for _, tt := range []struct {
		evidence lifecycle.Evidence
		want     string
	}{
		{lifecycle.Evidence{Waiting: names, WaitingCount: 40}, "40 clients of the last 90 days did not call within " +
			"the gate's 7 days and did not move, for example " + strings.Join(names, ", ") + "; a gate with more days waits for them"},
		{lifecycle.Evidence{Waiting: names[:2], WaitingCount: 2}, "2 clients of the last 90 days did not call within " +
			"the gate's 7 days and did not move, for example client Monthly 0, client Monthly 1; a gate with more days waits for them"},
		{lifecycle.Evidence{Waiting: names, WaitingCount: 40, Clients: 6}, ""},
	} {
		r.usage.set(func(u *usage) { u.evidence = tt.evidence })
		r.Poll()
		if got := r.v1().Warning; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if n := r.log.Count("40 clients of the last 90 days"); n != 1 {
		t.Errorf("clients that call rarely are logged %d times, want once", n)
	}
}

// A release counts neither before the sunset, though clocks may differ by a minute, nor
// while it lies in the future.
func TestReleaseOfAnotherClock(t *testing.T) {
	for name, tt := range map[string]struct {
		now, released string
		counts        bool
	}{
		"before the sunset, a little ahead": {"2027-02-28T23:59:30Z", "2027-03-01T00:00:10Z", false},
		"after the sunset, an hour ahead":   {"2027-03-01T00:01:00Z", "2027-03-01T01:01:00Z", false},
		"after the sunset, a little ahead":  {"2027-03-01T00:01:00Z", "2027-03-01T00:01:30Z", true},
		"after the sunset":                  {"2027-03-01T00:01:00Z", "2027-03-01T00:00:30Z", true},
	} {
		u := newUsage(database{evidence: lifecycle.Evidence{Clients: 1000}})
		u.releases["v1"+"2027-03-01T00:00:00Z"+scheduleOf(t, fullPlan).Entry()] = at(tt.released)
		r := newRig(t, tt.now, fullPlan, with(u))
		r.Poll()
		if got := r.v1(); got.Gate.Released.IsZero() == tt.counts || (got.Stage == lifecycle.Retired) != tt.counts {
			t.Errorf("%s: got %s, released at %s, want it to count: %t", name, got.Stage, got.Gate.Released, tt.counts)
		}
		said := r.log.Count("a gate was released at a time in the future")
		if want := map[bool]int{true: 0, false: 1}[tt.counts]; said != want {
			t.Errorf("%s: the log says %d times that a clock was wrong, want %d", name, said, want)
		}
	}
}

// Every gate of a plan is read: neither a version without one nor a gate that is decided
// hides another. The order of versions is a matter of chance.
func TestEveryGateIsRead(t *testing.T) {
	const line = `{"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
		"successor": "/v3/swap/quote", "docs": "https://example.org/m", "gate": {"maxClients": 5}}`
	for name, v1 := range map[string]string{
		"one has no gate": strings.Replace(line, `, "gate": {"maxClients": 5}`, "", 1), "one is decided": line,
	} {
		r := newRig(t, "2027-03-01T00:00:00Z", `{"versions": {"v1": `+v1+`, "v3legacy": `+line+`}}`)
		for range 20 {
			r.Poll()
			old := r.Snapshot().Versions[1]
			if old.Gate == nil || old.Gate.Clients != 1<<20 || old.Stage != lifecycle.Held {
				t.Fatalf("%s: got %s with the gate %+v, want to read the other one", name, old.Stage, old.Gate)
			}
		}
	}
}

// While a poll waits for a slow database, requests do not, and the reading before stands.
func TestSlowGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "2027-02-20T00:00:00Z", fullPlan)
		r.usage.set(func(u *usage) { u.evidence.Clients = 6 })
		r.Poll()
		answer := make(chan struct{})
		r.usage.set(func(u *usage) {
			u.slow = answer
			u.evidence.Clients = 7
		})
		polled := make(chan struct{})
		go func() {
			r.Poll()
			close(polled)
		}()
		synctest.Wait()
		if _, refusal := r.admit("v1", caller.Caller{}); refusal != nil || r.v1().Gate.Clients != 6 {
			t.Errorf("got %v and %+v, want the 6 clients of before", refusal, r.v1().Gate)
		}
		close(answer)
		<-polled
		if got := r.v1().Gate; got.Unknown || got.Clients != 7 {
			t.Errorf("got %+v when the database has answered", got)
		}
	})
}

// A gate whose reading panics, before the evidence is read or within, is not known until the
// next reading, and lets nothing pass.
func TestReadingThatPanics(t *testing.T) {
	r := newRig(t, "2027-02-28T23:59:00Z", fullPlan)
	bug := func() { panic("a bug") }
	r.usage.set(func(u *usage) { u.during = bug })
	r.pollAt("2027-03-01T00:00:00Z")
	within := r.v1()
	r.usage.set(func(u *usage) {
		u.during = nil
		u.before = bug
	})
	r.Poll()
	before := r.v1()
	r.usage.set(func(u *usage) { u.before = nil })
	for _, got := range []lifecycle.Status{within, before} {
		if !got.Gate.Unknown || !got.Gate.Holds || got.Stage != lifecycle.Held {
			t.Errorf("got %s with %+v, want an unknown gate that holds", got.Stage, got.Gate)
		}
	}
	r.Poll()
	if got := r.v1(); got.Stage != lifecycle.Retired {
		t.Errorf("got %s with %+v at the next reading", got.Stage, got.Gate)
	}
}

// A poll that panics is followed by the next one, which reads the file.
func TestPollThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		r := newRig(t, "2026-12-01T00:00:00Z", nothingPlanned, func(o *lifecycle.Options) {
			now := o.Now
			o.Now = func() time.Time {
				if broken.Load() {
					panic("a bug")
				}
				return now()
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			r.Run(ctx)
			close(done)
		}()
		panics := safego.Panics()
		broken.Store(true)
		time.Sleep(jsonfile.PollEvery + time.Second)
		if got := safego.Panics() - panics; got != 1 {
			t.Errorf("got %d panics, want 1", got)
		}
		broken.Store(false)
		r.write(fullPlan)
		time.Sleep(jsonfile.PollEvery)
		stop()
		<-done
		if got := r.v1(); got.Stage != lifecycle.Deprecated {
			t.Errorf("got %s after the next poll", got.Stage)
		}
	})
}

// A share takes the clients whose place in the order is below it, unless they were spared
// at their last call by what their name does not tell.
func TestRecordedClients(t *testing.T) {
	plan := planOf(`"sunset": "2027-03-01T00:00:00Z", "exempt": ["203.0.113.0/24", "client:Acme"]`)
	for _, tt := range []struct {
		name     string
		position float64
		exempt   bool
		want     bool
	}{
		{"client Other", 0, false, true},
		{"client Other", 0.499, false, true},
		{"client Other", 0.5, false, false},
		{"client Other", 0, true, false}, // by its network
		{"client Acme", 0, false, false},
	} {
		got := scheduleOf(t, plan).Hits(lifecycle.Brownout{Share: 0.5}, lifecycle.Recorded(tt.name, tt.position, tt.exempt))
		if got != tt.want {
			t.Errorf("%+v: got %t", tt, got)
		}
	}
}
