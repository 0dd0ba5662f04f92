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

// lived is a database of clients that called on every one of 90 days.
func lived(b *testing.B, cfg store.Config, clients int) *recorded.Rig {
	r := counted.Begin(b, cfg, recorded.At(recorded.Noon))
	today := recorded.Noon.Unix() / store.Day
	numbers := fmt.Sprintf("with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)", clients)
	days := fmt.Sprintf("with recursive d(day) as (select %d union all select day + 1 from d where day < %d)", today-store.ReportDays+1, today)
	for _, statement := range []string{
		"insert into usage_names (id, name, software, network, first_seen) " + numbers + ` select i, case when i % 50 = 0 then 'client Partner ' || i when i % 2 = 0 then 'agent okhttp #' || (i * 7919)
			else 'origin https://wallet-' || i || '.example' end, 'okhttp', i, 1 from n`,
		"insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) " + days +
			" select day, 'v1', id, 1 + id % 300, 0, 0, 0, id % 3, 1 + id % 16777215 from d, usage_names",
		"insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) " +
			fmt.Sprintf("select 'v1', id, 1, %d - id, %[1]d - id, %[1]d - id, 0, 0, case when name like 'client %%' then 1 when name like 'agent %%' then 2 else 0 end, (id * 7919 %% 1000) / 1000.0, 0, 0, 100, 7 * (1 + id %% 300), 30 * (1 + id %% 300), 90 * (1 + id %% 300), %d, 1 + 2 * (id %% 2) from usage_names", recorded.Noon.Unix(), today),
		"insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) " +
			fmt.Sprintf("select 'v3', client, 1, %d, %[1]d, %[1]d, 0, 0, kind, position, 0, 0, 9, 9, 9, 9, 0, 0 from usage_clients where client %% 10 = 0", recorded.Noon.Unix()),
		fmt.Sprintf("insert into usage_findings (version, client, finding, code, param, day, calls) select 'v1', client, case when client %% 2 = 0 then 'same' else 'refused' end, case when client %% 2 = 0 then '' else 'MISSING_PARAMETER' end, case when client %% 2 = 0 then '' else 'recipient' end, %d, 5 from usage_clients where version = 'v1'", today),
		"insert into usage_version_days select day, 'v1', count(*) from usage_days group by day",
		"insert into usage_totals (began, version, outcome, calls, unnamed) select day * 86400, version, 'served', sum(served), 0 from usage_days group by day, version",
		fmt.Sprintf("insert into usage_hours with recursive h(began) as (select %d union all select began + 3600 from h where began < %d) select began from h where true on conflict (began) do nothing", recorded.Noon.Unix()/store.Hour*store.Hour-store.ReportDays*store.Day, recorded.Noon.Unix()-store.Hour),
	} {
		if _, err := r.DB.Exec(statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	r.Exec(b, fmt.Sprintf("update usage_meta set value = '%d' where name = 'since'", recorded.Noon.Unix()-store.ReportDays*store.Day))
	if r.DB.Shared {
		_, _ = r.DB.Exec("analyze")
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
			case <-time.After(5 * time.Millisecond):
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
// clients.
func BenchmarkPages(b *testing.B) {
	for _, clients := range strings.Fields(os.Getenv("USAGE_BENCH") + " 1000") {
		n := 0
		if _, err := fmt.Sscan(clients, &n); err != nil {
			b.Fatal(err)
		}
		for kind, cfg := range databases(b) {
			b.Run(kind+"/"+clients, func(b *testing.B) {
				c := cfg()
				r := lived(b, c, n)
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
				for b.Loop() {
					for _, step := range []struct {
						name string
						do   func()
					}{
						{"overview", read(report.Query{Old: "yes", Per: 30})}, {"overview-again", read(report.Query{Old: "yes", Per: 30})}, {"clients", read(report.Query{Version: "v1"})},
						{"last-page", read(report.Query{Sort: "last", Page: 1_000_000})}, {"one-client", read(report.Query{Client: "origin https://wallet-7.example"})}, {"window", read(chosen)},
						{"csv", func() {
							if err := r.Pages.WriteCSV(b.Context(), report.Query{}, io.Discard); err != nil {
								b.Fatal(err)
							}
						}},
						{"what-if", func() {
							if _, err := r.Simulate(b.Context(), p); err != nil {
								b.Error(err)
							}
						}}, {"gate", func() { r.Evidence("v1", 35) }}, {"gate-again", func() { r.Evidence("v1", 35) }},
						{"idle-write", func() { r.Flush(b) }},
						{"midnight", func() { r.Clock.Pass(24 * time.Hour); r.Flush(b); r.Clock.Pass(-24 * time.Hour) }},
					} {
						begun, used := time.Now(), processor()
						most := grown(step.do)
						used = processor() - used
						b.Logf("%s: %s, %s of a processor, %d MiB", step.name, time.Since(begun).Round(time.Millisecond), used.Round(time.Millisecond), most>>20)
						b.ReportMetric(float64(used.Milliseconds()), step.name+"-cpu-ms")
						b.ReportMetric(float64(most)/(1<<20), step.name+"-MiB")
					}
				}
				if info, err := os.Stat(c.DB); err == nil {
					b.ReportMetric(float64(info.Size())/1e6, "MB")
				}
			})
		}
	}
}
