package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// A reader needs the tables of this release, and writes nothing.
func TestOpenForReading(t *testing.T) {
	if _, err := store.OpenForReading(t.Context(), store.Config{}); !errors.Is(err, store.ErrNothingRecorded) {
		t.Errorf("got %v without a database", err)
	}
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		if db, err := store.OpenForReading(t.Context(), cfg); err == nil {
			t.Error("got no error for a database that no service has written to", db.Close())
		}
		fillEarlier(t, cfg)
		_, err := store.OpenForReading(t.Context(), cfg)
		contains(t, "earlier", err.Error(), "USAGE_DB: no service of this release has written to the database yet")
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Flush(t)
		db, err := store.OpenForReading(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, q := range []*store.Session{db.Ask(t.Context()), db.AskPages(t.Context())} {
			var n int
			q.Get("select count(*) from quotegate_instances", nil, &n)
			if n != 1 || q.Err != nil {
				t.Errorf("got %d instances, %v", n, q.Err)
			}
			if q.Exec("delete from quotegate_instances"); q.Err == nil {
				t.Error("a reader can delete")
			}
		}
		r.Exec(t, "update quotegate_meta set value = '2' where name = 'schema'")
		if _, err := store.OpenForReading(t.Context(), cfg); !errors.Is(err, store.ErrUnknownSchema) {
			t.Errorf("got %v of a later release", err)
		}
	})
}

// Instances that start at once make the tables together. They take the secret and the
// releases of an earlier release, and leave its tables as they are, and out of the size.
func TestPrepare(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		fillEarlier(t, cfg)
		var log journal.Journal
		var all sync.WaitGroup
		for range 4 {
			db := open(t, cfg)
			all.Go(func() {
				logger := slog.New(slog.NewTextHandler(&log, nil))
				if err := db.Transact(t.Context(), func(tx *store.Session) { tx.Prepare(recorded.Noon, logger) }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if log.Count("making the tables") != 1 || log.Count(store.Earlier) != 1 {
			t.Errorf("got log %s, want to be told once", log.String())
		}
		q := open(t, cfg).Ask(t.Context())
		var secrets, released, left int
		facts := q.Facts()
		q.Get("select count(*) from usage_meta natural join quotegate_meta where name = 'secret'", nil, &secrets)
		q.Get(`select released from quotegate_releases
			where version = 'v1' and sunset = 1804681930 and entry = ''`, nil, &released)
		q.Get("select count(*) from usage_names", nil, &left)
		if q.Err != nil || secrets != 1 || released != 1804775530 || left != 4 || !facts.Since.Equal(recorded.Noon) {
			t.Errorf("got %d secrets, a release at %d, %d names, since %s, %v", secrets, released, left, facts.Since, q.Err)
		}
		if size := q.Size(); q.Err != nil || size > 128<<10 {
			t.Errorf("got a size of %d, %v, want that of the new tables", size, q.Err)
		}
	})
}

// SQLite takes no row of the wrong type, as PostgreSQL does not.
func TestTablesAreStrict(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		for _, statement := range []string{
			"insert into quotegate_releases values ('v1', 'tomorrow', '', 1)",
			"insert into quotegate_gaps values ('X', 1, 'late', '')",
			"insert into quotegate_clients values ('one', 'n', 'k', '', 0, 0)",
			"insert into quotegate_totals values (null, 'v1', 'served', 1, 0)",
			"update quotegate_instances set written = 'now'",
		} {
			q := r.Store.Ask(t.Context())
			if q.Exec(statement); q.Err == nil {
				t.Errorf("%s: it was taken", statement)
			}
		}
	})
}

// Rows and lists that are longer than one round trip, and ids of all 64 bits, come back as
// they are. After the first error, nothing runs.
func TestRowsAndLists(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		db := open(t, cfg)
		const many = 10_000
		const name = `n'a"<\m&é`
		ids := []int64{math.MinInt64, -1, 0, math.MaxInt64}
		for i := range int64(many) {
			ids = append(ids, i+7)
		}
		var rows [][]any
		for _, id := range ids {
			rows = append(rows, []any{id, name, 0.125})
		}
		const add = `insert into t (id, name, place) ROWS
			on conflict (id) do update set place = greatest(t.place, excluded.place + 1)`
		err := db.Transact(t.Context(), func(tx *store.Session) {
			tx.Exec("create table t (id bigint primary key, name text not null, place double precision not null) strict")
			tx.Insert(add, rows)
			tx.Insert(add, rows[:5000])
			tx.Insert(add, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		var id int64
		var read string
		sums := map[float64]int{}
		var place float64
		q := db.Ask(t.Context())
		q.EachAmong("select id, name, place from t where id in IDS and name = $1", append(ids, 5), []any{name},
			[]any{&id, &read, &place}, func() {
				got = append(got, id)
				sums[place]++
				if read != name {
					t.Errorf("got %q", read)
				}
			})
		slices.Sort(got)
		slices.Sort(ids)
		if q.Err != nil || !slices.Equal(got, ids) || sums[1.125] != 5000 || sums[0.125] != many+4-5000 {
			t.Errorf("got %d of %d rows, %v, %v", len(got), len(ids), sums, q.Err)
		}
		q.EachAmong("select id from t where id in IDS", nil, nil, []any{&id}, func() { t.Errorf("got %d of no list", id) })
		var left int64
		q.Insert("insert into missing (a) ROWS", [][]any{{"a"}})
		first := q.Err
		q.Exec("delete from t")
		q.Each("select id from t", nil, []any{&id}, func() { t.Error("a query after an error") })
		if first == nil || q.Err != first {
			t.Errorf("got %v after %v, want the first error", q.Err, first)
		}
		q = db.Ask(t.Context())
		if q.Get("select count(*) from t", nil, &left); left != many+4 || q.Err != nil {
			t.Errorf("got %d rows, %v", left, q.Err)
		}
	})
}

// The number of a client depends on its name and the secret, and on nothing else.
func TestKeys(t *testing.T) {
	key := store.KeyFrom("secret")
	if got := key.ID("origin https://a.example"); got != 4740859902181208383 {
		t.Errorf("got %d: clients of databases that exist would have other numbers", got)
	}
	other := store.KeyFrom("other")
	if id := key.ID("a"); id == other.ID("a") || id == int64(key.Network(netip.MustParsePrefix("203.0.113.0/24"))) || id == key.ID("b") {
		t.Error("two hashes are the same")
	}
}

// A transaction that PostgreSQL ends in favour of another one runs again. It does not run
// again for any other reason, nor for ever.
func TestTransactionsRunAgain(t *testing.T) {
	db := open(t, store.Config{DB: postgres.Shared(t).Fresh(t)})
	for _, test := range []struct {
		code         string
		fails, tries int
		ok           bool
	}{{"40P01", 3, 4, true}, {"40001", 1, 2, true}, {"23505", 1, 1, false}, {"40001", 100, store.MaxTries, false}} {
		tries := 0
		err := db.Transact(t.Context(), func(tx *store.Session) {
			tries++
			if tries <= test.fails {
				tx.Exec("do $$ begin raise exception using errcode = '" + test.code + "'; end $$")
			}
		})
		if tries != test.tries || (err == nil) != test.ok {
			t.Errorf("%s: got %v after %d tries, want %d", test.code, err, tries, test.tries)
		}
	}
}

// slip is a connector that panics, as one whose server says what the library cannot
// read would.
type slip struct{ driver.Connector }

func (slip) Connect(context.Context) (driver.Conn, error) { panic("a slip") }
func (slip) Driver() driver.Driver                        { return nil }

func TestPanicWhileConnecting(t *testing.T) {
	db := store.Guarded(slip{})
	defer db.Close()
	before := safego.Panics()
	if err := db.PingContext(t.Context()); err == nil || safego.Panics() != before+1 {
		t.Errorf("got %v and %d panics", err, safego.Panics()-before)
	}
}

// PostgreSQL compiles no query of ours.
func TestQueriesAreNotCompiled(t *testing.T) {
	db := open(t, store.Config{DB: postgres.Shared(t).Fresh(t)})
	for _, session := range []*store.Session{db.Ask(t.Context()), db.AskPages(t.Context())} {
		var got string
		if session.Get("show jit", nil, &got); got != "off" || session.Err != nil {
			t.Errorf("got %q and %v", got, session.Err)
		}
	}
}

// Pages that read for long, on all connections that they have, keep neither the writer
// nor a gate waiting.
func TestPagesDelayNobody(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), func(_ *clock.Clock, _ *store.Store, o *usage.Options) {
			o.WriteTimeout = 5 * time.Second
		})
		read := func(row func()) {
			r.Store.AskPages(t.Context()).Each("select 1 from quotegate_instances", nil, []any{new(int)}, row)
		}
		read(func() {
			read(func() {
				r.Call("origin https://a.example", 1)
				r.Flush(t)
				r.Evidence(t, "v1", 1)
			})
		})
		if got := r.Rows(t, "quotegate_clients"); got != 1 {
			t.Errorf("got %d clients", got)
		}
	})
}
