package usage

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
)

func BenchmarkObserve(b *testing.B) {
	r := begin(b, Config{}, &clock{t: noon})
	e := &gateway.Event{Time: noon, Version: "v1", Client: "origin https://wallet.example", Pair: pair, Finding: same}
	b.ReportAllocs()
	for b.Loop() {
		r.Observe(e)
	}
}

func BenchmarkObserveInParallel(b *testing.B) {
	r := begin(b, Config{}, &clock{t: noon})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		e := &gateway.Event{Time: noon, Version: "v1", Client: "origin https://" + b.Name() + ".example", Pair: pair}
		for p.Next() {
			r.Observe(e)
		}
	})
}

// lived is a database of 10,000 clients that each called once a day for 90 days.
func lived(b *testing.B) *rig {
	r := begin(b, Config{DB: filepath.Join(b.TempDir(), "usage.db")}, &clock{t: noon})
	for _, statement := range []string{
		`insert into usage_calls with recursive
			day(d) as (select 0 union all select d + 1 from day where d < 89),
			client(c) as (select 0 union all select c + 1 from client where c < 9999)
			select $1 - d * 86400 - c % 24 * 3600, 'v1', 'origin https://wallet-' || c || '.example', 'served', case c % 10 when 0 then 'refused' else 'same' end, '', '', 1 + c % 7
			from day, client`,
		`insert into usage_totals select began, version, outcome, sum(calls) from usage_calls where began <= $1 group by began, version, outcome`,
		`insert into usage_clients select version, client, outcome, min(began), $1 from usage_calls group by version, client, outcome`,
	} {
		if _, err := r.db.Exec(statement, noon.Truncate(time.Hour).Unix()); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	return r
}

func BenchmarkReport(b *testing.B) {
	r := lived(b)
	for b.Loop() {
		r.report(b)
	}
}

// What is read every few seconds.
func BenchmarkRefresh(b *testing.B) {
	r := lived(b)
	for b.Loop() {
		if err := r.refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
