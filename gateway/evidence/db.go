// Package evidence is the database of what was counted: SQLite in memory or in a file, or a
// PostgreSQL that all instances share. It takes the counts of package usage, and answers the
// questions of gates, which decide whether a version may be retired, and of pages and
// commands. Everything is computed when it is read. A number of days means whole days in
// UTC before today, plus today so far.
//
// Both databases give the same answers. One with tables that this release does not know is
// left alone. What a page reads never delays the writer or a gate. No error has a part of
// the address of a server.
package evidence

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/safego"
)

// Config is read from the environment. The zero value counts in memory.
type Config struct {
	// DB is where the counts are kept: postgres://… is a database that all
	// instances share, anything else the path of a SQLite file. Empty: in memory.
	DB string `env:"USAGE_DB" setting:"secret"`
}

// Validate reports what is wrong, naming the variable. It repeats no secret.
func (c Config) Validate() error {
	if c.Postgres() {
		if _, err := pgx.ParseConfig(c.DB); err != nil { // err may repeat the password
			return errors.New("USAGE_DB: is not a PostgreSQL URL; want postgres://user:password@host:5432/database")
		}
	} else if strings.Contains(c.DB, "://") {
		return errors.New("USAGE_DB: is neither postgres://… nor the path of a SQLite file")
	}
	return nil
}

// Postgres reports whether it is a PostgreSQL, which instances share.
func (c Config) Postgres() bool {
	return strings.HasPrefix(c.DB, "postgres://") || strings.HasPrefix(c.DB, "postgresql://")
}

// path is that of the SQLite file. A URL needs an absolute one.
func (c Config) path() string {
	path, err := filepath.Abs(c.DB)
	if err != nil {
		return c.DB
	}
	return path
}

// Options of a DB.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil

	// Known returns what the operator wrote down about a client that was recorded
	// under a name; a zero Client if nothing. If nil, it knows none.
	Known func(recorded string) (caller.Client, bool)
	// Registered reports whether a registry has an integrator. If nil, none can be
	// asked.
	Registered func(ctx context.Context, id string) (bool, error)
	// Clock is that of the database; its own if nil. For tests.
	Clock func() time.Time
}

// DB is the database. The writer and the gates have connections of their own, so that they
// never wait for what a page reads. It is safe for concurrent use.
type DB struct {
	options    Options
	statements map[string]string
	shared     bool  // PostgreSQL: other instances may be running
	most       int64 // the size above which counts are given up, in bytes

	writer *sql.DB // the connections of the writer and of gates
	pages  *sql.DB // for reports; the same as writer in memory
	path   string  // of a SQLite file that is written to
	file   os.FileInfo

	recorder *usage.Recorder       // of this process; nil if it only reads
	cleaned  time.Time             // when the writer last deleted old counts
	measured time.Time             // when it last read the traffic; zero if calls were written since
	relieved time.Time             // when it last gave up counts
	stats    atomic.Pointer[Stats] // as of the last write
	slow     sync.Mutex            // held while something is read that takes long
	kept     sync.Map              // answers about days that are over, by their query and version
}

var (
	_ usage.Database  = (*DB)(nil)
	_ lifecycle.Usage = (*DB)(nil)
)

const (
	// The sizes of a database from which on counts are given up. 100,000 clients that
	// call every day fit into it. PostgreSQL takes four times the room for them.
	maxBytes         = 1 << 30
	maxPostgresBytes = 4 << 30
	memoryBytes      = 96 << 20

	connectTimeout  = 5 * time.Second
	connectionLife  = 5 * time.Minute // of a connection: it may lead to a server or a file that was replaced
	idleConnections = 2               // that are kept in each pool, as database/sql does by default
)

// Open prepares to use a database. It fails if the configuration is wrong or a file
// cannot be used. It does not connect to a server.
func Open(c Config, o Options) (*DB, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	db, err := open(c, false)
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	db.use(o)
	return db, nil
}

// ErrNothingRecorded is what OpenForReading returns if there is no database to read.
var ErrNothingRecorded = errors.New("USAGE_DB is not set, so nothing is recorded beyond the life of a process; " +
	"name the database that the service writes")

// OpenForReading opens the database of a service, which may be running. It fails if
// there is none with the tables of this release. Nothing is written through it.
func OpenForReading(ctx context.Context, c Config, o Options) (*DB, error) {
	if c.DB == "" {
		return nil, ErrNothingRecorded
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	db, err := open(c, true)
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	made, err := db.read().made(ctx)
	if err == nil && !made {
		err = errors.New("no service of this release has written to the database yet")
	}
	if err == nil {
		_, err = db.read().facts(ctx)
	}
	if err != nil {
		_ = db.Close() // nothing is written
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	db.use(o)
	return db, nil
}

// use completes a database that was opened.
func (db *DB) use(o Options) {
	o.Versions = slices.Clone(o.Versions)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Known == nil {
		o.Known = func(string) (caller.Client, bool) { return caller.Client{}, false }
	}
	db.options = o
	db.stats.Store(&Stats{Since: o.Now()})
}

// Attach tells which recorder of this process writes to the database. It must be called
// before anything is read.
func (db *DB) Attach(r *usage.Recorder) { db.recorder = r }

// read and page are the connections of gates and of pages.
func (db *DB) read() conn { return conn{db, db.writer} }
func (db *DB) page() conn { return conn{db, db.pages} }

// Writer is the connections of the writer, for tests.
func (db *DB) Writer() *sql.DB { return db.writer }

// MaxBytes is the size above which counts are given up.
func (db *DB) MaxBytes() int64 { return db.most }

// Close closes all connections.
func (db *DB) Close() error {
	if db.pages != db.writer {
		_ = db.pages.Close() // nothing is written through it
	}
	return db.writer.Close()
}

// HasClock reports whether the database has a clock of its own.
func (db *DB) HasClock() bool { return db.shared || db.options.Clock != nil }

// now is the database's time. That of a file does not follow a jump of our clock.
func (db *DB) now(ctx context.Context) (time.Time, error) {
	own := db.options.Now()
	if db.recorder != nil {
		own = db.recorder.Steady(own)
	}
	return db.Now(ctx, own)
}

// Now is the database's time. A file has no clock but ours.
func (db *DB) Now(ctx context.Context, own time.Time) (at time.Time, err error) {
	switch {
	case db.options.Clock != nil:
		return db.options.Clock(), nil
	case !db.shared:
		return own, nil
	}
	return value[time.Time](ctx, db.read(), "now")
}

// Refresh is called before a write. It drops the connections that nobody uses now if they
// lead to a file that somebody has replaced or deleted, or if the last write failed: a
// session that was opened while the server was read-only, or that a failover has left on
// the wrong server, takes no counts however long it is kept.
func (db *DB) Refresh(failed bool) {
	drop := db.shared && failed
	if db.path != "" {
		now, err := os.Stat(db.path)
		drop = err != nil || !os.SameFile(now, db.file)
	}
	if !drop {
		return
	}
	if db.path != "" && checkFile(db.path, os.O_RDWR|os.O_CREATE) == nil {
		db.file, _ = os.Stat(db.path)
	}
	for _, pool := range []*sql.DB{db.writer, db.pages} {
		pool.SetMaxIdleConns(-1)
		pool.SetMaxIdleConns(idleConnections)
	}
}

// open prepares to use a database, which nothing is written through if it is read-only.
func open(c Config, readOnly bool) (*DB, error) {
	switch {
	case c.Postgres():
		return openPostgres(c.DB, readOnly)
	case c.DB == "":
		pool, err := openPool("file::memory:", 1) // each connection would have a database of its own
		return &DB{statements: sqliteStatements, writer: pool, pages: pool, most: memoryBytes}, err
	case readOnly:
		return openToRead(c.path())
	}
	return openToWrite(c.path())
}

func openToWrite(path string) (*DB, error) {
	if err := checkFile(path, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, err
	}
	const smallCache = "_pragma=cache_size(-512)" // KiB: more makes no write faster
	writer, err := openPool(address(path, "_journal_mode=WAL&_txlock=immediate&"+smallCache), 2)
	if err != nil {
		return nil, err
	}
	pages, err := openPool(address(path, "_pragma=query_only(1)"), 2)
	if err != nil {
		return nil, err
	}
	pages.SetConnMaxIdleTime(time.Minute) // gives their memory back
	file, err := os.Stat(path)
	return &DB{
		statements: sqliteStatements, writer: writer, pages: pages, most: maxBytes, path: path, file: file,
	}, err
}

// openToRead opens a file that a service may be writing to. Where its folder cannot be
// written to and nobody writes, the file cannot change either.
func openToRead(path string) (*DB, error) {
	if err := checkFile(path, os.O_RDONLY); err != nil {
		return nil, err
	}
	query := "mode=ro"
	if _, err := os.Stat(path + "-wal"); err != nil && !writable(filepath.Dir(path)) {
		query += "&immutable=1"
	}
	pool, err := openPool(address(path, query), 2)
	return &DB{statements: sqliteStatements, writer: pool, pages: pool, most: maxBytes}, err
}

func address(path, query string) string {
	file := url.URL{Scheme: "file", Path: path, RawQuery: "_busy_timeout=5000&" + query}
	return file.String()
}

func openPool(address string, connections int) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", address)
	if err == nil {
		pool.SetMaxOpenConns(connections)
	}
	if connections > 1 {
		pool.SetConnMaxLifetime(connectionLife)
	}
	return pool, err
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

// openPostgres prepares to use a server. For writing, a server that is read-only is
// none: with several hosts in the address, another one is tried.
func openPostgres(address string, readOnly bool) (*DB, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("is not a PostgreSQL URL") // err may repeat the password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if !readOnly {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	setup := sessionSettings
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
	return &DB{
		statements: postgresStatements, writer: pool(3), pages: pool(2), shared: true, most: maxPostgresBytes,
	}, nil
}

// sessionSettings have PostgreSQL compile no query, and add up clients in memory. It takes our
// questions for long ones and compiles each anew, which is most of the time of many: a table of
// 100,000 clients took 62 s of its processor instead of 10 s. With less memory it reads the days
// of a client one by one from all over the table: 4.0 s instead of 1.5 s for 30,000 clients. Some
// poolers take no settings when a connection begins, so they are set afterwards.
const sessionSettings = "set jit = off; set work_mem = '64MB'"

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
