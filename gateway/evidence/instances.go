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

// maxGaps are described one by one.
const maxGaps = 3

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

// running reports whether it has not ended properly.
func (r run) running() bool { return r.stopped == 0 }

// alive reports whether it has written lately, and not in the future, where its clock may
// have been when it was killed.
func (r run) alive(at time.Time) bool {
	ago := at.Sub(time.Unix(r.written, 0))
	return r.running() && ago < silentAfter && ago >= -store.MaxSkew
}

// silent reports whether it has neither ended properly nor written lately: it was killed,
// or cannot write. Its last counts are missing.
func (r run) silent(at time.Time) bool { return r.running() && !r.alive(at) }

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
		if !r.running() || r.written < at.Unix()-day {
			continue
		}
		plan := r.plan
		if plan == store.NotYet {
			plan = ""
		}
		all = append(all, Instance{Name: r.name(), Plan: plan, Written: unix(r.written), Silent: r.silent(at)})
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
// Every run that has not ended is to have written lately and, if a sunset has come, since
// then; and so many of them, if it is known how many there are.
func missing(q *store.Session, runs []run, at time.Time, from int64, atLeast int, sunset time.Time) []string {
	reasons := uncounted(q, runs, span{from, at.Unix()}, atLeast)
	written := 0
	var silent []string
	for _, r := range runs {
		switch {
		case !r.running():
		case r.silent(at):
			silent = append(silent, r.silence())
		case !at.Before(sunset) && r.written < sunset.Unix():
			silent = append(silent, fmt.Sprintf("%s has written no counts since the sunset, but up to %s",
				r.name(), moment(r.written)))
		default:
			written++
		}
	}
	if len(silent) > maxGaps {
		more := humanize.Count(len(silent)-maxGaps, "other instance", "other instances")
		silent = append(silent[:maxGaps], "neither have "+more)
	}
	reasons = append(reasons, silent...)
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
	for i, h := range window.holes(counted(runs, max(1, atLeast)), hour) {
		if i == maxGaps {
			return append(reasons, what+" in other spans after that")
		}
		reasons = append(reasons, fmt.Sprintf("%s from %s to %s", what, moment(h.from), moment(h.to)))
	}
	return reasons
}

// gaps describes the gaps that end after a time, the latest first.
func gaps(t *store.Session, after int64) (notes []string) {
	var began, ended int64
	var reason string
	t.Each("select began, ended, reason from quotegate_gaps where ended >= $1 order by ended desc, began desc",
		[]any{after}, []any{&began, &ended, &reason}, func() {
			notes = append(notes, fmt.Sprintf("calls between %s and %s are missing: %s",
				moment(began), moment(ended), reason))
		})
	if len(notes) > maxGaps {
		more := humanize.Count(len(notes)-maxGaps, "gap", "gaps")
		notes = append(notes[:maxGaps], fmt.Sprintf("calls are missing in %s before", more))
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
