package evidence_test

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

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
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

// lived is a database of clients that called on every one of 90 days.
func lived(b *testing.B, cfg store.Config, clients int) *recorded.Rig {
	r := recorded.Begin(b, cfg, recorded.At(recorded.Noon))
	today := recorded.Noon.Unix() / store.Day
	for _, statement := range []string{
		fmt.Sprintf(`insert into quotegate_clients (id, name, kind, software, network, first_seen)
			with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
			select i * 7919 %% 1000003 * 9000000000 + i, name, substr(name, 1, 6), 'okhttp', i, 1 from (select i,
			case when i %% 50 = 0 then 'client Partner ' || i when i %% 2 = 0 then 'agent okhttp #' || (i * 7919)
			else 'origin https://wallet-' || i || '.example' end as name from n) as named`, clients),
		"update quotegate_clients set kind = 'agent' where kind = 'agent '",
		fmt.Sprintf(`insert into quotegate_days (version, client, day, served, brownout, retired, rehearsed, failed,
			hours, last, last_410, last_rehearsal, proven, position, exempt)
			with recursive d(day) as (select %d union all select day + 1 from d where day < %d)
			select 'v1', id, day, 1 + network %% 300, 0, 0, 0, network %% 3, 1 + network %% 16777215,
			day * 86400 + 40000, 0, 0, 0, (network * 7919 %% 1000) / 1000.0, 0 from d, quotegate_clients
			where (network * 7 + day * 3) %% 5 < 3`, // on three days of five, which is 5.4 million rows of 100,000 clients
			today-store.ReportDays, today),
		fmt.Sprintf(`insert into quotegate_days select 'v3', client, day, served, brownout, retired, rehearsed, failed,
			hours, last + 1, last_410, last_rehearsal, proven, position, exempt
			from quotegate_days where day = %d and client %% 10 = 0`, today),
		`insert into quotegate_findings (version, client, day, finding, code, param, calls)
			select version, client, day, case when client % 2 = 0 then 'same' else 'refused' end,
			case when client % 2 = 0 then '' else 'MISSING_PARAMETER' end,
			case when client % 2 = 0 then '' else 'recipient' end, 5 from quotegate_days where version = 'v1' and day = (select max(day) from quotegate_days)`,
		`insert into quotegate_totals (hour, version, outcome, calls, unnamed)
			select day * 86400, version, 'served', sum(served), 0 from quotegate_days group by day, version`,
	} {
		if _, err := r.DB.Exec(statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	r.Age(b, store.ReportDays)
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

// benchPlan has a window for half of the clients of v1.
func benchPlan(b *testing.B, from time.Time) *lifecycle.Plan {
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
	p := benchPlan(b, window)
	chosen := evidence.Query{Version: "v1", Moved: "no", Window: window.Format(time.RFC3339)}
	if err := chosen.Choose(p); err != nil {
		b.Fatal(err)
	}
	read := func(q evidence.Query) func() {
		return func() {
			if _, err := r.Recorder.Report(b.Context(), q); err != nil {
				b.Error(err)
			}
		}
	}
	gate := func() { r.Evidence(b, "v1", 35) }
	return []question{
		{"overview", read(evidence.Query{Old: "yes", Per: 30})},
		{"overview-again", read(evidence.Query{Old: "yes", Per: 30})},
		{"clients", read(evidence.Query{Version: "v1"})},
		{"last-page", read(evidence.Query{Sort: "last", Page: 1_000_000})},
		{"search", read(evidence.Query{Old: "yes", Search: "wallet-77"})},
		{"search-none", read(evidence.Query{Old: "yes", Search: "nobody of this name"})},
		{"one-client", read(evidence.Query{Client: "origin https://wallet-7.example"})},
		{"window", read(chosen)},
		{"csv", func() {
			if err := r.WriteCSV(b.Context(), evidence.Query{}, io.Discard); err != nil {
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
	}
}
