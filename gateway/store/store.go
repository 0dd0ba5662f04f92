// Package store is the database of what was counted: SQLite in memory or in a file, or
// a PostgreSQL that all instances share. It knows the tables, brings them up to date and
// checks them. What is counted says package usage; what is made of it, evidence and
// report.
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
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/quotegate/quotegate/shared/guard"
)

// Store is the database. SQLite and PostgreSQL run the same statements, but for
// what dialect replaces. The writer and the gates have connections of their own, so
// that they never wait for what a page reads.
type Store struct {
	*sql.DB
	Shared bool             // PostgreSQL: other instances may be running
	Most   int64            // the size above which counts are given up, in bytes
	Chunk  int              // rows that are prepared at a time
	Clock  func() time.Time // that of a PostgreSQL, in tests; its own if nil
	Schema fs.FS            // the migrations, in schema/1.sql and so on

	pages *sql.DB // for reports; the same as DB in memory
}

const (
	// The sizes of a database from which on counts are given up. 200,000 clients that
	// call every day fit into it. PostgreSQL takes four times the room for them.
	maxBytes         = 1 << 30
	maxPostgresBytes = 4 << 30
	memoryBytes      = 96 << 20
	memoryPages      = 32768 // of 4 KiB: the size at which SQLite refuses to grow in memory

	connectTimeout = 5 * time.Second
	connectionLife = 5 * time.Minute // of a connection to PostgreSQL: after a failover it may lead to the wrong server

	// FewRows take little memory when they are prepared, and ManyRows are what PostgreSQL
	// takes in one round trip.
	FewRows  = 500
	ManyRows = 4096
)

// Open prepares to use a database. It fails if the configuration is wrong or a file
// cannot be used. It does not connect to a server.
func Open(c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch {
	case c.Postgres():
		return openPostgres(c.DB, writing)
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
	return &Store{DB: db, pages: pages, Most: maxBytes, Chunk: FewRows, Schema: schema}, nil
}

func openMemory() (*Store, error) {
	db, err := sql.Open("sqlite", fmt.Sprintf("file::memory:?_pragma=max_page_count(%d)", memoryPages))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	return &Store{DB: db, pages: db, Most: memoryBytes, Chunk: FewRows, Schema: schema}, nil
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
	number := q.Recognise()
	if q.Err == nil && number == db.Newest() {
		return db, nil
	}
	_ = db.Close() // nothing is written
	switch {
	case HasUnknownSchema(q.Err):
		return nil, fmt.Errorf("USAGE_DB: %w", q.Err)
	case q.Err != nil && db.Shared:
		return nil, fmt.Errorf("USAGE_DB: %w", explain(q.Err))
	case number > 0:
		return nil, fmt.Errorf("USAGE_DB: the database has schema %d and this release reads schema %d: "+
			"start the service of this release, which migrates it", number, db.Newest())
	}
	return nil, errors.New("USAGE_DB: no service of this release has written to the database yet")
}

func openToRead(c Config) (*Store, error) {
	if c.Postgres() {
		return openPostgres(c.DB, reading)
	}
	if err := checkFile(c.path(), os.O_RDONLY); err != nil {
		return nil, err
	}
	db, err := openReadOnly(c.path())
	return &Store{DB: db, pages: db, Most: maxBytes, Schema: schema}, err
}

// access is what a store is opened for.
type access bool

const (
	reading access = false
	writing access = true
)

// openPostgres prepares to use a server. For writing, a server that is read-only is
// none: with several hosts in the address, another one is tried.
func openPostgres(address string, to access) (*Store, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("USAGE_DB: is not a PostgreSQL URL") // err may repeat the password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if to == writing {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	setup := "select 1"
	if _, given := cfg.RuntimeParams["jit"]; !given {
		setup = withoutJIT
	}
	if to == reading {
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
	return &Store{
		DB: pool(3), pages: pool(2), Shared: true, Most: maxPostgresBytes, Chunk: ManyRows, Schema: schema,
	}, nil
}

// withoutJIT has PostgreSQL compile no query. It takes our questions for long ones and
// compiles each anew, which is most of the time of many: a table of 100,000 clients took
// 62 s of its processor instead of 10 s. Servers before 11 have no such setting, and some
// poolers take none when a connection begins, so it is asked for afterwards.
const withoutJIT = "select set_config('jit', 'off', false) from pg_settings where name = 'jit'"

// guardedConnector connects to a server. database/sql does so in a goroutine of its own
// when others wait for a connection.
type guardedConnector struct{ driver.Connector }

func (c guardedConnector) Connect(ctx context.Context) (conn driver.Conn, err error) {
	err = guard.Try(nil, "connecting to the database", func() (err error) {
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

// Reconnect drops the connections that nobody uses now. It is called when a write has
// failed: a session that was opened while the server was read-only, or that a failover
// has left on the wrong server, takes no counts however long it is kept.
func (s *Store) Reconnect() {
	if !s.Shared {
		return
	}
	for _, pool := range []*sql.DB{s.DB, s.pages} {
		pool.SetMaxIdleConns(-1)
		pool.SetMaxIdleConns(idleConnections)
	}
}

// idleConnections are kept open in each pool, as database/sql does by default.
const idleConnections = 2

var (
	forPostgres = strings.NewReplacer(
		"integer primary key", "bigint generated by default as identity primary key",
		") without rowid", ")",
		"json_each(", "jsonb_array_elements(",
	)
	forSQLite = strings.NewReplacer("greatest(", "max(", "least(", "min(")
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

// Full reports whether SQLite found no room: the disk is full, or the database has
// reached the size at which SQLite refuses to grow.
func Full(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_FULL }

// ErrDiskFull is the former.
var ErrDiskFull = errors.New("the disk that holds the database is full; " +
	"counts wait in memory until there is room, and none are given up")

// Nearly is the size of a database that takes about as much room as it may.
func (s *Store) Nearly() int64 { return s.Most / 10 * 9 }

func sqliteCode(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code() & 0xff // without the extension
	}
	return sqlite3.SQLITE_OK
}
