// Package store is the database of what was counted: SQLite in memory or in a file, or
// a PostgreSQL that all instances share. It makes the tables and checks them. Package
// usage writes to them, and evidence reads them.
//
// What it promises:
//   - Both databases run the same statements, and give the same answers.
//   - A database with tables of a release that this one does not know is left alone.
//   - What a page reads never delays the writer or a gate.
//   - No error has a password, or another part of the address of a server.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/quotegate/quotegate/shared/safego"
)

// Store is the database. SQLite and PostgreSQL run the same statements, but for
// what dialect replaces. The writer and the gates have connections of their own, so
// that they never wait for what a page reads.
type Store struct {
	DB     *sql.DB          // the connections of the writer and of gates
	Shared bool             // PostgreSQL: other instances may be running
	Most   int64            // the size above which counts are given up, in bytes
	Clock  func() time.Time // that of a PostgreSQL, in tests; its own if nil

	pages *sql.DB // for reports; the same as DB in memory
	path  string  // of a SQLite file that is written to
	file  os.FileInfo
}

const (
	// The sizes of a database from which on counts are given up. 100,000 clients that
	// call every day fit into it. PostgreSQL takes four times the room for them.
	maxBytes         = 1 << 30
	maxPostgresBytes = 4 << 30
	memoryBytes      = 96 << 20
	memoryPages      = 32768 // of 4 KiB: the size at which SQLite refuses to grow in memory

	connectTimeout = 5 * time.Second
	connectionLife = 5 * time.Minute // of a connection: it may lead to a server or a file that was replaced
)

// Open prepares to use a database. It fails if the configuration is wrong or a file
// cannot be used. It does not connect to a server.
func Open(c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch {
	case c.Postgres():
		return openPostgres(c.DB, false)
	case c.DB == "":
		return openMemory()
	}
	if err := checkFile(c.path(), os.O_RDWR|os.O_CREATE); err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	const smallCache = "_pragma=cache_size(-512)" // KiB: more makes no write faster
	db, err := openFile(c.path(), "_journal_mode=WAL&_txlock=immediate&"+smallCache)
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	pages, err := openFile(c.path(), "_pragma=query_only(1)")
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	pages.SetConnMaxIdleTime(time.Minute) // gives their memory back
	s := &Store{DB: db, pages: pages, Most: maxBytes, path: c.path()}
	s.file, err = os.Stat(s.path)
	return s, err
}

func openMemory() (*Store, error) {
	db, err := sql.Open("sqlite", fmt.Sprintf("file::memory:?_pragma=max_page_count(%d)", memoryPages))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	return &Store{DB: db, pages: db, Most: memoryBytes}, nil
}

// ErrNothingRecorded is what OpenForReading returns if there is no database to read.
var ErrNothingRecorded = errors.New("USAGE_DB is not set, so nothing is recorded beyond the life of a process; " +
	"name the database that the service writes")

// OpenForReading opens the database of a service, which may be running. It fails if
// there is none with the tables of this release. Nothing is written through it.
func OpenForReading(ctx context.Context, c Config) (*Store, error) {
	if c.DB == "" {
		return nil, ErrNothingRecorded
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	db, err := openToRead(c)
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	q := db.Ask(ctx)
	if made := q.hasTable("quotegate_meta"); !made && q.Err == nil {
		q.Err = errors.New("no service of this release has written to the database yet")
	}
	q.Facts()
	if q.Err == nil {
		return db, nil
	}
	_ = db.Close() // nothing is written
	return nil, fmt.Errorf("USAGE_DB: %w", q.Err)
}

func openToRead(c Config) (*Store, error) {
	if c.Postgres() {
		return openPostgres(c.DB, true)
	}
	if err := checkFile(c.path(), os.O_RDONLY); err != nil {
		return nil, err
	}
	db, err := openReadOnly(c.path())
	return &Store{DB: db, pages: db, Most: maxBytes}, err
}

// openPostgres prepares to use a server. For writing, a server that is read-only is
// none: with several hosts in the address, another one is tried.
func openPostgres(address string, readOnly bool) (*Store, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("USAGE_DB: is not a PostgreSQL URL") // err may repeat the password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if !readOnly {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	setup := withoutJIT
	if readOnly {
		setup += "; set default_transaction_read_only = on"
	}
	afterConnect := stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, setup, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	pool := func(connections int) *sql.DB {
		db := sql.OpenDB(guardedConnector{stdlib.GetConnector(*cfg, afterConnect)})
		db.SetMaxOpenConns(connections)
		db.SetConnMaxIdleTime(time.Minute)
		db.SetConnMaxLifetime(connectionLife)
		return db
	}
	return &Store{DB: pool(3), pages: pool(2), Shared: true, Most: maxPostgresBytes}, nil
}

// withoutJIT has PostgreSQL compile no query. It takes our questions for long ones and
// compiles each anew, which is most of the time of many: a table of 100,000 clients took
// 62 s of its processor instead of 10 s. Some poolers take no settings when a connection
// begins, so it is set afterwards.
const withoutJIT = "set jit = off"

// guardedConnector connects to a server. database/sql does so in a goroutine of its own
// when others wait for a connection.
type guardedConnector struct{ driver.Connector }

func (c guardedConnector) Connect(ctx context.Context) (conn driver.Conn, err error) {
	err = safego.Try(nil, "connecting to the database", func() (err error) {
		conn, err = c.Connector.Connect(ctx)
		return err
	})
	return conn, err
}

// Ask begins a session of the writer or a gate.
func (s *Store) Ask(ctx context.Context) *Session { return &Session{ctx: ctx, on: s.DB, db: s} }

// AskPages begins one of a page, which takes longer.
func (s *Store) AskPages(ctx context.Context) *Session { return &Session{ctx: ctx, on: s.pages, db: s} }

// Close closes all connections.
func (s *Store) Close() error {
	if s.pages != s.DB {
		_ = s.pages.Close() // nothing is written through it
	}
	return s.DB.Close()
}

// Refresh is called before a write. It drops the connections that nobody uses now if they
// lead to a file that somebody has replaced or deleted, or if the last write failed: a
// session that was opened while the server was read-only, or that a failover has left on
// the wrong server, takes no counts however long it is kept.
func (s *Store) Refresh(failed bool) {
	drop := s.Shared && failed
	if s.path != "" {
		now, err := os.Stat(s.path)
		drop = err != nil || !os.SameFile(now, s.file)
	}
	if !drop {
		return
	}
	if s.path != "" && checkFile(s.path, os.O_RDWR|os.O_CREATE) == nil {
		s.file, _ = os.Stat(s.path)
	}
	for _, pool := range []*sql.DB{s.DB, s.pages} {
		pool.SetMaxIdleConns(-1)
		pool.SetMaxIdleConns(idleConnections)
	}
}

// idleConnections are kept open in each pool, as database/sql does by default.
const idleConnections = 2

var (
	forPostgres = strings.NewReplacer(") without rowid, strict", ")", ") strict", ")", "+day", "day")
	forSQLite   = strings.NewReplacer(
		"greatest(", "max(", "least(", "min(", "bigint", "integer", "double precision", "real",
		"json_array_elements(", "json_each(")
)

// dialect turns a statement for both databases into one for this database.
func (s *Store) dialect(statement string) string {
	if s.Shared {
		return forPostgres.Replace(statement)
	}
	return forSQLite.Replace(statement)
}

// openFile prepares to use a SQLite file.
func openFile(path, query string) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Path: path, RawQuery: "_busy_timeout=5000&" + query}
	db, err := sql.Open("sqlite", file.String())
	if err == nil {
		db.SetMaxOpenConns(2)
		db.SetConnMaxLifetime(connectionLife)
	}
	return db, err
}

// checkFile refuses, and does not change, a file that is neither empty nor a
// database. If it may create the file, only its owner can read it from then on.
func checkFile(path string, flag int) error {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 16))
	switch {
	case err != nil:
		return err
	case len(head) > 0 && string(head) != "SQLite format 3\x00":
		return fmt.Errorf("%s is not a SQLite database, and is left as it is; name another file", path)
	case flag&os.O_CREATE != 0:
		return f.Chmod(0o600)
	}
	return nil
}

// Damaged reports whether err means that the file will never work. Otherwise the
// database is unavailable, full or busy, and may work later.
func Damaged(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT
}

// Full reports whether SQLite found no room: the disk is full, or a database in memory
// has reached the size at which SQLite refuses to grow.
func Full(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_FULL }

// ErrDiskFull is the former.
var ErrDiskFull = errors.New("the disk that holds the database is full; " +
	"counts stay in memory until there is space, and none are lost")

func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff // without the extension
	}
	return sqlite3.SQLITE_OK
}

// Times are Unix seconds, and days Unix days. All are UTC.
const (
	Hour = 3600
	Day  = 24 * Hour
)

const (
	ReportDays = 90             // that a report looks back
	KeepDays   = ReportDays + 2 // of which the counts of clients are kept
	KeepTotals = 400            // of which totals are kept

	MaxSkew = time.Minute // between two clocks that agree
)

// FirstDay is the first of so many days. Wherever the counts of some days are asked for,
// these are the whole days before today, and today so far.
func FirstDay(at time.Time, days int) int64 { return at.Unix()/Day - int64(days) }

// NotYet is the plan of an instance that follows none yet.
const NotYet = "?"

// Outcomes of a call, as quotegate_totals has them, and as columns of quotegate_days.
const (
	Served    = "served"
	Brownout  = "brownout"  // refused by a brownout
	Retired   = "retired"   // refused because the version is retired
	Rehearsed = "rehearsed" // refused because the client asked for a rehearsal
	Failed    = "failed"    // any other error
)

// Storable reports whether every database takes a text, and it has at most so many bytes.
func Storable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}
