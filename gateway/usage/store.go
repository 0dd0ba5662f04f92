package usage

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed schema/*.sql
var schema embed.FS

// store is the database. SQLite and PostgreSQL run the same statements. The
// fields say what is different.
type store struct {
	*sql.DB
	shared bool          // PostgreSQL: other instances may be running
	memory bool          // SQLite without a file
	keep   time.Duration // how long counts are kept
}

const (
	twoWeeks = 14 * 24 * time.Hour
	// A database in memory holds only what reports and gates need. memoryPages are
	// of 4 KiB.
	keepInMemory   = 91 * 24 * time.Hour
	keepInDatabase = 400 * 24 * time.Hour
	memoryPages    = 32768
)

// open prepares to use a database. It fails if a file cannot be used. It does not
// connect to a server.
func open(c Config) (*store, error) {
	if c.postgres() {
		db, err := sql.Open("pgx", c.DB)
		if err != nil {
			return nil, errors.New("USAGE_DB: is not a PostgreSQL URL") // err may repeat the password
		}
		db.SetMaxOpenConns(4)
		db.SetConnMaxIdleTime(time.Minute)
		return &store{DB: db, shared: true, keep: keepInDatabase}, nil
	}
	if c.DB == "" {
		db, err := sql.Open("sqlite", fmt.Sprintf("file::memory:?_pragma=max_page_count(%d)", memoryPages))
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1) // each connection would have a database of its own
		return &store{DB: db, memory: true, keep: keepInMemory}, nil
	}
	path, err := filepath.Abs(c.DB)
	if err == nil {
		err = checkFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: "_busy_timeout=5000&_journal_mode=WAL&_txlock=immediate"}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	db.SetMaxOpenConns(4)
	return &store{DB: db, keep: keepInDatabase}, nil
}

// checkFile creates the file if needed and makes it readable by its owner only.
// It refuses, and does not change, a file that is not a database.
func checkFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := checkHead(f); err != nil {
		return err
	}
	return f.Chmod(0o600)
}

// checkHead refuses a file that is neither empty nor a database.
func checkHead(f *os.File) error {
	head, err := io.ReadAll(io.LimitReader(f, 16))
	if err != nil {
		return err
	}
	if len(head) > 0 && !bytes.Equal(head, []byte("SQLite format 3\x00")) {
		return fmt.Errorf("%s is not a SQLite database, and is left as it is; name another file", f.Name())
	}
	return nil
}

// damaged reports whether err means that the file will never work. Otherwise the
// database is unavailable, full or busy, and may work later.
func damaged(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT
}

func full(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_FULL }

func sqliteCode(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code() & 0xff // without the extension
	}
	return sqlite3.SQLITE_OK
}

// transaction runs statements that take effect together or not at all. After the
// first error, no more statements run.
type transaction struct {
	ctx context.Context
	tx  *sql.Tx
	err error
}

func (s *store) transact(ctx context.Context, do func(*transaction)) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	t := &transaction{ctx: ctx, tx: tx}
	if do(t); t.err != nil {
		return t.err
	}
	return tx.Commit()
}

// exec returns how many rows were changed.
func (t *transaction) exec(statement string, args ...any) (changed int64) {
	if t.err != nil {
		return 0
	}
	result, err := t.tx.ExecContext(t.ctx, statement, args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	t.err = err
	return changed
}

// get reads the single value that a query returns.
func (t *transaction) get(value any, query string, args ...any) {
	if t.err == nil {
		t.err = t.tx.QueryRowContext(t.ctx, query, args...).Scan(value)
	}
}

// insert writes many rows with few statements. into is the table and its columns.
// conflict says what to do about rows that exist already.
func (t *transaction) insert(into string, rows [][]any, conflict string) {
	for chunk := range slices.Chunk(rows, 100) {
		var values []any
		var tuples []string
		for _, row := range chunk {
			var places []string
			for _, value := range row {
				values = append(values, value)
				places = append(places, "$"+strconv.Itoa(len(values)))
			}
			tuples = append(tuples, "("+strings.Join(places, ", ")+")")
		}
		t.exec("insert into "+into+" values "+strings.Join(tuples, ", ")+" "+conflict, values...)
	}
}

// migrate brings the schema up to date. Instances that start at the same time wait
// for one another: SQLite has one writer, and in PostgreSQL migrate takes a lock.
func (s *store) migrate(ctx context.Context) error {
	return s.transact(ctx, func(tx *transaction) {
		if s.shared {
			tx.exec("select pg_advisory_xact_lock(7106201)")
		}
		tx.exec("create table if not exists usage_migrations (number bigint primary key)")
		done := 0
		tx.get(&done, "select coalesce(max(number), 0) from usage_migrations")
		for number := done + 1; ; number++ {
			statements, err := schema.ReadFile(fmt.Sprintf("schema/%d.sql", number))
			if err != nil {
				return // that was the last
			}
			tx.exec(string(statements))
			if number == 2 {
				tx.nameClients()
			}
			tx.exec("insert into usage_migrations (number) values ($1)", number)
		}
	})
}

// queryAll reads all rows of a query.
func queryAll[T any](ctx context.Context, s *store, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	rows, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// nameClients gives numbers to the clients that earlier releases kept by name.
func (t *transaction) nameClients() {
	if t.err != nil {
		return
	}
	rows, err := t.tx.QueryContext(t.ctx, "select client, min(first_seen) from old_clients group by client")
	if t.err = err; err != nil {
		return
	}
	defer rows.Close()
	var names [][]any
	for rows.Next() {
		var name string
		var first int64
		if t.err = rows.Scan(&name, &first); t.err != nil {
			return
		}
		names = append(names, []any{clientID(name), name, "", 0, first})
	}
	t.err = rows.Err()
	t.insert("usage_names (id, name, software, network, first_seen)", names, "")
}
