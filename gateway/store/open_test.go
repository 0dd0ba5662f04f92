package store_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// A reader reads what a running service has written.
func TestOpen(t *testing.T) {
	test := func(t *testing.T, cfg store.Config) {
		if _, err := store.OpenForReading(t.Context(), cfg); err == nil {
			t.Error("got no error for a database that no service has written to")
		}
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon))
		r.Call("origin https://a.example", 3)
		r.Flush(t)
		read := readOnly(t, cfg, r.Clock.Now)
		if len(read.Clients) != 1 || read.Versions[1].Day.Calls != 3 {
			t.Errorf("got %+v", read)
		}
	}
	recorded.OnDisk(t, test)
	if _, err := store.OpenForReading(t.Context(), store.Config{}); err != store.ErrNothingRecorded {
		t.Errorf("got %v without a database", err)
	}
}

// What report and check open is read-only, and works where nothing can be written.
func TestReadersWriteNothing(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(time.Now()))
		r.Call("origin https://a.example", 3)
		r.Flush(t)
		db, err := store.OpenForReading(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "delete from usage_names"); err == nil {
			t.Error("a reader can delete")
		}
		if read := readOnly(t, cfg, time.Now); len(read.Clients) != 1 {
			t.Errorf("got %+v", read)
		}
	})
}

// readOnly is a report that is read from a database while a service writes to it.
func readOnly(t *testing.T, cfg store.Config, now func() time.Time) report.Report {
	t.Helper()
	db, err := store.OpenForReading(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Clock = now
	o := evidence.Options{Versions: []string{"v3", "v1"}, Current: "v3", Now: now}
	read, err := report.New(evidence.New(db, o, evidence.Writer{})).Report(t.Context(), report.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// A transaction that PostgreSQL ends in favour of another one runs again, and nobody
// is told. It does not run again for any other reason, nor for ever.
func TestTransactionsRunAgain(t *testing.T) {
	r := counted.Begin(t, store.Config{DB: postgres.Shared(t).Fresh(t)}, recorded.At(recorded.Noon))
	raise := func(code string, times int) (tries int, err error) {
		err = r.DB.Transact(t.Context(), func(tx *store.Session) {
			tries++
			tx.Exec("insert into usage_gaps (instance, began, ended, reason) values ('X', 1, 1, '" + code + "')")
			if tries <= times {
				tx.Exec("do $$ begin raise exception using errcode = '" + code + "'; end $$")
			}
		})
		return tries, err
	}
	for _, test := range []struct {
		code         string
		fails, tries int
		ok           bool
	}{{"40P01", 3, 4, true}, {"40001", 1, 2, true}, {"23505", 1, 1, false}, {"40001", 100, store.MaxTries, false}} {
		tries, err := raise(test.code, test.fails)
		if tries != test.tries || (err == nil) != test.ok {
			t.Errorf("%s: got %v after %d tries, want %d", test.code, err, tries, test.tries)
		}
	}
	if got := r.Rows(t, "usage_gaps"); got != 2 {
		t.Errorf("got %d rows, want one of each transaction that succeeded", got)
	}
	// A deadlock as it is: each has what the other wants.
	met := make(chan struct{}, 2)
	first := func() {
		met <- struct{}{}
		for len(met) < 2 {
			time.Sleep(time.Millisecond)
		}
	}
	var wg sync.WaitGroup
	for _, names := range [][2]string{{"since", "secret"}, {"secret", "since"}} {
		wg.Go(func() {
			begun := sync.OnceFunc(first)
			err := r.DB.Transact(t.Context(), func(tx *store.Session) {
				tx.Exec("update usage_meta set value = value where name = $1", names[0])
				begun()
				tx.Exec("update usage_meta set value = value where name = $1", names[1])
			})
			if err != nil {
				t.Errorf("got %v, want both to succeed", err)
			}
		})
	}
	wg.Wait()
	if strings.Contains(r.Log.String(), "level=ERROR") {
		t.Errorf("got log %s, want no error", r.Log)
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
	db.SetMaxOpenConns(1)
	before := guard.Total()
	if err := db.PingContext(t.Context()); err == nil || guard.Total() != before+1 {
		t.Errorf("got %v and %d panics", err, guard.Total()-before)
	}
}

// PostgreSQL compiles no query of ours, unless the address says so.
func TestQueriesAreNotCompiled(t *testing.T) {
	address := postgres.Shared(t).Fresh(t)
	for query, want := range map[string]string{"": "off", "&jit=on": "on"} {
		db, err := store.Open(store.Config{DB: address + query})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for name, session := range map[string]*store.Session{
			"writer": db.Ask(t.Context()), "pages": db.AskPages(t.Context()),
		} {
			var got string
			session.Get("show jit", nil, &got)
			if got != want || session.Err != nil {
				t.Errorf("%s of %q: got %q and %v, want %q", name, query, got, session.Err, want)
			}
		}
	}
}
