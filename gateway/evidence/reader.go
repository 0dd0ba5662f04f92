// Package evidence reads the counts that package usage writes: for gates, which decide
// whether a version may be retired, and for pages, reports and commands. Everything is
// computed when it is read. A number of days means whole days in UTC before today, plus
// today so far.
//
// Evidence for a gate is complete only if some instance was counting all the time, every
// call has a name, all instances have the same plan, and each has written since the
// sunset. Otherwise it says what is missing. Reading never delays the writer.
package evidence

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/store"
)

const (
	hour = store.Hour // seconds
	day  = store.Day
)

const (
	readTimeout = 30 * time.Second // for a whole reading, from a database that answers
	silentAfter = time.Minute      // so long without a write, and an instance is not heard of
)

// Options of a Reader.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil

	Slow time.Duration // a reading that takes longer is shown for ten times as long; 300 ms if zero

	// Known returns what the operator wrote down about a client that was recorded
	// under a name; a zero Client if nothing. If nil, it knows none.
	Known func(recorded string) (caller.Client, bool)
	// Registered reports whether a registry has an integrator. If nil, none can be
	// asked.
	Registered func(ctx context.Context, id string) (bool, error)
}

// Writer is what a reader knows of the recorder in its own process. The zero value is
// none.
type Writer struct {
	Instance string                // its number in the database
	Flush    func(context.Context) // has counts written before a page reads them
	Notes    func() []string       // what it could not write
}

// Reader reads what recorders have written. It is safe for concurrent use.
type Reader struct {
	options Options
	db      *store.Store
	writer  Writer

	registry registry
	slot     chan struct{}           // full while something is read that takes long
	cached   atomic.Pointer[reading] // the last one; nil if it is too old
}

// New makes a reader of a database. Whoever opened that closes it.
func New(db *store.Store, o Options, w Writer) *Reader {
	o.Versions = slices.Clone(o.Versions)
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Slow = cmp.Or(o.Slow, slowReading)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Known == nil {
		o.Known = func(string) (caller.Client, bool) { return caller.Client{}, false }
	}
	if w.Flush == nil {
		w.Flush = func(context.Context) {}
	}
	if w.Notes == nil {
		w.Notes = func() []string { return nil }
	}
	r := &Reader{options: o, db: db, writer: w, slot: make(chan struct{}, 1)}
	r.registry.known = map[string]registration{}
	return r
}

// exclusive runs one slow read at a time, at the database's time and with all counts
// written.
func (r *Reader) exclusive(ctx context.Context, read func(*store.Session, time.Time) error) error {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	select {
	case r.slot <- struct{}{}:
		defer func() { <-r.slot }()
	case <-limited.Done():
		return cmp.Or(ctx.Err(), errors.New("too many reports are being read"))
	}
	r.writer.Flush(limited)
	db := r.db.AskPages(limited)
	at := db.Now(r.options.Now())
	if db.Err != nil {
		return db.Err
	}
	err := read(db, at)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return errors.New("reading the counts took more than 30 seconds: retry when the machine is less busy")
	}
	return err
}
