package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Reader reads what recorders have written.
type Reader struct {
	db       *store
	versions []string // in the order to show them
	current  string   // the version that findings compare with
	now      func() time.Time
	contacts func(name string) (Contact, bool)
	instance string // that reads, if it is also one that writes

	mu   sync.Mutex
	past *past // days that are over, kept from the last report
}

// Contact is what an operator has written down about a known client.
type Contact struct {
	Contact string `json:"contact,omitempty"`
	Notes   string `json:"notes,omitempty"`
}

func newReader(db *store, o Options) *Reader {
	r := &Reader{db: db, versions: slices.Clone(o.Versions), current: o.Current, now: o.Now, contacts: o.Contacts}
	if r.now == nil {
		r.now = time.Now
	}
	if r.contacts == nil {
		r.contacts = func(string) (Contact, bool) { return Contact{}, false }
	}
	return r
}

// ErrNothingRecorded is what Open returns if there is no database to read.
var ErrNothingRecorded = errors.New("USAGE_DB is not set, so nothing is recorded beyond the life of a process; name the database that the service writes")

// Open opens the database of a service for reading. The service may be running.
func Open(ctx context.Context, cfg Config, o Options) (*Reader, error) {
	if cfg.DB == "" {
		return nil, ErrNothingRecorded
	}
	if err := errors.Join(cfg.Validate(), Check(ctx, cfg)); err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	files, err := schema.ReadDir("schema")
	if err != nil {
		return nil, err
	}
	db, err := open(cfg)
	if err != nil {
		return nil, err
	}
	r := newReader(db, o)
	var number int // of the last migration
	if err := db.QueryRowContext(ctx, "select coalesce(max(number), 0) from usage_migrations").Scan(&number); err != nil || number < len(files) {
		r.Close()
		return nil, errors.New("USAGE_DB: no service of this release has written to the database yet")
	}
	return r, nil
}

// Close closes the database.
func (r *Reader) Close() { _ = r.db.Close() } // nothing is written

// Instance is a running service that writes to the database.
type Instance struct {
	Name    string    `json:"name"`
	Plan    string    `json:"plan"` // the hash of the plan it follows; empty without one
	Written time.Time `json:"written"`
}

func (r *Reader) instances(ctx context.Context) ([]Instance, error) {
	return queryAll(ctx, r.db, func(rows *sql.Rows, i *Instance) error {
		var instance, host string
		var written int64
		err := rows.Scan(&instance, &host, &i.Plan, &written)
		i.Name, i.Written = instanceName(instance, host), time.Unix(written, 0).UTC()
		return err
	}, "select instance, host, plan, written from usage_instances where stopped = 0 and written >= $1 order by host, instance", r.now().Add(-aliveFor).Unix())
}
