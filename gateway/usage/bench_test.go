package usage

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
)

func BenchmarkObserve(b *testing.B) {
	for name, e := range map[string]*event.Event{
		"old client": {Time: noon, Version: "v1", Client: "origin https://wallet.example", Pair: pair, Finding: same},
		"stranger":   {Time: noon, Version: "v3", Client: "origin https://stranger.example", Pair: pair},
	} {
		b.Run(name, func(b *testing.B) {
			r := begin(b, Config{}, &clock{t: noon})
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r.Observe(e)
				}
			})
		})
	}
}

// processor is the processor time that this process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWrite writes a batch of clients that are in the database already. The
// share is what it takes of one processor, with the pause that follows it.
func BenchmarkWrite(b *testing.B) {
	for _, clients := range []int{20_000, 65_536} {
		for kind, cfg := range databases(b) {
			b.Run(fmt.Sprintf("%s/%d", kind, clients), func(b *testing.B) {
				r := begin(b, cfg(), &clock{t: noon})
				r.buffer = newBuffer(2 * shardEntries * clients / 20_000)
				call := func() {
					for i := range clients {
						c := caller.Caller{Agent: "okhttp", Origin: fmt.Sprintf("https://wallet-%d.example", i), Addr: netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})}
						r.Observe(&event.Event{Time: r.clock.now(), Version: "v1", Caller: c, Client: r.Name(c.Identity()), Pair: pair, Finding: same})
					}
				}
				call()
				r.flush(b)
				var used, passed time.Duration
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					call()
					b.StartTimer()
					before, begun := processor(), time.Now()
					r.flush(b)
					used, passed = used+processor()-before, passed+time.Since(begun)+min(max(writeInterval, writeShare*time.Since(begun)), maxInterval)
				}
				b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
				b.ReportMetric(100*float64(used)/float64(passed), "%cpu")
			})
		}
	}
}

func databases(b *testing.B) map[string]func() Config {
	return map[string]func() Config{
		"sqlite":   func() Config { return Config{DB: filepath.Join(b.TempDir(), "usage.db")} },
		"postgres": func() Config { return Config{DB: postgres(b).fresh(b)} },
	}
}

// lived is a database of clients that called on every one of 90 days.
func lived(b *testing.B, cfg Config, clients int) *rig {
	r := begin(b, cfg, &clock{t: noon})
	today := noon.Unix() / day
	numbers := fmt.Sprintf("with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)", clients)
	days := fmt.Sprintf("with recursive d(day) as (select %d union all select day + 1 from d where day < %d)", today-reportDays+1, today)
	for _, statement := range []string{
		"insert into usage_names (id, name, software, network, first_seen) " + numbers + ` select i, case when i % 50 = 0 then 'client Partner ' || i when i % 2 = 0 then 'agent okhttp #' || (i * 7919)
			else 'origin https://wallet-' || i || '.example' end, 'okhttp', i, 1 from n`,
		"insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) " + days +
			" select day, 'v1', id, 1 + id % 300, 0, 0, 0, id % 3, 1 + id % 16777215 from d, usage_names",
		"insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) " +
			fmt.Sprintf("select 'v1', id, 1, %d - id, %[1]d - id, %[1]d - id, 0, 0, case when name like 'client %%' then 1 when name like 'agent %%' then 2 else 0 end, (id * 7919 %% 1000) / 1000.0, 0, 0, 100, 7 * (1 + id %% 300), 30 * (1 + id %% 300), 90 * (1 + id %% 300), %d, 1 + 2 * (id %% 2) from usage_names", noon.Unix(), today),
		"insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) " +
			fmt.Sprintf("select 'v3', client, 1, %d, %[1]d, %[1]d, 0, 0, kind, position, 0, 0, 9, 9, 9, 9, 0, 0 from usage_clients where client %% 10 = 0", noon.Unix()),
		fmt.Sprintf("insert into usage_findings (version, client, finding, code, param, day, calls) select 'v1', client, case when client %% 2 = 0 then 'same' else 'refused' end, case when client %% 2 = 0 then '' else 'MISSING_PARAMETER' end, case when client %% 2 = 0 then '' else 'recipient' end, %d, 5 from usage_clients where version = 'v1'", today),
		"insert into usage_version_days select day, 'v1', count(*) from usage_days group by day",
		"insert into usage_totals (began, version, outcome, calls, unnamed) select day * 86400, version, 'served', sum(served), 0 from usage_days group by day, version",
		fmt.Sprintf("insert into usage_hours with recursive h(began) as (select %d union all select began + 3600 from h where began < %d) select began from h where true on conflict (began) do nothing", noon.Unix()/hour*hour-reportDays*day, noon.Unix()-hour),
	} {
		if _, err := r.db.Exec(statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	r.age1(b)
	if r.db.shared {
		_, _ = r.db.Exec("analyze")
	}
	return r
}

func (r *rig) age1(b *testing.B) {
	if _, err := r.db.Exec(fmt.Sprintf("update usage_meta set value = '%d' where name = 'since'", noon.Unix()-reportDays*day)); err != nil {
		b.Fatal(err)
	}
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
				window := noon.Truncate(time.Hour).Add(7 * 24 * time.Hour)
				p := plan(b, window, window.Add(2*time.Hour), 0.5, `"origin:https://wallet-1.example"`)
				chosen := Query{Version: "v1", Moved: "no", Window: window.Format(time.RFC3339)}
				if err := chosen.Choose(p); err != nil {
					b.Fatal(err)
				}
				report := func(q Query) func() {
					return func() {
						if _, err := r.Report(b.Context(), q); err != nil {
							b.Error(err)
						}
					}
				}
				for b.Loop() {
					for _, step := range []struct {
						name string
						do   func()
					}{
						{"overview", report(Query{Old: "yes", Per: 30})}, {"overview-again", report(Query{Old: "yes", Per: 30})}, {"clients", report(Query{Version: "v1"})},
						{"last-page", report(Query{Sort: "last", Page: maxPage})}, {"one-client", report(Query{Client: "origin https://wallet-7.example"})}, {"window", report(chosen)},
						{"csv", func() {
							if err := r.WriteCSV(b.Context(), Query{}, io.Discard); err != nil {
								b.Fatal(err)
							}
						}},
						{"what-if", func() { r.simulate(b, p) }}, {"gate", func() { r.Evidence("v1", 35) }}, {"gate-again", func() { r.Evidence("v1", 35) }},
						{"idle-write", func() { r.flush(b) }},
						{"midnight", func() { r.clock.pass(24 * time.Hour); r.flush(b); r.clock.pass(-24 * time.Hour) }},
					} {
						begun := time.Now()
						most := grown(step.do)
						b.Logf("%s: %s, %d MiB", step.name, time.Since(begun).Round(time.Millisecond), most>>20)
						b.ReportMetric(float64(time.Since(begun).Milliseconds()), step.name+"-ms")
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
