package evidence

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/humanize"
)

const (
	silentAfter = time.Minute // so long without a write, and an instance is not heard of
	maxNotes    = 3           // of a kind that are shown one by one
)

// Instance is a running service that writes to the database.
type Instance struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // with the ID, as in notes, which say which one is this one
	Plan    string    `json:"plan"` // the hash of the plan it follows; empty without one
	Written time.Time `json:"written"`
	Silent  bool      `json:"silent,omitempty"` // it has not written for a minute
}

// run is one run of a service: every call between started and written is counted.
type run struct {
	id, host, plan            string
	started, written, stopped int64
	own                       bool // it is this process
}

// name is how an operator knows an instance: by its host and, since a host may run several
// and have run many, its ID.
func (r run) name() string {
	switch {
	case r.host == "" && r.own:
		return fmt.Sprintf("instance %s (this one)", r.id)
	case r.host == "":
		return "instance " + r.id
	case r.own:
		return fmt.Sprintf("instance %s (%s, this one)", r.host, r.id)
	}
	return fmt.Sprintf("instance %s (%s)", r.host, r.id)
}

// isOwn reports whether an instance is this process.
func (db *DB) isOwn(id string) bool { return db.recorder != nil && id == db.recorder.Instance() }

// alive reports whether it has not stopped and has written lately, and not in the future,
// where its clock may have been when it was killed.
func (r run) alive(at time.Time) bool {
	ago := at.Sub(time.Unix(r.written, 0))
	return r.stopped == 0 && ago < silentAfter && ago >= -usage.MaxSkew
}

// silent reports whether it has neither stopped nor written lately: it was killed, or
// cannot write. Its last counts are missing.
func (r run) silent(at time.Time) bool { return r.stopped == 0 && !r.alive(at) }

func (r run) silence() string {
	if r.own {
		return fmt.Sprintf("%s has not reported since %s: it cannot write its counts", r.name(), moment(r.written))
	}
	return fmt.Sprintf("%s has not reported since %s; if it will not come back, run `gateway plan gone %s`",
		r.name(), moment(r.written), r.id)
}

// readRuns reads the runs that have ended since a time, or not at all, by host.
func readRuns(ctx context.Context, c conn, since int64) ([]run, error) {
	return query(ctx, c, func(rows *sql.Rows) (r run, err error) {
		err = rows.Scan(&r.id, &r.host, &r.plan, &r.started, &r.written, &r.stopped)
		r.own = c.db.isOwn(r.id)
		return r, err
	}, "runs", since)
}

// Gone notes that an instance which was killed will not come back. It has answered its last call
// at a time; if that is zero, within the longest pause between two writes after its last one. It
// is named by its ID or the beginning of it, and may be named again to correct the time.
func (db *DB) Gone(ctx context.Context, id string, last time.Time) (lost lifecycle.Gap, err error) {
	at, err := db.now(ctx)
	if err != nil {
		return lost, err
	}
	runs, err := readRuns(ctx, db.read(), 0)
	if err != nil {
		return lost, err
	}
	runs = slices.DeleteFunc(runs, func(r run) bool { return r.stopped == r.written })
	var named []run
	var names []string
	for _, r := range runs {
		names = append(names, r.name())
		if id != "" && strings.HasPrefix(r.id, id) {
			named = append(named, r)
		}
	}
	if len(named) != 1 {
		return lost, fmt.Errorf("%d instances that have not stopped have an ID that begins with %.40q; there are: %s",
			len(named), id, cmp.Or(strings.Join(names, ", "), "none"))
	}
	r := named[0]
	written := time.Unix(r.written, 0).UTC()
	switch {
	case r.alive(at):
		return lost, fmt.Errorf("%s is running: it wrote its counts %s ago; stop it first", r.name(),
			humanize.Span(at.Sub(written)))
	case last.IsZero():
		last = written.Add(usage.MaxInterval)
	case last.Before(written) || last.After(at):
		return lost, fmt.Errorf("%s wrote its counts at %s, so that its last call was between that and now, not at %s",
			r.name(), written.Format(time.RFC3339), last.Format(time.RFC3339))
	}
	_, err = db.read().exec(ctx, "stop", r.id, last.Unix())
	return gapOf(r.name(), "", r.written, last.Unix()), err
}

// instances are the runs that have not ended, and were heard of within a day.
func instances(runs []run, at time.Time) []Instance {
	all := []Instance{}
	for _, r := range runs {
		if r.stopped == 0 && r.written >= at.Unix()-day {
			plan := strings.TrimPrefix(r.plan, usage.NotYet)
			all = append(all, Instance{r.id, r.name(), plan, unix(r.written), r.silent(at)})
		}
	}
	return all
}

// plans says which plans the instances that are alive follow, if these are not the same. Of
// this one it asks the recorder: what it follows now is not written yet.
func (db *DB) plans(runs []run, at time.Time) (different int, says string) {
	var hashes, follows []string
	for _, r := range runs {
		if r.own {
			r.plan = db.recorder.Plan()
		}
		if !r.own && !r.alive(at) || r.plan == usage.NotYet {
			continue
		}
		if !slices.Contains(hashes, r.plan) {
			hashes = append(hashes, r.plan)
		}
		follows = append(follows, r.name()+" follows "+cmp.Or(r.plan, "no plan"))
	}
	if len(hashes) > 1 {
		says = "instances have different plans: " + strings.Join(follows, ", ")
	}
	return len(hashes), says
}

// span is a time, [from, to) in Unix seconds.
type span struct{ from, to int64 }

// counted are the times in which at least so many of the runs were counting, in order.
func counted(runs []run, atLeast int) (all []span) {
	type change struct {
		at int64
		by int
	}
	var changes []change
	for _, r := range runs {
		changes = append(changes, change{r.started, 1}, change{r.written, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.by, a.by)) })
	now := 0
	for _, c := range changes {
		before := now
		now += c.by
		switch {
		case before < atLeast && now >= atLeast:
			all = append(all, span{from: c.at})
		case before >= atLeast && now < atLeast:
			all[len(all)-1].to = c.at
		}
	}
	return all
}

// holes are the times of a span that are not covered, if they take an hour or more. A service
// that is started anew leaves small ones.
func (s span) holes(covered []span) (holes []span) {
	from := s.from
	for _, c := range append(covered, span{s.to, s.to}) {
		if to := min(c.from, s.to); to-from >= hour {
			holes = append(holes, span{from, to})
		}
		from = max(from, c.to)
	}
	return holes
}

// death is when the loss of a run that died is over: with the first run that started on its
// host since its last write, or when so many runs were counting as there are; or as the
// operator said. ok is false if it is not known to be over.
func (r run) death(runs []run, atLeast int) (end int64, ok bool) {
	const interval = int64(usage.MaxInterval / time.Second)
	if r.stopped != 0 {
		return r.stopped, true
	}
	var ends []int64
	for _, next := range runs {
		if next.id != r.id && r.host != "" && next.host == r.host && next.started >= r.written {
			ends = append(ends, next.started)
		}
	}
	if atLeast > 0 {
		for _, s := range counted(runs, atLeast) {
			if s.to > r.written {
				ends = append(ends, max(s.from, r.written+interval))
			}
		}
	}
	if len(ends) == 0 {
		return 0, false
	}
	return slices.Min(ends), true
}

// losses are what the counts of a time leave out: what cannot be bounded, and what is over.
// Runs are in the order of their hosts, and of a host by their start.
func losses(
	runs []run, gaps []lifecycle.Gap, at time.Time, window span, atLeast int,
) (open []string, over []lifecycle.Gap) {
	lasting := slices.Clone(runs) // until their losses are over
	for i, r := range runs {
		if r.stopped == r.written || r.stopped == 0 && !r.silent(at) {
			continue
		}
		end, known := r.death(runs, atLeast)
		if !known {
			open = append(open, r.silence())
			end = at.Unix()
		}
		lasting[i].written = max(r.written, end)
		if known && end > window.from {
			over = append(over, gapOf(r.name(), "it ended without its last counts", max(r.written, window.from), end))
		}
	}
	open = firstFew(open, "other silent instance", "other silent instances")
	for _, h := range window.holes(counted(lasting, max(1, atLeast))) {
		reason := "no instance was counting"
		if atLeast > 1 {
			reason = fmt.Sprintf("fewer than %d instances were counting", atLeast)
		}
		over = append(over, gapOf("", reason, h.from, h.to))
	}
	var restored []string
	for _, g := range gaps {
		if g.Reason == setBack {
			if g.To.Unix() >= window.from {
				restored = append(restored, noteOf(g))
			}
			continue
		}
		from, to := max(g.From.Unix(), window.from), min(g.To.Unix(), window.to)
		if from <= to {
			over = append(over, gapOf(g.Instance, g.Reason, from, to))
		}
	}
	return append(open, firstFew(restored, "earlier gap", "earlier gaps")...), over
}

func gapOf(instance, reason string, from, to int64) lifecycle.Gap {
	return lifecycle.Gap{
		Instance: instance, From: time.Unix(from, 0).UTC(), To: time.Unix(to, 0).UTC(), Reason: reason,
	}
}

func noteOf(g lifecycle.Gap) string {
	where := ""
	if g.Instance != "" {
		where = " of " + g.Instance
	}
	return fmt.Sprintf("calls%s between %s and %s are missing: %s", where,
		humanize.DateTime(g.From), humanize.DateTime(g.To), g.Reason)
}

// history is what the database says about how complete its counts are.
type history struct {
	since int64 // when counting began
	runs  []run
	gaps  []lifecycle.Gap
}

// history reads the gaps, and the runs that have ended since a time, or not at all.
func (c conn) history(ctx context.Context, after int64) (h history, err error) {
	f, err := c.facts(ctx)
	if err != nil {
		return h, err
	}
	h.since = f.since.Unix()
	h.runs, err = readRuns(ctx, c, after)
	if err != nil {
		return h, err
	}
	h.gaps, err = query(ctx, c, func(rows *sql.Rows) (g lifecycle.Gap, err error) {
		var of run
		var reason string
		var began, ended int64
		err = rows.Scan(&of.id, &of.host, &began, &ended, &reason)
		of.own = c.db.isOwn(of.id)
		return gapOf(of.name(), reason, began, ended), err
	}, "gaps")
	return h, err
}

// missing is what the counts since a time leave out: each of the open ones holds a gate,
// and the others as far as it does not tolerate them. Every run that has not ended must have
// written lately and, if a sunset has come, since then; and so many of them, if it is known
// how many there are.
func (h history) missing(
	at time.Time, from int64, atLeast int, sunset time.Time,
) (open []string, over []lifecycle.Gap) {
	if h.since > from {
		open = append(open, "calls are counted only since "+moment(h.since))
		from = h.since
	}
	lost, over := losses(h.runs, h.gaps, at, span{from, at.Unix()}, atLeast)
	open = append(open, lost...)
	writing := 0
	for _, r := range h.runs {
		switch {
		case !r.alive(at):
		case !at.Before(sunset) && r.written < sunset.Unix():
			open = append(open, fmt.Sprintf("%s has written no counts since the sunset, but up to %s",
				r.name(), moment(r.written)))
		default:
			writing++
		}
	}
	if writing < atLeast {
		have := humanize.Count(writing, "instance is", "instances are")
		open = append(open, fmt.Sprintf("%s writing counts, of %d that there are", have, atLeast))
	}
	return open, over
}

// firstFew are the first notes, and how many more there are.
func firstFew(notes []string, one, many string) []string {
	if more := len(notes) - maxNotes; more > 0 {
		return append(notes[:maxNotes], humanize.Count(more, one, many))
	}
	return notes
}

func moment(unix int64) string { return humanize.DateTime(time.Unix(unix, 0)) }

// unix is a time, or none.
func unix(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(t, 0).UTC()
}

// Stats are numbers that are needed too often to query the database each time.
type Stats struct {
	Since     time.Time // the counts are complete since then
	Instances []Instance
	Notes     []string           // what the numbers do not include
	Traffic   map[string]Traffic // by version
	Bytes     int64              // of the database
	Plans     int                // different ones that the instances follow
}

// Stats are as of the last write. Until the database has been read, they are empty.
func (db *DB) Stats() *Stats { return db.stats.Load() }

// readStats reads the stats, but for the traffic, which takes longer.
func (db *DB) readStats(ctx context.Context, c conn, at time.Time) (*Stats, error) {
	yesterday := firstDay(at, 1)
	h, err := c.history(ctx, yesterday*day)
	totals, errTotals := readTotals(ctx, c, yesterday, forever)
	bytes, errSize := value[int64](ctx, c, "size")
	if err := errors.Join(err, errTotals, errSize); err != nil {
		return nil, err
	}
	runs := slices.DeleteFunc(h.runs, func(r run) bool { return r.written < yesterday*day }) // gates name older ones
	open, over := losses(runs, h.gaps, at, span{max(yesterday*day, h.since), at.Unix()}, 0)
	s := &Stats{
		Since: h.completeSince(runs, over, at), Instances: instances(runs, at), Bytes: bytes,
		Notes: unnamed(sumUnnamed(totals, ""), "since yesterday, "),
	}
	var differ string
	s.Plans, differ = db.plans(runs, at)
	if differ != "" {
		s.Notes = append(s.Notes, differ+"; clients get different answers, and gates hold")
	}
	s.Notes = append(s.Notes, open...)
	var notes []string
	for _, g := range over {
		notes = append(notes, noteOf(g))
	}
	s.Notes = append(s.Notes, firstFew(notes, "earlier gap", "earlier gaps")...)
	return s, nil
}

// completeSince is the end of the last gap, or when an instance that is silent has last
// written. What a clock that was ahead has recorded in the future does not count.
func (h history) completeSince(runs []run, over []lifecycle.Gap, at time.Time) time.Time {
	since := unix(h.since)
	later := func(t time.Time) {
		if t.After(since) && !t.After(at) {
			since = t
		}
	}
	for _, g := range slices.Concat(h.gaps, over) {
		later(g.To)
	}
	for _, r := range runs {
		if r.silent(at) {
			later(unix(r.written))
		}
	}
	return since
}
