// Package usage records who calls an old version: the calls of every client by day
// and outcome, and what the current version would answer to those that were served.
// Of the current version it keeps totals, and the calls of clients that the operator
// knows or that an old version has seen within 90 days, also under the name they have
// without an integrator ID or an origin, so that it can tell who has moved. Package
// store is where it writes them; evidence and report read them.
//
// What it promises:
//   - Counting a call takes less than a microsecond, waits for nothing, and
//     allocates nothing for a client that has called since the last write. A
//     stranger's call to the current version adds to one counter.
//   - Memory is bounded, whatever clients send and however many there are: 32,768
//     clients between two writes are counted apart, in less than 24 MiB, and those
//     that the operator knows beside them. Calls of further clients count in the
//     totals, as calls without a name.
//   - Nobody can push real clients out: a client that the operator knows always has a
//     place, half of the room is for clients seen on an earlier day, an eighth for
//     clients that only get errors. A network adds at most 20 names a day and has at
//     most 64 places.
//   - No address is kept. A client without integrator ID and Origin is identified
//     by its software and the hash of its address prefix, made with a secret key.
//   - Counts are written every five seconds, or less often, so that writing takes at
//     most 1.5 % of the time: at most two minutes apart, which is what a killed process
//     loses. Each batch is written once, even if the answer to a commit is lost. While
//     the database is unavailable counts wait. It never keeps the service from
//     starting and never slows a request. Counts that are lost are recorded as a gap.
//   - A database takes at most 1 GiB, in memory 96 MiB. Above that, clients that only
//     got errors are given up first, then new ones if they are most, then old days. On a
//     full disk nothing is given up: counts wait.
package usage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	writeInterval = 5 * time.Second  // between writes
	writeShare    = 66               // a write that took a second is followed by a pause of so many
	writeTimeout  = 30 * time.Second // for one write
	startTimeout  = 12 * time.Second // for the database when the service starts
)

// Options of a Recorder.
type Options struct {
	evidence.Options

	// After is how the recorder waits between two writes of its own. If nil, time.After.
	After func(time.Duration) <-chan time.Time
}

// The recorder is what the gates of a plan look at.
var _ lifecycle.Usage = (*Recorder)(nil)

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	*evidence.Reader // for gates, which ask this instance
	buffer           *buffer
	old              atomic.Uint64 // a bit for each version that is not the current one, or is in the plan
	hashKey          atomic.Pointer[hashKey]
	stats            atomic.Pointer[evidence.Stats]
	plan             atomic.Pointer[string] // the hash of the plan that this instance follows
	offset           atomic.Int64           // what to add to our time for the database's, in seconds
	every            atomic.Int64           // nanoseconds between writes, as announced
	host             string
	timeout          atomic.Int64 // of one write, in nanoseconds

	prepared atomic.Bool            // the database has the schema, and its key is known
	written  atomic.Bool            // counts were written
	writes   atomic.Int64           // how often
	failing  atomic.Pointer[outage] // nil while the database answers

	writing  chan struct{}      // full while writing; guards the fields below
	waiting  []batch            // which the database has not confirmed, in their order
	batches  int64              // the number of the last one
	hours    map[int64]struct{} // in which this service was up, not yet written
	ids      map[uint64]int64   // numbers of clients, by the hash of a name
	deleted  string             // how often names were deleted when ids was begun
	recalled time.Time          // when the clients of other instances were last read
	changed  bool               // counts were written since stats were last read
	measured time.Time          // when they were last read whole
	rolled   int64              // the day to which counts are rolled on

	running context.Context // ends when Close begins
	stop    context.CancelFunc
	done    chan struct{}
	once    sync.Once
}

// outage is a time in which the database accepts no counts.
type outage struct {
	since time.Time
	err   error
}

// New starts to write to a database, which is the recorder's from then on. It fails if
// the file is not a usable database, or the database has a schema that this release does
// not know. If the database is unavailable, New logs that and connects later; what is
// wrong with its schema then, Unfit says.
func New(ctx context.Context, db *store.Store, o Options) (*Recorder, error) {
	if len(o.Versions) > maxVersions {
		_ = db.Close() // nothing is written
		return nil, fmt.Errorf("usage: more than %d versions", maxVersions)
	}
	r := &Recorder{
		buffer:  newBuffer(shardEntries),
		writing: make(chan struct{}, 1),
		hours:   map[int64]struct{}{},
		ids:     map[uint64]int64{},
		done:    make(chan struct{}),
	}
	r.Reader = evidence.New(db, o.Options, evidence.Writer{
		Instance: rand.Text(), Flush: r.flushSoon, Away: r.away, Writes: r.writes.Load,
	})
	r.Writer.Started = r.Now()
	r.every.Store(int64(writeInterval))
	r.timeout.Store(int64(writeTimeout))
	r.Follow(store.NotYet, nil)
	r.host, _ = os.Hostname() // without one, the instance has no name
	k := keyFrom(rand.Text())
	r.hashKey.Store(&k)
	r.stats.Store(&evidence.Stats{Since: r.Writer.Started})
	r.running, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	first := make(chan error, 1)
	after := o.After
	if after == nil {
		after = time.After
	}
	guard.Go(r.Log, "writing the counts", func() { r.run(r.running, after, first) })
	var err error
	select {
	case err = <-first:
	case <-time.After(startTimeout):
		if r.hashKey.Load() == &k { // else it is only far away: names are final, and counts will be written
			r.failing.CompareAndSwap(nil, &outage{r.Writer.Started, errors.New("it has not answered yet")})
			r.Log.Error("usage: the database does not answer; counts wait in memory")
		}
	}
	if hopeless(err) {
		r.stop()
		<-r.done
		_ = db.Close() // the first error matters
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	return r, nil
}

// hopeless reports whether err means that the database will never work with this
// release.
func hopeless(err error) bool { return store.Damaged(err) || store.HasUnknownSchema(err) }

// Unfit is an error if the database has a schema that this release does not know, so
// that no count can be written until one of them is replaced.
func (r *Recorder) Unfit() error {
	if f := r.failing.Load(); f != nil && store.HasUnknownSchema(f.err) {
		return fmt.Errorf("USAGE_DB: %w", f.err)
	}
	return nil
}

// away is an error while the database accepts no counts.
func (r *Recorder) away() error {
	if f := r.failing.Load(); f != nil {
		return fmt.Errorf("the database is away since %s: %w", words.Stamp(f.since), f.err)
	}
	return nil
}

// Observe counts an answered request, if the response was a quote or an error.
func (r *Recorder) Observe(e *event.Event) {
	version := slices.Index(r.Versions, e.Version)
	if version < 0 {
		return
	}
	old := r.old.Load()&(1<<version) != 0
	what, counted := outcomeOf(e, old)
	if !counted {
		return
	}
	r.buffer.observe(uint8(version), old, max(e.Time.Unix()+r.offset.Load(), 1), what, e, r.hashKey.Load())
}

// Follow is told which plan is in force, and which versions have a line in it: from
// then on they are old ones. It tells the other instances.
func (r *Recorder) Follow(hash string, planned []string) {
	old := uint64(0)
	for i, version := range r.Versions {
		if version != r.Current || slices.Contains(planned, version) {
			old |= 1 << i
		}
	}
	r.old.Store(old)
	r.plan.Store(&hash)
}

// Name is the name of a client in the report and the log. It holds no address,
// only a hash.
func (r *Recorder) Name(id caller.Identity) string { return r.hashKey.Load().name(id) }

// Since is the time since which the counts are complete: when counting began, or
// the end of the last gap. Until the database has been read, it is the start of
// the process.
func (r *Recorder) Since() time.Time { return r.stats.Load().Since.UTC() }

// Total is how often a version was called within a window.
type Total struct {
	Version string
	Window  string // hour, day, week
	evidence.Count
}

// Totals returns every version in every window, as of the last write.
func (r *Recorder) Totals() []Total {
	var all []Total
	for _, version := range r.Versions {
		for i, count := range r.stats.Load().Counts[version] {
			all = append(all, Total{version, evidence.Windows[i].Name, count})
		}
	}
	return all
}

// Notes says what the numbers do not include. It is empty if nothing is missing.
func (r *Recorder) Notes() []string {
	notes := []string{}
	if f := r.failing.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts are not written since %s, and wait in memory: %v",
			words.Stamp(f.since), f.err))
	}
	return append(notes, r.stats.Load().Notes...)
}

// Plans is how many different plans the running instances that share the database
// follow, as of the last write.
func (r *Recorder) Plans() int { return max(1, r.stats.Load().Plans) }

// Size is how many bytes the database takes, as of the last write, and the number
// from which on counts are given up.
func (r *Recorder) Size() (bytes, most int64) { return r.stats.Load().Bytes, r.DB.Most }

// flushTimeout is how long a page waits for the counts since the last write.
const flushTimeout = 2 * time.Second

// readable is how long a database may take that can be read, though not written.
const readable = 5 * time.Second

// flushSoon writes the waiting counts, so that a page shows them. If that takes long,
// the page shows what was written before. It is an error if nothing can be written.
func (r *Recorder) flushSoon(ctx context.Context) error {
	done := make(chan error, 1)
	guard.Go(r.Log, "writing the counts for a page", func() { done <- r.writeInTime(r.running) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(flushTimeout):
	}
	if err := r.away(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, readable)
	defer cancel()
	q := r.DB.AskPages(limited)
	var n int
	q.Get("select count(*) from usage_meta", nil, &n) // can it be read?
	return q.Err
}

// run writes until the context ends. The pause grows with what a write costs, at
// most to twice the one that was announced to other instances, and becomes shorter
// as slowly.
func (r *Recorder) run(ctx context.Context, after func(time.Duration) <-chan time.Time, first chan<- error) {
	defer close(r.done)
	for ctx.Err() == nil {
		pause := writeInterval
		guard.Do(r.Log, "writing the counts", func() {
			began := time.Now()
			unprepared := !r.prepared.Load()
			err := r.writeInTime(ctx)
			select {
			case first <- err:
			default: // only the first is waited for
			}
			if err == nil && !unprepared { // the first has more to do
				last := time.Duration(r.every.Load())
				pause = min(max(writeInterval, writeShare*time.Since(began), last/2), store.MaxInterval, 2*last)
				r.every.Store(int64(pause))
			}
		})
		select {
		case <-ctx.Done():
		case <-after(pause):
		}
	}
}

// Close writes the remaining counts. It returns when that is done or ctx ends,
// whatever the database does meanwhile. Calls observed later are lost.
func (r *Recorder) Close(ctx context.Context) {
	r.once.Do(func() {
		r.stop() // ends the writes that are under way
		done := make(chan error, 1)
		guard.Go(r.Log, "writing the last counts", func() {
			defer close(done)
			<-r.done
			done <- r.writeLast(ctx)
		})
		var err error
		select {
		case err = <-done:
		case <-ctx.Done():
			err = errors.New("the database has not answered in time")
		}
		if err != nil {
			r.Log.Error("usage: the last counts are not written, and are lost", "error", err)
		}
	})
}

// writeLast writes what is left, notes that this instance has stopped properly, and
// closes the database.
func (r *Recorder) writeLast(ctx context.Context) error {
	err := r.Flush(ctx)
	if err == nil {
		const stopped = "update usage_instances set stopped = written where instance = $1"
		_, err = r.DB.ExecContext(ctx, stopped, r.Writer.Instance)
	}
	_ = r.DB.Close() // everything is written, or cannot be
	return err
}
