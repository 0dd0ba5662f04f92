// Package usage records who calls which version: calls per client, day and outcome, and
// what the current version would answer. Of the current version it keeps totals and the
// calls of known clients. Package store writes them; package evidence reads them.
//
// Counting takes less than a microsecond and never blocks. Memory and database are
// bounded. Addresses are stored only as keyed hashes of their prefix. Every batch is
// written exactly once; while the database is unavailable, counts stay in memory. A
// restored or replaced database and a clock that jumps are recorded as gaps.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/safego"
)

const (
	writeInterval = 5 * time.Second  // between two writes, unless they take long
	maxInterval   = 20 * time.Second // between two writes that take long
	pauseFactor   = 20               // the pause after a write, as a multiple of its duration
	retryPause    = 200 * time.Millisecond
)

// Options of a Recorder.
type Options struct {
	evidence.Options

	// After is how the recorder waits between two writes of its own. If nil, time.After.
	After func(time.Duration) <-chan time.Time
	// WriteTimeout is for one write; 30 seconds if zero.
	WriteTimeout time.Duration
	// StartTimeout is how long New waits for the database; 12 seconds if zero.
	StartTimeout time.Duration
}

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	options  Options
	db       *store.Store
	reader   *evidence.Reader
	instance string // the number of this run in the database
	host     string

	mu     sync.Mutex
	counts *counts // since the last write

	old    atomic.Pointer[[]bool] // for each version: it is not the current one, or is in the plan
	key    atomic.Pointer[store.Key]
	plan   atomic.Pointer[string] // the hash of the plan that this instance follows
	offset atomic.Int64           // what to add to our time for the database's, in seconds
	stats  atomic.Pointer[evidence.Stats]
	outage atomic.Pointer[outage] // nil while the database takes counts

	writing  chan struct{} // full while writing; guards the fields below
	pending  *batch        // what the database has not confirmed
	batches  int64         // the number of the last batch
	last     moment        // when the last batch was taken
	cleaned  time.Time     // when old counts were last deleted
	measured time.Time     // when stats were last read whole
	relieved time.Time     // when counts were last given up

	running context.Context // ends when Close begins
	stop    context.CancelFunc
	done    chan struct{}
	once    sync.Once
}

// outage is a time in which the database takes no counts.
type outage struct {
	since time.Time
	err   error
}

// New starts to write to a database, which is the recorder's from then on. It fails if
// the file is not a usable database, or a later release has written to it. If the
// database is unavailable, New logs that and connects later; what is wrong with it then,
// Unfit says.
func New(ctx context.Context, db *store.Store, o Options) (*Recorder, error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.StartTimeout = cmp.Or(o.StartTimeout, 12*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	r := &Recorder{
		options:  o,
		db:       db,
		instance: rand.Text(),
		counts:   newCounts(0),
		writing:  make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	writer := evidence.Writer{Instance: r.instance, Flush: r.flushSoon, Notes: r.outageNotes}
	r.reader = evidence.New(db, o.Options, writer)
	r.host, _ = os.Hostname() // without one, the instance has no name
	unknown := store.KeyFrom(rand.Text())
	r.key.Store(&unknown)
	r.stats.Store(&evidence.Stats{Since: r.options.Now()})
	r.last = moment{own: r.options.Now(), database: r.options.Now()}
	r.Follow(store.NotYet, nil)
	r.running, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	starting, cancel := context.WithTimeout(r.running, r.options.StartTimeout)
	defer cancel()
	err := safego.Try(r.options.Log, "writing the counts", func() error { return r.write(starting) })
	if hopeless(err) {
		r.stop()
		_ = db.Close() // the first error matters
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	r.note(err)
	safego.Go(r.options.Log, "writing counts until the end", r.run)
	return r, nil
}

// hopeless reports whether err means that the database will never work with this
// release.
func hopeless(err error) bool { return store.Damaged(err) || errors.Is(err, store.ErrUnknownSchema) }

// run writes until the recorder is closed.
func (r *Recorder) run() {
	defer close(r.done)
	pause := writeInterval
	for {
		select {
		case <-r.running.Done():
			return
		case <-r.options.After(pause):
		}
		began := time.Now()
		safego.Do(r.options.Log, "writing the counts", func() { _ = r.Flush(r.running) }) // an error is noted
		pause = min(max(writeInterval, pauseFactor*time.Since(began)), maxInterval)
	}
}

// Observe counts an answered request, if the response was a quote or an error.
func (r *Recorder) Observe(e *event.Event) {
	version := slices.Index(r.options.Versions, e.Version)
	if version < 0 {
		return
	}
	old := (*r.old.Load())[version]
	what, counted := outcomeOf(e, old)
	if !counted {
		return
	}
	at := max(e.Time.Unix()+r.offset.Load(), 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.add(e, version, old, what, at, r.key.Load())
}

// Follow sets the plan in force. Versions in the plan count as old from then on. The next
// write tells the other instances which plan this one follows.
func (r *Recorder) Follow(hash string, planned []string) {
	old := make([]bool, len(r.options.Versions))
	for i, version := range r.options.Versions {
		old[i] = version != r.options.Current || slices.Contains(planned, version)
	}
	r.old.Store(&old)
	r.plan.Store(&hash)
}

// Reader reads this database, with what this process has counted since its last write.
func (r *Recorder) Reader() *evidence.Reader { return r.reader }

// Own is what one known client did on each version; see evidence.Reader.
func (r *Recorder) Own(ctx context.Context, client string) ([]lifecycle.Own, error) {
	return r.reader.Own(ctx, client)
}

// MaxBytes is the size of the database above which counts are given up.
func (r *Recorder) MaxBytes() int64 { return r.db.Most }

// Name is the name of a client in the report and the log. It holds no address,
// only a hash.
func (r *Recorder) Name(id caller.Identity) string { return nameOf(r.key.Load(), id) }

// Stats are as of the last write. Until the database has been read, they are empty.
func (r *Recorder) Stats() *evidence.Stats { return r.stats.Load() }

// Notes says what the numbers do not include. It is empty if nothing is missing.
func (r *Recorder) Notes() []string { return append(r.outageNotes(), r.stats.Load().Notes...) }

func (r *Recorder) outageNotes() []string {
	notes := []string{}
	if f := r.outage.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts have not been written since %s and stay in memory: %v",
			humanize.Timestamp(f.since), f.err))
	}
	return notes
}

// Unfit is an error if a later release has written to the database, so that no count can
// be written until one of them is replaced.
func (r *Recorder) Unfit() error {
	if f := r.outage.Load(); f != nil && errors.Is(f.err, store.ErrUnknownSchema) {
		return fmt.Errorf("USAGE_DB: %w", f.err)
	}
	return nil
}

// note remembers whether the database takes counts, and logs a change.
func (r *Recorder) note(err error) {
	was := r.outage.Load()
	switch {
	case err == nil && was != nil:
		r.outage.Store(nil)
		r.options.Log.Info("usage: writing counts again", "since", humanize.Timestamp(was.since))
	case err != nil && was == nil:
		r.outage.Store(&outage{r.options.Now(), err})
		r.options.Log.Error("usage: counts cannot be written and stay in memory", "error", err)
	case err != nil:
		r.outage.Store(&outage{was.since, err})
	}
}

// flushTimeout is how long a page waits for the counts since the last write.
const flushTimeout = 2 * time.Second

// flushSoon writes the waiting counts, so that a page shows them. If that fails or takes
// long, the page shows what was written before, and the next write has them.
func (r *Recorder) flushSoon(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	_ = r.write(limited)
}

// Close writes the remaining counts, and tries again if that fails. It returns when that
// is done or ctx ends, whatever the database does meanwhile. The error says that counts
// are lost. Calls observed later are lost too.
func (r *Recorder) Close(ctx context.Context) (err error) {
	r.once.Do(func() {
		r.stop() // ends the writes that are under way
		done := make(chan error, 1)
		safego.Go(r.options.Log, "writing the last counts", func() {
			<-r.done
			done <- r.writeLast(ctx)
		})
		select {
		case err = <-done:
		case <-ctx.Done():
			err = errors.New("the database has not answered in time")
		}
		if err != nil {
			err = fmt.Errorf("the last counts are not written, and are lost: %w", err)
		}
	})
	return err
}

// writeLast writes what is left, notes that this instance has stopped properly, and
// closes the database.
func (r *Recorder) writeLast(ctx context.Context) error {
	defer r.db.Close() // everything is written, or cannot be
	for {
		err := r.Flush(ctx)
		if err == nil {
			q := r.db.Ask(ctx)
			q.Exec("update quotegate_instances set stopped = written where instance = $1", r.instance)
			err = q.Err
		}
		if err == nil || hopeless(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryPause):
		}
	}
}
