package evidence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

// What a process that died has lost is a gap that begins with its last write. It ends with
// the next run on its host, when as many instances write as there are, or by the operator's
// word; until then it holds every gate. Times are minutes after noon of the runs below.
func TestLosses(t *testing.T) {
	const now = 60
	for name, test := range map[string]struct {
		runs      string // ID, host, began, wrote, stopped ("-": it has not), of one run a line
		gaps      string // instance, began, ended, reason
		instances int
		open      string // what each of them contains
		over      string // instance, began, ended
	}{
		"all run":                           {runs: "A a 0 60 -\nB b 0 60 -"},
		"stopped properly":                  {runs: "A a 0 30 30\nB b 0 60 -"},
		"a restart":                         {runs: "A a 0 30 30\nA2 a 32 60 -"},
		"killed":                            {runs: "A a 0 60 -\nB b 0 30 -", open: "b (B) has not reported since 10 Mar 2027, 12:30 UTC"},
		"killed and restarted":              {runs: "A a 0 60 -\nB b 0 30 -\nB2 b 34 60 -", over: "b (B) 30 34"},
		"restarted twice":                   {runs: "A a 0 60 -\nB b 0 30 -\nB2 b 34 40 -\nB3 b 45 60 -", over: "b (B) 30 34, b (B2) 40 45"},
		"another ran there before":          {runs: "A a 0 60 -\nB b 0 30 -\nB2 b 10 60 -", open: "b (B) has not"},
		"no host name":                      {runs: "A - 0 30 -\nB - 34 60 -", open: "instance A has not"},
		"so many write again":               {runs: "A a 0 60 -\nB b 0 30 -\nC c 40 60 -", instances: 2, over: "b (B) 30 40"},
		"so many wrote always":              {runs: "A a 0 60 -\nB b 0 30 -\nC c 20 60 -", instances: 2, over: "b (B) 30 30.3"},
		"too few write":                     {runs: "A a 0 60 -\nB b 0 30 -", instances: 2, open: "b (B) has not"},
		"the earlier of both":               {runs: "A a 0 60 -\nB b 0 30 -\nB2 b 50 60 -\nC c 40 60 -", instances: 2, over: "b (B) 30 40"},
		"the operator says so":              {runs: "A a 0 60 -\nB b 0 30 30.3", over: "b (B) 30 30.3"},
		"before the time":                   {runs: "A a -90 60 -\nB b -90 -80 -\nB2 b -70 60 -", over: ""},
		"into the time":                     {runs: "A a -90 60 -\nB b -90 -80 -\nB2 b 5 60 -", over: "b (B) 0 5"},
		"its clock was ahead":               {runs: "A a 0 60 -\nB b 0 90 -", open: "b (B) has not reported since 10 Mar 2027, 13:30 UTC"},
		"nobody for an hour":                {runs: "A a -90 -60 -60\nB b 60 60 -", over: "- 0 60"},
		"fewer for an hour":                 {runs: "A a -9 60 -\nB b -9 0 0\nC c 60 60 -", instances: 2, over: "- 0 60"},
		"a dead one's time is counted once": {runs: "A a -90 -60 -\nA2 a 60 60 -", over: "a (A) 0 60"},
		"recorded":                          {runs: "A a 0 60 -", gaps: "A -30 -20 early, A 10 12 the clock jumped, A 50 70 ahead", over: "a (A) 10 12, a (A) 50 60"},
		"set back":                          {runs: "A a 0 60 -", gaps: "A 10 12 the database was restored to an earlier state", open: "12:10 UTC and 10 Mar 2027, 12:12 UTC are missing: the database was restored"},
	} {
		open, over := evidence.Losses(parseRuns(test.runs), parseGaps(test.gaps), atMinute(now), atMinute(0), test.instances)
		if (test.open == "") != (len(open) == 0) || !strings.Contains(strings.Join(open, "; "), test.open) {
			t.Errorf("%s: got %q open, want %q", name, open, test.open)
		}
		var got []string
		for _, g := range over {
			instance := strings.TrimPrefix(g.Instance, "instance ")
			if instance == "" {
				instance = "-"
			}
			got = append(got, fmt.Sprintf("%s %.3g %.3g", instance, g.From.Sub(atMinute(0)).Minutes(), g.To.Sub(atMinute(0)).Minutes()))
		}
		expect(t, name, strings.Join(got, ", "), test.over)
	}
}

var twelve = time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC)

func atMinute(m float64) time.Time {
	return twelve.Add(time.Duration(m * float64(time.Minute))).Truncate(time.Second)
}

func parseRuns(text string) (all []evidence.Run) {
	for line := range strings.SplitSeq(text, "\n") {
		var id, host, stopped string
		var began, wrote float64
		fmt.Sscan(line, &id, &host, &began, &wrote, &stopped)
		ended := int64(0)
		if stopped != "-" {
			var minute float64
			fmt.Sscan(stopped, &minute)
			ended = atMinute(minute).Unix()
		}
		all = append(all, evidence.NewRun(id, strings.TrimPrefix(host, "-"), atMinute(began).Unix(), atMinute(wrote).Unix(), ended))
	}
	return all
}

func parseGaps(text string) (all []lifecycle.Gap) {
	for line := range strings.SplitSeq(text, ", ") {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			continue
		}
		var began, ended float64
		fmt.Sscan(fields[1]+" "+fields[2], &began, &ended)
		all = append(all, lifecycle.Gap{
			Instance: "instance a (" + fields[0] + ")", From: atMinute(began), To: atMinute(ended), Reason: fields[3],
		})
	}
	return all
}

// One that was killed and will not come back is given up by its ID, and by nothing else.
func TestGone(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(recorded.Noon)
		r := recorded.Begin(t, cfg, at)
		r.Age(t, 10)
		at.Advance(time.Minute)
		for _, id := range []string{"KILLEDAAAA", "KILLEDBBBB"} {
			r.Exec(t, fmt.Sprintf("insert into quotegate_instances values ('%s', 'pod', '', 1, %d, %d, 0)",
				id, at.Now().Unix()-3600, at.Now().Unix()-600))
		}
		r.Flush(t)
		contains(t, "gate", r.Missing(t, 7), "instance pod (KILLEDAAAA) has not reported since")
		for id, want := range map[string]string{
			"":           "0 instances that have not stopped have an ID that begins with \"\"; there are: instance",
			"pod":        "0 instances that have not stopped have an ID that begins with \"pod\"",
			"KILLED":     "2 instances that have not stopped have an ID that begins with \"KILLED\"",
			r.Instance(): "is running",
		} {
			_, err := r.Read.Gone(t.Context(), id, time.Time{})
			contains(t, id, fmt.Sprint(err), want)
		}
		written := at.Now().Add(-10 * time.Minute).Truncate(time.Second)
		for _, last := range []time.Time{written.Add(-time.Second), at.Now().Add(time.Second)} {
			_, err := r.Read.Gone(t.Context(), "KILLEDA", last)
			contains(t, last.String(), fmt.Sprint(err), "so that its last call was between that and now, not at "+
				last.UTC().Format(time.RFC3339))
		}
		for _, said := range []struct {
			id   string
			last time.Time
			gaps []time.Duration
		}{
			{"KILLEDAA", time.Time{}, []time.Duration{20 * time.Second}},
			{"KILLEDBBBB", time.Time{}, []time.Duration{20 * time.Second, 20 * time.Second}},
			{"KILLEDA", written.Add(5 * time.Minute), []time.Duration{5 * time.Minute, 20 * time.Second}}, // corrected
		} {
			lost, err := r.Read.Gone(t.Context(), said.id, said.last)
			if err != nil || !strings.Contains(lost.Instance, said.id) || !lost.From.Equal(written) {
				t.Errorf("got %+v, %v", lost, err)
			}
			var gaps []time.Duration
			e := r.Evidence(t, "v1", 7)
			for _, g := range e.Gaps {
				gaps = append(gaps, g.To.Sub(g.From))
			}
			if !slices.Equal(gaps, said.gaps) {
				t.Errorf("%s is gone: got gaps of %s, want %s", said.id, gaps, said.gaps)
			}
		}
		if e := r.Evidence(t, "v1", 7); len(e.Missing) > 0 {
			t.Errorf("got %q, want nothing else missing", e.Missing)
		}
		r.Close()
		after := recorded.Begin(t, cfg, at)
		_, err := after.Read.Gone(t.Context(), r.Instance(), time.Time{})
		contains(t, "one that has stopped", fmt.Sprint(err), "0 instances that have not stopped")
	})
}

// An instance whose last write lies in the future may have been killed while its clock was
// ahead: it is not one that writes, and its plan does not count.
func TestWrittenInTheFuture(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Follow("ours", nil)
		r.Age(t, 10)
		r.Exec(t, fmt.Sprintf("insert into quotegate_instances values ('AHEAD', 'pod', 'theirs', 1, %d, %d, 0)",
			recorded.Noon.Unix()-3600, recorded.Noon.Unix()+7200))
		r.Up(t, time.Second)
		e := r.Gate(t, "v1", lifecycle.Gate{Days: 7, Instances: 2})
		missing := strings.Join(e.Missing, "; ")
		contains(t, "gate", missing, "1 instance is writing counts, of 2 that there are")
		contains(t, "gate", missing, "instance pod (AHEAD) has not reported since")
		if strings.Contains(missing, "different plans") || r.Stats().Plans != 1 {
			t.Errorf("got %q and %d plans", missing, r.Stats().Plans)
		}
	})
}

// A database of 1.0.0 with a release: a service of this release goes on with it, its
// release stands, and new keys are kept beside what there is.
func TestDatabaseOfTheFirstRelease(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		fill(t, cfg, "testdata/released")
		sunset := time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC)
		at := clock.At(sunset.Add(90 * time.Minute))
		r := recorded.Begin(t, cfg, at)
		const entry = "11edb0832509" // of its plan, with "strangers"
		released, err := r.Read.Released("v1", sunset, entry)
		if err != nil || !released.Equal(sunset.Add(time.Hour)) {
			t.Errorf("got %s, %v", released, err)
		}
		if accepted, err := r.Read.Accepted(); err != nil || len(accepted) != 0 {
			t.Errorf("got %v, %v accepted", accepted, err)
		}
		r.Call("client Atlas", 1)
		r.Call("client atlas", 1)
		r.Flush(t)
		expect(t, "clients", ask(t, r, "select count(*) from quotegate_clients"), "3")
		if e := r.Evidence(t, "v1", 7); len(e.Missing)+len(e.Gaps) > 0 || e.Clients != 3 || e.Calls != 5 {
			t.Errorf("got %+v", e)
		}
		line := lifecycle.Accepted{At: at.Now(), Line: &lifecycle.Schedule{Sunset: sunset}, Before: []string{"a"}}
		if err := r.Read.Accept("v1", line); err != nil {
			t.Fatal(err)
		}
		if accepted, err := r.Read.Accepted(); err != nil || asJSON(t, accepted["v1"]) != asJSON(t, line) {
			t.Errorf("got %v, %v", accepted, err)
		}
	})
}

// Who calls both versions has not moved, for seven quiet days.
func TestMoved(t *testing.T) {
	now := recorded.Noon
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		last, served int64
		want         string
	}{
		"never called the current version":  {ago(time.Hour), 0, "false false"},
		"called it after, today":            {ago(time.Hour), ago(time.Minute), "false true"},
		"called it before, today":           {ago(time.Minute), ago(time.Hour), "false true"},
		"six quiet days":                    {ago(6 * day), ago(time.Hour), "false true"},
		"seven quiet days":                  {ago(7 * day), ago(time.Hour), "true false"},
		"seven quiet days, served long ago": {ago(30 * day), ago(29 * day), "true false"},
		"quiet, and never served since":     {ago(8 * day), ago(9 * day), "false false"},
		"tried it once, weeks ago":          {ago(time.Hour), ago(20 * day), "false false"},
		"only errors here":                  {0, ago(time.Hour), "true false"},
	} {
		moved, both := evidence.MoveOf(test.last, test.served, now)
		expect(t, name, fmt.Sprint(moved, both), test.want)
	}
}
