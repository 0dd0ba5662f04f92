// Package usage counts who calls which version: calls by client, day and outcome, and what
// the current version would answer. It knows no SQL: a Database takes the counts.
//
// Counting takes less than a microsecond and never blocks. Memory is bounded. Addresses are
// kept only as keyed hashes of their prefix. Every batch is written exactly once; while the
// database is unavailable, counts stay in memory.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/skew"
)

const (
	writeInterval = 5 * time.Second // between two writes, unless they take long
	pauseFactor   = 20              // the pause after a write, as a multiple of its duration
	retryPause    = 200 * time.Millisecond
	flushTimeout  = 2 * time.Second // how long a page waits for the counts since the last write

	// MaxInterval is the longest pause between two writes. A process that dies loses no more.
	MaxInterval = 20 * time.Second
	// MaxSkew is how far two clocks that agree may be from one another.
	MaxSkew = skew.Tolerance
	// NotYet is the plan of an instance that follows none yet.
	NotYet = "?"
)

// Unusable is why a database will never take counts of this release.
type Unusable struct{ Why error }

func (u Unusable) Error() string { return u.Why.Error() }
func (u Unusable) Unwrap() error { return u.Why }

func isUnusable(err error) bool {
	_, unusable := errors.AsType[Unusable](err)
	return unusable
}

// Database takes what was counted.
type Database interface {
	// Now is the database's time. One without a clock returns ours.
	Now(ctx context.Context, own time.Time) (time.Time, error)
	// HasClock reports whether it has a clock of its own.
	HasClock() bool
	// Write writes a batch, exactly once however often it is called with it, and returns the
	// key under which the database hashes names.
	Write(context.Context, *Batch) (Key, error)
	// Tend deletes what is too old or too much, at the database's time.
	Tend(ctx context.Context, at time.Time) error
	// Stop notes that an instance ended with all its counts written.
	Stop(ctx context.Context, instance string) error
	// Refresh drops connections that may lead to the wrong place. Writes have failed or not.
	Refresh(failed bool)
	Close() error
}

// Batch is what one transaction writes. It is kept until the database confirms it. Its
// number prevents that it is written twice, and shows whether the database still has the
// batch before it.
type Batch struct {
	Instance, Host string
	Plan           string // the hash of the plan that the instance follows
	Number         int64
	Began          time.Time     // when the one before was taken, by the database's clock
	Until          time.Time     // when it was taken
	Jumped         time.Duration // by which our clock, or the database's, has jumped meanwhile
	Clients        []*Calls
	Totals         map[Hour]Total
}

// Options of a Recorder.
type Options struct {
	Versions []string         // every version that is counted
	Current  string           // the version that findings compare with
	Host     string           // of this run; that of the machine if empty
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil
	Clock    *skew.Clock      // compares Now with other clocks; one of its own if nil

	// After is how the recorder waits between two writes of its own. If nil, time.After.
	After func(time.Duration) <-chan time.Time
	// WriteTimeout is for one write; 30 seconds if zero.
	WriteTimeout time.Duration
}

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	options  Options
	db       Database
	instance string // the ID of this run
	host     string

	mu     sync.Mutex
	counts *counts // since the last write

	old    atomic.Pointer[[]bool] // for each version: it is not the current one, or is in the plan
	key    atomic.Pointer[Key]
	plan   atomic.Pointer[string] // the hash of the plan that this instance follows
	anchor atomic.Pointer[moment] // from which the time of a call is counted
	outage atomic.Pointer[outage] // nil while the database takes counts

	writing chan struct{} // full while writing; guards the fields below
	pending *Batch        // what the database has not confirmed
	batches int64         // the number of the last batch
	last    moment        // when the last batch was taken
	warned  string        // what the log has last said about the clock

	running context.Context // ends when Close begins
	stop    context.CancelFunc
	done    chan struct{} // closed when the loop has ended; nil until Start
	once    sync.Once
}

// outage is a time in which the database takes no counts.
type outage struct {
	since time.Time
	err   error
}

// moment is one time, by our clock and by the database's.
type moment struct{ own, database time.Time }

// idLength is that of an instance's ID: 50 random bits, short enough to read out.
const idLength = 10

// New counts for a database, which is the recorder's from then on. It waits for nothing.
func New(db Database, o Options) *Recorder {
	o.Versions = slices.Clone(o.Versions)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Host == "" {
		o.Host, _ = os.Hostname() // without one, the instance has no name
	}
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	o.Clock = cmp.Or(o.Clock, skew.New(skew.Options{Now: o.Now}))
	r := &Recorder{
		options:  o,
		db:       db,
		instance: rand.Text()[:idLength],
		host:     o.Host,
		counts:   newCounts(0),
		writing:  make(chan struct{}, 1),
	}
	unknown := KeyFrom(rand.Text())
	r.key.Store(&unknown)
	began := o.Now()
	r.last = moment{own: began, database: began}
	r.anchor.Store(&moment{own: began, database: began})
	r.Follow(NotYet, nil)
	r.running, r.stop = context.WithCancel(context.Background())
	return r
}

// Start begins to write, and returns after the first attempt or when ctx ends. The error
// says that the database will never work with this release. If the database is
// unavailable, Start logs that; what is wrong with it later, Unfit says.
func (r *Recorder) Start(ctx context.Context) error {
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer safego.WhenDone(r.running, r.options.Log, "ending the first write", cancel)()
	err := safego.Try(r.options.Log, "writing the counts", func() error { return r.write(starting) })
	if isUnusable(err) {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	r.note(err)
	r.done = make(chan struct{})
	safego.Go(r.options.Log, "writing counts until the end", r.run)
	return nil
}

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
		pause = min(max(writeInterval, pauseFactor*time.Since(began)), MaxInterval)
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
	at := max(r.sinceAnchor(e.Time).Unix(), 1)
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

// Instance is the ID of this run, as the database has it.
func (r *Recorder) Instance() string { return r.instance }

// Plan is the hash of the plan that this run follows.
func (r *Recorder) Plan() string { return *r.plan.Load() }

// Name is the name of a client in the report and the log. It holds no address,
// only a hash.
func (r *Recorder) Name(id caller.Identity) string { return nameOf(r.key.Load(), id) }

// Notes says which counts are not in the database, and what is wrong with clocks. It is empty if
// all is well.
func (r *Recorder) Notes() []string {
	notes := []string{}
	if f := r.outage.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts have not been written since %s and stay in memory: %v",
			humanize.Timestamp(f.since), f.err))
	}
	return append(notes, r.clockNotes()...)
}

func (r *Recorder) clockNotes() (notes []string) {
	if note := r.options.Clock.Skew().Note(); note != "" {
		notes = append(notes, note)
	}
	own := r.options.Now()
	jump := own.Round(0).Sub(r.Steady(own).Round(0))
	if jump == 0 || r.db.HasClock() {
		return notes
	}
	return append(notes, fmt.Sprintf("this machine's clock has jumped and is %s what it would be; calls are counted "+
		"as if it had not: synchronise it by NTP, or restart this instance if it is right now", skew.Ahead(jump)))
}

// sinceAnchor is a time of our clock by the one that calls are counted by. If ours has jumped since
// the anchor, it does not follow.
func (r *Recorder) sinceAnchor(own time.Time) time.Time {
	a := r.anchor.Load()
	return a.database.Add(r.options.Clock.Elapsed(a.own, own))
}

// Steady is a time of our clock, unless that has jumped since the last write: then it is what it
// would be without the jump. It is the time of a database without a clock.
func (r *Recorder) Steady(own time.Time) time.Time {
	steady := r.sinceAnchor(own)
	if own.Round(0).Sub(steady.Round(0)).Abs() <= MaxSkew {
		return own
	}
	return steady
}

// Unfit is an error if the database will never take counts of this release, so that one of
// them has to be replaced.
func (r *Recorder) Unfit() error {
	if f := r.outage.Load(); f != nil && isUnusable(f.err) {
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

// Flush writes what was counted. It logs the start and the end of an outage.
func (r *Recorder) Flush(ctx context.Context) error {
	err := r.write(ctx)
	if !errors.Is(ctx.Err(), context.Canceled) { // which is no outage
		r.note(err)
	}
	return err
}

// WriteSoon writes the waiting counts, so that a page shows them. If that fails or takes
// long, the page shows what was written before, and the next write has them.
func (r *Recorder) WriteSoon(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	_ = r.write(limited)
}

// write takes all steps of a write, one writer at a time.
func (r *Recorder) write(ctx context.Context) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	limited, cancel := context.WithTimeout(ctx, r.options.WriteTimeout)
	defer cancel()
	r.db.Refresh(r.outage.Load() != nil)
	for _, step := range []func(context.Context) error{r.writePending, r.collect, r.writePending} {
		if err := step(limited); err != nil {
			return err
		}
	}
	return r.db.Tend(limited, r.last.database)
}

// writePending writes the batch that the database has not confirmed, if there is one.
func (r *Recorder) writePending(ctx context.Context) error {
	b := r.pending
	if b == nil {
		return nil
	}
	key, err := r.db.Write(ctx, b)
	if err != nil {
		return err
	}
	r.key.Store(&key) // another one if the database was replaced
	r.pending = nil
	if b.Number == 1 && r.outage.Load() != nil {
		r.options.Log.Warn("usage: calls before the database first answered have names of their own, " +
			"where a name is made from an address")
	}
	return nil
}

// compareClocks sets the anchor. If our clock is far from the database's, calls are counted by
// the database's from then on. One without a clock follows a jump of ours once the newest blocks
// of the chains confirm it: a wrong clock was set right, or the machine was asleep.
func (r *Recorder) compareClocks(ctx context.Context) (now moment, err error) {
	now.own = r.options.Now()
	steady := r.Steady(now.own)
	if !r.db.HasClock() && r.options.Clock.Skew().Right() {
		steady = now.own
	}
	now.database, err = r.db.Now(ctx, steady)
	if err != nil {
		return now, err
	}
	if r.db.HasClock() {
		r.options.Clock.ReadDatabase(now.database)
	}
	anchor := now
	if now.database.Sub(now.own).Abs() <= MaxSkew {
		anchor.database = now.own
	}
	r.anchor.Store(&anchor)
	r.logClock()
	return now, nil
}

// logClock logs when something begins or ceases to be wrong with a clock.
func (r *Recorder) logClock() {
	says := strings.Join(r.clockNotes(), "; ")
	switch {
	case says != "" && r.warned == "":
		r.options.Log.Error("clock: it disagrees with others", "detail", says)
	case says == "" && r.warned != "":
		r.options.Log.Info("clock: it agrees with the others again")
	}
	r.warned = says
}

// collect makes a batch of what was counted.
func (r *Recorder) collect(ctx context.Context) error {
	now, err := r.compareClocks(ctx)
	if err != nil {
		return err
	}
	elapsed := r.options.Clock.Elapsed(r.last.own, now.own) // which does not jump
	if r.batches == 0 {
		r.last.database = now.database.Add(-elapsed)
	}
	r.batches++
	b := &Batch{
		Instance: r.instance, Host: r.host, Plan: r.Plan(),
		Number: r.batches, Began: r.last.database, Until: now.database,
	}
	b.Jumped = now.database.Round(0).Sub(r.last.database.Round(0)) - elapsed
	r.last = now
	r.mu.Lock()
	taken := r.counts
	r.counts = newCounts(len(taken.clients) / 2)
	r.mu.Unlock()
	b.Clients = slices.Collect(maps.Values(taken.clients))
	b.Totals = taken.totals
	r.pending = b
	return nil
}

// Close writes the remaining counts, and tries again if that fails. It returns when that
// is done or ctx ends, whatever the database does meanwhile. The error says that counts
// are lost. Calls observed later are lost too.
func (r *Recorder) Close(ctx context.Context) (err error) {
	r.once.Do(func() {
		r.stop()           // ends the writes that are under way
		if r.done == nil { // it was never started, so that it has written nothing
			err = r.db.Close()
			return
		}
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
			err = r.db.Stop(ctx, r.instance)
		}
		if err == nil || isUnusable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryPause):
		}
	}
}
