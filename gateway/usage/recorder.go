// Package usage keeps the evidence of who calls which version: the calls of
// every client by hour and outcome, and what the current version would make of
// the calls that an old version served. It is kept in SQL: SQLite in memory or in
// a file, or a PostgreSQL that all instances share.
//
// What it promises:
//   - To count a call takes less than a microsecond, waits for nothing, and costs
//     no memory for a client that is known in this hour.
//   - Memory is bounded, whatever clients send and however many there are: 32,768
//     entries of a version, client, outcome and hour are counted apart, and as
//     many may wait to be written, in less than 48 MiB together. Calls beyond that
//     count in the totals of their version, under the name "(other clients)", and
//     a note says so. A database in memory takes at most 128 MiB, and gives up its
//     oldest counts when it is full.
//   - No address is kept. A client without integrator ID and Origin is known by
//     its software and the hash of its address prefix, under a secret key.
//   - Counts are written every five seconds, each batch once, even where the
//     answer to a commit is lost. While the database is away they wait. A database
//     that is away, full or slow never keeps the service from starting or slows a
//     request. What is lost after all is recorded as a gap.
//   - Windows are whole clock hours and cover at least what they say: up to an hour
//     more, never less. Calls and distinct clients are exact. Hours are kept for two
//     weeks, days for 400 days.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
)

const (
	every    = 5 * time.Second  // counts are written
	patience = 30 * time.Second // for one write
	atStart  = 3 * time.Second  // for a server that the start of the service waits for
)

// Options is what a Recorder works with.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil
}

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	versions []string
	current  string
	now      func() time.Time
	log      *slog.Logger
	db       *store
	instance string
	started  time.Time
	secret   string // of the operator; empty: the one in the database
	key      atomic.Pointer[key]
	buffer   *buffer
	figures  atomic.Pointer[figures]
	failing  atomic.Pointer[failure] // nil while the database answers

	turn     sync.Mutex // to write; guards what follows
	prepared bool
	batch    batch  // the last that was begun
	keys     []key  // that names in the batch may be hashed under, beside the current one
	folded   string // the last day on which old hours were folded

	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

// failure is that the database does not take counts.
type failure struct {
	since time.Time
	err   error
}

// New opens the database and starts to write. An error is one of configuration,
// or of a file that is no usable database. A database that is away is reported
// to the log, and connected to later.
func New(ctx context.Context, cfg Config, o Options) (*Recorder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	db, err := open(cfg)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		versions: slices.Clone(o.Versions), current: o.Current, now: o.Now, log: cmp.Or(o.Log, slog.Default()),
		db: db, instance: rand.Text(), secret: cfg.Key, buffer: newBuffer(shardEntries, otherEntries), done: make(chan struct{}),
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.started = r.now()
	k := keyFrom(cmp.Or(r.secret, rand.Text()))
	r.key.Store(&k)
	r.figures.Store(&figures{since: r.started})
	first, cancel := ctx, func() {}
	if db.shared {
		first, cancel = context.WithTimeout(ctx, atStart)
	}
	defer cancel()
	if err := r.write(first); damaged(err) {
		_ = db.Close() // the error that matters is known
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.run(life)
	return r, nil
}

// Observe counts an answered request. Requests that no quote route answered do
// not count.
func (r *Recorder) Observe(e *gateway.Event) {
	what := outcome(e)
	if what == "" || !slices.Contains(r.versions, e.Version) {
		return
	}
	at := max(e.Time.Unix(), 0)
	counted := entry{began: at - at%hour, version: e.Version, client: e.Client, outcome: what}
	if what == served && e.Version != r.current {
		counted.finding = e.Finding
	}
	r.buffer.add(counted, at)
}

// Name is how a client is called in the report and the log: an address within it
// is hashed.
func (r *Recorder) Name(id caller.Identity) string { return r.key.Load().name(id) }

// LastDay gives how many clients had how many calls served within the last day,
// as of the last write. It does not ask the database.
func (r *Recorder) LastDay(version string) (clients, calls int) {
	day := r.figures.Load().served(version)[1]
	return int(day.Clients), int(day.Calls)
}

// Since is the time from which on the counts are whole: when counting began, or
// the end of the last gap. It is the start of the process while the database has
// not told.
func (r *Recorder) Since() time.Time { return r.figures.Load().since.UTC() }

// Total is how often a version was served within a window.
type Total struct {
	Version string
	Window  string // hour, day, week
	Count
}

// Totals gives every version in every window, as of the last write.
func (r *Recorder) Totals() []Total {
	var all []Total
	for _, version := range r.versions {
		for i, count := range r.figures.Load().served(version) {
			all = append(all, Total{version, windows[i].name, count})
		}
	}
	return all
}

// Notes says what the numbers leave out. There are none while all is well.
func (r *Recorder) Notes() []string {
	notes := []string{}
	if f := r.failing.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts are not written since %s, and wait in memory: %v", f.since.UTC().Format(time.RFC3339), f.err))
	}
	return append(notes, r.figures.Load().notes...)
}

// run writes until the context ends.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, patience)
		_ = r.write(attempt) // which has reported it
		cancel()
	}
}

// Close writes what is left, for as long as the context lasts. Calls that are
// observed later are lost.
func (r *Recorder) Close(ctx context.Context) {
	r.once.Do(func() {
		r.stop()
		<-r.done
		err := r.write(ctx)
		if err == nil {
			_, err = r.db.ExecContext(ctx, "update usage_instances set stopped = $1 where instance = $2", r.now().Unix(), r.instance)
		}
		if err != nil {
			r.log.Error("usage: the last counts are not written, and are lost", "error", err)
		}
		_ = r.db.Close() // there is nothing left to lose
	})
}
