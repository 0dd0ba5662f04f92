// Package usage records who calls an old version: the calls of every client by day
// and outcome, and what the current version would answer to those that were served.
// Of the current version it keeps totals, and the calls of clients that the operator
// knows or that an old version has seen within 90 days, so that it can tell who has
// moved. It keeps them in SQL: SQLite in memory or in a file, or a PostgreSQL
// database that all instances share.
//
// What it promises:
//   - Counting a call takes less than a microsecond, waits for nothing, and
//     allocates nothing for a client that has called since the last write. A
//     stranger's call to the current version adds to one counter.
//   - Memory is bounded, whatever clients send and however many there are: 32,768
//     clients between two writes are counted apart, those that the operator knows
//     beside them, and as many may wait to be written, in less than 48 MiB together.
//     Calls of further clients count in the totals, as calls without a name.
//   - Nobody can push real clients out: a client that the operator knows always has a
//     place, half of the room is for clients seen on an earlier day, an eighth for
//     clients that only get errors. A network adds at most 20 names a day and has at
//     most 64 places.
//   - No address is kept. A client without integrator ID and Origin is identified
//     by its software and the hash of its address prefix, made with a secret key.
//   - Counts are written every five seconds, or less often, so that writing takes at
//     most 3 % of the time: at most two minutes apart, which is what a killed process
//     loses. Each batch is written once, even if the answer to a commit is lost. While
//     the database is unavailable counts wait. It never keeps the service from
//     starting and never slows a request. Counts that are lost are recorded as a gap.
//   - A database takes at most 1 GiB, in memory 128 MiB. Above that, clients that only
//     got errors are given up first, then new ones if they are most, then old days.
//   - Evidence for a gate is complete only if every hour was recorded and every call
//     has a name; otherwise it says what is missing. What a gate has decided is kept.
//   - What a page reads never delays the writer or a gate, and takes a bounded memory.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	writeInterval = 5 * time.Second  // between writes
	maxInterval   = 2 * time.Minute  // between writes that take long
	writeShare    = 33               // a write that took a second is followed by a pause of so many
	writeTimeout  = 30 * time.Second // for one write
	startTimeout  = 3 * time.Second  // for the database when the service starts
)

// Options of a Recorder or a Reader.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil

	// Contacts returns what the operator wrote down about a known client. If nil,
	// nothing.
	Contacts func(name string) (Contact, bool)

	database func() time.Time // the clock of PostgreSQL, in tests
}

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	reader  *Reader
	db      *store
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	buffer  *buffer
	totals  totals
	old     atomic.Uint64 // a bit for each version that is not the current one, or is in the plan
	hashKey atomic.Pointer[hashKey]
	stats   atomic.Pointer[stats]
	failing atomic.Pointer[outage] // nil while the database answers
	plan    atomic.Pointer[string] // the hash of the plan that this instance follows
	offset  atomic.Int64           // what to add to our time for the database's, in seconds
	every   atomic.Int64           // nanoseconds between writes, as announced
	host    string
	timeout time.Duration // of one write

	writing  chan struct{} // full while writing; guards the fields below
	prepared bool
	batch    batch               // the last one begun
	hours    map[int64]struct{}  // in which this service was up, not yet written
	ids      map[uint64]clientID // by the hash of a name
	deleted  string              // how often names were deleted when ids was begun
	recalled time.Time           // when the clients of other instances were last read
	changed  bool                // counts were written since stats were last read
	measured time.Time           // when they were last read whole
	rolled   int64               // the day to which counts are rolled on

	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

// outage is a time in which the database accepts no counts.
type outage struct {
	since time.Time
	err   error
}

// notYet is what a plan is until an instance follows one.
const notYet = "?"

// New opens the database and starts to write. It fails if the configuration is
// wrong or the file is not a usable database. If the database is unavailable, New
// logs that and connects later.
func New(ctx context.Context, cfg Config, o Options) (*Recorder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if len(o.Versions) > maxVersions {
		return nil, fmt.Errorf("usage: more than %d versions", maxVersions)
	}
	db, err := open(cfg)
	if err != nil {
		return nil, err
	}
	db.clock = o.database
	r := &Recorder{
		reader: newReader(db, o), db: db, log: cmp.Or(o.Log, slog.Default()), buffer: newBuffer(shardEntries), timeout: writeTimeout,
		writing: make(chan struct{}, 1), hours: map[int64]struct{}{}, ids: map[uint64]clientID{}, done: make(chan struct{}),
	}
	r.now = r.reader.now
	r.every.Store(int64(writeInterval))
	r.started = r.now()
	r.reader.instance, r.reader.started = rand.Text(), r.started
	r.Follow(notYet, nil)
	r.host, _ = os.Hostname() // without one, the instance has no name
	k := keyFrom(rand.Text())
	r.hashKey.Store(&k)
	r.stats.Store(&stats{since: r.started})
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	first := make(chan error, 1)
	go r.run(running, first)
	select {
	case err = <-first:
	case <-time.After(startTimeout):
		r.failing.CompareAndSwap(nil, &outage{r.started, errors.New("it has not answered yet")})
		r.log.Error("usage: the database does not answer; counts wait in memory")
	}
	if damaged(err) {
		stop()
		<-r.done
		_ = db.Close() // the first error matters
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	return r, nil
}

// Observe counts an answered request, if the response was a quote or an error.
func (r *Recorder) Observe(e *event.Event) {
	version := slices.Index(r.reader.versions, e.Version)
	if version < 0 {
		return
	}
	old := r.old.Load()&(1<<version) != 0
	what, counted := outcomeOf(e, old)
	if !counted {
		return
	}
	at := max(e.Time.Unix()+r.offset.Load(), 1)
	r.totals.add(at, uint8(version), what, false)
	hash := r.buffer.hash(e.Client)
	if !old && e.Caller.Known == nil {
		if _, seen := r.buffer.seen.find(hash); !seen {
			return
		}
	}
	if !r.buffer.observe(hash, uint8(version), at, what, e, r.hashKey.Load()) {
		r.totals.add(at, uint8(version), what, true)
	}
}

// Follow is told which plan is in force, and which versions have a line in it: from
// then on they are old ones. It tells the other instances.
func (r *Recorder) Follow(hash string, planned []string) {
	old := uint64(0)
	for i, version := range r.reader.versions {
		if version != r.reader.current || slices.Contains(planned, version) {
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
func (r *Recorder) Since() time.Time { return r.stats.Load().since.UTC() }

// Total is how often a version was called within a window.
type Total struct {
	Version string
	Window  string // hour, day, week
	Count
}

// Totals returns every version in every window, as of the last write.
func (r *Recorder) Totals() []Total {
	var all []Total
	for _, version := range r.reader.versions {
		for i, count := range r.stats.Load().counts[version] {
			all = append(all, Total{version, windows[i].name, count})
		}
	}
	return all
}

// Notes says what the numbers do not include. It is empty if nothing is missing.
func (r *Recorder) Notes() []string {
	notes := []string{}
	if f := r.failing.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts are not written since %s, and wait in memory: %v", words.Stamp(f.since), f.err))
	}
	return append(notes, r.stats.Load().notes...)
}

// Plans is how many different plans the running instances that share the database
// follow, as of the last write.
func (r *Recorder) Plans() int { return max(1, r.stats.Load().plans()) }

// Size is how many bytes the database takes, as of the last write, and the number
// from which on counts are given up.
func (r *Recorder) Size() (bytes, most int64) { return r.stats.Load().bytes, r.db.most }

// flushTimeout is how long a page waits for the counts since the last write.
const flushTimeout = 2 * time.Second

// flush writes the waiting counts, so that a page shows them. If that takes long,
// the page shows what was written before. It is an error if nothing can be written.
func (r *Recorder) flush(ctx context.Context) error {
	done := make(chan error, 1)
	go guard.Do(r.log, "writing the counts for a page", func() { done <- r.writeInTime(context.WithoutCancel(ctx)) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(flushTimeout):
	}
	if f := r.failing.Load(); f != nil {
		return fmt.Errorf("the database is away since %s: %w", words.Stamp(f.since), f.err)
	}
	return r.reader.answers(ctx)
}

// Report writes the waiting counts and reads the report from the database.
func (r *Recorder) Report(ctx context.Context, q Query) (Report, error) {
	return r.reader.share(ctx, q, func(ctx context.Context) (Report, error) {
		if err := r.flush(ctx); err != nil {
			return Report{}, err
		}
		return r.reader.report(ctx, q)
	})
}

// WriteCSV writes the waiting counts and then the clients that match a query.
func (r *Recorder) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.reader.WriteCSV(ctx, q, out)
}

// Simulate writes the waiting counts and predicts the effect of a plan.
func (r *Recorder) Simulate(ctx context.Context, plan *lifecycle.Plan) (Simulation, error) {
	if err := r.flush(ctx); err != nil {
		return Simulation{}, err
	}
	return r.reader.Simulate(ctx, plan)
}

// Traffic writes the waiting counts and adds up those that match a query.
func (r *Recorder) Traffic(ctx context.Context, q Query, by string) ([]Traffic, error) {
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	return r.reader.Traffic(ctx, q, by)
}

// run writes until the context ends. The pause grows with what a write costs, at
// most to twice the one that was announced to other instances.
func (r *Recorder) run(ctx context.Context, first chan<- error) {
	defer close(r.done)
	pause := time.Duration(0)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = writeInterval
		guard.Do(r.log, "writing the counts", func() {
			began, unprepared := time.Now(), !r.ready()
			err := r.writeInTime(ctx)
			select {
			case first <- err:
			default: // only the first is waited for
			}
			if err == nil && !unprepared { // the first has more to do
				pause = min(max(writeInterval, writeShare*time.Since(began)), maxInterval, 2*time.Duration(r.every.Load()))
				r.every.Store(int64(pause))
			}
		})
	}
}

// Close writes the remaining counts, unless ctx ends first. Calls observed later
// are lost.
func (r *Recorder) Close(ctx context.Context) {
	r.once.Do(func() {
		r.stop()
		<-r.done
		err := r.write(ctx)
		if err == nil {
			_, err = r.db.ExecContext(ctx, "update usage_instances set stopped = written where instance = $1", r.reader.instance)
		}
		if err != nil {
			r.log.Error("usage: the last counts are not written, and are lost", "error", err)
		}
		_ = r.db.Close() // everything is written
	})
}
