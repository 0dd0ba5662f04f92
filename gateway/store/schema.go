package store

import (
	"crypto/rand"
	_ "embed" // the schema
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

//go:embed schema.sql
var schema string

// schemaNumber is that of the tables this release reads and writes.
const schemaNumber = 1

// ErrUnknownSchema is a database with tables that this release does not know.
var ErrUnknownSchema = errors.New("a later release has written to the database: " +
	"run that release, or name another database")

// Earlier says what becomes of the counts of releases before 1.0.
const Earlier = "the database has counts of an earlier release, in tables named usage_*: they stay as they are and " +
	"are not read. Counts begin anew, and a gate holds until it has seen its days. What gates have released stays " +
	"released. Drop those tables when nobody needs them"

// Facts are what a database says about itself.
type Facts struct {
	Since time.Time // when counting began
	Key   Key       // under which names and addresses are hashed
}

// Facts reads them. It is an error if the tables are not those of this release.
func (t *Session) Facts() (f Facts) {
	values := map[string]string{}
	var name, value string
	t.Each("select name, value from quotegate_meta", nil, []any{&name, &value}, func() { values[name] = value })
	if t.Err == nil && values["schema"] != strconv.Itoa(schemaNumber) {
		t.Err = ErrUnknownSchema
	}
	since, err := strconv.ParseInt(values["since"], 10, 64)
	if t.Err == nil && (err != nil || values["secret"] == "") {
		t.Err = errors.New("quotegate_meta has no secret, or no time since which calls are counted: " +
			"put back what was deleted, or name another database")
	}
	return Facts{time.Unix(since, 0).UTC(), KeyFrom(values["secret"])}
}

// hasTable reports whether there is such a table. In PostgreSQL, to_regclass would not see one
// that another instance has made since it was last asked in the same transaction.
func (t *Session) hasTable(name string) (has bool) {
	query := "select count(*) > 0 from sqlite_master where type = 'table' and name = $1"
	if t.db.Shared {
		query = "select count(*) > 0 from pg_tables where tablename = $1 and schemaname = any(current_schemas(false))"
	}
	t.Get(query, []any{name}, &has)
	return has
}

// Prepare makes the tables if there are none, at a time of the database's clock, and reads
// the facts. Instances that start at the same time wait for one another. It leaves tables of
// other releases as they are.
func (t *Session) Prepare(now time.Time, log *slog.Logger) Facts {
	made := t.hasTable("quotegate_meta")
	if !made {
		t.LockAlone()
		made = t.hasTable("quotegate_meta") // by another instance, in the meantime
	}
	if !made && t.Err == nil {
		t.makeTables(now, log)
	}
	return t.Facts()
}

func (t *Session) makeTables(now time.Time, log *slog.Logger) {
	log.Info("usage: making the tables of a new database")
	earlier := t.hasTable("usage_meta")
	facts := map[string]string{
		"schema": strconv.Itoa(schemaNumber), "since": strconv.FormatInt(now.Unix(), 10), "secret": rand.Text(),
		"earlier_bytes": strconv.FormatInt(t.usedBytes(), 10),
	}
	for statement := range strings.SplitSeq(strings.TrimSuffix(schema, ";\n"), ";\n") {
		t.Exec(statement)
	}
	if earlier {
		log.Warn("usage: " + Earlier)
		t.Exec("insert into quotegate_meta select name, value from usage_meta where name = 'secret'")
		t.Exec("insert into quotegate_releases select version, sunset, '', released from usage_releases")
	}
	for name, value := range facts {
		t.Exec("insert into quotegate_meta (name, value) values ($1, $2) on conflict do nothing", name, value)
	}
}

// usedBytes is how much of a SQLite file is in use.
func (t *Session) usedBytes() (bytes int64) {
	if !t.db.Shared {
		t.Get(`select (page_count - freelist_count) * page_size
			from pragma_page_count, pragma_freelist_count, pragma_page_size`, nil, &bytes)
	}
	return bytes
}

// Size is how many bytes the counts take. PostgreSQL keeps the room of deleted rows,
// so there it is estimated from the number of rows.
func (t *Session) Size() (bytes int64) {
	if t.db.Shared {
		t.Get(`select coalesce(sum(n_live_tup) * 300, 0)::bigint from pg_stat_user_tables
			where schemaname = current_schema() and relname like 'quotegate\_%'`, nil, &bytes)
		return bytes
	}
	var earlier int64
	t.Get("select cast(value as integer) from quotegate_meta where name = 'earlier_bytes'", nil, &earlier)
	return max(0, t.usedBytes()-earlier)
}

// LockCounting has a transaction write counts while nobody deletes clients. PostgreSQL
// keeps a lock until the transaction ends; SQLite has one writer at a time.
func (t *Session) LockCounting() { t.lock("select pg_advisory_xact_lock_shared(7106202)") }

// LockAlone has a transaction run while nobody writes counts. Without it, a name might be
// deleted that is being written to.
func (t *Session) LockAlone() { t.lock("select pg_advisory_xact_lock(7106202)") }

func (t *Session) lock(statement string) {
	if t.db.Shared {
		t.Exec(statement)
	}
}
