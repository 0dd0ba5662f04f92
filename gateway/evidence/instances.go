package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// Unheard says which instances the counts of the last days leave out. It is what a
// gate asks beside Evidence, and is empty if nothing is left out:
//   - an instance that has not stopped properly has written what it counted up to the
//     sunset, or it is named; if it stays silent, its silence becomes a gap;
//   - if the gate says how many instances there are, so many have written at once in
//     every hour, and since the sunset.
func (r *Reader) Unheard(days, instances int, sunset time.Time) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.DB.Ask(ctx)
	at := q.Now(r.Now())
	var reasons []string
	if !at.Before(sunset) {
		reasons = append(reasons, silentSince(q, sunset.Unix())...)
	}
	if instances > 0 {
		from := windowStart(at, time.Duration(days)*24*time.Hour) + hour
		lives := readLives(q, from)
		reasons = append(reasons, tooFewNow(lives, instances, at.Unix(), sunset.Unix())...)
		reasons = append(reasons, tooFewInHours(lives, instances, from, at.Unix()-at.Unix()%hour)...)
	}
	return strings.Join(reasons, "; "), q.Err
}

// silentSince names the instances that have not stopped, and of which not every call
// before a time is known to be written.
func silentSince(t *store.Session, sunset int64) (reasons []string) {
	var instance, host string
	var written, complete int64
	t.Each(`select instance, host, written, complete from usage_instances
		where stopped = 0 and complete < $1 order by host, instance`,
		[]any{sunset}, []any{&instance, &host, &written, &complete}, func() {
			name := InstanceName(instance, host)
			if complete == 0 {
				reasons = append(reasons, fmt.Sprintf("%s, which wrote last at %s, is of an earlier release and "+
					"does not say up to when its counts are complete", name, stamp(written)))
				return
			}
			reasons = append(reasons, fmt.Sprintf("%s has written no counts since the sunset, but up to %s",
				name, stamp(complete)))
		})
	if len(reasons) > maxGaps {
		more := words.Count(len(reasons)-maxGaps, "instance has", "instances have")
		reasons = append(reasons[:maxGaps], more+" not written either")
	}
	return reasons
}

// life is the time of an instance, [began, ended), of which every call is written.
type life struct {
	began, ended int64
	running      bool // it has not stopped
}

// readLives reads those of the instances that have written since a time, and say how much.
func readLives(t *store.Session, since int64) (all []life) {
	var one life
	t.Each("select started, complete, stopped = 0 from usage_instances where complete >= $1",
		[]any{since}, []any{&one.began, &one.ended, &one.running}, func() { all = append(all, one) })
	return all
}

// tooFewNow says whether fewer than so many instances write now or, once the sunset has
// come, have written since.
func tooFewNow(lives []life, instances int, at, sunset int64) []string {
	since := at - 12*int64(store.MaxInterval/time.Second) // which the slowest writer does not miss
	what := "lately"
	if at >= sunset {
		since = max(since, sunset)
		what = "since the sunset"
	}
	count := 0
	for _, l := range lives {
		if l.running && l.ended >= since {
			count++
		}
	}
	if count >= instances {
		return nil
	}
	have := words.Count(count, "instance has", "instances have")
	return []string{fmt.Sprintf("%s written %s, of %d that there are", have, what, instances)}
}

// tooFewInHours says in which hours of [from, to) fewer than so many instances were
// counting at the same time. One that follows another does not make two.
func tooFewInHours(lives []life, instances int, from, to int64) (reasons []string) {
	most := mostAtOnce(lives, from, to)
	spans := 0
	for i := 0; i < len(most); {
		if most[i] >= instances {
			i++
			continue
		}
		first, fewest := i, most[i]
		for ; i < len(most) && most[i] < instances; i++ {
			fewest = min(fewest, most[i])
		}
		spans++
		if spans <= maxGaps {
			began := time.Unix(from+int64(first)*hour, 0)
			ended := time.Unix(from+int64(i)*hour, 0)
			few := words.Count(fewest, "instance counted", "instances counted")
			reasons = append(reasons, fmt.Sprintf("from %s to %s only %s, of %d",
				words.Moment(began), words.Moment(ended), few, instances))
		}
	}
	if spans > maxGaps {
		more := words.Count(spans-maxGaps, "span", "spans")
		reasons = append(reasons, fmt.Sprintf("too few instances counted in %s after that", more))
	}
	return reasons
}

// mostAtOnce is the greatest number of instances that counted at one time, in each hour
// of [from, to).
func mostAtOnce(lives []life, from, to int64) []int {
	if to <= from {
		return nil
	}
	type change struct {
		at int64
		by int
	}
	var changes []change
	for _, l := range lives {
		if l.ended >= from && l.began < to && l.ended >= l.began {
			changes = append(changes, change{max(l.began, from), 1}, change{max(l.ended, from), -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	most := make([]int, (to-from)/hour)
	running, next := 0, 0
	for i := range most {
		end := from + int64(i+1)*hour
		most[i] = running
		for next < len(changes) && changes[next].at < end {
			running += changes[next].by
			most[i] = max(most[i], running)
			next++
		}
	}
	return most
}
