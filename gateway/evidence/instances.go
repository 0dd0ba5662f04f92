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

// Windows are the times over which calls are added up: the last hour and the one before,
// one day, and 7 days.
var Windows = [3]string{"hour", "day", "week"}

// Count is how many calls a version served in a window, and how many clients it
// served or refused by a brownout.
type Count struct {
	Calls   uint64 `json:"calls"`
	Clients uint64 `json:"clients"`
}

// Stats are numbers that are needed too often to query the database each time.
type Stats struct {
	Since     time.Time // the counts are complete since then
	Instances []Instance
	Notes     []string                       // what the numbers do not include
	Counts    map[string][len(Windows)]Count // by version
	Unserved  map[string]map[string]uint64   // calls of 7 days, by version and outcome
	Bytes     int64                          // of the database
	Plans     int                            // different ones that the instances follow
}

// ReadStats reads the stats from the database. If there are last ones, it takes their
// counts, which take long to read.
func (r *Reader) ReadStats(q *store.Session, at time.Time, last *Stats) *Stats {
	s := &Stats{Counts: map[string][len(Windows)]Count{}, Unserved: map[string]map[string]uint64{}}
	if last != nil {
		s.Counts = last.Counts
		s.Unserved = last.Unserved
	} else {
		r.countCalls(q, at, s)
		r.countClients(q, at, s)
	}
	var gapEnd int64
	q.Get("select coalesce(max(ended), 0) from quotegate_gaps where ended <= $1", []any{at.Unix()}, &gapEnd)
	s.Since = unix(max(q.Facts().Since.Unix(), gapEnd))
	s.Bytes = q.Size()
	yesterday := store.FirstDay(at, 1)
	runs := readRuns(q, yesterday*day)
	for _, i := range runs {
		if i.silent(at) && i.written <= at.Unix() {
			s.Since = unix(max(s.Since.Unix(), i.written))
		}
	}
	s.Instances = instances(runs, at)
	s.Notes = unnamed(q, "", yesterday, "since yesterday, ")
	if s.Bytes > r.DB.Most/10*8 {
		s.Notes = append(s.Notes, fmt.Sprintf("the database has %s MB; at %s MB the oldest counts are deleted",
			humanize.Number(s.Bytes>>20), humanize.Number(r.DB.Most>>20)))
	}
	var differ string
	s.Plans, differ = plans(runs, at)
	if differ != "" {
		s.Notes = append(s.Notes, differ+"; clients get different answers, and gates hold")
	}
	s.Notes = append(s.Notes, r.strange(runs, at)...)
	s.Notes = append(s.Notes, gaps(q, yesterday*day)...)
	return s
}

// countCalls adds up the calls of the windows.
func (r *Reader) countCalls(q *store.Session, at time.Time, s *Stats) {
	lastHour := (at.Unix()/hour - 1) * hour
	var version, what string
	var calls [len(Windows)]uint64
	q.Each(`select version, outcome, cast(sum(case when hour >= $1 then calls else 0 end) as bigint),
		cast(sum(case when hour >= $2 then calls else 0 end) as bigint), cast(sum(calls) as bigint)
		from quotegate_totals where hour >= $3 and hour <= $4 group by version, outcome`,
		[]any{lastHour, store.FirstDay(at, 1) * day, store.FirstDay(at, 7) * day, at.Unix()},
		[]any{&version, &what, &calls[0], &calls[1], &calls[2]}, func() {
			if !slices.Contains(r.Versions, version) { // of another release
				return
			}
			if what == store.Served {
				s.Counts[version] = [len(Windows)]Count{{Calls: calls[0]}, {Calls: calls[1]}, {Calls: calls[2]}}
				return
			}
			if s.Unserved[version] == nil {
				s.Unserved[version] = map[string]uint64{}
			}
			s.Unserved[version][what] = calls[2]
		})
}

// countClients counts the clients of the windows.
func (r *Reader) countClients(q *store.Session, at time.Time, s *Stats) {
	today := at.Unix() / day
	before := at.Add(-time.Hour).Unix()
	for _, version := range r.Versions {
		counts := s.Counts[version]
		q.Get(`select count(distinct client) from quotegate_days where version = $1
			and (day = $2 and hours & $3 <> 0 or day = $4 and hours & $5 <> 0)`,
			[]any{version, today, 1 << (at.Unix() % day / hour), before / day, 1 << (before % day / hour)},
			&counts[0].Clients)
		q.Get(`select coalesce(sum(case when last >= $1 then 1 else 0 end), 0), count(*)
			from (select client, max(day) as last from quotegate_days
			where version = $2 and day >= $3 and day <= $4 and served + brownout > 0 group by client) as c`,
			[]any{store.FirstDay(at, 1), version, store.FirstDay(at, 7), today},
			&counts[1].Clients, &counts[2].Clients)
		s.Counts[version] = counts
	}
}

// strange notes instances that are silent, counts from the future, and a file that several
// processes write to.
func (r *Reader) strange(runs []run, at time.Time) (notes []string) {
	others := 0
	for _, i := range runs {
		if i.silent(at) {
			notes = append(notes, i.silence())
		}
		if ahead := time.Unix(i.written, 0).Sub(at); ahead > store.MaxSkew {
			notes = append(notes, fmt.Sprintf("counts were recorded at %s, which is %s from now: a clock was wrong",
				moment(i.written), humanize.Span(ahead)))
		}
		if i.instance != r.Writer.Instance && i.alive(at) {
			others++
		}
	}
	if others > 0 && !r.DB.Shared && r.Writer.Instance != "" {
		notes = append(notes, "another process writes to the same SQLite file, or one was killed within the last "+
			"minutes: give each process its own file, or use PostgreSQL")
	}
	return notes
}

// unnamed notes how many calls of a version, which are evidence, count under no client
// of their own since a day; of all versions if none is named.
func unnamed(t *store.Session, version string, since int64, prefix string) []string {
	var n int64
	t.Get(`select cast(coalesce(sum(unnamed), 0) as bigint) from quotegate_totals
		where ($1 = '' or version = $1) and outcome in ('served', 'brownout') and hour >= $2`,
		[]any{version, since * day}, &n)
	if n == 0 {
		return nil
	}
	calls := humanize.Count(n, "call is not attributed to a client", "calls are not attributed to a client")
	return []string{prefix + calls +
		": the daily limit of new names, or the limit of clients between two writes, was reached"}
}
