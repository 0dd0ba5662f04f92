package usage

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
)

func BenchmarkObserve(b *testing.B) {
	r := begin(b, Config{}, &clock{t: noon})
	e := &event.Event{Time: noon, Version: "v1", Client: "origin https://wallet.example", Pair: pair, Finding: same}
	b.ReportAllocs()
	for b.Loop() {
		r.Observe(e)
	}
}

func BenchmarkObserveInParallel(b *testing.B) {
	r := begin(b, Config{}, &clock{t: noon})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		e := &event.Event{Time: noon, Version: "v1", Client: "origin https://" + b.Name() + ".example", Pair: pair}
		for p.Next() {
			r.Observe(e)
		}
	})
}

// lived is a database of 10,000 clients that called on about 27 of the last 90
// days, as the service leaves it: hours of the last two weeks, days before.
func lived(b *testing.B) *rig {
	r := begin(b, Config{DB: filepath.Join(b.TempDir(), "usage.db")}, &clock{t: noon})
	names := make([][]any, 10_000)
	for c := range names {
		name := fmt.Sprintf("origin https://wallet-%d.example", c)
		names[c] = []any{clientID(name), name, "mozilla", c, noon.Unix() - 90*day}
	}
	err := r.db.transact(b.Context(), func(tx *transaction) {
		tx.insert("usage_names (id, name, software, network, first_seen)", names, "")
		for _, statement := range []string{
			`insert into usage_calls with recursive day(d) as (select 0 union all select d + 1 from day where d < 89)
				select case when d < 14 then $1 - d * 86400 - network % 24 * 3600 else ($1 - d * 86400) / 86400 * 86400 end,
				'v1', id, 'served', case network % 10 when 0 then 'refused' else 'same' end, '', '', 1, 1 + network % 7
				from day, usage_names where (network * 7 + d * 13) % 10 < 3`,
			`insert into usage_totals select began, version, outcome, sum(calls) from usage_calls where began <= $1 group by began, version, outcome`,
			`insert into usage_clients select version, client, outcome, min(began), $1, 0.5, 0 from usage_calls group by version, client, outcome`,
		} {
			tx.exec(statement, noon.Truncate(time.Hour).Unix())
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	return r
}

// The first report reads 90 days.
func BenchmarkReport(b *testing.B) {
	r := lived(b)
	for b.Loop() {
		r.forgetPast(true)
		if got := r.report(b); got.Matching != 10_000 {
			b.Fatalf("got %d clients", got.Matching)
		}
	}
}

// A report soon after another reads only today.
func BenchmarkReportAgain(b *testing.B) {
	r := lived(b)
	r.report(b)
	b.ResetTimer()
	for b.Loop() {
		r.report(b)
	}
}

// What is read every few seconds.
func BenchmarkRefresh(b *testing.B) {
	r := lived(b)
	for b.Loop() {
		if _, err := r.readStats(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSize records 10 million calls of 100,000 clients in a month: each calls
// ten times within an hour, on ten days.
func BenchmarkSize(b *testing.B) {
	const clients, days = 100_000, 30
	for b.Loop() {
		b.StopTimer()
		file := filepath.Join(b.TempDir(), "usage.db")
		at := &clock{t: noon.Truncate(24 * time.Hour)}
		r := begin(b, Config{DB: file}, at)
		events := make([]event.Event, clients)
		for i := range events {
			c := caller.Caller{Agent: "okhttp", Addr: netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})}
			if i%2 == 0 {
				c.Origin = fmt.Sprintf("https://wallet-%d.example", i)
			}
			events[i] = event.Event{Version: "v1", Caller: c, Client: r.Name(c.Identity()), Pair: pair, Finding: same}
		}
		r.writing.Lock() // the recorder's own writes would get in the way
		b.StartTimer()
		for h := range days * 24 {
			for i := range events {
				if (i*31+h/24*7)%days >= 10 || (i*17+h/24)%24 != h%24 {
					continue
				}
				events[i].Time = at.now()
				for range 10 {
					r.Observe(&events[i])
				}
			}
			r.batch = batch{number: r.batch.number + 1} // written without what a flush reads back
			r.batch.rows, r.batch.lost = r.buffer.take(at.now().Unix())
			if err := r.db.transact(b.Context(), r.insertBatch); err != nil {
				b.Fatal(err)
			}
			at.pass(time.Hour)
		}
		r.writing.Unlock()
		r.flush(b) // folds what is older than two weeks
		b.StopTimer()
		var calls, names int64
		if err := r.db.QueryRow("select (select sum(calls) from usage_calls), (select count(*) from usage_names)").Scan(&calls, &names); err != nil {
			b.Fatal(err)
		}
		r.close()
		info, err := os.Stat(file)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/1e6, "MB")
		b.ReportMetric(float64(calls)/1e6, "Mcalls")
		b.ReportMetric(float64(names), "clients")
		b.StartTimer()
	}
}
