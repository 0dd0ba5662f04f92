package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
)

// TestChanges: a plan that would refuse a client that is served now is not taken, unless it
// says so: neither by a service that runs nor by one that starts. The log says what a plan that
// is taken changes.
func TestChanges(t *testing.T) {
	const (
		before = "2026-11-15T10:00:00Z"
		now    = "2026-11-15T12:00:00Z"
		later  = `"sunset": "2027-03-01T00:00:00Z"`
		past   = `"sunset": "2026-11-15T11:00:00Z"`
		sooner = `"sunset": "2026-11-15T12:00:01Z"`
		gate   = `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`
		wider  = `, "gate": {"maxClients": 1, "maxCallsPerDay": 0}`
		signed = `, "gate": {"maxClients": 0, "maxCallsPerDay": 0, "released": true}`
		meant  = `, "immediate": true`
		exempt = `, "exempt": ["client:Acme", "203.0.113.0/24"]`
		less   = `, "exempt": ["203.0.113.0/24"]`

		retires  = "this would retire the version at once: its sunset, 2026-11-15T11:00:00Z, has passed"
		refuses  = "this would refuse clients at once: the window from 2026-11-15T11:00:00Z to 2026-11-15T13:00:00Z is under way"
		inWindow = "in the window that is open until 2026-11-15T13:00:00Z"
		enlarges = "share 0.5 becomes 1 " + inWindow
		exposes  = "no longer exempt " + inWindow + ": client:Acme"
	)
	window := func(from, to string, share float64) string {
		return fmt.Sprintf(`, "brownouts": [{"from": "2026-11-15T%s:00Z", "to": "2026-11-15T%s:00Z", "share": %v}]`, from, to, share)
	}
	open, whole := later+window("11:00", "13:00", 0.5), later+window("11:00", "13:00", 1)
	for name, tt := range map[string]struct {
		before, after string
		refused       string // empty: it is taken
		stage         lifecycle.Stage
		clients       int // that call v1: more than none hold the gate
	}{
		"a larger share":           {open, whole, enlarges, lifecycle.BrowningOut, 0},
		"a smaller share":          {whole, open, "", lifecycle.BrowningOut, 0},
		"an exemption less":        {open + exempt, open + less, exposes, lifecycle.BrowningOut, 0},
		"an exemption more":        {open + less, open + exempt, "", lifecycle.BrowningOut, 0},
		"exempt in no window":      {later + exempt, later + less, "", lifecycle.Deprecated, 0},
		"another window, as large": {open, later + window("11:30", "12:30", 0.5), "", lifecycle.BrowningOut, 0},
		"another window, larger":   {open, later + window("11:30", "13:00", 1), enlarges, lifecycle.BrowningOut, 0},
		"a window less":            {open, later, "", lifecycle.Deprecated, 0},
		"a window more":            {later, open, refuses, lifecycle.Deprecated, 0},
		"a window to come":         {later, later + window("12:01", "13:00", 1), "", lifecycle.Deprecated, 0},
		"a window that is meant":   {later, whole + meant, "", lifecycle.BrowningOut, 0},
		"a share that is meant":    {open, whole + meant, "", lifecycle.BrowningOut, 0},
		"nothing in a window":      {open, open + meant, "", lifecycle.BrowningOut, 0},

		"a sunset in the past":         {later, past, retires, lifecycle.Deprecated, 0},
		"a sunset that is meant":       {later, past + meant, "", lifecycle.Retired, 0},
		"a sunset to come":             {later, sooner, "", lifecycle.Deprecated, 0},
		"a sunset where none was":      {"", past, retires, lifecycle.Deprecated, 0},
		"a sunset that a gate holds":   {later, past + gate, "", lifecycle.Held, 1},
		"one that a gate lets pass":    {later, past + gate, retires, lifecycle.Deprecated, 0},
		"a gate less":                  {past + gate, past, retires, lifecycle.Held, 1},
		"a wider gate":                 {past + gate, past + wider, retires, lifecycle.Held, 1},
		"a confirmation":               {past + gate, past + signed, retires, lifecycle.Held, 1},
		"a confirmation of a release":  {past + gate, past + signed, "", lifecycle.Retired, 0},
		"a confirmation, long before":  {later + gate, later + signed, "the sunset has not come", lifecycle.Deprecated, 0},
		"another line of the retired":  {past, past + exempt, "", lifecycle.Retired, 0},
		"an exemption past the sunset": {past + gate + exempt, past + gate + less, "", lifecycle.Held, 1},
		"a version brought back":       {past, later, "", lifecycle.Deprecated, 0},
		"no sunset any more":           {later, "", "", lifecycle.Deprecated, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, before, planOf(tt.before))
			r.usage.set(func(u *usage) { u.evidence.Clients = tt.clients })
			r.pollAt(now)
			hash := r.Document().Plan
			started := r.restart(planOf(tt.after))
			announced := r.usage.plan
			r.reload(planOf(tt.after))
			for how, r := range map[string]*rig{"reload": r, "start": started} {
				if got := r.v1().Stage; got != tt.stage || !strings.Contains(r.refused(), tt.refused) || (r.refused() == "") != (tt.refused == "") {
					t.Errorf("%s: got %s and %q, want %s and %q", how, got, r.refused(), tt.stage, tt.refused)
				}
				if tt.refused == "" {
					continue
				}
				if r.log.Count(tt.refused) != 1 || r.log.Count(`"msg":"the lifecycle plan is refused`) != 1 {
					t.Errorf("%s: got the log %s", how, r.log.String())
				}
				r.Reload() // the same file once more
				if r.v1().Stage != tt.stage || r.refused() == "" {
					t.Errorf("%s, once more: got %s and %q", how, r.v1().Stage, r.refused())
				}
			}
			if follows := r.Document().Plan == hash; follows != (tt.refused != "") {
				t.Errorf("after a reload, the plan in force is %s, and was %s", r.Document().Plan, hash)
			}
			kept := strings.HasPrefix(started.Document().Plan, "kept ")
			if kept != (tt.refused != "") || announced != started.Document().Plan {
				t.Errorf("after a start, the plan in force is %s, and %s is announced", started.Document().Plan, announced)
			}
		})
	}
	r := newRig(t, before, planOf(past+gate))
	r.Advance(at(now).Sub(at(before)))
	if r.reload(planOf(past + gate + exempt)); r.v1().Stage != lifecycle.Retired || r.refused() != "" {
		t.Errorf("got %s and %q of a sunset that has come for both plans", r.v1().Stage, r.refused())
	}
	r = newRig(t, now, planOf(later))
	from := r.Document().Plan
	r.reload(planOf(past + meant))
	want := `"from":"` + from + `","to":"` + r.Document().Plan +
		`","changed":["v1"]`
	if r.log.Count(want) != 1 {
		t.Errorf("got the log %s, want %s", r.log.String(), want)
	}
	if r := newRig(t, now, planOf(past)); r.v1().Stage != lifecycle.Retired || r.refused() != "" {
		t.Errorf("got %s and %q of a first plan, want the file alone to count", r.v1().Stage, r.refused())
	}
}

// TestRetiredStaysRetired, in a process and after a restart, until its line brings it back.
func TestRetiredStaysRetired(t *testing.T) {
	const before, after = "2027-02-20T00:00:00Z", "2027-03-02T00:00:00Z"
	const sunset = `"sunset": "2027-03-01T00:00:00Z"`
	noFile := func(o *lifecycle.Options) { o.File = "" }
	for name, tt := range map[string]struct {
		plan, then string
		change     func(*lifecycle.Options) // of the restart
		stage      lifecycle.Stage
		holds      bool // the gate, so that it is not released
		unreadable bool // the release, after the restart
	}{
		"its line is gone":            {plan: planOf(sunset), then: nothingPlanned, stage: lifecycle.Retired},
		"released, its line is gone":  {plan: fullPlan, then: nothingPlanned, stage: lifecycle.Retired},
		"confirmed, its line is gone": {plan: confirmed, then: nothingPlanned, stage: lifecycle.Retired},
		"held, its line is gone":      {plan: fullPlan, then: nothingPlanned, holds: true, stage: lifecycle.Active},
		"not known, its line is gone": {plan: fullPlan, then: nothingPlanned, unreadable: true, stage: lifecycle.Retired},
		"the file is gone":            {plan: fullPlan, then: nothingPlanned, change: noFile, stage: lifecycle.Retired},
		"it is brought back":          {plan: fullPlan, then: broughtBack, stage: lifecycle.Active},
		"a later sunset": {
			plan: fullPlan, then: strings.Replace(fullPlan, "2027-03-01", "2027-04-01", 1), stage: lifecycle.Deprecated,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, before, tt.plan)
			r.usage.set(func(u *usage) {
				if tt.holds {
					u.evidence.Clients = 1000
				}
			})
			r.pollAt(after)
			r.usage.set(func(u *usage) {
				if tt.unreadable {
					u.errEvidence = errAway
					u.errReleased = errAway
				}
			})
			change := tt.change
			if change == nil {
				change = func(*lifecycle.Options) {}
			}
			started := r.restart(tt.then, change)
			if got := started.v1().Stage; tt.unreadable && got != lifecycle.Held {
				t.Errorf("got %s while it is not known, want it to be served", got)
			}
			r.usage.set(func(u *usage) {
				u.errEvidence = nil
				u.errReleased = nil
			})
			r.reload(tt.then)
			kept := r.restart(tt.then, change)
			const hint = `write {\"active\": true} as its line`
			for how, r := range map[string]*rig{"reload": r, "start": started, "second start": kept} {
				for range 3 {
					r.Advance(time.Minute)
					r.Poll()
				}
				_, refusal := r.admit("v1", caller.Caller{})
				if got := r.v1().Stage; got != tt.stage || r.refused() != "" || (codeOf(refusal) == fault.VersionRetired) != (got == lifecycle.Retired) {
					t.Errorf("%s: got %s, %v and %q, want %s", how, got, refusal, r.refused(), tt.stage)
				}
				if want := map[bool]int{true: 1}[tt.stage == lifecycle.Retired]; r.log.Count(hint) != want {
					t.Errorf("%s: got %s, want %d times how to bring it back", how, r.log.String(), want)
				}
				r.write(broughtBack)
				r.Poll()
				if got := r.v1(); (how == "reload" || tt.change == nil) && (got.Stage != lifecycle.Active || got.Warning != "") {
					t.Errorf("%s: got %+v once it is brought back", how, got)
				}
			}
		})
	}
}

// TestWhileTheKeptPlanIsUnknown a plan refuses nobody and decides nothing, and another file is
// followed; then it does what it says.
func TestWhileTheKeptPlanIsUnknown(t *testing.T) {
	const inWindow, after = "2027-02-10T14:30:00Z", "2027-03-02T00:00:00Z"
	whole := strings.Replace(fullPlan, "0.5}", "1}", 1)
	noGate := strings.Replace(whole, `"gate": {"maxClients": 5, "maxCallsPerDay": 100}`, `"gate": null`, 1)
	for name, tt := range map[string]struct {
		at, plan       string
		unknown, known lifecycle.Stage
	}{
		"a window":  {inWindow, whole, lifecycle.Deprecated, lifecycle.BrowningOut},
		"a sunset":  {after, noGate, lifecycle.Held, lifecycle.Retired},
		"a gate":    {after, whole, lifecycle.Held, lifecycle.Retired},
		"confirmed": {after, confirmed, lifecycle.Held, lifecycle.Retired},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUsage(database{errKept: errAway})
			var unpolled *lifecycle.Keeper
			r := newRig(t, tt.at, tt.plan, with(u), func(o *lifecycle.Options) { unpolled, _ = lifecycle.New(*o) })
			const problem = "The plan that was last accepted cannot be read"
			const logged = `"level":"ERROR","msg":"the accepted plan cannot be read from USAGE_DB`
			for minutes := range 3 {
				_, refusal := r.admit("v1", caller.Caller{})
				said := strings.Contains(strings.Join(r.Problems(), "\n"), problem)
				if got := r.v1(); refusal != nil || got.Stage != tt.unknown || got.Verdict.Says == "v1 is retired" ||
					said != (minutes > 0) || r.log.Count(logged) != min(minutes, 1) {
					t.Errorf("after %d minutes: got %v, %+v, %q and %s", minutes, refusal, got, r.Problems(), r.log.String())
				}
				r.Advance(time.Minute)
				r.Poll()
			}
			if got := unpolled.Snapshot().Versions[2]; got.Stage != tt.unknown || got.Verdict.Says == "v1 is retired" {
				t.Errorf("before the first poll: got %+v", got)
			}
			r.reload(strings.Replace(tt.plan, "migrate-v1", "elsewhere", 1))
			if h, _ := r.admit("v1", caller.Caller{}); !strings.Contains(h.Get("Link"), "elsewhere") || len(u.releases) != 0 || u.accepts != 0 {
				t.Errorf("got %v, the releases %v and %d accepted lines", h, u.releases, u.accepts)
			}
			u.set(func(u *usage) { u.errKept = nil })
			r.Poll()
			if got := r.v1().Stage; got != tt.known || len(r.Problems()) != 0 || u.accepts != len(served) {
				t.Errorf("once it is known: got %s, the problems %q and %d accepted lines", got, r.Problems(), u.accepts)
			}
			u.set(func(u *usage) { u.errKept = errAway })
			r.Poll()
			if got := r.v1().Stage; got != tt.known {
				t.Errorf("got %s while it cannot be read again", got)
			}
		})
	}
}

// TestWhatIsKept of a plan: the lines in force, with when they came into force and what they
// have replaced. What cannot be written is tried again, and never overwrites a later line.
func TestWhatIsKept(t *testing.T) {
	const start = "2026-10-01T00:00:00Z"
	r := newRig(t, start, fullPlan)
	kept := func() lifecycle.Accepted { return r.usage.kept["v1"] }
	if r.usage.line("v3") != "null" || !strings.HasPrefix(r.usage.line("v1"), `{"deprecated":"2026-09-01T00:00:00Z"`) ||
		!kept().At.Equal(at(start)) || kept().Before != nil || r.usage.accepts != 3 {
		t.Fatalf("got %v after the start", r.usage.kept)
	}
	first := lifecycle.Hash([]byte(r.usage.line("v1")))
	r.Poll()
	r.restart(fullPlan + " ")
	r.reload(strings.Replace(fullPlan, `"successor"`, `"immediate": true, "successor"`, 1))
	if r.usage.accepts != 3 {
		t.Errorf("the same lines were accepted again: %v", r.usage.kept)
	}
	version := func(n int) string {
		return strings.Replace(fullPlan, `"maxClients": 5`, fmt.Sprintf(`"maxClients": %d`, n), 1)
	}
	for n := range 20 {
		r.Advance(time.Minute)
		r.reload(version(n + 10))
		if n == 0 && !slices.Equal(kept().Before, []string{first}) {
			t.Errorf("got %+v, want it to have replaced %s", kept(), first)
		}
	}
	if before := kept().Before; len(before) != 16 || slices.Contains(before, first) {
		t.Errorf("got %d hashes, want the last 16", len(before))
	}
	r.reload(broughtBack)
	if r.usage.line("v1") != "null" || r.v1().Stage != lifecycle.Active {
		t.Errorf("got %s in stage %s, want no line", r.usage.line("v1"), r.v1().Stage)
	}

	later := r.restart(broughtBack) // another instance
	r.usage.set(func(u *usage) { u.errKept = errAway })
	r.Advance(time.Minute)
	r.reload(version(50))
	if r.log.Count("the plan in force cannot be kept") != 1 || r.usage.line("v1") != "null" {
		t.Errorf("got %s and %s", r.usage.line("v1"), r.log.String())
	}
	r.usage.set(func(u *usage) { u.errKept = nil })
	later.Advance(2 * time.Minute)
	later.reload(version(60))
	r.Poll()
	r.Poll()
	if !strings.Contains(r.usage.line("v1"), `"maxClients":60`) || r.v1().Gate.MaxClients != 50 ||
		r.log.Count("this file is older than the line") != 1 {
		t.Errorf("got %s, %+v and %s, want the later line to be kept", r.usage.line("v1"), r.v1().Gate, r.log.String())
	}
	r.Advance(2 * time.Minute)
	for n, accepted := range map[int]time.Time{70: r.Now(), 80: at("2099-01-01T00:00:00Z")} { // by a wrong clock
		a := kept()
		a.At = accepted
		r.usage.kept["v1"] = a
		r.reload(version(n))
		if !strings.Contains(r.usage.line("v1"), fmt.Sprintf(`"maxClients":%d`, n)) {
			t.Errorf("got %s, want the latest line, with %d", r.usage.line("v1"), n)
		}
	}
}

// TestOlderFile: an instance that starts with an older file follows it if that refuses nobody
// else, but what is kept stays.
func TestOlderFile(t *testing.T) {
	const start = "2027-02-10T14:30:00Z" // in a window
	whole := strings.Replace(fullPlan, "0.5}", "1}", 1)
	for name, tt := range map[string]struct {
		first, second string
		then          string
		written       time.Duration // when the file was written that a third process has, after the first
		line          string        // of the two, that is kept in the end
		refused       bool
		warned        int
	}{
		"older":                    {whole, fullPlan + " ", fullPlan, time.Second, fullPlan, false, 0},
		"older, and refuses less":  {fullPlan, strings.Replace(whole, `"exempt"`, `"immediate": true, "exempt"`, 1), fullPlan, time.Second, whole, false, 1},
		"older, and refuses more":  {whole, fullPlan, whole, time.Second, fullPlan, true, 0},
		"the same text, but newer": {fullPlan, strings.Replace(whole, `"exempt"`, `"immediate": true, "exempt"`, 1), fullPlan, 2 * time.Hour, fullPlan, false, 0},
		"old, but never accepted":  {whole, whole, fullPlan, -time.Hour, fullPlan, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, start, tt.first)
			r.Advance(time.Minute)
			r.reload(tt.second)
			r.Advance(time.Minute)
			third := r.restart("", func(o *lifecycle.Options) { writeTo(t, o.File, tt.then, at(start).Add(tt.written)) })
			want := scheduleOf(t, tt.line).Brownouts[1].Share
			line := r.usage.line("v1")
			if !strings.Contains(line, fmt.Sprintf(`15:00:00Z","share":%v}`, want)) {
				t.Errorf("got %s kept, want the share %v", line, want)
			}
			if (third.refused() != "") != tt.refused || third.log.Count("this file is older than the line") != tt.warned {
				t.Errorf("got %q and %s", third.refused(), third.log.String())
			}
		})
	}
}

// TestNoFile: an instance without a plan replaces nothing that is kept.
func TestNoFile(t *testing.T) {
	r := newRig(t, "2027-02-20T00:00:00Z", fullPlan)
	other := r.restart("", func(o *lifecycle.Options) { o.File = "" })
	if line := r.usage.line("v1"); other.v1().Stage != lifecycle.Active || line == "null" ||
		other.log.Count("this file is older than the line") != 1 {
		t.Errorf("got %s, %s kept and %s", other.v1().Stage, line, other.log.String())
	}
}

// Refresh reads the gates again, but not more often than a poll.
func TestRefresh(t *testing.T) {
	r := newRig(t, "2027-02-20T00:00:00Z", fullPlan)
	r.usage.set(func(u *usage) { u.during = func() { r.Advance(time.Second) } })
	r.Poll()
	for _, tt := range []struct {
		pause time.Duration
		want  int
	}{{0, 0}, {8 * time.Second, 0}, {time.Second, 1}, {0, 0}, {-time.Hour, 1}} {
		r.Advance(tt.pause)
		before := r.usage.asked
		r.usage.set(func(u *usage) { u.evidence.Clients++ })
		r.Refresh()
		if got := r.usage.asked - before; got != tt.want {
			t.Errorf("%s later: read %d times, want %d", tt.pause, got, tt.want)
		}
	}
	if got := r.v1().Gate.Clients; got != 5 {
		t.Errorf("got %d clients, want those of the last reading", got)
	}
}
