package report_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// processor is the processor time that this process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func databases(b *testing.B) map[string]func() store.Config {
	return map[string]func() store.Config{
		"sqlite":   func() store.Config { return store.Config{DB: filepath.Join(b.TempDir(), "usage.db")} },
		"postgres": func() store.Config { return store.Config{DB: postgres.Shared(b).Fresh(b)} },
	}
}

// insertClients is how rows of clients begin.
const insertClients = `insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served,
	last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) `

// lived is a database of clients that called on every one of 90 days.
func lived(b *testing.B, cfg store.Config, clients int) *recorded.Rig {
	r := counted.Begin(b, cfg, recorded.At(recorded.Noon))
	now := recorded.Noon.Unix()
	today := now / store.Day
	began := now/store.Hour*store.Hour - store.ReportDays*store.Day
	for _, statement := range []string{
		fmt.Sprintf(`insert into usage_names (id, name, software, network, first_seen)
			with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
			select i, case when i %% 50 = 0 then 'client Partner ' || i when i %% 2 = 0 then 'agent okhttp #' || (i * 7919)
			else 'origin https://wallet-' || i || '.example' end, 'okhttp', i, 1 from n`, clients),
		fmt.Sprintf(`insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours)
			with recursive d(day) as (select %d union all select day + 1 from d where day < %d)
			select day, 'v1', id, 1 + id %% 300, 0, 0, 0, id %% 3, 1 + id %% 16777215 from d, usage_names`,
			today-store.ReportDays+1, today),
		insertClients + fmt.Sprintf(`select 'v1', id, 1, %d - id, %[1]d - id, %[1]d - id, 0, 0,
			case when name like 'client %%' then 1 when name like 'agent %%' then 2 else 0 end,
			(id * 7919 %% 1000) / 1000.0, 0, 0, 100, 7 * (1 + id %% 300), 30 * (1 + id %% 300), 90 * (1 + id %% 300),
			%d, 1 + 2 * (id %% 2) from usage_names`, now, today),
		insertClients + fmt.Sprintf(`select 'v3', client, 1, %d, %[1]d, %[1]d, 0, 0, kind, position, 0, 0, 9, 9, 9, 9, 0, 0
			from usage_clients where client %% 10 = 0`, now),
		fmt.Sprintf(`insert into usage_findings (version, client, finding, code, param, day, calls)
			select 'v1', client, case when client %% 2 = 0 then 'same' else 'refused' end,
			case when client %% 2 = 0 then '' else 'MISSING_PARAMETER' end,
			case when client %% 2 = 0 then '' else 'recipient' end, %d, 5 from usage_clients where version = 'v1'`, today),
		"insert into usage_version_days select day, 'v1', count(*) from usage_days group by day",
		`insert into usage_totals (began, version, outcome, calls, unnamed)
			select day * 86400, version, 'served', sum(served), 0 from usage_days group by day, version`,
		fmt.Sprintf(`insert into usage_hours
			with recursive h(began) as (select %d union all select began + 3600 from h where began < %d)
			select began from h where true on conflict (began) do nothing`, began, now-store.Hour),
		fmt.Sprintf("update usage_meta set value = '%d' where name = 'since'", now-store.ReportDays*store.Day),
	} {
		if _, err := r.DB.Exec(statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	if r.DB.Shared { // as PostgreSQL does by itself
		r.Exec(b, "analyze")
	}
	return r
}

// resident is the memory of this process, SQLite's included.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm") // empty where there is none
	var all, pages int64
	_, _ = fmt.Sscan(string(text), &all, &pages)
	return pages * int64(os.Getpagesize())
}

// grown is how much the memory grows at most while something is done.
func grown(do func()) int64 {
	debug.FreeOSMemory()
	before := resident()
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond): // more often takes time that is measured
				most.Store(max(most.Load(), resident()-before))
			}
		}
	}()
	do()
	close(stop)
	<-done
	return most.Load()
}

// plan has a window for half of the clients of v1.
func plan(b *testing.B, from time.Time) *lifecycle.Plan {
	b.Helper()
	p, err := lifecycle.Parse([]byte(fmt.Sprintf(`{"versions": {"v1": {
		"deprecated": "2026-01-01T00:00:00Z", "sunset": %q, "successor": "/v3/swap/quote", "docs": "https://example.org/m",
		"brownouts": [{"from": %q, "to": %q, "share": 0.5}], "exempt": ["origin:https://wallet-1.example"]}}}`,
		from.AddDate(0, 0, 30).Format(time.RFC3339), from.Format(time.RFC3339), from.Add(2*time.Hour).Format(time.RFC3339),
	)), []string{"v3", "v1"})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkPages measures what pages ask, once. Set USAGE_BENCH to the numbers of
// clients. The time of a processor is that of this process and of PostgreSQL's.
func BenchmarkPages(b *testing.B) {
	for _, clients := range strings.Fields(os.Getenv("USAGE_BENCH") + " 1000") {
		n := 0
		if _, err := fmt.Sscan(clients, &n); err != nil {
			b.Fatal(err)
		}
		for kind, cfg := range databases(b) {
			b.Run(kind+"/"+clients, func(b *testing.B) { measurePages(b, cfg(), n) })
		}
	}
}

func measurePages(b *testing.B, c store.Config, clients int) {
	r := lived(b, c, clients)
	server := func() time.Duration { return 0 }
	if r.DB.Shared {
		server = postgres.Shared(b).Processor
	}
	steps := questions(b, r)
	for b.Loop() {
		for _, step := range steps {
			begun, own, theirs := time.Now(), processor(), server()
			most := grown(step.ask)
			own, theirs = processor()-own, server()-theirs
			b.Logf("%s: %s, %s of a processor and %s of the server's, %d MiB", step.name,
				time.Since(begun).Round(time.Millisecond), own.Round(time.Millisecond), theirs, most>>20)
			b.ReportMetric(float64((own + theirs).Milliseconds()), step.name+"-cpu-ms")
			b.ReportMetric(float64(most)/(1<<20), step.name+"-MiB")
		}
	}
	if info, err := os.Stat(c.DB); err == nil {
		b.ReportMetric(float64(info.Size())/1e6, "MB")
	}
}

// question is what a page, a gate or the writer asks.
type question struct {
	name string
	ask  func()
}

func questions(b *testing.B, r *recorded.Rig) []question {
	window := recorded.Noon.Truncate(time.Hour).Add(7 * 24 * time.Hour)
	p := plan(b, window)
	chosen := report.Query{Version: "v1", Moved: "no", Window: window.Format(time.RFC3339)}
	if err := chosen.Choose(p); err != nil {
		b.Fatal(err)
	}
	read := func(q report.Query) func() {
		return func() {
			if _, err := r.Pages.Report(b.Context(), q); err != nil {
				b.Error(err)
			}
		}
	}
	gate := func() { r.Evidence("v1", 35) }
	return []question{
		{"overview", read(report.Query{Old: "yes", Per: 30})},
		{"overview-again", read(report.Query{Old: "yes", Per: 30})},
		{"clients", read(report.Query{Version: "v1"})},
		{"last-page", read(report.Query{Sort: "last", Page: 1_000_000})},
		{"search", read(report.Query{Old: "yes", Search: "wallet-77"})},
		{"search-none", read(report.Query{Old: "yes", Search: "nobody of this name"})},
		{"one-client", read(report.Query{Client: "origin https://wallet-7.example"})},
		{"window", read(chosen)},
		{"csv", func() {
			if err := r.Pages.WriteCSV(b.Context(), report.Query{}, io.Discard); err != nil {
				b.Error(err)
			}
		}},
		{"what-if", func() {
			if _, err := r.Simulate(b.Context(), p); err != nil {
				b.Error(err)
			}
		}},
		{"gate", gate},
		{"gate-again", gate},
		{"idle-write", func() { r.Flush(b) }},
		{"midnight", func() {
			r.Clock.Pass(24 * time.Hour)
			r.Flush(b)
			r.Clock.Pass(-24 * time.Hour)
		}},
	}
}
