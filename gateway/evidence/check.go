package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/skew"
)

// Check tests whether the database of a valid configuration answers, and takes writes, and
// says what the service will do with what it finds. It changes nothing, and creates no
// database.
func Check(ctx context.Context, cfg Config) (will string, err error) {
	if !cfg.Postgres() {
		will, err = checkExisting(cfg.path())
		if will != "" || err != nil {
			return will, err
		}
	}
	db, err := open(cfg, !cfg.Postgres()) // a server that is read-only refuses the connection
	if err != nil {
		return "", err
	}
	defer db.Close()
	if cfg.Postgres() {
		may, err := value[bool](ctx, db.read(), "rights")
		if err != nil {
			return "", err
		}
		if !may {
			return "", errors.New("the user may not create tables, or write to those of a gateway; " +
				"grant it CREATE on the schema, and make it their owner")
		}
	}
	made, err := db.read().made(ctx)
	if err != nil || !made {
		return "the service will make its tables; gates hold until they have seen their days", err
	}
	f, err := db.read().facts(ctx)
	return "the service will go on counting; calls are counted since " + humanize.Timestamp(f.since), err
}

// Running are the instances that have not ended and have written within a day, at the database's
// time. If it has a clock of its own, ours is compared with it.
func Running(ctx context.Context, cfg Config, clock *skew.Clock) (all []Instance, at time.Time, err error) {
	db, err := open(cfg, true)
	if err != nil {
		return nil, at, err
	}
	defer db.Close()
	db.use(Options{})
	at, err = db.now(ctx)
	if err != nil {
		return nil, at, err
	}
	if db.HasClock() {
		clock.ReadDatabase(at)
	}
	made, err := db.read().made(ctx)
	if err != nil || !made {
		return nil, at, err
	}
	runs, err := readRuns(ctx, db.read(), at.Unix()-day)
	return instances(runs, at), at, err
}

// checkExisting tests whether a file is a database that can be written or, if there is
// none, whether it can be made. SQLite writes files beside it.
func checkExisting(path string) (will string, err error) {
	err = checkFile(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		will = "the file does not exist yet; the service will make it, and counts begin then"
		err = nil
	}
	if folder := filepath.Dir(path); err == nil && !writable(folder) {
		err = fmt.Errorf("the folder %s does not exist or cannot be written to, "+
			"and SQLite needs files of its own in it", folder)
	}
	return will, err
}

func writable(folder string) bool {
	const mayWrite = 2
	return syscall.Access(folder, mayWrite) == nil
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
	db, err := open(cfg, true)
	if err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
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
	if _, err := db.read().exec(ctx, "copy", file); err != nil {
		return errors.Join(fmt.Errorf("USAGE_DB: %w", err), os.Remove(file))
	}
	return nil
}
