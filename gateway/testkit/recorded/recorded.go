// Package recorded is a recorder under test, with the reader of its reports, on a clock
// that moves when told to.
package recorded

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// Noon is in the middle of an hour.
var Noon = time.Date(2027, 3, 10, 12, 32, 10, 0, time.UTC)

// Rig is a recorder under test, of the versions v3 and v1, of which v3 is the current one.
type Rig struct {
	*usage.Recorder
	Read  *evidence.DB
	DB    *sql.DB // its connections
	Clock *clock.Clock
	Skew  *skew.Clock // what is known of other clocks
	Log   *journal.Journal
}

// Setup is what a recorder is begun with.
type Setup struct {
	Clock    *clock.Clock // of the database
	Evidence evidence.Options
	Usage    usage.Options
	Start    time.Duration // that the first write may take
}

// Option changes that.
type Option func(*Setup)

// Versions are those that a rig serves.
var Versions = []string{"v3", "v1"}

// Knowing has the operator know clients.
func Knowing(known func(recorded string) (caller.Client, bool)) Option {
	return func(s *Setup) { s.Evidence.Known = known }
}

// Asking has a registry that tells which integrators it has.
func Asking(registered func(ctx context.Context, id string) (bool, error)) Option {
	return func(s *Setup) { s.Evidence.Registered = registered }
}

// Ahead has the recorder's own clock be ahead of the database's.
func Ahead(d time.Duration) Option {
	return func(s *Setup) {
		now := func() time.Time { return s.Clock.Now().Add(d) }
		s.Evidence.Now = now
		s.Usage.Now = now
	}
}

// Clockless has a database without a clock of its own, as a file is.
func Clockless(s *Setup) { s.Evidence.Clock = nil }

// Begin starts a recorder, which writes when the test says so. It is closed at the end of
// the test.
func Begin(t testing.TB, cfg evidence.Config, at *clock.Clock, options ...Option) *Rig {
	t.Helper()
	r, err := Start(t, cfg, at, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Start is Begin that may fail.
func Start(t testing.TB, cfg evidence.Config, at *clock.Clock, options ...Option) (*Rig, error) {
	t.Helper()
	r := &Rig{Clock: at, Log: &journal.Journal{}}
	log := slog.New(slog.NewTextHandler(r.Log, nil))
	never := func(time.Duration) <-chan time.Time { return nil } // after the first write only the test writes
	setup := Setup{
		Clock:    at,
		Evidence: evidence.Options{Versions: Versions, Current: "v3", Now: at.Now, Log: log, Clock: at.Now},
		Start:    30 * time.Second,
		Usage:    usage.Options{Versions: Versions, Current: "v3", Now: at.Now, Log: log, After: never},
	}
	for _, option := range options {
		option(&setup)
	}
	db, err := evidence.Open(cfg, setup.Evidence)
	if err != nil {
		return nil, err
	}
	r.Read = db
	r.DB = db.Writer()
	r.Skew = skew.New(skew.Options{Now: setup.Usage.Now, Elapsed: at.Elapsed})
	setup.Usage.Clock = r.Skew
	r.Recorder = usage.New(db, setup.Usage)
	db.Attach(r.Recorder)
	starting, cancel := context.WithTimeout(t.Context(), setup.Start)
	defer cancel()
	if err := r.Start(starting); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}

// Kill ends it as kill -9 would: what is not written yet never is, and it writes no more.
func (r *Rig) Kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Recorder.Close(ctx)
}

// Close stops the recorder. What its database does not take within seconds is lost.
func (r *Rig) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = r.Recorder.Close(ctx)
}

// Rows is how many rows a table has.
func (r *Rig) Rows(t testing.TB, table string) (n int) {
	t.Helper()
	if err := r.DB.QueryRow("select count(*) from " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Evidence is that of a gate that counts every name, before any sunset.
func (r *Rig) Evidence(t testing.TB, version string, days int) lifecycle.Evidence {
	t.Helper()
	return r.Gate(t, version, lifecycle.Gate{Days: days})
}

// Gate is the evidence of a gate, before any sunset.
func (r *Rig) Gate(t testing.TB, version string, gate lifecycle.Gate) lifecycle.Evidence {
	t.Helper()
	e, err := r.Read.Evidence(version, gate, r.Clock.Now().Add(time.Hour))
	if err != nil {
		t.Error(err)
	}
	return e
}

// Missing is what the evidence of v1 leaves out: what holds a gate in any case, and gaps.
func (r *Rig) Missing(t testing.TB, days int) string {
	t.Helper()
	e := r.Evidence(t, "v1", days)
	all := e.Missing
	for _, g := range e.Gaps {
		all = append(all, fmt.Sprintf("%s from %s to %s: %s", g.Instance, humanize.DateTime(g.From),
			humanize.DateTime(g.To), g.Reason))
	}
	return strings.Join(all, "; ")
}

// Stats and Notes are as of the last write.
func (r *Rig) Stats() *evidence.Stats { return r.Read.Stats() }
func (r *Rig) Notes() []string        { return append(r.Recorder.Notes(), r.Stats().Notes...) }

// Flush writes what was counted.
func (r *Rig) Flush(t testing.TB) {
	t.Helper()
	if err := r.Recorder.Flush(context.Background()); err != nil {
		t.Error(err)
	}
}

// Up lets time pass while the service is up, and writes.
func (r *Rig) Up(t testing.TB, d time.Duration) {
	t.Helper()
	r.Clock.Advance(d)
	r.Flush(t)
}

// Age makes the database look as if the service had been up for days.
func (r *Rig) Age(t testing.TB, days int) {
	t.Helper()
	r.Flush(t)
	since := r.Clock.Now().Unix() - int64(days)*86_400
	r.Exec(t, fmt.Sprintf("update quotegate_meta set value = '%d' where name = 'since'", since))
	r.Exec(t, fmt.Sprintf("update quotegate_instances set started = %d", since))
}

// Exec runs a statement on the database.
func (r *Rig) Exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := r.DB.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Report is that of all clients.
func (r *Rig) Report(t testing.TB) evidence.Report {
	t.Helper()
	read, err := r.Read.Report(context.Background(), evidence.Query{Per: 1000})
	if err != nil {
		t.Error(err)
		t.FailNow()
	}
	return read
}

// Names are the clients of the last 90 days.
func (r *Rig) Names(t testing.TB) (names []string) {
	for _, c := range r.Report(t).Clients {
		names = append(names, c.Client)
	}
	return names
}

// Pair is what a served call has quoted.
var Pair = &chain.Pair{}

// Call has v1 serve calls of a client now.
func (r *Rig) Call(client string, times int) {
	for range times {
		r.On("v1", client)
	}
}

// On has a version serve a call of a client now.
func (r *Rig) On(version, client string) {
	r.Observe(&event.Event{Time: r.Clock.Now(), Version: version, Client: client, Pair: Pair})
}

// Found has v1 serve calls of which the current version makes something.
func (r *Rig) Found(client string, times int, what event.Finding) {
	for range times {
		r.Observe(&event.Event{Time: r.Clock.Now(), Version: "v1", Client: client, Pair: Pair, Finding: what})
	}
}

// Refuse has a brownout, or a retired version, refuse calls of a client now.
func (r *Rig) Refuse(client string, times int, code fault.Code) {
	for range times {
		r.Observe(&event.Event{Time: r.Clock.Now(), Version: "v1", Client: client, Quotes: true, Code: code})
	}
}

// Errs has a client get errors of its own.
func (r *Rig) Errs(client string, times int) { r.Refuse(client, times, fault.MissingParameter) }

// As has a caller get a quote of a version.
func (r *Rig) As(version string, c caller.Caller) (name string) {
	name = r.Name(c.Identity())
	r.Observe(&event.Event{
		Time: r.Clock.Now(), Version: version, Caller: c, Client: name, Pair: Pair, Quotes: true,
	})
	return name
}

// From has a client with an Origin call v1 from an address.
func (r *Rig) From(addr, origin string) {
	c := caller.Caller{Origin: origin, Agent: "curl", Addr: netip.MustParseAddr(addr)}
	r.Observe(&event.Event{
		Time: r.Clock.Now(), Version: "v1", Caller: c, Client: r.Name(c.Identity()), Pair: Pair,
	})
}

// Agent is the identity of a caller without integrator and Origin.
func Agent(addr string) caller.Identity {
	return caller.Caller{Agent: "curl", Addr: netip.MustParseAddr(addr)}.Identity()
}

// OnEach runs a test on an empty database of every kind, SQLite in memory.
func OnEach(t *testing.T, test func(*testing.T, evidence.Config)) {
	onBoth(t, "", test)
}

// OnDisk runs a test on an empty database of every kind that outlives a process.
func OnDisk(t *testing.T, test func(*testing.T, evidence.Config)) {
	onBoth(t, filepath.Join(t.TempDir(), "usage ?%41.db"), test)
}

func onBoth(t *testing.T, sqlite string, test func(*testing.T, evidence.Config)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, evidence.Config{DB: sqlite})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, evidence.Config{DB: postgres.Shared(t).Fresh(t)})
	})
}

// Main runs the tests of a package. Nothing of theirs may run on.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgres.StopShared()
		os.Exit(code)
	}))
}
