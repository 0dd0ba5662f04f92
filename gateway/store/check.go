package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
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

// path is that of the SQLite file.
func (c Config) path() string {
	path, err := filepath.Abs(c.DB)
	if err != nil {
		return c.DB
	}
	return path
}

// Check tests whether a service could write to the database of a valid configuration,
// and says what the service will do with what it finds. It changes nothing, and creates
// no database.
func Check(ctx context.Context, cfg Config) (will string, err error) {
	var db *Store
	if cfg.Postgres() {
		db, err = openPostgres(cfg.DB, false)
	} else {
		will, err = checkExisting(cfg.path())
		if will != "" || err != nil {
			return will, err
		}
		db, err = openToRead(cfg)
	}
	if err != nil {
		return "", err
	}
	defer db.Close()
	q := db.Ask(ctx)
	if db.Shared {
		q.checkServer()
	}
	will = q.future()
	return will, q.Err
}

// checkServer tests what a service needs of a server: to create tables or to write to those
// that exist, and a clock that agrees.
func (t *Session) checkServer() {
	var mayCreate, mayWrite bool
	var at float64
	t.Get(`select coalesce(has_schema_privilege(current_schema(), 'create'), false),
		coalesce(has_table_privilege(to_regclass('quotegate_days')::oid, 'insert, update, delete'), true),
		extract(epoch from clock_timestamp())`, nil, &mayCreate, &mayWrite, &at)
	ahead := time.Since(time.UnixMilli(int64(at * 1000)))
	switch {
	case t.Err != nil:
	case !mayCreate:
		t.Err = errors.New("the user may not create tables; grant it CREATE on the schema")
	case !mayWrite:
		t.Err = errors.New("the user may not write to the tables that exist; make it their owner")
	case ahead.Abs() > MaxSkew:
		t.Err = errors.New("this machine's clock is " + AheadOrBehind(ahead) + " the database's")
	}
}

// future is what a service will do with the database.
func (t *Session) future() string {
	made, earlier := t.hasTable("quotegate_meta"), t.hasTable("usage_meta")
	switch {
	case t.Err != nil:
		return ""
	case !made && earlier:
		return Earlier
	case !made:
		return "the service will make its tables; gates hold until they have seen their days"
	}
	f := t.Facts()
	var newest int64
	t.Get("select coalesce(max(written), 0) from quotegate_instances", nil, &newest)
	if ahead := time.Until(time.Unix(newest, 0)); t.Err == nil && ahead > MaxSkew {
		t.Err = fmt.Errorf("the last record is %s ahead of this machine's clock: one of the clocks was wrong",
			humanize.Span(ahead))
	}
	return "the service will go on counting; calls are counted since " + humanize.Timestamp(f.Since)
}

// AheadOrBehind says how far a clock is from another: "5m ahead of".
func AheadOrBehind(ahead time.Duration) string {
	if ahead < 0 {
		return humanize.Span(-ahead) + " behind"
	}
	return humanize.Span(ahead) + " ahead of"
}

// checkExisting tests whether a file is a database that can be written or, if there is
// none, whether it can be made. SQLite writes files beside it.
func checkExisting(path string) (will string, err error) {
	folder := filepath.Dir(path)
	err = checkFile(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(folder)
		will = "the file does not exist yet; the service will make it, and counts begin then"
		if err != nil {
			err = fmt.Errorf("the folder %s does not exist; make it, or name another file", folder)
		}
	}
	if err == nil && !writable(folder) {
		err = fmt.Errorf("the folder %s cannot be written to, and SQLite needs files of its own in it", folder)
	}
	return will, err
}

// serverError says why PostgreSQL did not answer, in words of our own. The text of the
// driver has the host, the user and the database.
type serverError struct {
	text  string
	cause error
}

func (e *serverError) Error() string { return e.text }

func (e *serverError) Unwrap() error { return e.cause }

// explain makes an error one without the address of a server.
func (s *Store) explain(err error) error {
	if _, done := errors.AsType[*serverError](err); err == nil || done || !s.Shared {
		return err
	}
	refusal, refused := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return err
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return &serverError{"PostgreSQL is read-only", err}
	case refused && refusal.Code == "3D000":
		return &serverError{"PostgreSQL has no database of this name; create it, or name another one in USAGE_DB", err}
	case refused:
		return &serverError{fmt.Sprintf("PostgreSQL returned error %.5q", refusal.Code), err}
	}
	text, _ := fault.ExplainNetwork(err)
	return &serverError{"PostgreSQL: " + cmp.Or(text, "connection failed"), err}
}

func writable(folder string) bool {
	const mayWrite = 2
	return syscall.Access(folder, mayWrite) == nil
}

// openReadOnly opens a SQLite file that a service may be writing to. Where its
// folder cannot be written to and nobody writes, the file cannot change either.
func openReadOnly(path string) (*sql.DB, error) {
	query := "mode=ro"
	if _, err := os.Stat(path + "-wal"); err != nil && !writable(filepath.Dir(path)) {
		query += "&immutable=1"
	}
	return openFile(path, query)
}

// Backup copies a SQLite database to a file that does not exist yet. The service
// may be running.
func Backup(ctx context.Context, cfg Config, file string) error {
	switch {
	case cfg.DB == "":
		return ErrNothingRecorded
	case cfg.Postgres():
		return errors.New("USAGE_DB: a PostgreSQL database is backed up with its own tools, " +
			"such as pg_dump --table='quotegate_*'")
	}
	if _, err := os.Stat(cfg.path()); err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	db, err := openReadOnly(cfg.path())
	if err != nil {
		return err
	}
	defer db.Close()
	// The copy holds the secret, so nobody else may read it, not even while it grows.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; name a new file", file)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "vacuum into ?", file); err != nil {
		return errors.Join(fmt.Errorf("USAGE_DB: %w", err), os.Remove(file))
	}
	return nil
}
