package evidence_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// The gate is simulated: 1 to 4 instances on one database and a virtual clock live through
// random histories of calls, writes that fail, kills, restarts, databases that are set back,
// plans that differ, clocks that are wrong, and days. After every step, what the instances
// do is compared with what really happened. `make simulate` runs many more, longer histories.
func TestSimulatedGate(t *testing.T) {
	checks := "5"
	if !testing.Short() {
		checks = "50"
	}
	simulateGate(t, checks, evidence.Config{})
}

func TestSimulatedGateOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it is long; make test-all runs it")
	}
	simulateGate(t, "5", evidence.Config{DB: postgres.Shared(t).Fresh(t)})
}

// simulateGate runs so many histories, unless the command line says how many.
func simulateGate(t *testing.T, checks string, cfg evidence.Config) {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{
		"rapid.checks": checks, "rapid.steps": "200", "rapid.nofailfile": "true",
		"rapid.seed": strconv.FormatInt(time.Now().UnixNano(), 10),
	} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("seed %s, %s histories", flag.Lookup("rapid.seed").Value, flag.Lookup("rapid.checks").Value)
	dir := t.TempDir()
	var db *evidence.DB
	if cfg.DB != "" {
		db = open(t, cfg)
	}
	histories, releases := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, dir, db)
		defer w.close()
		t.Repeat(w.actions())
		histories++
		releases += w.releases
	})
	t.Logf("%d histories, %d releases", histories, releases)
	if !t.Failed() && histories >= 50 && releases < histories/10 {
		t.Errorf("%d releases in %d histories: hardly anything was decided", releases, histories)
	}
}

const (
	simulatedDays    = 2 // of a gate
	simulatedClients = 4
	week             = 7 * 24 * time.Hour
)

var beginning = time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC)

// planText is a plan for v1: with a gate, of one of a few kinds.
func planText(kind int, instances int) string {
	gates := []string{
		`"maxClients": 1, "maxCallsPerDay": 5`,
		`"maxClients": 0, "maxCallsPerDay": 0, "maxGap": "1h"`,
		`"maxClients": 1, "maxCallsPerDay": 5, "count": "proven"`,
		`"maxClients": 2, "maxCallsPerDay": 9, "maxGap": "0s"`,
	}
	more := ""
	if instances > 0 {
		more = fmt.Sprintf(`, "instances": %d`, instances)
	}
	sunset := beginning.Add(3 * 24 * time.Hour)
	return fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2026-01-01T00:00:00Z", "sunset": %q,
		"successor": "/v3/swap/quote", "docs": "https://example.org/m", "gate": {%s, "days": %d%s}}}}`,
		sunset.Format(time.RFC3339), gates[kind], simulatedDays, more)
}

// truth is a call as it happened, at the database's time.
type truth struct {
	at       time.Time
	client   string
	proven   bool
	instance string // that answered it
	written  bool   // the database has taken it
	lost     bool   // with the process, or with a state of the database
	restored bool   // the latter, which no gate tolerates
}

// instance is one run of the service.
type instance struct {
	w        *world
	host     string
	file     string
	ahead    time.Duration // of its clock
	recorder *usage.Recorder
	keeper   *lifecycle.Keeper
	db       *faulty
	seen     map[string]bool // entries that it has retired v1 by
	knew     bool            // it has read the database since it started
}

// GoString is how a history that fails shows it.
func (i *instance) GoString() string {
	return fmt.Sprintf("%s (%s) at %s", i.host, i.recorder.Instance(), i.w.clock.Now().Format(time.DateTime))
}

func (i *instance) now() time.Time { return i.w.clock.Now().Add(i.ahead) }

// faulty is a database that can be away, and lose an answer.
type faulty struct {
	*evidence.DB
	i            *instance
	away, losing bool

	gate lifecycle.Gate // as last asked about, with the answer
	last lifecycle.Evidence
}

var errAway = errors.New("the database is away")

func (f *faulty) Now(ctx context.Context, own time.Time) (time.Time, error) {
	if f.away {
		return own, errAway
	}
	return f.DB.Now(ctx, own)
}

func (f *faulty) Write(ctx context.Context, b *usage.Batch) (usage.Key, error) {
	if f.away {
		return usage.Key{}, errAway
	}
	key, err := f.DB.Write(ctx, b)
	if f.losing {
		f.losing = false
		return usage.Key{}, errors.Join(err, errAway)
	}
	return key, err
}

func (f *faulty) Tend(ctx context.Context, at time.Time) error {
	if f.away {
		return errAway
	}
	return f.DB.Tend(ctx, at)
}

func (f *faulty) Evidence(v string, g lifecycle.Gate, sunset time.Time) (lifecycle.Evidence, error) {
	if f.away {
		return lifecycle.Evidence{}, errAway
	}
	e, err := f.DB.Evidence(v, g, sunset)
	f.gate = g
	f.last = e
	return e, err
}

func (f *faulty) Released(v string, sunset time.Time, entry string) (time.Time, error) {
	if f.away {
		return time.Time{}, errAway
	}
	return f.DB.Released(v, sunset, entry)
}

func (f *faulty) Release(v string, sunset time.Time, entry string) error {
	if f.away {
		return errAway
	}
	err := f.DB.Release(v, sunset, entry)
	if err == nil {
		f.i.w.checkRelease(f.i, f.gate, f.last)
	}
	return err
}

func (f *faulty) Accepted() (map[string]lifecycle.Accepted, error) {
	if f.away {
		return nil, errAway
	}
	return f.DB.Accepted()
}

func (f *faulty) Accept(v string, a lifecycle.Accepted) error {
	if f.away {
		return errAway
	}
	return f.DB.Accept(v, a)
}

func (f *faulty) Stop(ctx context.Context, instance string) error {
	if f.away {
		return errAway
	}
	return f.DB.Stop(ctx, instance)
}

func (f *faulty) Close() error { return nil } // others use it

// world is a history.
type world struct {
	*rapid.T
	dir       string
	db        *evidence.DB
	ours      bool // the database is this history's alone
	clock     *clock.Clock
	instances []*instance
	truths    []truth
	written   map[string]time.Time // when an instance's last write was confirmed, by the database's clock
	follows   map[string]string    // the plan that it wrote, unless that is not known
	ended     map[string]time.Time // when an instance was killed
	hosts     int
	plans     int // instances named in the plan
	kept      map[string][][]any
	keptTruth []truth
	releases  int
	files     int
}

func newWorld(t *rapid.T, dir string, db *evidence.DB) *world {
	w := &world{T: t, dir: dir, db: db, clock: clock.At(beginning), written: map[string]time.Time{}, follows: map[string]string{}, ended: map[string]time.Time{}}
	if db == nil {
		var err error
		w.db, err = evidence.Open(evidence.Config{}, evidence.Options{})
		w.must(err)
		w.ours = true
	} else {
		w.emptyTables()
	}
	many := rapid.IntRange(1, 4).Draw(t, "instances")
	if rapid.Bool().Draw(t, "the plan names them") {
		w.plans = many
	}
	kind := rapid.IntRange(0, 3).Draw(t, "gate")
	for range many {
		w.start(w.newHost(), kind)
	}
	// Counts began long ago, so that not every history waits for the gate's days.
	since := beginning.Add(-week).Unix()
	w.exec(fmt.Sprintf("update quotegate_meta set value = '%d' where name = 'since'", since))
	w.exec(fmt.Sprintf("update quotegate_instances set started = %d", since))
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.Helper()
	_, err := w.db.Writer().Exec(statement, args...)
	w.must(err)
}

// emptyTables makes the next write begin anew.
func (w *world) emptyTables() {
	for _, table := range tables {
		w.exec("drop table if exists quotegate_" + table)
	}
}

func (w *world) newHost() string {
	w.hosts++
	return fmt.Sprintf("host-%d", w.hosts)
}

// start begins a run of the service.
func (w *world) start(host string, kind int) *instance {
	w.Helper()
	w.files++
	i := &instance{w: w, host: host, seen: map[string]bool{}}
	i.file = filepath.Join(w.dir, fmt.Sprint("plan-", w.files, ".json"))
	w.must(os.WriteFile(i.file, []byte(planText(kind, w.plans)), 0o600))
	i.ahead = time.Duration(rapid.SampledFrom([]int{0, 0, 0, 0, 3, -3}).Draw(w.T, "minutes its clock is ahead")) * time.Minute
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	i.db = &faulty{i: i, DB: w.db.View(evidence.Options{
		Versions: recorded.Versions, Current: "v3", Now: i.now, Log: log, Clock: w.clock.Now,
	})}
	i.recorder = usage.New(i.db, usage.Options{
		Versions: recorded.Versions, Current: "v3", Now: i.now, Log: log, Host: host,
		After: func(time.Duration) <-chan time.Time { return nil },
	})
	i.db.Attach(i.recorder)
	w.must(i.recorder.Start(context.Background()))
	w.written[i.recorder.Instance()] = w.clock.Now()
	var err error
	i.keeper, err = lifecycle.New(lifecycle.Options{
		File: i.file, Versions: recorded.Versions, Usage: i.db, Now: i.now, Log: log, Follow: i.recorder.Follow,
	})
	w.must(err)
	i.poll()
	i.flush() // so that the others know which plan it follows
	w.instances = append(w.instances, i)
	return i
}

func (i *instance) poll() {
	i.keeper.Poll()
	i.knew = i.knew || !i.db.away
}

// flush writes what the instance has counted.
func (i *instance) flush() {
	id := i.recorder.Instance()
	err := i.recorder.Flush(context.Background())
	switch {
	case err == nil:
		i.w.written[id] = i.w.clock.Now()
		i.w.follows[id] = i.recorder.Plan()
	case i.db.away:
		return
	default: // it may be written
		delete(i.w.follows, id)
		return
	}
	for n := range i.w.truths {
		if c := &i.w.truths[n]; c.instance == id && !c.lost {
			c.written = true
		}
	}
}

// end takes an instance away, with a last write or without.
func (w *world) end(i *instance, properly bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if properly && !i.db.away {
		i.flush()
	} else {
		i.db.away = true
		cancel()
		w.ended[i.recorder.Instance()] = w.clock.Now()
		for n := range w.truths {
			if c := &w.truths[n]; c.instance == i.recorder.Instance() && !c.written {
				c.lost = true
			}
		}
	}
	_ = i.recorder.Close(ctx)
	w.instances = slices.DeleteFunc(w.instances, func(other *instance) bool { return other == i })
}

func (w *world) close() {
	for _, i := range slices.Clone(w.instances) {
		w.end(i, true)
	}
	if w.ours {
		w.must(w.db.Close())
	}
}

func (w *world) any() *instance {
	if len(w.instances) == 0 {
		w.start(w.newHost(), 0)
	}
	return rapid.SampledFrom(w.instances).Draw(w.T, "instance")
}

// actions are what may happen.
func (w *world) actions() map[string]func(*rapid.T) {
	act := func(do func()) func(*rapid.T) {
		return func(t *rapid.T) {
			w.T = t
			do()
		}
	}
	return map[string]func(*rapid.T){
		"a client calls":               act(w.call),
		"it calls again":               act(w.call),
		"an hour passes":               act(func() { w.pass(time.Hour) }),
		"a day passes":                 act(func() { w.pass(24 * time.Hour) }),
		"some days pass":               act(func() { w.pass(time.Duration(simulatedDays+1) * 24 * time.Hour) }),
		"seconds pass":                 act(func() { w.pass(time.Duration(rapid.IntRange(1, 30).Draw(w.T, "seconds")) * time.Second) }),
		"nobody runs":                  act(w.darkness),
		"the database is away or back": act(func() { i := w.any(); i.db.away = !i.db.away }),
		"an answer is lost":            act(func() { i := w.any(); i.db.losing = true; i.flush() }),
		"a kill":                       act(w.kill),
		"a restart":                    act(w.restart),
		"another instance":             act(w.scale),
		"one is gone":                  act(w.gone),
		"another plan":                 act(w.replan),
		"a clock is set":               act(func() { w.any().ahead = 0 }),
		"the database is kept":         act(w.keep),
		"the database is set back":     act(w.back),
		"a failover loses a call":      act(func() { w.keep(); w.call(); w.back() }),
		"":                             act(w.check),
	}
}

// call has a client call v1 at an instance.
func (w *world) call() {
	i := w.any()
	name := fmt.Sprint("Client ", rapid.IntRange(1, simulatedClients).Draw(w.T, "client"))
	proven := rapid.Bool().Draw(w.T, "with its key")
	who := caller.Caller{Known: &caller.Client{Name: name}}
	if proven {
		who.Key = 7
	}
	e := event.Event{Time: i.now(), Version: "v1", Caller: who, Client: "client " + name, Quotes: true, Pair: recorded.Pair}
	if i.stage() == lifecycle.Retired {
		e.Code = fault.VersionRetired
		e.Pair = nil
	} else {
		w.truths = append(w.truths, truth{
			at: w.clock.Now(), client: name, proven: proven, instance: i.recorder.Instance(),
		})
	}
	i.recorder.Observe(&e)
}

func (i *instance) stage() lifecycle.Stage { return i.keeper.Snapshot().Versions[1].Stage }

// pass lets time pass, in which everybody writes and looks at its plan.
func (w *world) pass(d time.Duration) {
	w.clock.Advance(d)
	for _, i := range w.instances {
		i.flush()
	}
	for _, i := range w.instances {
		i.poll()
	}
}

// darkness ends all instances properly, and starts as many anew after a while.
func (w *world) darkness() {
	var hosts []string
	for _, i := range slices.Clone(w.instances) {
		hosts = append(hosts, i.host)
		w.end(i, true)
	}
	w.clock.Advance(time.Duration(rapid.IntRange(1, 200).Draw(w.T, "minutes")) * time.Minute)
	kind := rapid.IntRange(0, 3).Draw(w.T, "gate")
	for _, host := range hosts {
		w.start(host, kind)
	}
}

func (w *world) kill() { w.end(w.any(), false) }

func (w *world) restart() {
	i := w.any()
	w.end(i, rapid.Bool().Draw(w.T, "properly"))
	w.clock.Advance(time.Duration(rapid.IntRange(1, 1200).Draw(w.T, "seconds")) * time.Second)
	w.start(i.host, rapid.IntRange(0, 3).Draw(w.T, "gate"))
}

// scale adds an instance, but no more than the plan says there are.
func (w *world) scale() {
	if len(w.instances) >= cmp.Or(w.plans, 4) {
		w.Skip("there are enough")
	}
	w.start(w.newHost(), rapid.IntRange(0, 3).Draw(w.T, "gate"))
}

// gone gives up an instance that was killed. The operator never says so of one that runs, and
// knows when one was killed that had not been able to write.
func (w *world) gone() {
	rows, err := w.db.Writer().Query(
		"select instance, written from quotegate_instances where stopped = 0 order by host, started")
	w.must(err)
	var dead []string
	written := map[string]time.Time{}
	for rows.Next() {
		var id string
		var at int64
		w.must(rows.Scan(&id, &at))
		if !slices.ContainsFunc(w.instances, func(i *instance) bool { return i.recorder.Instance() == id }) {
			dead = append(dead, id)
			written[id] = time.Unix(at, 0)
		}
	}
	w.must(cmp.Or(rows.Err(), rows.Close()))
	if len(dead) == 0 {
		w.Skip("all run")
	}
	id := rapid.SampledFrom(dead).Draw(w.T, "who is gone")
	last := w.ended[id]
	if last.Sub(written[id]) <= usage.MaxInterval {
		last = time.Time{}
	}
	view := w.db.View(evidence.Options{Now: w.clock.Now, Clock: w.clock.Now})
	_, _ = view.Gone(context.Background(), id, last) // not yet, a minute after its last write
}

func (w *world) replan() {
	i := w.any()
	kind := rapid.IntRange(0, 3).Draw(w.T, "gate")
	w.must(os.WriteFile(i.file, []byte(planText(kind, w.plans)), 0o600))
	w.must(os.Chtimes(i.file, time.Time{}, time.Now().Add(time.Duration(w.files)*time.Second)))
	w.files++
	i.keeper.Reload()
	i.knew = i.knew || !i.db.away
}

// keep copies the state of the database.
func (w *world) keep() {
	w.kept = map[string][][]any{}
	for _, table := range tables {
		w.kept[table] = w.rows(table)
	}
	w.keptTruth = slices.Clone(w.truths)
}

func (w *world) rows(table string) (all [][]any) {
	rows, err := w.db.Writer().Query("select * from quotegate_" + table)
	w.must(err)
	defer rows.Close()
	columns, err := rows.Columns()
	w.must(err)
	for rows.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		w.must(rows.Scan(into...))
		all = append(all, row)
	}
	w.must(rows.Err())
	return all
}

// back restores it, under instances that have written since.
func (w *world) back() {
	if w.kept == nil || len(w.instances) == 0 {
		w.Skip("nothing was kept, or nobody would notice")
	}
	for _, i := range w.instances {
		if i.db.away {
			w.Skip("an instance would not notice")
		}
	}
	w.clock.Advance(2 * time.Minute)
	for _, i := range w.instances {
		i.flush()
	}
	for _, table := range tables {
		w.exec("delete from quotegate_" + table)
		for _, row := range w.kept[table] {
			places := make([]string, len(row))
			for n := range places {
				places[n] = "$" + strconv.Itoa(n+1)
			}
			w.exec("insert into quotegate_"+table+" values ("+strings.Join(places, ", ")+")", row...)
		}
	}
	for n := range w.truths {
		if c := &w.truths[n]; c.written && !slices.ContainsFunc(w.keptTruth, func(k truth) bool {
			return k.written && k.at.Equal(c.at) && k.instance == c.instance && k.client == c.client
		}) {
			c.lost = true
			c.restored = true
		}
	}
	w.kept = nil
	for _, i := range w.instances {
		i.flush()
	}
}

// check compares what the instances do with what happened.
func (w *world) check() {
	for _, i := range w.instances {
		v1 := i.keeper.Snapshot().Versions[1]
		schedule := i.keeper.Snapshot().Plan.Versions["v1"]
		entry := schedule.Entry()
		retired := v1.Stage == lifecycle.Retired
		switch {
		case retired && !i.knew:
			w.Fatalf("%s retires v1, and has never read the database", i.host)
		case retired && !i.seen[entry]:
			i.seen[entry] = true
		case !retired && i.seen[entry] && !i.now().Before(schedule.Sunset):
			w.Fatalf("%s served v1 again, without a change of its plan: %+v", i.host, v1.Gate)
		}
	}
}

// checkRelease fails unless a release is right: the clients that really called, apart from
// gaps that the evidence names and the gate tolerates, are within its limits.
func (w *world) checkRelease(i *instance, gate lifecycle.Gate, e lifecycle.Evidence) {
	w.releases++
	for _, other := range w.instances {
		id := other.recorder.Instance()
		plan, known := w.follows[id]
		if other != i && known && w.clock.Now().Sub(w.written[id]) < time.Minute && plan != i.recorder.Plan() {
			w.Fatalf("%s releases v1 while %s follows another plan", i.host, other.host)
		}
	}
	var sum time.Duration
	for _, g := range e.Gaps {
		sum += g.To.Sub(g.From)
	}
	if most := gate.Tolerates(); sum > most {
		w.Fatalf("%s releases v1 with %s missing, of %s that are tolerated: %+v", i.host, sum, most, e.Gaps)
	}
	first := w.clock.Now().Truncate(24*time.Hour).AddDate(0, 0, -gate.Days)
	clients := map[string]bool{}
	calls := map[string]int{}
	var which []truth
	for _, c := range w.truths {
		if c.at.Before(first) || gate.OnlyProven() && !c.proven || w.tolerated(c, e.Gaps) {
			continue
		}
		clients[c.client] = true
		calls[c.at.Format(time.DateOnly)]++
		which = append(which, c)
	}
	if len(clients) > gate.MaxClients {
		w.Fatalf("%s releases v1 at %s with %d clients (limit %d): %+v\n%+v", i.host, w.clock.Now(), len(clients),
			gate.MaxClients, which, e)
	}
	for day, n := range calls {
		if n > gate.MaxCallsPerDay {
			w.Fatalf("%s releases v1 at %s with %d calls on %s (limit %d): %+v\n%+v", i.host, w.clock.Now(), n, day,
				gate.MaxCallsPerDay, which, e)
		}
	}
}

// tolerated reports whether the gate need not know of a call: it is missing in a gap that the
// verdict names, or not written yet by an instance that wrote within a minute, which nobody
// can tell from one that was killed since.
func (w *world) tolerated(c truth, gaps []lifecycle.Gap) bool {
	if c.restored || c.written && !c.lost {
		return false
	}
	named := slices.ContainsFunc(gaps, func(g lifecycle.Gap) bool {
		own := g.Instance == "" || strings.Contains(g.Instance, c.instance)
		return own && !c.at.Before(g.From.Add(-time.Second)) && !c.at.After(g.To.Add(time.Second))
	})
	return named || !c.written && w.clock.Now().Sub(w.written[c.instance]) <= time.Minute
}
