package evidence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// use has a service write to a database, as of a time, and end.
func use(t *testing.T, cfg evidence.Config, at time.Time) {
	t.Helper()
	r := recorded.Begin(t, cfg, clock.At(at))
	r.Call("origin https://a.example", 3)
	r.Close()
}

// execute runs statements on a database.
func execute(t *testing.T, cfg evidence.Config, statements string) {
	t.Helper()
	driver, address := "pgx", cfg.DB
	if !cfg.Postgres() {
		driver, address = "sqlite", "file:"+url.PathEscape(cfg.DB)+"?_journal_mode=WAL"
	}
	db, err := sql.Open(driver, address)
	if err == nil {
		_, err = db.Exec(statements)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fill fills a database with what a file has for its kind.
func fill(t *testing.T, cfg evidence.Config, file string) {
	t.Helper()
	kind := ".sqlite.sql"
	if cfg.Postgres() {
		kind = ".postgres.sql"
	}
	text, err := os.ReadFile(file + kind)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, cfg, string(text))
}

// open opens a database for a test.
func open(t *testing.T, cfg evidence.Config) *evidence.DB {
	t.Helper()
	db, err := evidence.Open(cfg, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Both files have the same statements, but for what only one of the databases needs.
func TestStatements(t *testing.T) {
	of := func(file string) (names []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^-- name: (.+)$`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	sqlite, postgres := of("sqlite.sql"), of("postgres.sql")
	alone := []string{"copy", "lock alone", "lock counting", "now", "rights"}
	without := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(alone, name) })
	}
	if !slices.Equal(without(sqlite), without(postgres)) || len(sqlite) < 35 {
		t.Errorf("got %q and %q", sqlite, postgres)
	}
}

// A reader needs the tables of this release, and writes nothing.
func TestOpenForReading(t *testing.T) {
	noonIs := func() time.Time { return recorded.Noon }
	read := func(cfg evidence.Config) (*evidence.DB, error) {
		return evidence.OpenForReading(t.Context(), cfg, evidence.Options{
			Versions: recorded.Versions, Now: noonIs, Clock: noonIs,
		})
	}
	if _, err := read(evidence.Config{}); !errors.Is(err, evidence.ErrNothingRecorded) {
		t.Errorf("got %v without a database", err)
	}
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		execute(t, cfg, "create table other (a integer)")
		_, err := read(cfg)
		contains(t, "another's", fmt.Sprint(err), "USAGE_DB: no service of this release has written to the database yet")
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Call("origin https://a.example", 1)
		r.Flush(t)
		db, err := read(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if report, err := db.Report(t.Context(), evidence.Query{}); err != nil || len(report.Clients) != 1 {
			t.Errorf("got %+v, %v", report.Clients, err)
		}
		if err := db.Release("v1", recorded.Noon.Add(-time.Hour), "entry"); err == nil {
			t.Error("a reader can write")
		}
		r.Exec(t, "update quotegate_meta set value = '2' where name = 'schema'")
		if _, err := read(cfg); !errors.Is(err, evidence.ErrUnknownSchema) {
			t.Errorf("got %v of a later release", err)
		}
	})
}

// The path of a file may be relative to where the service was started.
func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := evidence.Config{DB: "usage ?.db"}
	use(t, cfg, recorded.Noon)
	if _, err := os.Stat("usage ?.db"); err != nil {
		t.Error(err)
	}
	will, err := evidence.Check(t.Context(), cfg)
	contains(t, "check", check(will, err), "the service will go on counting")
}

// Instances that start at once make the tables together.
func TestInstancesMakeTheTables(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		var all sync.WaitGroup
		var rigs [4]*recorded.Rig
		for i := range rigs {
			all.Go(func() { rigs[i] = recorded.Begin(t, cfg, clock.At(recorded.Noon)) })
		}
		all.Wait()
		told := 0
		for _, r := range rigs {
			told += r.Log.Count("making the tables")
		}
		who := recorded.Agent("203.0.113.7")
		if told != 1 || rigs[0].Name(who) != rigs[3].Name(who) {
			t.Errorf("told %d times, want once and one secret", told)
		}
	})
}

// SQLite takes no row of the wrong type, as PostgreSQL does not.
func TestTablesAreStrict(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		for _, statement := range []string{
			"insert into quotegate_releases values ('v1', 'tomorrow', '', 1)",
			"insert into quotegate_gaps values ('X', 1, 'late', '')",
			"insert into quotegate_clients values ('one', 'n', 'k', '', 0, 0)",
			"insert into quotegate_totals values (null, 'v1', 'served', 1, 0)",
			"update quotegate_instances set written = 'now'",
		} {
			if _, err := r.DB.Exec(statement); err == nil {
				t.Errorf("%s: it was taken", statement)
			}
		}
	})
}

// Batches and lists that are longer than one round trip are written and found whole.
func TestManyClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		const many = 10_000
		name := func(i int) string { return fmt.Sprintf("origin n'a\"<\\m&é %d", i) }
		for range 2 {
			for i := range many {
				r.Call(name(i), 1)
			}
			r.Flush(t)
		}
		expect(t, "days", ask(t, r, "select count(*), cast(sum(served) as bigint) from quotegate_days"),
			fmt.Sprint(many, 2*many))
		report := r.Report(t)
		if report.Matching != many || !strings.HasPrefix(report.Clients[0].Client, `origin n'a"<\m&é `) {
			t.Errorf("got %d clients like %q", report.Matching, report.Clients[0].Client)
		}
	})
}

// The number of a client depends on its name and the secret, and on nothing else.
func TestKeys(t *testing.T) {
	key := usage.KeyFrom("secret")
	if got := key.ID("origin https://a.example"); got != 4740859902181208383 {
		t.Errorf("got %d: clients of databases that exist would have other numbers", got)
	}
	other := usage.KeyFrom("other")
	if id := key.ID("a"); id == other.ID("a") || id == int64(key.Network(netip.MustParsePrefix("203.0.113.0/24"))) || id == key.ID("b") {
		t.Error("two hashes are the same")
	}
}

// A transaction that PostgreSQL ends in favour of another one runs again. It does not run
// again for any other reason, nor for ever.
func TestTransactionsRunAgain(t *testing.T) {
	db := open(t, evidence.Config{DB: postgres.Shared(t).Fresh(t)})
	for _, test := range []struct {
		code         string
		fails, tries int
		ok           bool
	}{{"40P01", 3, 4, true}, {"40001", 1, 2, true}, {"23505", 1, 1, false}, {"40001", 100, evidence.MaxTries, false}} {
		tries := 0
		err := db.Transact(t.Context(), func() string {
			tries++
			if tries <= test.fails {
				return "do $$ begin raise exception using errcode = '" + test.code + "'; end $$"
			}
			return "select 1"
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
	db := evidence.Guarded(slip{})
	defer db.Close()
	before := safego.Panics()
	if err := db.PingContext(t.Context()); err == nil || safego.Panics() != before+1 {
		t.Errorf("got %v and %d panics", err, safego.Panics()-before)
	}
}

// PostgreSQL compiles no query of ours.
func TestQueriesAreNotCompiled(t *testing.T) {
	db := open(t, evidence.Config{DB: postgres.Shared(t).Fresh(t)})
	var got string
	if err := db.Writer().QueryRow("show jit").Scan(&got); got != "off" || err != nil {
		t.Errorf("got %q and %v", got, err)
	}
}

// Pages that read for long, on all connections that they have, keep neither the writer
// nor a gate waiting.
func TestPagesDelayNobody(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), with(func(o *usage.Options) { o.WriteTimeout = 5 * time.Second }))
		for range 2 { // that pages have
			rows, err := r.Read.Pages().Query("select 1 from quotegate_instances")
			if err != nil || !rows.Next() {
				t.Fatal(err)
			}
			defer rows.Close()
		}
		r.Call("origin https://a.example", 1)
		r.Flush(t)
		r.Evidence(t, "v1", 1)
		if got := r.Rows(t, "quotegate_clients"); got != 1 {
			t.Errorf("got %d clients", got)
		}
	})
}
