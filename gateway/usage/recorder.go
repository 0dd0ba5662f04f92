// Package usage records who calls which version: the calls of every client by
// hour and outcome, and what the current version would answer to the calls that
// an old version served. It keeps them in SQL: SQLite in memory or in a file, or
// a PostgreSQL database that all instances share.
//
// What it promises:
//   - Counting a call takes less than a microsecond, waits for nothing, and
//     allocates nothing for a client that is known in this hour.
//   - Memory is bounded, whatever clients send and however many there are: 32,768
//     entries of a version, client, outcome and hour are counted separately, and
//     as many may wait to be written, in less than 48 MiB together. Calls beyond
//     that count in the totals of their version, under the name "(other
//     clients)", and a note says so. A database in memory takes at most 128 MiB,
//     and gives up counts when it is full.
//   - Nobody can fill the counts with invented clients: a network adds at most 20
//     names a day, and half of the room is for clients that are known to the
//     operator or were seen on an earlier day.
//   - No address is kept. A client without integrator ID and Origin is identified
//     by its software and the hash of its address prefix, made with a secret key.
//   - Counts are written every five seconds, each batch once, even if the answer
//     to a commit is lost. While the database is unavailable they wait. A database
//     that is unavailable, full or slow never keeps the service from starting and
//     never slows a request. Counts that are lost are recorded as a gap.
//   - Windows are whole clock hours and cover at least what they say: up to an hour
//     more, never less. Calls and distinct clients are exact. Hours are kept for two
//     weeks, days for 400 days.
//   - Evidence for a gate says what it leaves out, and what a gate has decided by it
//     is kept.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/guard"
)

const (
	writeInterval = 5 * time.Second  // between writes
	writeTimeout  = 30 * time.Second // for one write
	startTimeout  = 3 * time.Second  // for a database server when the service starts
)

// Options of a Recorder.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil

	// Contacts returns what the operator wrote down about a known client. If nil,
	// nothing.
	Contacts func(name string) (Contact, bool)
}

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	*Reader
	log     *slog.Logger
	started time.Time
	secret  string // set by the operator; empty: use the one in the database
	hashKey atomic.Pointer[hashKey]
	buffer  *buffer
	stats   atomic.Pointer[stats]
	failing atomic.Pointer[outage] // nil while the database answers
	plan    atomic.Pointer[string] // the hash of the plan that this instance follows
	host    string

	writing  sync.Mutex // held while writing; guards the fields below
	prepared bool
	batch    batch     // the last one begun
	keys     []hashKey // earlier keys that names in the batch may be hashed with
	folded   string    // the last day on which old hours were folded

	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

// outage is a time in which the database accepts no counts.
type outage struct {
	since time.Time
	err   error
}

// New opens the database and starts to write. It fails if the configuration is
// wrong or the file is not a usable database. If the database is unavailable, New
// logs that and connects later.
func New(ctx context.Context, cfg Config, o Options) (*Recorder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	db, err := open(cfg)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		Reader: newReader(db, o), log: cmp.Or(o.Log, slog.Default()),
		secret: cfg.Key, buffer: newBuffer(shardEntries, otherEntries), done: make(chan struct{}),
	}
	r.instance, r.started = rand.Text(), r.now()
	r.Follow("", nil)
	r.host, _ = os.Hostname() // without one, the instance has no name
	k := keyFrom(cmp.Or(r.secret, rand.Text()))
	r.hashKey.Store(&k)
	r.stats.Store(&stats{since: r.started})
	first, cancel := ctx, func() {}
	if db.shared {
		first, cancel = context.WithTimeout(ctx, startTimeout)
	}
	defer cancel()
	if err := r.write(first); damaged(err) {
		_ = db.Close() // the first error matters
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.run(running)
	return r, nil
}

// Observe counts an answered request, if the response was a quote or an error.
func (r *Recorder) Observe(e *event.Event) {
	what := outcome(e)
	if what == "" || !slices.Contains(r.versions, e.Version) {
		return
	}
	at := max(e.Time.Unix(), 0)
	counted := entry{began: at - at%hour, version: e.Version, client: e.Client, outcome: what}
	if what == served && e.Version != r.current {
		counted.finding = e.Finding
	}
	r.buffer.observe(counted, at, e, r.hashKey.Load())
}

// Name is the name of a client in the report and the log. It holds no address,
// only a hash.
func (r *Recorder) Name(id caller.Identity) string { return r.hashKey.Load().name(id) }

// Since is the time since which the counts are complete: when counting began, or
// the end of the last gap. Until the database has been read, it is the start of
// the process.
func (r *Recorder) Since() time.Time { return r.stats.Load().since.UTC() }

// Total is how often a version was served within a window.
type Total struct {
	Version string
	Window  string // hour, day, week
	Count
}

// Totals returns every version in every window, as of the last write.
func (r *Recorder) Totals() []Total {
	var all []Total
	for _, version := range r.versions {
		for i, count := range r.stats.Load().served(version) {
			all = append(all, Total{version, windows[i].name, count})
		}
	}
	return all
}

// Notes says what the numbers do not include. It is empty if nothing is missing.
func (r *Recorder) Notes() []string {
	notes := []string{}
	if f := r.failing.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts are not written since %s, and wait in memory: %v", f.since.UTC().Format(time.RFC3339), f.err))
	}
	return append(notes, r.stats.Load().notes...)
}

// Plans is how many different plans the running instances that share the database
// follow, as of the last write.
func (r *Recorder) Plans() int { return max(1, r.stats.Load().plans()) }

// Report writes the waiting counts and reads the report from the database.
func (r *Recorder) Report(ctx context.Context, q Query) (Report, error) {
	if err := r.write(ctx); err != nil {
		return Report{}, err
	}
	report, err := r.report(ctx, q, r.stats.Load())
	report.Notes = r.Notes()
	return report, err
}

// run writes until the context ends.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	guard.Every(ctx, writeInterval, r.log, "writing the counts", func() {
		attempt, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		_ = r.write(attempt) // write has logged the error
	})
}

// Close writes the remaining counts, unless ctx ends first. Calls observed later
// are lost.
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
		_ = r.db.Close() // everything is written
	})
}
