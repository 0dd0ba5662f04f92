package usage

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// load runs the statements of a file that the tests of the store keep.
func load(t *testing.T, c *postgres.Server, cfg store.Config, file string) {
	t.Helper()
	text, err := os.ReadFile("../store/testdata/schema/" + file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(cfg.DB, "postgres://postgres@/")
	name, _, _ = strings.Cut(name, "?")
	c.Exec(t, name, string(text))
}

// A server that was away at the start comes back with a schema that this release does
// not know: nothing is written, the service says that it is unfit, and goes on by
// itself once the right database is there.
func TestSchemaOfAServerThatComesLate(t *testing.T) {
	c := postgres.Shared(t)
	cfg := store.Config{DB: c.Fresh(t)}
	load(t, c, cfg, "before-1.sql")
	c.Crash()
	r := begin(t, cfg, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 3)
	if err := own(r).Unfit(); err != nil {
		t.Errorf("got %v while the server is away, want nothing about a schema", err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := r.Recorder.Flush(t.Context()); err == nil {
			t.Error("counts were written into tables that are not known")
		}
	}
	if err := own(r).Unfit(); err == nil || !strings.Contains(err.Error(), "USAGE_DB: the database says that it has schema 1, but") {
		t.Errorf("got %v, want the schema", err)
	}
	if got := r.Log.Count("has come back with a schema"); got != 1 {
		t.Errorf("got %d lines about it, want one:\n%s", got, r.Log)
	}
	if got := r.Evidence("v1", 1).Missing; !strings.Contains(got, "the counts cannot be read") {
		t.Errorf("got %q, want a gate to hold", got)
	}
	dropTables(t, r)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err := r.Recorder.Flush(t.Context()); err == nil {
			break // a busy machine may need more than one
		}
	}
	if got := r.Report(t).Versions[1].Day; got != (evidence.Count{Calls: 3, Clients: 1}) || own(r).Unfit() != nil {
		t.Errorf("got %+v and %v on an empty database, want the calls of meanwhile", got, own(r).Unfit())
	}
}

func dropTables(t *testing.T, r *recorded.Rig) {
	t.Helper()
	r.Exec(t, `do $$ declare one text; begin
		for one in select tablename from pg_tables where schemaname = current_schema() loop execute 'drop table ' || one; end loop;
	end $$`)
}

// A database that is emptied, or restored from before a migration, while services run
// on it is prepared again.
func TestDatabaseIsReplaced(t *testing.T) {
	c := postgres.Shared(t)
	cfg := store.Config{DB: c.Fresh(t)}
	r := begin(t, cfg, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 3)
	r.Flush(t)
	dropTables(t, r)
	r.Call("origin https://a.example", 2)
	if got := r.Report(t).Versions[1].Day; got != (evidence.Count{Calls: 2, Clients: 1}) {
		t.Errorf("got %+v after a new beginning, want 2 calls", got)
	}
	dropTables(t, r)
	load(t, c, cfg, "1.postgres.sql")
	r.Call("origin https://a.example", 1)
	if got := r.Report(t).Versions[1].Day.Calls; got != 7 {
		t.Errorf("got %d calls on a backup of an earlier release, want the 6 that it served that day, and one more", got)
	}
}

// While services run, a later release migrates their database. They go on writing if
// its schema says that they may. If not, they write nothing, and are unfit.
func TestMigratedBeneath(t *testing.T) {
	cfg := store.Config{DB: postgres.Shared(t).Fresh(t)}
	r := begin(t, cfg, recorded.At(recorded.Noon))
	newest := r.DB.Newest()
	r.Exec(t, fmt.Sprintf("insert into usage_migrations (number) values (%d)", newest+1))
	r.Call("origin https://a.example", 1)
	r.Flush(t)
	if err := own(r).Unfit(); err != nil {
		t.Errorf("got %v, want to go on", err)
	}
	r.Exec(t, fmt.Sprintf("update usage_meta set value = '%d' where name = 'writers'", newest+1))
	r.Call("origin https://a.example", 1)
	if err := r.Recorder.Flush(t.Context()); err == nil || own(r).Unfit() == nil {
		t.Errorf("got %v, and %v, want that nothing is written", err, own(r).Unfit())
	}
	r.Exec(t, fmt.Sprintf("delete from usage_migrations where number = %d", newest+1))
	if got := r.Report(t).Versions[1].Day.Calls; got != 2 || own(r).Unfit() != nil {
		t.Errorf("got %d calls and %v, want those that waited", got, own(r).Unfit())
	}
}
