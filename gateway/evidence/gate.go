package evidence

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/skew"
)

const (
	lookupTimeout = 5 * time.Second // for what finds a few rows by their key
	maxWaiting    = 10              // clients that are named as waiting
)

// Evidence is the use of a version within the days of a gate, by what the gate counts:
// calls that were served or that a brownout refused. The instances are read before the
// counts, so that the counts have what the instances say they have written.
func (db *DB) Evidence(version string, gate lifecycle.Gate, sunset time.Time) (e lifecycle.Evidence, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	at, err := db.now(ctx)
	if err != nil {
		return e, err
	}
	first := firstDay(at, gate.Days)
	h, err := db.read().history(ctx, first*day)
	if err != nil {
		return e, err
	}
	e.Missing, e.Gaps = h.missing(at, first*day, gate.Instances, sunset)
	if _, differ := db.plans(h.runs, at); differ != "" {
		e.Missing = append(e.Missing, differ)
	}
	if at.Before(sunset) && !db.options.Now().Before(sunset) {
		e.Missing = append(e.Missing, "by the database's clock the sunset has not come")
	}
	p, err := db.read().period(ctx, at, forever)
	if err != nil {
		return e, err
	}
	totals := slices.DeleteFunc(slices.Clone(p.totals), func(t dayTotal) bool { return t.day < first })
	if !gate.OnlyProven() { // else these calls are unverified
		e.Missing = append(e.Missing, unnamed(sumUnnamed(totals, version), "")...)
	}
	clients, err := db.read().clients(ctx, p, version)
	if err != nil {
		return e, err
	}
	var users []user
	var silent []*Client // that called within 90 days, but not within the gate's
	for _, c := range clients {
		switch {
		case c.lastUsed >= first:
			u := userOf(c, gate, first)
			users = append(users, u)
			proven := c.lastProven >= first
			e.Names++
			e.Proven += oneIf(proven)
			e.Marked += oneIf(c.Marked != nil)
			e.Errors += oneIf(c.onlyErrors)
			e.Clients += oneIf(u.counts)
			e.UnverifiedNames += oneIf(gate.OnlyProven() && !proven)
		case c.lastUsed > 0 && c.Marked == nil:
			silent = append(silent, c)
		}
	}
	calls := newTally(totals, version, first, at.Unix()/day)
	if err := db.readCalls(ctx, version, gate, users, calls); err != nil {
		return e, err
	}
	e.Calls = int(slices.Max(calls.counted))
	e.UnverifiedCalls = int(slices.Max(calls.others()))
	if gate.Exceeds(e) {
		e.Earliest = earliest(gate, users, calls)
	}
	e.Waiting, e.WaitingCount, err = db.waiting(ctx, p, silent)
	return e, err
}

// user is a client that used a version within the days of a gate.
type user struct {
	id      int64
	lastDay int64
	counts  bool  // as a client of the gate
	ignored int64 // calls up to this day count for nothing; 0: none
}

// userOf decides whether a gate counts a client that used a version since a day:
//   - one that only got errors, and then a brownout's, does not;
//   - one that the operator has marked as moved does not, nor do its calls up to the day
//     of the mark, unless it has called since with its key. A call since without one
//     is unverified;
//   - one that has not proved who it is does, unless the gate counts only those that have.
func userOf(c *Client, gate lifecycle.Gate, first int64) user {
	u := user{id: c.id, lastDay: c.lastUsed, counts: true}
	if gate.OnlyProven() {
		u.counts = c.lastProven >= first && c.Marked == nil
	}
	if c.Marked != nil {
		u.ignored = c.Marked.On.Time().Unix() / day
		u.counts = u.counts && u.lastDay > u.ignored
	}
	if c.onlyErrors {
		u.ignored = u.lastDay
		u.counts = false
	}
	return u
}

// countedBy reports whether a gate counts a client.
func (c *Client) countedBy(gate lifecycle.Gate, at time.Time) bool {
	first := firstDay(at, gate.Days)
	return c.lastUsed >= first && userOf(c, gate, first).counts
}

// tally is calls by day, from a first day until today. What a clock that was ahead has recorded
// later is left out.
type tally struct {
	first   int64
	all     []int64 // but those that count for nothing
	counted []int64 // by the gate
}

func newTally(totals []dayTotal, version string, first, today int64) *tally {
	t := &tally{first: first, all: make([]int64, today-first+1)}
	for _, sum := range totals {
		if sum.isEvidence() && sum.version == version && sum.day <= today {
			t.all[sum.day-first] += sum.calls
		}
	}
	t.counted = make([]int64, len(t.all))
	return t
}

func (t *tally) others() []int64 {
	others := make([]int64, len(t.all))
	for i := range t.all {
		others[i] = max(0, t.all[i]-t.counted[i])
	}
	return others
}

// readCalls reads the calls of the users whose own calls have to be known: those that count
// for nothing and, if only proven calls count, those of its clients. Otherwise all that is left
// counts, whoever called.
func (db *DB) readCalls(ctx context.Context, version string, gate lifecycle.Gate, users []user, t *tally) error {
	var ids []int64
	byID := map[int64]user{}
	for _, u := range users {
		if u.ignored > 0 || u.counts && gate.OnlyProven() {
			ids = append(ids, u.id)
			byID[u.id] = u
		}
	}
	type calls struct{ client, day, calls, proven int64 }
	own, err := query(ctx, db.read(), func(rows *sql.Rows) (c calls, err error) {
		return c, rows.Scan(&c.client, &c.day, &c.calls, &c.proven)
	}, "calls of", version, t.first, db.read().list(ids))
	for _, c := range own {
		i := c.day - t.first
		by := byID[c.client]
		switch {
		case i >= int64(len(t.all)):
		case c.day <= by.ignored:
			t.all[i] = max(0, t.all[i]-c.calls)
		case by.counts && gate.OnlyProven():
			t.counted[i] += min(c.calls, c.proven)
		}
	}
	if !gate.OnlyProven() {
		t.counted = t.all
	}
	return err
}

// earliest is when a gate no longer holds because of these clients and calls, if
// nobody calls from now on.
func earliest(gate lifecycle.Gate, users []user, t *tally) time.Time {
	days := len(t.counted)
	later := 0
	for ; later <= days; later++ {
		var e lifecycle.Evidence
		for _, u := range users {
			e.Clients += oneIf(u.counts && u.lastDay >= t.first+int64(later))
		}
		if later < days {
			e.Calls = int(slices.Max(t.counted[later:]))
		}
		if !gate.Exceeds(e) {
			break
		}
	}
	return unix((t.first + int64(days-1+later)) * day)
}

// waiting names the first of some clients of a version that have not moved, and counts them.
func (db *DB) waiting(ctx context.Context, p period, some []*Client) (names []string, count int, err error) {
	if len(some) > 0 && !some[0].current {
		current, err := db.read().clients(ctx, p, db.options.Current)
		if err != nil {
			return nil, 0, err
		}
		findMoved(slices.Concat(some, current), p.at)
		some = slices.DeleteFunc(some, (*Client).HasMoved)
	}
	sortClients(some, "")
	for _, c := range some[:min(maxWaiting, len(some))] {
		names = append(names, c.Client)
	}
	return names, len(some), nil
}

// Released returns when the gate of a version let a sunset pass.
func (db *DB) Released(version string, sunset time.Time, entry string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	at, err := value[int64](ctx, db.read(), "released", version, sunset.Unix(), entry)
	return unix(at), err
}

// Release records that the gate of a version lets a sunset pass. It refuses if our clock
// is not the database's, or the instances do not agree about the plan.
func (db *DB) Release(version string, sunset time.Time, entry string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	at, err := db.now(ctx)
	if err != nil {
		return err
	}
	runs, err := readRuns(ctx, db.read(), at.Unix()-day)
	if err != nil {
		return err
	}
	_, differ := db.plans(runs, at)
	ahead := db.options.Now().Round(0).Sub(at.Round(0))
	switch {
	case ahead.Abs() > usage.MaxSkew && !db.HasClock():
		return fmt.Errorf("this machine's clock has jumped and is %s what it would be", skew.Ahead(ahead))
	case ahead.Abs() > usage.MaxSkew:
		return fmt.Errorf("this machine's clock is %s the database's", skew.Ahead(ahead))
	case at.Before(sunset):
		return fmt.Errorf("by the database's clock the sunset comes in %s", humanize.Span(sunset.Sub(at)))
	case differ != "":
		return errors.New(differ)
	}
	_, err = db.read().exec(ctx, "release", version, sunset.Unix(), entry, at.Unix())
	return err
}

// acceptedPrefix begins the names in quotegate_meta under which accepted lines are kept.
const acceptedPrefix = "plan "

// Accepted returns what was last accepted of the plan, by version. A database that no
// service has written to yet has accepted nothing.
func (db *DB) Accepted() (map[string]lifecycle.Accepted, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	all := map[string]lifecycle.Accepted{}
	made, err := db.read().made(ctx)
	if err != nil || !made {
		return all, err
	}
	f, err := db.read().facts(ctx)
	for version, text := range f.plan {
		var a lifecycle.Accepted
		if wrong := json.Unmarshal([]byte(text), &a); wrong != nil {
			err = errors.Join(err, fmt.Errorf("quotegate_meta, %s%s: %w", acceptedPrefix, version, wrong))
		}
		all[version] = a
	}
	return all, err
}

// Accept keeps what has come into force of a version.
func (db *DB) Accept(version string, a lifecycle.Accepted) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = db.read().exec(ctx, "put fact", acceptedPrefix+version, string(text))
	return err
}

// dayTotal is all calls of a version with an outcome on a day.
type dayTotal struct {
	version, outcome    string
	day, calls, unnamed int64
}

// isEvidence reports whether a gate counts calls with an outcome.
func isEvidence(outcome string) bool {
	return outcome == usage.Served.String() || outcome == usage.Brownout.String()
}

func (t dayTotal) isEvidence() bool { return isEvidence(t.outcome) }

// forever is a last day for what must not leave out calls that a clock recorded too late.
const forever = 1 << 31

// readTotals reads the totals from a day to another one.
func readTotals(ctx context.Context, c conn, first, last int64) ([]dayTotal, error) {
	return query(ctx, c, func(rows *sql.Rows) (t dayTotal, err error) {
		return t, rows.Scan(&t.version, &t.outcome, &t.day, &t.calls, &t.unnamed)
	}, "totals", first*day, (last+1)*day)
}

// sumUnnamed adds up the calls of a version, which are evidence, that count under no client of
// their own; of all versions if none is named.
func sumUnnamed(totals []dayTotal, version string) (n int64) {
	for _, t := range totals {
		if t.isEvidence() && (version == "" || version == t.version) {
			n += t.unnamed
		}
	}
	return n
}

// unnamed notes how many calls count under no client.
func unnamed(n int64, prefix string) []string {
	if n == 0 {
		return nil
	}
	calls := humanize.Count(n, "call is not attributed to a client", "calls are not attributed to a client")
	return []string{prefix + calls +
		": the daily limit of new names, or the limit of clients between two writes, was reached"}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
