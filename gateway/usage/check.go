package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNoFile is what Check returns if the SQLite file does not exist yet. The
// service creates it.
var ErrNoFile = errors.New("the file does not exist yet; the service will create it")

// Check tests whether the database of a valid configuration answers. It changes
// nothing, and creates no database. The error holds nothing of a PostgreSQL URL,
// and no text from a server.
func Check(ctx context.Context, cfg Config) error {
	if cfg.postgres() {
		db, err := open(cfg)
		if err != nil {
			return err
		}
		defer db.Close()
		return explain(db.PingContext(ctx))
	}
	path, err := filepath.Abs(cfg.DB)
	if err == nil {
		err = checkExisting(path)
	}
	if err != nil {
		return err
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_busy_timeout=5000"}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return err
	}
	defer db.Close()
	var tables int
	return db.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables)
}

// checkExisting tests whether a file is a database that can be written or, if
// there is none, whether its directory exists.
func checkExisting(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		defer f.Close()
		return checkHead(f)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	return ErrNoFile
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
