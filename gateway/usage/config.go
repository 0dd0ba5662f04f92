package usage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/quotegate/quotegate/shared/words"
)

// Config is read from the environment. The zero value counts in memory.
type Config struct {
	// DB is where the counts are kept: postgres://… is a database that all
	// instances share, anything else the path of a SQLite file. Empty: in memory.
	DB string `env:"USAGE_DB" setting:"secret"`
}

// Validate reports what is wrong, naming the variable. It repeats no secret.
func (c Config) Validate() error {
	if c.postgres() {
		if _, err := pgx.ParseConfig(c.DB); err != nil { // err may repeat the password
			return errors.New("USAGE_DB: is not a PostgreSQL URL; want postgres://user:password@host:5432/database")
		}
	} else if strings.Contains(c.DB, "://") {
		return errors.New("USAGE_DB: is neither postgres://… nor the path of a SQLite file")
	}
	return nil
}

func (c Config) postgres() bool {
	return strings.HasPrefix(c.DB, "postgres://") || strings.HasPrefix(c.DB, "postgresql://")
}

// ErrNoFile is what Check returns if the SQLite file does not exist yet. The
// service creates it.
var ErrNoFile = errors.New("the file does not exist yet; the service will create it")

// Check tests whether a service could write to the database of a valid
// configuration. It changes nothing, and creates no database. The error holds
// nothing of a PostgreSQL URL, and no text from a server.
func Check(ctx context.Context, cfg Config) error {
	if cfg.postgres() {
		return checkPostgres(ctx, cfg)
	}
	path, err := filepath.Abs(cfg.DB)
	if err == nil {
		err = checkExisting(path)
	}
	if err != nil {
		return err
	}
	db, err := openReadOnly(path)
	if err != nil {
		return err
	}
	defer db.Close()
	var tables, newest int64
	if err := db.QueryRowContext(ctx, "select count(*) from sqlite_master where name = 'usage_instances'").Scan(&tables); err != nil || tables == 0 {
		return err
	}
	if err := db.QueryRowContext(ctx, "select coalesce(max(written), 0) from usage_instances").Scan(&newest); err != nil {
		return err
	}
	if ahead := time.Until(time.Unix(newest, 0)); ahead > maxSkew {
		return fmt.Errorf("the last record is %s ahead of this machine's clock: one of the clocks was wrong", words.Span(ahead))
	}
	return nil
}

// checkPostgres tests what a service needs of a server: to create tables or to
// write to those that exist, and a clock that agrees.
func checkPostgres(ctx context.Context, cfg Config) error {
	db, err := open(cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	var readOnly, mayCreate, mayWrite bool
	var at float64
	err = db.QueryRowContext(ctx, `select current_setting('transaction_read_only') = 'on' or pg_is_in_recovery(),
		coalesce(has_schema_privilege(current_schema(), 'create'), false),
		coalesce(has_table_privilege(to_regclass('usage_days')::oid, 'insert, update, delete'), true), extract(epoch from clock_timestamp())`).
		Scan(&readOnly, &mayCreate, &mayWrite, &at)
	switch ahead := time.Since(time.UnixMilli(int64(at * 1000))); {
	case err != nil:
		return explain(err)
	case readOnly:
		return errors.New("the database is read-only")
	case !mayCreate:
		return errors.New("the user may not create tables; grant it CREATE on the schema")
	case !mayWrite:
		return errors.New("the user may not write to the tables that exist; make it their owner")
	case ahead.Abs() > maxSkew:
		return errors.New("this machine's clock is " + aheadOrBehind(ahead) + " the database's")
	}
	return nil
}

func aheadOrBehind(ahead time.Duration) string {
	if ahead < 0 {
		return words.Span(-ahead) + " behind"
	}
	return words.Span(ahead) + " ahead of"
}

// checkExisting tests whether a file is a database that can be written or, if
// there is none, whether its directory exists. SQLite writes files beside it.
func checkExisting(path string) error {
	folder := filepath.Dir(path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		defer f.Close()
		err = checkHead(f)
	} else if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Stat(folder); err == nil {
			err = ErrNoFile
		}
	}
	const mayWrite = 2
	if (err == nil || errors.Is(err, ErrNoFile)) && syscall.Access(folder, mayWrite) != nil {
		return fmt.Errorf("the folder %s cannot be written to, and SQLite needs files of its own in it", folder)
	}
	return err
}

// explain says why PostgreSQL does not answer, in words of our own. The text of
// the driver has the host, the user and the database.
func explain(err error) error {
	var (
		refusal *pgconn.PgError
		timeout net.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return fmt.Errorf("PostgreSQL refuses with the code %.5q", refusal.Code)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("PostgreSQL does not answer in time")
	case errors.As(err, new(*net.DNSError)):
		return errors.New("the host name of PostgreSQL does not resolve")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("PostgreSQL refuses the connection")
	}
	return errors.New("no connection to PostgreSQL, or a broken one")
}

// openReadOnly opens a SQLite file that a service may be writing to. Where its
// folder cannot be written to and nobody writes, the file cannot change either.
func openReadOnly(path string) (*sql.DB, error) {
	query := "mode=ro&_busy_timeout=5000"
	const mayWrite = 2
	if _, err := os.Stat(path + "-wal"); err != nil && syscall.Access(filepath.Dir(path), mayWrite) != nil {
		query += "&immutable=1"
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: query}
	return sql.Open("sqlite", file.String())
}

// openForReading opens a database that Open only reads.
func openForReading(cfg Config) (*store, error) {
	if cfg.postgres() {
		return openPostgres(cfg.DB, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "set default_transaction_read_only = on")
			return err
		}))
	}
	path, err := filepath.Abs(cfg.DB)
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			err = errors.Join(checkHead(f), f.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	db, err := openReadOnly(path)
	return &store{DB: db, pages: db, most: maxBytes, schema: schema}, err
}

// missingTable reports whether PostgreSQL has answered that there is no such table.
func missingTable(err error) bool {
	refusal := (*pgconn.PgError)(nil)
	return errors.As(err, &refusal) && refusal.Code == "42P01"
}

// Backup copies a SQLite database to a file that does not exist yet. The service
// may be running.
func Backup(ctx context.Context, cfg Config, file string) error {
	switch {
	case cfg.DB == "":
		return ErrNothingRecorded
	case cfg.postgres():
		return errors.New("USAGE_DB: a PostgreSQL database is backed up with its own tools, such as pg_dump --table='usage_*'")
	}
	path, err := filepath.Abs(cfg.DB)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s exists; name a new file", file))
	}
	db, err := openReadOnly(path)
	if err != nil {
		return err
	}
	defer db.Close()
	// The copy holds the secret, so nobody else may read it, not even while it grows.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "vacuum into ?", file); err != nil {
		return errors.Join(fmt.Errorf("USAGE_DB: %w", err), os.Remove(file))
	}
	return nil
}
