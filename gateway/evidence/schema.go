package evidence

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/usage"
)

// schemaNumber is that of the tables this release reads and writes.
const schemaNumber = 1

// ErrUnknownSchema is a database with tables that this release does not know.
var ErrUnknownSchema error = usage.Unusable{Why: errors.New(
	"a later release has written to the database: run that release, or name another database")}

// facts are what a database says about itself.
type facts struct {
	since time.Time // when counting began
	key   usage.Key // under which names and addresses are hashed
	plan  map[string]string
}

// facts reads them. It is an error if the tables are not those of this release.
func (c conn) facts(ctx context.Context) (f facts, err error) {
	type fact struct{ name, value string }
	all, err := query(ctx, c, func(rows *sql.Rows) (f fact, err error) {
		return f, rows.Scan(&f.name, &f.value)
	}, "facts")
	if err != nil {
		return f, err
	}
	values := map[string]string{}
	f.plan = map[string]string{}
	for _, one := range all {
		values[one.name] = one.value
		if version, is := strings.CutPrefix(one.name, acceptedPrefix); is {
			f.plan[version] = one.value
		}
	}
	since, err := strconv.ParseInt(values["since"], 10, 64)
	switch {
	case values["schema"] != strconv.Itoa(schemaNumber):
		return f, ErrUnknownSchema
	case err != nil || values["secret"] == "":
		return f, errors.New("quotegate_meta has no secret, or no time since which calls are counted: " +
			"put back what was deleted, or name another database")
	}
	f.since = time.Unix(since, 0).UTC()
	f.key = usage.KeyFrom(values["secret"])
	return f, nil
}

// made reports whether the tables exist.
func (c conn) made(ctx context.Context) (bool, error) {
	n, err := value[int64](ctx, c, "made")
	return n > 0, err
}

// prepare makes the tables if there are none, at a time of the database's clock, and reads
// the facts. Instances that start at the same time wait for one another. It leaves other
// tables as they are.
func (db *DB) prepare(ctx context.Context, now time.Time) (f facts, err error) {
	made, err := db.read().made(ctx)
	if err == nil && !made {
		err = db.transact(ctx, func(tx conn) error {
			err := tx.lock(ctx, "lock alone")
			if err == nil {
				made, err = tx.made(ctx) // by another instance, in the meantime
			}
			if err == nil && !made {
				if db.pages != db.writer { // in memory, every database is new
					db.options.Log.Info("usage: making the tables of a new database")
				}
				err = tx.makeTables(ctx, now)
			}
			return err
		})
	}
	if err != nil {
		return f, err
	}
	return db.read().facts(ctx)
}

func (c conn) makeTables(ctx context.Context, now time.Time) error {
	for statement := range strings.SplitSeq(c.db.statements["make"], ";\n") {
		if _, err := c.on.ExecContext(ctx, statement); err != nil {
			return c.db.explain(err)
		}
	}
	for name, value := range map[string]string{
		"schema": strconv.Itoa(schemaNumber), "since": strconv.FormatInt(now.Unix(), 10), "secret": rand.Text(),
	} {
		if _, err := c.exec(ctx, "put fact", name, value); err != nil {
			return err
		}
	}
	return nil
}
