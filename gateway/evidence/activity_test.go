package evidence_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

// What is kept of days that are over never differs from what the database has: a process
// that has kept nothing says the same, of pages and of gates, and so does one query.
func TestDaysThatAreOver(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(recorded.Noon)
		r := recorded.Begin(t, cfg, at)
		r.Age(t, 100)
		ago := func(days int, e event.Event) {
			e.Time = at.Now().Add(-time.Duration(days) * 24 * time.Hour)
			if e.Version == "" {
				e.Version = "v1"
			}
			r.Observe(&e)
		}
		served := func(client string) event.Event { return event.Event{Client: client, Pair: recorded.Pair} }
		refused := func(client string, code fault.Code) event.Event {
			return event.Event{Client: client, Quotes: true, Code: code}
		}
		rehearsed := func(client string) event.Event {
			return event.Event{Client: client, Quotes: true, Code: fault.VersionRetired, Rehearsal: true}
		}
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"nothing", func() {}},
			{"calls of 80 days", func() {
				for days := range 80 {
					ago(days, served([]string{a, b}[days%2]))
					ago(days, served(c))
				}
				ago(3, refused(b, fault.VersionBrownout))
				ago(4, refused(c, fault.VersionRetired))
				ago(5, refused("client Errs", fault.MissingParameter))
				ago(3, event.Event{Version: "v3", Client: a, Pair: recorded.Pair})
			}},
			{"another reading", func() {}},
			{"calls of today", func() {
				ago(0, refused(a, fault.MissingParameter))
				for _, days := range []int{5, 0} {
					ago(days, served(a))
					ago(days, refused(a, fault.MissingParameter))
					ago(days, refused(a, fault.VersionRetired))
					ago(days, rehearsed(a))
					proven := served(a)
					proven.Caller.Key = 1
					ago(days, proven)
				}
			}},
			{"a late call of a client", func() { ago(6, served(b)) }},
			{"a late call of one that is new", func() { ago(7, served("client Late")) }},
			{"a late error", func() { ago(8, refused(a, fault.MissingParameter)) }},
			{"a late rehearsal", func() { ago(9, rehearsed(c)) }},
			{"a late refusal", func() { ago(2, refused("client Late", fault.VersionBrownout)) }},
			{"the current version", func() { ago(0, event.Event{Version: "v3", Client: b, Pair: recorded.Pair}) }},
			{"other software", func() {
				other := event.Event{Version: "v3", Client: c, Pair: recorded.Pair, Caller: caller.Caller{Agent: "newer/2"}}
				ago(0, other)
			}},
			{"a day that is given up", func() {
				r.Exec(t, "delete from quotegate_days where day = (select min(day) from quotegate_days)")
			}},
			{"a day later", func() { at.Advance(24 * time.Hour) }},
			{"a week later", func() { at.Advance(7 * 24 * time.Hour) }},
			{"a quiet day later", func() { at.Advance(24 * time.Hour) }},
			{"three months later", func() { at.Advance(85 * 24 * time.Hour) }},
		} {
			step.do()
			r.Flush(t)
			afresh, err := evidence.OpenForReading(t.Context(), cfg, evidence.Options{
				Versions: recorded.Versions, Current: "v3", Now: at.Now, Clock: at.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			afresh.Attach(r.Recorder) // so that it knows which instance is this one
			expect(t, step.name, everything(t, r.Read, at.Now()), everything(t, afresh, at.Now()))
			for _, version := range recorded.Versions {
				together, atOnce, err := r.Read.Activities(t.Context(), version, at.Now())
				if err != nil {
					t.Fatal(err)
				}
				expect(t, step.name+", "+version, together, atOnce)
			}
			if err := afresh.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// everything is what a database says to a page and to gates.
func everything(t *testing.T, db *evidence.DB, at time.Time) string {
	t.Helper()
	query, err := evidence.ParseQuery(url.Values{"sort": {"name"}}, recorded.Versions, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := db.Report(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	text := asJSON(t, report)
	for _, gate := range []lifecycle.Gate{{Days: 7}, {Days: 90, Count: lifecycle.CountProven}} {
		e, err := db.Evidence("v1", gate, at.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("\n%+v", e)
	}
	return text
}
