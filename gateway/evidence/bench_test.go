package evidence_test

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

func databases(b *testing.B) map[string]func() evidence.Config {
	return map[string]func() evidence.Config{
		"sqlite":   func() evidence.Config { return evidence.Config{DB: filepath.Join(b.TempDir(), "usage.db")} },
		"postgres": func() evidence.Config { return evidence.Config{DB: postgres.Shared(b).Fresh(b)} },
	}
}

// lived is a database of clients that called on every one of 90 days.
func lived(b *testing.B, cfg evidence.Config, clients int) *recorded.Rig {
	r := recorded.Begin(b, cfg, clock.At(recorded.Noon))
	today := recorded.Noon.Unix() / 86_400
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
			today-evidence.ReportDays, today),
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
	r.Age(b, evidence.ReportDays)
	if cfg.Postgres() { // as PostgreSQL does by itself
		r.Exec(b, "analyze")
	}
	return r
}

// BenchmarkPages measures what pages ask. Set USAGE_BENCH to the numbers of clients.
func BenchmarkPages(b *testing.B) {
	for _, clients := range strings.Fields(os.Getenv("USAGE_BENCH") + " 1000") {
		n := 0
		if _, err := fmt.Sscan(clients, &n); err != nil {
			b.Fatal(err)
		}
		for kind, cfg := range databases(b) {
			b.Run(kind+"/"+clients, func(b *testing.B) {
				r := lived(b, cfg(), n)
				for _, question := range questions(b, r) {
					b.Run(question.name, func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							if err := question.ask(); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			})
		}
	}
}

// question is what a page, a gate or the writer asks.
type question struct {
	name string
	ask  func() error
}

func questions(b *testing.B, r *recorded.Rig) []question {
	window := recorded.Noon.Truncate(time.Hour).Add(7 * 24 * time.Hour)
	p := plan(b, window, window.Add(2*time.Hour), 0.5, `"origin:https://wallet-1.example"`)
	chosen, err := evidence.ParseQuery(url.Values{
		"version": {"v1"}, "moved": {"no"}, "window": {window.Format(time.RFC3339)},
	}, recorded.Versions, p)
	if err != nil {
		b.Fatal(err)
	}
	read := func(q evidence.Query) func() error {
		return func() error {
			_, err := r.Read.Report(b.Context(), q)
			return err
		}
	}
	afresh := func(ask func() error) func() error {
		return func() error {
			r.Read.Forget()
			return ask()
		}
	}
	overview := read(evidence.Query{Old: "yes", Per: 30})
	gate := func() error {
		_, err := r.Read.Evidence("v1", lifecycle.Gate{Days: 35}, window)
		return err
	}
	return []question{
		{"first-overview", afresh(overview)}, // of a process, and of a day
		{"overview", overview},
		{"last-page", read(evidence.Query{Sort: "last", Page: 1_000_000})},
		{"search", read(evidence.Query{Old: "yes", Search: "wallet-77"})},
		{"one-client", read(evidence.Query{Client: "origin https://wallet-7.example"})},
		{"window", read(chosen)},
		{"csv", func() error { return r.Read.WriteCSV(b.Context(), evidence.Query{}, io.Discard) }},
		{"simulate", func() error {
			report, err := r.Read.Report(b.Context(), evidence.Query{Per: 1})
			report.Simulate(p, nil)
			return err
		}},
		{"first-gate", afresh(gate)},
		{"gate", gate},
		{"idle-write", func() error {
			r.Flush(b)
			return nil
		}},
	}
}
