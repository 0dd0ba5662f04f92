package report_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// A client that follows the advice to leave its integrator ID out is recorded on the
// current version under the name it has then, also after a restart. Software that no
// old version has seen in that network is not.
func TestFollowersAreRecorded(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := counted.Begin(t, cfg, at)
		partner := caller.Caller{Integrator: integrator.ID{31: 7}, Agent: "okhttp", Addr: netip.MustParseAddr("198.51.100.7")}
		follower, stranger := partner, partner
		follower.Integrator = integrator.ID{}
		stranger.Integrator, stranger.Agent = integrator.ID{}, "curl"
		before := r.As("v1", partner)
		r.Flush(t)
		for range 2 {
			at.Pass(time.Hour)
			after, other := r.As("v3", follower), r.As("v3", stranger)
			r.Flush(t)
			var named, strangers, traces int
			err := r.DB.QueryRow(`select (select count(*) from usage_names where name = $1),
				(select count(*) from usage_names where name = $2),
				(select count(distinct trace) from usage_names where name in ($1, $3) and trace <> 0)`,
				after, other, before).Scan(&named, &strangers, &traces)
			if err != nil || named != 1 || strangers != 0 || traces != 1 {
				t.Errorf("got %d names of the follower, %d of the stranger, %d traces, %v; want 1, 0 and one trace",
					named, strangers, traces, err)
			}
			r.Exec(t, "delete from usage_clients where version = 'v3'")
			r.Exec(t, "delete from usage_names where name like 'agent %'")
			r.Close()
			r = counted.Begin(t, cfg, at)
		}
	})
}

// Whoever follows our advice is shown as probably moved, with its new name, and is
// found that way. The operator's mark makes it moved, until it calls again.
func TestProbablyMoved(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := counted.Begin(t, cfg, at)
		before, after := map[int]string{}, map[int]string{}
		partner := func(i int) caller.Caller {
			return caller.Caller{
				Integrator: integrator.ID{31: byte(i + 1)}, Agent: "okhttp",
				Addr: netip.AddrFrom4([4]byte{198, 51, byte(i), 7}),
			}
		}
		for i := range 4 {
			before[i] = r.As("v1", partner(i))
		}
		r.Call("origin https://stays.example", 1)
		at.Pass(24 * time.Hour)
		for i := range 3 {
			c := partner(i)
			c.Integrator = integrator.ID{}
			after[i] = r.As("v3", c)
		}
		r.Flush(t)
		told := caller.Client{Name: "Told", Notified: caller.Date(recorded.Noon.Unix() / store.Day)}
		today := caller.Date(recorded.Noon.Unix() / store.Day)
		marked := caller.Client{Name: "Marked", Moved: &caller.Mark{On: today, Why: "they wrote so"}}
		r.Known = func(name string) (caller.Client, bool) {
			c, known := map[string]caller.Client{
				before[2]: told, before[3]: marked, "origin https://stays.example": {Name: "Stays"},
			}[name]
			return c, known
		}
		all := r.Report(t)
		g := all.Versions[1].Groups
		if g.Clients != 5 || g.Moved != 1 || g.Marked != 1 || g.ProbablyMoved != 3 ||
			g.Told != 1 || g.Untold != 1 || g.Moved+g.Uncompared != 5 {
			t.Errorf("got %+v, want 3 of 5 probably moved, one marked, one told and one not", g)
		}
		for _, c := range all.Clients {
			for i, name := range before {
				if c.Version == "v1" && c.Client == name && (c.MovedAs != after[i] || c.HasMoved() != (i == 3)) {
					t.Errorf("got %+v, want it to have probably moved as %q", c, after[i])
				}
			}
		}
		for _, ask := range []struct {
			query report.Query
			want  int
		}{
			{report.Query{Version: "v1", Moved: "probably"}, 3},
			{report.Query{Version: "v1", Moved: "yes"}, 1},
			{report.Query{Version: "v1", Moved: "no"}, 4},
			{report.Query{Version: "v1", Told: "yes"}, 1}, {report.Query{Version: "v1", Told: "no", Moved: "no"}, 3},
		} {
			if read, err := r.Pages.Report(t.Context(), ask.query); err != nil || read.Matching != ask.want {
				t.Errorf("%+v: got %d, %v, want %d", ask.query, read.Matching, err, ask.want)
			}
		}
		var table strings.Builder
		err := r.Pages.WriteCSV(t.Context(), report.Query{Version: "v1"}, &table)
		if err != nil || !strings.Contains(table.String(), after[0]) ||
			!strings.Contains(table.String(), "2027-03-10: they wrote so") {
			t.Errorf("got %v and %.2000s, want the new name and the mark", err, table.String())
		}
		at.Pass(24 * time.Hour)
		r.As("v1", partner(3))
		r.Flush(t)
		if g := r.Report(t).Versions[1].Groups; g.Moved != 0 || g.Marked != 0 {
			t.Errorf("got %+v, want the mark to end with the next call", g)
		}
	})
}

// A client's own view has its calls by day and outcome and what the current version
// makes of them, and nothing of others.
func TestOwn(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := counted.Begin(t, cfg, at)
		r.Found("client Acme", 3, same)
		r.Errs("client Acme", 2)
		r.Call("client Other", 50)
		r.Flush(t)
		r.Up(t, 24*time.Hour)
		r.Found("client Acme", 4, omits)
		r.Found("client Acme", 5, same)
		r.Refuse("client Acme", 6, fault.VersionBrownout)
		r.Flush(t)
		own, err := r.Pages.Own(t.Context(), "Acme")
		if err != nil || len(own) != 1 {
			t.Fatalf("got %+v, %v, want what it did on v1", own, err)
		}
		want := lifecycle.Own{Version: "v1", LastSeen: at.Now(), Compared: "2027-03-11",
			Days: []lifecycle.OwnDay{{Day: "2027-03-10", Served: 3, Failed: 2}, {Day: "2027-03-11", Served: 9, Refused: 6}},
			Findings: []lifecycle.OwnFinding{
				{Outcome: "refused", Code: "MISSING_PARAMETER", Param: "recipient", Calls: 4,
					Says: "4 calls would be refused by v3, because recipient is missing."},
				{Outcome: "same", Calls: 5,
					Says: "5 calls would get the same transaction and the same amounts from v3, in a new format."},
			}}
		if !reflect.DeepEqual(own[0], want) {
			t.Errorf("got  %+v\nwant %+v", own[0], want)
		}
		at.Pass(time.Minute)
		r.On("v3", "client Acme")
		r.Flush(t)
		if own, err := r.Pages.Own(t.Context(), "Acme"); err != nil || len(own) != 2 || !own[1].Moved.Equal(at.Now()) {
			t.Errorf("got %+v, %v, want that it has moved", own, err)
		}
		if own, err := r.Pages.Own(t.Context(), "Nobody"); err != nil || len(own) != 0 {
			t.Errorf("got %+v, %v of a client that never called", own, err)
		}
	})
}
