package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
)

// maxNotes of a kind are shown one by one.
const maxNotes = 3

// Instance is a running service that writes to the database.
type Instance struct {
	Name    string    `json:"name"`
	Plan    string    `json:"plan"` // the hash of the plan it follows; empty without one
	Written time.Time `json:"written"`
	Silent  bool      `json:"silent,omitempty"` // it has not written for a minute
}

// run is one run of a service: every call between started and written is counted.
type run struct {
	instance, host, plan      string
	started, written, stopped int64
}

// name is how an operator knows an instance: by its host and, since a host may run
// several, the beginning of its number.
func (r run) name() string {
	short := r.instance[:min(6, len(r.instance))]
	if r.host == "" {
		return "instance " + short
	}
	return fmt.Sprintf("instance %s (%s)", r.host, short)
}

// alive reports whether it has not stopped and has written lately, and not in the future,
// where its clock may have been when it was killed.
func (r run) alive(at time.Time) bool {
	ago := at.Sub(time.Unix(r.written, 0))
	return r.stopped == 0 && ago < silentAfter && ago >= -store.MaxSkew
}

// silent reports whether it has neither stopped nor written lately: it was killed, or
// cannot write. Its last counts are missing.
func (r run) silent(at time.Time) bool { return r.stopped == 0 && !r.alive(at) }

func (r run) silence() string {
	return fmt.Sprintf("%s has not reported since %s", r.name(), moment(r.written))
}

// readRuns reads the runs that have written since a time, by host.
func readRuns(q *store.Session, since int64) (all []run) {
	var r run
	q.Each(`select instance, host, plan, started, written, stopped from quotegate_instances
		where written >= $1 order by host, instance`, []any{since},
		[]any{&r.instance, &r.host, &r.plan, &r.started, &r.written, &r.stopped}, func() { all = append(all, r) })
	return all
}

// instances are the runs that have not ended, and were heard of within a day.
func instances(runs []run, at time.Time) []Instance {
	all := []Instance{}
	for _, r := range runs {
		if r.stopped == 0 && r.written >= at.Unix()-day {
			plan := strings.TrimPrefix(r.plan, store.NotYet)
			all = append(all, Instance{Name: r.name(), Plan: plan, Written: unix(r.written), Silent: r.silent(at)})
		}
	}
	return all
}

// plans says which plans the instances that are alive follow, if these are not the same.
func plans(runs []run, at time.Time) (different int, says string) {
	var hashes, follows []string
	for _, r := range runs {
		if !r.alive(at) || r.plan == store.NotYet {
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

// holes are the times of a span that are not covered, if they take so many seconds or
// more. A service that is started anew leaves small ones.
func (s span) holes(covered []span, least int64) (holes []span) {
	from := s.from
	for _, c := range append(covered, span{s.to, s.to}) {
		if to := min(c.from, s.to); to-from >= least {
			holes = append(holes, span{from, to})
		}
		from = max(from, c.to)
	}
	return holes
}

// missing says what the counts since a time leave out. It is empty if they are complete.
// Every run that has not ended must have written lately and, if a sunset has come, since
// then; and so many of them, if it is known how many there are.
func missing(q *store.Session, runs []run, at time.Time, from int64, atLeast int, sunset time.Time) []string {
	reasons := uncounted(q, runs, span{from, at.Unix()}, atLeast)
	written := 0
	var silent []string
	for _, r := range runs {
		switch {
		case r.stopped != 0:
		case r.silent(at):
			silent = append(silent, r.silence())
		case !at.Before(sunset) && r.written < sunset.Unix():
			silent = append(silent, fmt.Sprintf("%s has written no counts since the sunset, but up to %s",
				r.name(), moment(r.written)))
		default:
			written++
		}
	}
	reasons = append(reasons, firstFew(silent, "other silent instance", "other silent instances")...)
	if written < atLeast {
		have := humanize.Count(written, "instance is", "instances are")
		reasons = append(reasons, fmt.Sprintf("%s writing counts, of %d that there are", have, atLeast))
	}
	return append(reasons, gaps(q, from)...)
}

// uncounted says when fewer instances were counting than there should be, and at least one.
func uncounted(q *store.Session, runs []run, window span, atLeast int) (reasons []string) {
	if since := q.Facts().Since.Unix(); since > window.from {
		reasons = append(reasons, "calls are counted only since "+moment(since))
		window.from = since
	}
	what := "no counts"
	if atLeast > 1 {
		what = fmt.Sprintf("fewer than %d instances counted", atLeast)
	}
	var holes []string
	for _, h := range window.holes(counted(runs, max(1, atLeast)), hour) {
		holes = append(holes, fmt.Sprintf("%s from %s to %s", what, moment(h.from), moment(h.to)))
	}
	return append(reasons, firstFew(holes, "later interruption", "later interruptions")...)
}

// gaps describes the gaps that end after a time, the latest first.
func gaps(t *store.Session, after int64) []string {
	var notes []string
	var began, ended int64
	var reason string
	t.Each("select began, ended, reason from quotegate_gaps where ended >= $1 order by ended desc, began desc",
		[]any{after}, []any{&began, &ended, &reason}, func() {
			notes = append(notes, fmt.Sprintf("calls between %s and %s are missing: %s",
				moment(began), moment(ended), reason))
		})
	return firstFew(notes, "earlier gap", "earlier gaps")
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

// ReadStats reads the stats from the database, but for the traffic, which takes longer.
func (r *Reader) ReadStats(q *store.Session, at time.Time) *Stats {
	var gapEnd int64
	q.Get("select coalesce(max(ended), 0) from quotegate_gaps where ended <= $1", []any{at.Unix()}, &gapEnd)
	s := &Stats{Since: unix(max(q.Facts().Since.Unix(), gapEnd)), Bytes: q.Size()}
	yesterday := store.FirstDay(at, 1)
	runs := readRuns(q, yesterday*day)
	for _, i := range runs {
		if i.silent(at) && i.written <= at.Unix() {
			s.Since = unix(max(s.Since.Unix(), i.written))
		}
	}
	s.Instances = instances(runs, at)
	s.Notes = unnamed(readTotals(q, yesterday, forever), "", "since yesterday, ")
	if s.Bytes > r.db.Most/10*8 {
		s.Notes = append(s.Notes, fmt.Sprintf("the database has %s MB; at %s MB the oldest counts are deleted",
			humanize.Number(s.Bytes>>20), humanize.Number(r.db.Most>>20)))
	}
	var differ string
	s.Plans, differ = plans(runs, at)
	if differ != "" {
		s.Notes = append(s.Notes, differ+"; clients get different answers, and gates hold")
	}
	s.Notes = append(s.Notes, r.anomalies(runs, at)...)
	s.Notes = append(s.Notes, gaps(q, yesterday*day)...)
	return s
}

// anomalies are instances that are silent, counts from the future, and a file that several
// processes write to.
func (r *Reader) anomalies(runs []run, at time.Time) (notes []string) {
	others := 0
	for _, i := range runs {
		if i.silent(at) {
			notes = append(notes, i.silence())
		}
		if ahead := time.Unix(i.written, 0).Sub(at); ahead > store.MaxSkew {
			notes = append(notes, fmt.Sprintf("counts were recorded at %s, which is %s from now: a clock was wrong",
				moment(i.written), humanize.Span(ahead)))
		}
		if i.instance != r.writer.Instance && i.alive(at) {
			others++
		}
	}
	if others > 0 && !r.db.Shared && r.writer.Instance != "" {
		notes = append(notes, "another process writes to the same SQLite file, or one was killed within the last "+
			"minutes: give each process its own file, or use PostgreSQL")
	}
	return notes
}

// dayTotal is all calls of a version with an outcome on a day.
type dayTotal struct {
	version, outcome    string
	day, calls, unnamed int64
}

// isEvidence reports whether a gate counts such calls.
func (t dayTotal) isEvidence() bool { return t.outcome == store.Served || t.outcome == store.Brownout }

// forever is a last day for what must not leave out calls that a clock recorded too late.
const forever = 1 << 31

// readTotals reads the totals from a day to another one.
func readTotals(q *store.Session, first, last int64) (all []dayTotal) {
	var t dayTotal
	q.Each(`select version, outcome, hour / 86400 as day, cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
		from quotegate_totals where hour >= $1 and hour < $2 group by version, outcome, day`,
		[]any{first * day, (last + 1) * day}, []any{&t.version, &t.outcome, &t.day, &t.calls, &t.unnamed},
		func() { all = append(all, t) })
	return all
}

// unnamed notes how many calls of a version, which are evidence, count under no client
// of their own; of all versions if none is named.
func unnamed(totals []dayTotal, version, prefix string) []string {
	var n int64
	for _, t := range totals {
		if t.isEvidence() && (version == "" || version == t.version) {
			n += t.unnamed
		}
	}
	if n == 0 {
		return nil
	}
	calls := humanize.Count(n, "call is not attributed to a client", "calls are not attributed to a client")
	return []string{prefix + calls +
		": the daily limit of new names, or the limit of clients between two writes, was reached"}
}
