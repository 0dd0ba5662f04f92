package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
)

// A reader is what the gates of a plan look at.
var _ lifecycle.Counts = (*Reader)(nil)

const (
	askTimeout = 15 * time.Second // for a question of a gate
	maxWaiting = 10               // clients that are named as waiting
)

// Evidence is the use of a version within the days of a gate, by what the gate counts:
// calls that were served or that a brownout refused. The instances are read before the
// counts, so that the counts have what the instances say they have written.
func (r *Reader) Evidence(version string, gate lifecycle.Gate, sunset time.Time) (lifecycle.Evidence, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.db.Ask(ctx)
	at := q.Now(r.options.Now())
	first := store.FirstDay(at, gate.Days)
	runs := readRuns(q, first*day)
	reasons := missing(q, runs, at, first*day, gate.Instances, sunset)
	if _, differ := plans(runs, at); differ != "" {
		reasons = append(reasons, differ)
	}
	if at.Before(sunset) && !r.options.Now().Before(sunset) {
		reasons = append(reasons, "by the database's clock the sunset has not come")
	}
	totals := readTotals(q, first, forever)
	if gate.CountsUnverified() { // else these calls are unverified
		reasons = append(reasons, unnamed(totals, version, "")...)
	}
	var e lifecycle.Evidence
	var users []user
	var quiet []*Client // that called within 90 days, but not within the gate's
	decide := r.decider(gate, first, &e)
	r.eachClient(q, version, at, forever, func(c *Client) {
		switch {
		case c.lastUsed >= first:
			users = append(users, decide(c))
		case c.lastUsed > 0 && c.Marked == nil:
			one := *c
			quiet = append(quiet, &one)
		}
	})
	e.UnverifiedNames = e.Names - e.Known - e.Registered
	if gate.Count == lifecycle.CountProven {
		e.UnverifiedNames = e.Names - e.Proven
	}
	countCalls(q, version, gate, at, users, totals, &e)
	e.Waiting, e.WaitingCount = r.waiting(q, version, quiet)
	e.Missing = strings.Join(reasons, "; ")
	return e, q.Err
}

// user is a client that used a version within the days of a gate.
type user struct {
	id      int64
	lastDay int64
	counts  bool  // as a client of the gate
	ignored int64 // calls up to this day count for nothing; 0: none
}

// decider decides about the clients that used a version since a day whether a gate counts
// them, and adds them up:
//   - one that only got errors, and then a brownout's, does not;
//   - one that the operator has marked as moved does not, nor do its calls up to the day
//     of the mark, unless it has called since with its key. A call since without one
//     is unverified;
//   - an unverified client does if the gate counts everybody.
func (r *Reader) decider(gate lifecycle.Gate, first int64, e *lifecycle.Evidence) func(*Client) user {
	ask := r.options.Registered
	if gate.CountsUnverified() || gate.Count != "" {
		ask = nil // it does not matter
	}
	isRegistered := r.registry.reader(ask, r.options.Now())
	return func(c *Client) user {
		u := user{id: c.id, lastDay: c.lastUsed}
		proven := c.lastProven >= first
		verified := c.Known || c.listed
		e.Names++
		e.Proven += oneIf(proven)
		if verified {
			e.Known++
		} else if id, is := strings.CutPrefix(c.Client, string(caller.Integrator)+" "); is {
			registered, known := isRegistered(id)
			verified = registered || !known
			e.Registered += oneIf(verified)
			e.Unasked += oneIf(!known)
		}
		if c.Marked != nil {
			e.Marked++
			u.ignored = c.Marked.On.Time().Unix() / day
			verified = false
		}
		if gate.Count == lifecycle.CountProven {
			verified = proven && c.Marked == nil
		}
		u.counts = (verified || gate.CountsUnverified()) && u.lastDay > u.ignored
		if c.onlyErrors {
			e.Errors++
			u.counts = false
			u.ignored = u.lastDay
		}
		e.Clients += oneIf(u.counts)
		return u
	}
}

// countCalls adds up the calls of the users that a gate counts, and of the others.
func countCalls(
	q *store.Session, version string, gate lifecycle.Gate, at time.Time,
	users []user, totals []dayTotal, e *lifecycle.Evidence,
) {
	first := store.FirstDay(at, gate.Days)
	days := int(at.Unix()/day-first) + 1
	all := make([]int64, days)
	var everywhere, unverified int64
	for _, t := range totals {
		if !t.isEvidence() {
			continue
		}
		everywhere += t.calls
		if t.version == version && t.day < first+int64(days) {
			all[t.day-first] += t.calls
		}
	}
	theirs := make([]int64, days)
	var special []int64 // clients whose own calls have to be known
	byID := map[int64]user{}
	for _, u := range users {
		if u.ignored > 0 || u.counts && !gate.CountsUnverified() {
			special = append(special, u.id)
			byID[u.id] = u
		}
	}
	var id, on, calls, proven int64
	q.EachAmong(`select client, day, served + brownout, proven from quotegate_days
		where version = $1 and day >= $2 and served + brownout > 0 and client in IDS`,
		special, []any{version, first}, []any{&id, &on, &calls, &proven}, func() {
			u, i := byID[id], on-first
			switch {
			case i >= int64(days): // a clock was ahead
			case on <= u.ignored:
				all[i] = max(0, all[i]-calls)
			case !u.counts: // unverified
			case gate.Count == lifecycle.CountProven:
				theirs[i] += min(calls, proven)
			default:
				theirs[i] += calls
			}
		})
	others := make([]int64, days)
	for i := range all {
		if gate.CountsUnverified() {
			theirs[i] = all[i]
		}
		others[i] = max(0, all[i]-theirs[i])
		unverified += others[i]
	}
	e.Calls = int(slices.Max(theirs))
	e.UnverifiedCalls = int(slices.Max(others))
	if everywhere > 0 {
		e.UnverifiedShare = min(1, float64(unverified)/float64(everywhere))
	}
	if gate.Exceeds(*e) {
		e.Earliest = earliest(&gate, users, first, theirs, others)
	}
}

// earliest is when a gate no longer holds because of these clients and calls, if
// nobody calls from now on. The share of unverified calls is left out: it changes with
// the calls to other versions. Zero: only that share is too great.
func earliest(gate *lifecycle.Gate, users []user, first int64, theirs, others []int64) time.Time {
	days := len(theirs)
	later := 0
	for ; later <= days; later++ {
		var e lifecycle.Evidence
		for _, u := range users {
			e.Clients += oneIf(u.counts && u.lastDay >= first+int64(later))
		}
		if later < days {
			e.Calls = int(slices.Max(theirs[later:]))
			e.UnverifiedCalls = int(slices.Max(others[later:]))
		}
		if !gate.Exceeds(e) {
			break
		}
	}
	if later == 0 {
		return time.Time{}
	}
	return unix((first + int64(days-1+later)) * day)
}

// waiting names the first of some clients that have not moved, and counts them.
func (r *Reader) waiting(q *store.Session, version string, some []*Client) (names []string, count int) {
	var ids []int64
	for _, c := range some {
		ids = append(ids, c.id)
	}
	moved := map[int64]int64{}
	var id, last int64
	q.EachAmong(`select client, max(last) from quotegate_days
		where version = $1 and version <> $2 and served > 0 and client in IDS group by client`,
		ids, []any{r.options.Current, version}, []any{&id, &last}, func() { moved[id] = last })
	some = slices.DeleteFunc(some, func(c *Client) bool { return moved[c.id] > c.last })
	slices.SortFunc(some, orders[""])
	for _, c := range some[:min(maxWaiting, len(some))] {
		names = append(names, c.Client)
	}
	return names, len(some)
}

// Released returns when the gate of a version let a sunset pass.
func (r *Reader) Released(version string, sunset time.Time, entry string) (released time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	q := r.db.Ask(ctx)
	var at int64
	q.Each("select released from quotegate_releases where version = $1 and sunset = $2 and entry in ($3, '')",
		[]any{version, sunset.Unix(), entry}, []any{&at}, func() { released = unix(at) })
	return released, q.Err
}

// Release records that the gate of a version lets a sunset pass. It refuses if our clock
// is not the database's, or the instances do not agree about the plan.
func (r *Reader) Release(version string, sunset time.Time, entry string) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.db.Ask(ctx)
	at := q.Now(r.options.Now())
	_, differ := plans(readRuns(q, at.Unix()-day), at)
	ahead := r.options.Now().Sub(at)
	switch {
	case q.Err != nil:
		return q.Err
	case ahead.Abs() > store.MaxSkew:
		return fmt.Errorf("this machine's clock is %s the database's", store.AheadOrBehind(ahead))
	case at.Before(sunset):
		return fmt.Errorf("by the database's clock the sunset comes in %s", humanize.Span(sunset.Sub(at)))
	case differ != "":
		return errors.New(differ)
	}
	q.Exec(`insert into quotegate_releases (version, sunset, entry, released) values ($1, $2, $3, $4)
		on conflict do nothing`, version, sunset.Unix(), entry, at.Unix())
	return q.Err
}

const (
	askEvery  = 24 * time.Hour   // how often a registry is asked about an integrator
	askAgain  = 10 * time.Minute // if it did not answer
	askLimit  = 2 * time.Second  // for all questions of one reading
	maxAsked  = 10_000           // integrators that are remembered
	askAtOnce = 20               // integrators that are asked about for one reading
)

// registry remembers which integrators are registered.
type registry struct {
	mu    sync.Mutex
	known map[string]registration
}

type registration struct {
	registered, asked bool
	until             time.Time // then it is asked again
}

// reader returns whether an integrator is registered, and whether that is known. It asks
// a few times at most; if ask is nil, it says what is remembered.
func (r *registry) reader(
	ask func(context.Context, string) (bool, error), now time.Time,
) func(id string) (registered, known bool) {
	budget := askAtOnce
	end := time.Now().Add(askLimit)
	return func(id string) (registered, known bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		got, remembered := r.known[id]
		if ask == nil || budget == 0 || remembered && now.Before(got.until) {
			return got.registered, got.asked
		}
		budget--
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		is, err := ask(ctx, id)
		if err == nil {
			got = registration{is, true, now.Add(askEvery)}
		} else {
			got.until = now.Add(askAgain) // what was known before still counts
		}
		if len(r.known) >= maxAsked {
			clear(r.known)
		}
		r.known[id] = got
		return got.registered, got.asked
	}
}
