package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// Every schema that was released is kept in testdata/schema with rows, as text, one
// file for each database. They were written by the release that had this schema.
// UPDATE_GOLDEN=1 writes those of the newest schema; those of earlier ones never
// change.
func keptSchema(number int, cfg store.Config) string {
	kind := "sqlite"
	if cfg.Postgres() {
		kind = "postgres"
	}
	return fmt.Sprintf("testdata/schema/%d.%s.sql", number, kind)
}

// killed is the reason of a gap.
const killed = "an instance ended without writing its last counts"

// inhabit has a recorder write rows into every table.
func inhabit(t *testing.T, cfg store.Config) {
	t.Helper()
	r := counted.Begin(t, cfg, recorded.At(recorded.Noon))
	r.Follow("0123456789ab", []string{"v1"})
	r.Call("client Acme", 3)
	r.Found("origin https://a.example", 2, event.Finding{Outcome: event.Refused, Code: "INVALID_AMOUNT", Param: "amount"})
	r.Refuse("origin https://b.example", 1, "VERSION_BROWNOUT")
	r.Call(r.Name(recorded.Agent("203.0.113.77")), 1)
	r.Flush(t)
	r.Up(t, 26*time.Hour)
	r.Call("client Acme", 1)
	r.On("v3", "client Acme")
	r.Flush(t)
	if err := r.Release("v1", recorded.Noon); err != nil {
		t.Fatal(err)
	}
	r.Exec(t, fmt.Sprintf("insert into usage_gaps (instance, began, ended, reason) values ('KILLED', %d, %d, '%s')",
		recorded.Noon.Unix()-60, recorded.Noon.Unix(), killed))
	r.Close()
}

// dump is all that is stored in a PostgreSQL, as text.
func dump(t *testing.T, address string, flags ...string) []byte {
	t.Helper()
	out, err := postgres.Shared(t).Command("pg_dump", append(flags, "--dbname", address)...).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return out
}

// dumpFile writes a SQLite database as statements.
func dumpFile(t *testing.T, file string) []byte {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(file)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func(query string) (answers []string) {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var answer string
			if err := rows.Scan(&answer); err != nil {
				t.Fatal(err)
			}
			answers = append(answers, answer)
		}
		return answers
	}
	var text bytes.Buffer
	for _, statement := range ask("select sql from sqlite_master where sql is not null order by rootpage") {
		fmt.Fprintf(&text, "%s;\n", statement)
	}
	for _, table := range ask("select name from sqlite_master where type = 'table' order by name") {
		columns := ask("select name from pragma_table_info('" + table + "')")
		values := "quote(" + strings.Join(columns, ") || ', ' || quote(") + ")"
		for _, row := range ask("select " + values + " from " + table) {
			fmt.Fprintf(&text, "insert into %s (%s) values (%s);\n", table, strings.Join(columns, ", "), row)
		}
	}
	return text.Bytes()
}

// statements leaves out what only psql understands, and settings of a session.
func statements(dump []byte) []byte {
	var text bytes.Buffer
	for line := range strings.Lines(string(dump)) {
		if line != "\n" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, `\`) &&
			!strings.HasPrefix(line, "SET ") &&
			!strings.HasPrefix(line, "SELECT pg_catalog.set_config") {
			text.WriteString(strings.ReplaceAll(line, "public.", ""))
		}
	}
	return text.Bytes()
}

func TestWriteKeptSchema(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Skip("nothing to write")
	}
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		inhabit(t, cfg)
		var text []byte
		if cfg.Postgres() {
			text = statements(dump(t, cfg.DB, "--inserts", "--no-owner", "--no-privileges"))
		} else {
			text = dumpFile(t, cfg.DB)
		}
		files, err := fs.ReadDir(store.Migrations, "schema")
		if err != nil {
			t.Fatal(err)
		}
		file := keptSchema(len(files), cfg)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	})
}

// load runs the statements of a file in an empty database.
func load(t *testing.T, cfg store.Config, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var db *sql.DB
	if cfg.Postgres() {
		db, err = sql.Open("pgx", cfg.DB)
	} else {
		db, err = sql.Open("sqlite", "file:"+url.PathEscape(cfg.DB)+"?_journal_mode=WAL")
	}
	if err == nil {
		_, err = db.Exec(string(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// columnsIn are those of the tables of a database as it is.
func columnsIn(t *testing.T, cfg store.Config) map[string]bool {
	t.Helper()
	db, err := store.OpenAsItIs(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := db.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A database of every release is migrated to the newest schema, with all its rows,
// and goes on from there. The schema files of a release have not changed since.
func TestEveryReleasedSchemaIsMigrated(t *testing.T) {
	newest := (&store.Store{Schema: store.Migrations}).Newest()
	for number := 1; number < newest; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
				load(t, cfg, keptSchema(number, cfg))
				asReleased, err := store.ColumnsOf(t.Context(), number)
				if wrong := store.Difference(columnsIn(t, cfg), asReleased); err != nil || wrong != "" {
					t.Errorf("schema/%d.sql is not what was released: %s, %v", number, wrong, err)
				}
				_, err = store.OpenForReading(t.Context(), cfg)
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has schema %d ", number)) {
					t.Errorf("got %v from a reader, want to be told to start the service", err)
				}
				if err := store.Check(t.Context(), cfg); err != nil && !strings.Contains(err.Error(), "clock") {
					t.Errorf("got %v from a check, want none: the service migrates it", err)
				}
				at := recorded.At(recorded.Noon.Add(27 * time.Hour))
				r := counted.Begin(t, cfg, at)
				want, err := store.ColumnsOf(t.Context(), newest)
				if wrong := store.Difference(columnsIn(t, cfg), want); err != nil || wrong != "" {
					t.Errorf("after the migration: %s, %v", wrong, err)
				}
				r.Call("client Acme", 1)
				if e := r.Evidence("v1", 2); e.Clients != 4 || e.Calls != 7 || !strings.Contains(e.Missing, killed) {
					t.Errorf("got %+v, want the four clients, the busiest day and the gap of before", e)
				}
				if got := r.Report(t).Clients[0]; got.Client != "client Acme" || got.Calls90 != 5 {
					t.Errorf("got %+v, want Acme's calls of before and one more", got)
				}
				if at, err := r.Released("v1", recorded.Noon); err != nil || at.IsZero() {
					t.Errorf("got a release at %s, %v, want the one of before", at, err)
				}
			})
		})
	}
}

// A database that this release does not know, older or newer, stops a start, fails a
// check and is refused by readers, in words that name both schemas. It stays as it is.
func TestUnknownSchema(t *testing.T) {
	newest := (&store.Store{Schema: store.Migrations}).Newest()
	later := fmt.Sprintf("the database has schema %d and this release knows schemas up to %d", newest+1, newest)
	other := fmt.Sprintf("this release knows schemas 1 to %d", newest)
	for name, test := range map[string]struct {
		make func(t *testing.T, cfg store.Config)
		want []string
	}{
		"before the first": {func(t *testing.T, cfg store.Config) { load(t, cfg, "testdata/schema/before-1.sql") },
			[]string{"says that it has schema 1", "it has no usage_clients.calls30", other, "name a new database"}},
		"a later one": {func(t *testing.T, cfg store.Config) {
			inhabit(t, cfg)
			r := counted.Begin(t, cfg, recorded.At(recorded.Noon.Add(27*time.Hour)))
			r.Exec(t, fmt.Sprintf("insert into usage_migrations (number) values (%d)", newest+1))
		}, []string{later, "run that release, or name another database"}},
		"a column too many": {func(t *testing.T, cfg store.Config) {
			counted.Begin(t, cfg, recorded.At(recorded.Noon)).Exec(t, "alter table usage_names add column colour text")
		}, []string{fmt.Sprintf("says that it has schema %d", newest), "it has a usage_names.colour", other}},
		"second before the first": {func(t *testing.T, cfg store.Config) { load(t, cfg, "testdata/schema/before-3.sql") },
			[]string{"the database has schema 3", fmt.Sprintf("up to %d", newest)}},
	} {
		t.Run(name, func(t *testing.T) {
			recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
				test.make(t, cfg)
				before := columnsIn(t, cfg)
				db, started := store.Open(cfg)
				if started == nil {
					_, started = usage.New(t.Context(), db, usage.Options{Options: evidence.Options{Versions: []string{"v3", "v1"}}})
				}
				_, read := store.OpenForReading(t.Context(), cfg)
				for what, err := range map[string]error{"start": started, "reader": read, "check": store.Check(t.Context(), cfg)} {
					for _, want := range test.want {
						if err == nil || !strings.Contains(err.Error(), want) {
							t.Errorf("%s: got %v, want %q", what, err, want)
						}
					}
				}
				if wrong := store.Difference(columnsIn(t, cfg), before); wrong != "" {
					t.Errorf("the database was changed: %s", wrong)
				}
			})
		})
	}
}
