// Package evidence reads what was counted for those who decide: may a version end, whom
// would a plan refuse, and what do the counts leave out. Package usage writes the counts,
// and report makes pages of them.
//
// What it promises:
//   - Evidence for a gate is complete only if every hour was recorded, every call has a
//     name, and every instance has written since the sunset; otherwise it says what is
//     missing. What a gate has decided is kept.
//   - One long reading is made at a time, in a bounded memory. One that would end in a
//     time-out says how far it came.
package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	hour = store.Hour // seconds
	day  = store.Day
)

// readTimeout is for a whole reading, from a database that answers.
const readTimeout = 30 * time.Second

// Options of a Reader.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil

	// Known returns what the operator wrote down about a client that was recorded
	// under a name. If nil, nothing.
	Known func(recorded string) (caller.Client, bool)
	// Registered reports whether a registry has an integrator. If nil, none can be
	// asked.
	Registered func(ctx context.Context, id string) (bool, error)
}

// Writer is what a reader knows of the recorder in its own process. The zero value is
// none.
type Writer struct {
	Instance string // its number in the database
	Started  time.Time
	Flush    func(context.Context) error // has counts written before a page reads them
	Away     func() error                // an error while the database accepts no counts
	Writes   func() int64                // how often counts were written
}

// Reader reads what recorders have written. It is safe for concurrent use.
type Reader struct {
	Options
	DB     *store.Store
	Writer Writer

	registry  registry
	turn      chan struct{} // full while something is read that takes long
	timeLimit time.Duration // of that

	mu        sync.Mutex
	waits     map[string]waitingClients
	evidences map[countedKey]lifecycle.Evidence
}

// New makes a reader of a database. Whoever opened that closes it.
func New(db *store.Store, o Options, w Writer) *Reader {
	r := &Reader{
		Options: o, DB: db, Writer: w,
		turn:      make(chan struct{}, 1),
		timeLimit: readTimeout,
		waits:     map[string]waitingClients{},
		evidences: map[countedKey]lifecycle.Evidence{},
	}
	r.Versions = slices.Clone(o.Versions)
	r.Log = cmp.Or(o.Log, slog.Default())
	if r.Now == nil {
		r.Now = time.Now
	}
	if w.Flush == nil {
		r.Writer.Flush = func(context.Context) error { return nil }
	}
	if w.Away == nil {
		r.Writer.Away = func() error { return nil }
	}
	if w.Writes == nil {
		r.Writer.Writes = func() int64 { return 0 }
	}
	return r
}

// WrittenDown is what the operator wrote down about a recorded name.
func (r *Reader) WrittenDown(name string) (caller.Client, bool) {
	if r.Known == nil {
		return caller.Client{}, false
	}
	return r.Known(name)
}

// Progress is how far a reading is, for whoever would otherwise only read of a time-out.
type Progress string

// Is says how far it is.
func (p *Progress) Is(format string, args ...any) { *p = Progress(fmt.Sprintf(format, args...)) }

// InTurn has something be read that takes long, at the database's time. If it takes too
// long, the error says how far it came.
func (r *Reader) InTurn(ctx context.Context, read func(context.Context, time.Time, *Progress) error) error {
	limited, cancel := context.WithTimeout(ctx, r.timeLimit)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-limited.Done():
		return cmp.Or(ctx.Err(), errors.New("too many reports are being read"))
	}
	at, err := r.UpToDate(limited)
	if err != nil {
		return err
	}
	far := Progress("nothing of it was read")
	err = read(limited, at, &far)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fmt.Errorf("it was not finished within %s: %s; "+
			"ask again when the machine has less to do, or for fewer clients or windows", words.Span(r.timeLimit), far)
	}
	return err
}

// UpToDate has the waiting counts be written, and returns the database's time.
func (r *Reader) UpToDate(ctx context.Context) (time.Time, error) {
	if err := r.Writer.Flush(ctx); err != nil {
		return time.Time{}, err
	}
	db := r.DB.Ask(ctx)
	at := db.Now(r.Now())
	return at, db.Err
}
