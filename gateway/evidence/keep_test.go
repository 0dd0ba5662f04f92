package evidence_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// days are the numbers of the oldest and the newest day, from noon's, and how many rows
// and names there are.
func days(t testing.TB, r *recorded.Rig) string {
	t.Helper()
	return ask(t, r, fmt.Sprintf(`select coalesce(min(day) - %d, 0), coalesce(max(day) - %[1]d, 0), count(*),
		(select count(*) from quotegate_clients) from quotegate_days`, noon.Unix()/86_400))
}

// Days are kept for 92, with their findings; a name for as long as it has one, also of a
// version that this release does not serve; totals, gaps and instances for longer.
func TestOldDaysAreDeleted(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		clock := clock.At(noon)
		if cfg.DB != "" {
			old := recorded.Begin(t, cfg, clock, func(s *recorded.Setup) {
				s.Usage.Versions = []string{"v1", "v0"}
				s.Evidence.Versions = s.Usage.Versions
			})
			old.On("v0", c)
			old.Call(c, 1)
			old.Close()
		}
		r := recorded.Begin(t, cfg, clock)
		r.Exec(t, fmt.Sprintf("insert into quotegate_gaps values ('X', 1, %d, 'early')", noon.Unix()))
		r.Found(a, 1, sameMoney)
		r.Call(b, 1)
		r.Flush(t)
		if cfg.DB != "" {
			r.Exec(t, fmt.Sprintf("update quotegate_days set day = %d where version = 'v0'", noon.Unix()/86_400+5))
		}
		for range 92 {
			r.Clock.Advance(24 * time.Hour)
			r.Call(b, 1)
			r.Flush(t)
		}
		r.Flush(t)
		names := r.Rows(t, "quotegate_clients")
		contains(t, "after 92 days", days(t, r), "0 92 ")
		expect(t, "findings", ask(t, r, "select count(*) from quotegate_findings"), "1")
		r.Up(t, 24*time.Hour)
		expect(t, "findings", ask(t, r, "select count(*) from quotegate_findings"), "0")
		if got := r.Rows(t, "quotegate_clients"); got != names-1 { // c has a day of v0
			t.Errorf("got %d names of %d, want one less", got, names)
		}
		for range 6 {
			r.Up(t, 24*time.Hour)
		}
		expect(t, "a week later", days(t, r), "7 92 86 1")
		if ask(t, r, fmt.Sprintf("select count(*) from quotegate_totals where hour < %d", noon.Unix())) == "0" {
			t.Error("totals were deleted with the days")
		}
		r.Clock.Advance(310 * 24 * time.Hour)
		r.Call(a, 1)
		for range 90 { // a day an hour
			r.Up(t, time.Hour)
		}
		left := ask(t, r, "select (select count(*) from quotegate_gaps), count(*) from quotegate_clients")
		expect(t, "after a year", left, "0 1")
	})
}

// A clock that is ahead for a while deletes the oldest day, and another one every hour.
func TestClockIsAhead(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(noon))
		for range 10 {
			r.Call(a, 1)
			r.Up(t, 24*time.Hour)
		}
		r.Clock.Advance(300 * 24 * time.Hour)
		for range 20 {
			r.Up(t, 5*time.Second)
		}
		expect(t, "after minutes", days(t, r), "1 9 9 1")
		r.Up(t, time.Hour)
		expect(t, "after an hour", days(t, r), "2 9 8 1")
		r.Clock.Advance(-301 * 24 * time.Hour)
		r.Call(b, 1)
		r.Flush(t)
		expect(t, "when it is right again", days(t, r), "2 9 9 2")
	})
}

// A clock that jumps leaves a gap, over the time in which calls have a wrong one. It ends
// when the clock is right again.
func TestClockJumps(t *testing.T) {
	for _, test := range []struct {
		jumps []time.Duration // one after each minute
		gaps  string          // in minutes since noon
	}{
		{[]time.Duration{2 * time.Hour}, "0 121"},
		{[]time.Duration{-2 * time.Hour}, "-119 -119"},
		{[]time.Duration{50 * time.Second}, ""},
		{[]time.Duration{-300 * 24 * time.Hour}, "-431999 -431999"}, // it was ahead when the service started
		{[]time.Duration{9000 * time.Hour, -9000 * time.Hour}, "0 2, 2 2"},
	} {
		own, server := clock.At(noon), clock.At(noon)
		r := recorded.Begin(t, evidence.Config{DB: postgres.Shared(t).Fresh(t)}, own,
			func(s *recorded.Setup) { s.Evidence.Clock = server.Now })
		r.Age(t, 10)
		var last time.Time
		for _, by := range test.jumps {
			own.Advance(time.Minute)
			server.Advance(time.Minute + by)
			r.Flush(t)
			r.Call(a, 1) // which counts by the server's clock, if that is far away
			r.Flush(t)
			last = server.Now()
		}
		gaps := fmt.Sprintf("select (began - %d) / 60, (ended - %[1]d) / 60 from quotegate_gaps order by began", noon.Unix())
		expect(t, "gaps", ask(t, r, gaps), test.gaps)
		if test.gaps == "" {
			continue
		}
		missing := r.Missing(t, 7)
		if !strings.Contains(missing, "the clock jumped") && !strings.Contains(missing, "calls are counted only since") {
			t.Errorf("got %q missing", missing)
		}
		expect(t, "runs", ask(t, r, "select count(*) from quotegate_instances where started > written"), "0")
		if got := r.Log.Count("the clock has jumped"); got != len(test.jumps) {
			t.Errorf("got log %s", r.Log)
		}
		on := last.Unix() / 86_400
		calls := ask(t, r, fmt.Sprintf("select last from quotegate_days where day = %d", on))
		expect(t, "last call", calls, fmt.Sprint(last.Unix()))
	}
}

// A jump of this machine's clock puts no call under another day, and releases no gate. A database
// without a clock follows it only once the newest blocks confirm it, which leaves a gap.
func TestClockOfThisMachineJumps(t *testing.T) {
	const jumped, apart = "this machine's clock has jumped and is 24 hours", "this machine's clock is 24 hours"
	for name, test := range map[string]struct {
		by     time.Duration
		server bool // the database has a clock
		chains int  // -1: their newest blocks deny the jump; 1: they confirm it
		days   string
		note   string
	}{
		"a file, a day ahead":                 {24 * time.Hour, false, 0, "0 0", jumped + " ahead of what it would be"},
		"a file, a day behind":                {-24 * time.Hour, false, 0, "0 0", jumped + " behind what it would be"},
		"a file, and the chains deny it":      {24 * time.Hour, false, -1, "0 0", "clock seems 24 hours ahead of the newest blocks of 2 of 2"},
		"a file, and the chains confirm it":   {24 * time.Hour, false, 1, "0 1", ""},
		"a file, and it was ahead":            {-24 * time.Hour, false, 1, "-1 0", ""},
		"a server, a day ahead":               {24 * time.Hour, true, 0, "0 0", apart + " ahead of the database's"},
		"a server, and the chains confirm it": {24 * time.Hour, true, 1, "0 0", "the database's clock is 24 hours behind this machine's"},
		"a server, and the chains deny it":    {-24 * time.Hour, true, -1, "0 0", apart + " behind the database's, and of the newest blocks of 2 of 2 chains"},
		"a file, half a minute":               {30 * time.Second, false, 0, "0 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			own, others := clock.At(noon), clock.At(noon)
			pass := func() {
				own.Advance(time.Minute)
				others.Advance(time.Minute)
			}
			option := recorded.Clockless
			if test.server {
				option = func(s *recorded.Setup) { s.Evidence.Clock = others.Now }
			}
			r := recorded.Begin(t, evidence.Config{}, own, option)
			r.Age(t, 10)
			r.Call(a, 1)
			pass()
			own.Jump(test.by)
			r.Call(a, 1) // before the next write
			r.Flush(t)
			pass()
			for _, network := range []chain.ID{1, 8453} {
				switch test.chains {
				case -1:
					r.Skew.ReadHead(network, 1, others.Now())
				case 1:
					r.Skew.ReadHead(network, 1, own.Now())
				}
			}
			r.Flush(t)
			notes := strings.Join(r.Notes(), "\n")
			if !strings.Contains(notes, test.note) || test.note == "" && strings.Contains(notes, "clock is") {
				t.Errorf("got notes %q, want %q", notes, test.note)
			}
			sunset := noon.Add(10 * time.Second)
			follows := test.days != "0 0"
			if err := r.Read.Release("v1", sunset, "entry"); !follows && test.by.Abs() > time.Hour &&
				!strings.Contains(fmt.Sprint(err), "this machine's clock") {
				t.Errorf("got %v, want that a gate is not released", err)
			}
			r.Call(a, 1)
			r.Flush(t)
			got := strings.Join(strings.Fields(days(t, r))[:2], " ")
			expect(t, "days", got, test.days)
			gaps := ask(t, r, "select reason from quotegate_gaps")
			if (gaps == "the clock jumped") != follows {
				t.Errorf("got gaps %q", gaps)
			}
			if follows {
				return
			}
			own.Jump(-test.by)
			pass()
			r.Call(a, 1)
			r.Flush(t)
			if notes := strings.Join(r.Notes(), "\n"); notes != "" {
				t.Errorf("it is right again: got notes %q", notes)
			}
			got = strings.Join(strings.Fields(days(t, r))[:2], " ")
			expect(t, "days", got+" "+ask(t, r, "select reason from quotegate_gaps"), test.days+" ")
			if test.note != "" && (r.Log.Count("clock: it disagrees") != 1 || r.Log.Count("clock: it agrees") != 1) {
				t.Errorf("got log %s", r.Log)
			}
		})
	}
}

// A database that is too large gives up its oldest day, which is a gap, and then another.
func TestDatabaseHasAGreatestSize(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(noon))
		r.Age(t, 10)
		for range 5 {
			for i := range 50 {
				r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
			}
			r.Up(t, 24*time.Hour)
		}
		if cfg.Postgres() {
			r.Exec(t, "analyze") // so that it knows how many rows there are
		}
		r.Flush(t)
		if bytes := r.Stats().Bytes; bytes == 0 || bytes > r.Read.MaxBytes() {
			t.Errorf("got %d bytes", bytes)
		}
		r.Read.SetMost(1000)
		r.Flush(t)
		expect(t, "days", days(t, r), "1 4 200 50")
		r.Flush(t) // it waits until it is known how large the database is now
		expect(t, "days", days(t, r), "1 4 200 50")
		day := noon.Truncate(24 * time.Hour)
		gaps := ask(t, r, "select began, ended from quotegate_gaps")
		expect(t, "gaps", gaps, fmt.Sprint(day.Unix(), day.Add(24*time.Hour).Unix()))
		contains(t, "gate", r.Missing(t, 7), "counts were deleted")
		r.Clock.Advance(2 * time.Minute)
		r.Call(c, 1) // a new name, today
		for range 6 {
			if cfg.Postgres() {
				r.Exec(t, "analyze")
			}
			r.Up(t, 2*time.Minute)
		}
		expect(t, "days at last", days(t, r), "0 0 0 0")
		if got := r.Stats().Since; got.After(r.Clock.Now()) {
			t.Errorf("got whole counts since %s, which is to come", got)
		}
	})
}

// Instances that start and write at once come up, agree on the key, never deadlock, and
// their counts add up.
func TestInstancesShareADatabase(t *testing.T) {
	t.Parallel()
	cfg, clock := evidence.Config{DB: postgres.Shared(t).Fresh(t)}, clock.At(noon)
	var all [6]*recorded.Rig
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = recorded.Begin(t, cfg, clock) })
	}
	wg.Wait()
	const clients, rounds = 100, 5
	for range rounds {
		for i, r := range all {
			for n := range clients {
				client := fmt.Sprintf("origin https://wallet-%d.example", (n*(i+1))%clients+1)
				r.Found(client, 1, sameMoney)
				r.On("v3", client)
			}
			r.Call(r.Name(recorded.Agent("203.0.113.7")), 1)
			wg.Go(func() { r.Flush(t) })
		}
		wg.Wait()
	}
	r := all[0]
	sums := `select cast(sum(calls) as bigint), (select cast(sum(served) as bigint) from quotegate_days),
		(select cast(sum(calls) as bigint) from quotegate_findings), (select count(*) from quotegate_instances),
		(select count(*) from quotegate_clients where kind = 'agent') from quotegate_totals`
	calls := len(all) * rounds * clients
	expect(t, "sums", ask(t, r, sums), fmt.Sprint(2*calls+len(all)*rounds, 2*calls+len(all)*rounds, calls, len(all), 1))
	for _, r := range all {
		if strings.Contains(r.Log.String(), "level=ERROR") {
			t.Errorf("got log %s", r.Log)
		}
		r.Close() // a session tells of its deadlocks when it ends
	}
	r = recorded.Begin(t, cfg, clock)
	expect(t, "deadlocks", ask(t, r, "select deadlocks from pg_stat_database where datname = current_database()"), "0")
}

// An instance deletes the last day of a client while another one writes the next: the
// name stays, or comes back.
func TestDeletingWhileAnotherWrites(t *testing.T) {
	t.Parallel()
	cfg, clock := evidence.Config{DB: postgres.Shared(t).Fresh(t)}, clock.At(noon)
	deletes, writes := recorded.Begin(t, cfg, clock), recorded.Begin(t, cfg, clock)
	deletes.Call(a, 1)
	deletes.Flush(t)
	writes.Flush(t)
	deletes.Exec(t, `create function pause() returns trigger language plpgsql as
		$$ begin perform pg_sleep(0.5); return null; end $$`)
	deletes.Exec(t, "create trigger pause before delete on quotegate_clients execute function pause()")
	clock.Advance(93 * 24 * time.Hour)
	writes.Call(a, 1)
	var wg sync.WaitGroup
	wg.Go(func() { deletes.Flush(t) })
	for ask(t, deletes, "select count(*) from pg_stat_activity where wait_event = 'PgSleep'") == "0" {
		time.Sleep(time.Millisecond)
	}
	writes.Flush(t)
	wg.Wait()
	expect(t, "served", served(t, writes), "a.example 1")
}
