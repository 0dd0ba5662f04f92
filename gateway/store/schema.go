package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// The schema is in files with numbers, each of which changes what the one before has
// made. A file that was released is never changed: testdata/schema has a database of
// each release, and every test migrates them all.
//
//go:embed schema/*.sql
var schema embed.FS

// unknownSchema is a database with other tables than this release knows. Waiting does
// not help: either the release or the database must be another one.
type unknownSchema struct {
	found int // as the database says
	known int // the newest that this release knows
	wrong string
}

func (e *unknownSchema) Error() string {
	if e.found > e.known {
		return fmt.Sprintf("the database has schema %d and this release knows schemas up to %d, "+
			"so a later release has written to it: run that release, or name another database", e.found, e.known)
	}
	return fmt.Sprintf("the database says that it has schema %d, but %s, and this release knows schemas 1 to %d: "+
		"a release from before the first has written to it, or its tables were changed; "+
		"name a new database, and keep this one as long as its counts are wanted", e.found, e.wrong, e.known)
}

// HasUnknownSchema reports whether err is that of a database with such tables.
func HasUnknownSchema(err error) bool {
	_, unknown := errors.AsType[*unknownSchema](err)
	return unknown
}

// Newest is the number of the newest schema.
func (s *Store) Newest() int {
	files, _ := fs.ReadDir(s.Schema, "schema") // embedded
	return len(files)
}

// number is that of the schema of a database; 0 for one without our tables.
func (t *Session) number() (number int) {
	if t.columns()["usage_migrations.number"] {
		t.Get("select coalesce(max(number), 0) from usage_migrations", nil, &number)
	}
	return number
}

// columns are those of our tables, as table.column.
func (t *Session) columns() map[string]bool {
	query := `select m.name || '.' || c.name from sqlite_master as m join pragma_table_info(m.name) as c
		where m.type = 'table' and m.name like 'usage\_%' escape '\'`
	if t.db.Shared {
		query = `select c.relname || '.' || a.attname from pg_class as c join pg_attribute as a on a.attrelid = c.oid
			where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
			and c.relname like 'usage\_%' and a.attnum > 0 and not a.attisdropped`
	}
	all := map[string]bool{}
	var one string
	t.Each(query, nil, []any{&one}, func() { all[one] = true })
	return all
}

// Recognise returns the number of a database's schema, or an error if that is none of
// this release.
func (t *Session) Recognise() (number int) {
	number = t.number()
	if t.Err != nil || number == 0 {
		return number
	}
	known := t.db.Newest()
	if number > known {
		t.Err = &unknownSchema{found: number, known: known}
		return number
	}
	want, err := t.db.columnsOf(t.ctx, number)
	if err != nil {
		t.Err = err
		return number
	}
	if wrong := difference(t.columns(), want); wrong != "" && t.Err == nil {
		t.Err = &unknownSchema{found: number, known: known, wrong: wrong}
	}
	return number
}

// columnsOf are the columns that a schema has, found by making its tables in memory.
func (s *Store) columnsOf(ctx context.Context, number int) (map[string]bool, error) {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	model := &Store{DB: db, pages: db, Schema: s.Schema}
	t := model.Ask(ctx)
	t.Exec(migrations)
	for n := 1; n <= number && t.Err == nil; n++ {
		text, err := fs.ReadFile(s.Schema, fmt.Sprintf("schema/%d.sql", n))
		if err != nil {
			return nil, err
		}
		t.Exec(string(text))
	}
	return t.columns(), t.Err
}

// difference says in what the columns of our tables differ from what they should be.
// It is empty if they do not. Other tables are not ours.
func difference(got, want map[string]bool) string {
	ours := map[string]bool{}
	for column := range want {
		table, _, _ := strings.Cut(column, ".")
		ours[table] = true
	}
	for _, column := range slices.Sorted(maps.Keys(want)) {
		if !got[column] {
			return "it has no " + column
		}
	}
	for _, column := range slices.Sorted(maps.Keys(got)) {
		if table, _, _ := strings.Cut(column, "."); ours[table] && !want[column] {
			return "it has a " + column
		}
	}
	return ""
}

const migrations = "create table if not exists usage_migrations (number bigint primary key)"

// Migrate brings the schema up to date, one file after the other, each whole or not
// at all. It takes as long as it takes, and says how far it is. Instances that start
// at the same time wait for one another. It leaves a database that it does not know
// as it is.
func (s *Store) Migrate(ctx context.Context, log *slog.Logger) error {
	connection, err := s.Conn(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	q := &Session{ctx: ctx, on: connection, db: s}
	if s.Shared {
		const lock = 7106201
		q.Exec("select pg_advisory_lock($1)", lock)
		if q.Err != nil {
			return q.Err
		}
		defer func() {
			// A broken connection has no lock.
			_, _ = connection.ExecContext(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", lock)
		}()
	}
	number := q.Recognise()
	if number == 0 {
		q.Exec(migrations)
		log.Info("usage: making a new database", "schema", s.Newest())
		log = slog.New(slog.DiscardHandler) // the steps are told where they have data to change
	}
	for next := number + 1; q.Err == nil && next <= s.Newest(); next++ {
		q.Err = s.migrateTo(ctx, connection, next, log)
	}
	return q.Err
}

// migrateTo makes one schema of the one before.
func (s *Store) migrateTo(ctx context.Context, connection *sql.Conn, next int, log *slog.Logger) error {
	text, err := fs.ReadFile(s.Schema, fmt.Sprintf("schema/%d.sql", next))
	if err != nil {
		return err
	}
	steps := strings.SplitAfter(strings.TrimSpace(string(text)), ";\n")
	began := time.Now()
	err = s.transactOn(ctx, connection, func(tx *Session) {
		if !s.Shared { // another process may have done it while this one waited
			done := 0
			tx.Get("select count(*) from usage_migrations where number = $1", []any{next}, &done)
			if done > 0 {
				return
			}
		}
		for i, step := range steps {
			if next > 1 {
				log.Info("usage: migrating the database", "migration", next, "step", i+1, "of", len(steps),
					"after", time.Since(began).Round(time.Second))
			}
			tx.Exec(step)
		}
		tx.Exec("insert into usage_migrations (number) values ($1)", next)
	})
	if err != nil {
		return fmt.Errorf("migration %d: %w", next, err)
	}
	return nil
}

// Unchanged finds out whether the database still has the schema that this release has
// prepared. It may have been restored, or a later release may have migrated it; then
// this one goes on writing only if the database says that it may.
func (s *Store) Unchanged(ctx context.Context) (same bool, err error) {
	q := s.Ask(ctx)
	known := s.Newest()
	var number, writers int
	q.Get(`select coalesce(max(number), 0), (select cast(coalesce(max(value), '0') as integer) from usage_meta
		where name = 'writers') from usage_migrations`, nil, &number, &writers)
	switch {
	case missingTable(q.Err):
		return false, nil
	case q.Err != nil:
		return false, q.Err
	case number > known && (writers == 0 || writers > known):
		return false, &unknownSchema{found: number, known: known}
	}
	return number >= known, nil
}
