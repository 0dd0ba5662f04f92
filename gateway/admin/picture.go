package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

const (
	day = 24 * time.Hour
	// heatDays is how many days a picture looks back, as many as a report.
	heatDays = 90
	// daysAhead is how far a picture looks ahead, for a sunset.
	daysAhead = 60
)

// percent is a position on a picture, so that text keeps its size when the picture is scaled.
type percent float64

func (p percent) String() string { return fmt.Sprintf("%.4g%%", float64(p)) }

// axis is the time that a picture shows.
type axis struct{ From, To time.Time }

func (a axis) X(t time.Time) percent {
	return percent(100 * float64(t.Unix()-a.From.Unix()) / float64(a.To.Unix()-a.From.Unix()))
}

func (a axis) has(t time.Time) bool { return !t.Before(a.From) && t.Before(a.To) }

// mark is a place on an axis and its text.
type mark struct {
	X     percent
	Text  string
	Class string // of what stands out
}

// Left reports whether the text has to stand to the left of the place, to stay inside the picture.
func (m mark) Left() bool { return m.X > 60 }

// Months marks the first day of each month. If these are fewer than two, the axis has Mondays.
func (a axis) Months() (marks []mark) {
	t := time.Date(a.From.Year(), a.From.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	for ; t.Before(a.To); t = t.AddDate(0, 1, 0) {
		marks = append(marks, mark{X: a.X(t), Text: humanize.DayMonth(t)})
	}
	if len(marks) > 1 {
		return marks
	}
	marks = nil
	for t = a.From.Truncate(day); t.Before(a.To); t = t.Add(day) {
		if t.Weekday() == time.Monday && a.has(t) {
			marks = append(marks, mark{X: a.X(t), Text: humanize.DayMonth(t)})
		}
	}
	return marks
}

// span is a part of an axis.
type span struct{ X, Width percent }

// windows are those of a plan of which an axis shows a part.
func (a axis) windows(s *lifecycle.Schedule) (all []lifecycle.Brownout) {
	for _, b := range s.Brownouts {
		if b.To.After(a.From) && b.From.Before(a.To) {
			all = append(all, b)
		}
	}
	return all
}

// Spans are the windows as parts of the axis, each at least wide enough to be seen.
func (a axis) Spans(s *lifecycle.Schedule) (all []span) {
	const visible = 0.5
	for _, b := range a.windows(s) {
		from, to := max(0, a.X(b.From)), min(100, a.X(b.To))
		all = append(all, span{from, max(visible, to-from)})
	}
	return all
}

// scale is a vertical axis from 0, with a line at each step.
type scale struct{ Step, Top uint64 }

// newScale has at most five steps, each of 1, 2 or 5 with zeros.
func newScale(most uint64) scale {
	const steps = 5
	least := (most + steps - 1) / steps
	for power := uint64(1); ; power *= 10 {
		for _, factor := range []uint64{1, 2, 5} {
			if step := factor * power; least <= step {
				return scale{step, step * max(1, (most+step-1)/step)}
			}
		}
	}
}

func (s scale) Y(n uint64) percent { return percent(100 - 100*float64(n)/float64(s.Top)) }

// Ticks are from the top to 0.
func (s scale) Ticks() (all []uint64) {
	for n := s.Top; n > 0; n -= s.Step {
		all = append(all, n)
	}
	return append(all, 0)
}

// picture is numbers over days: as a line, or as bars of layers that are stacked.
type picture struct {
	axis
	scale
	Title  string
	Says   string // the same facts
	Bands  []span // windows of the plan
	Marks  []mark
	Limit  *level
	Line   string // a path in a box of 100 by 100
	End    *point // of the line
	Layers []layer
}

// level is a line across a picture.
type level struct {
	Y    percent
	Text string
}

type point struct{ X, Y percent }

// layer is the bars of one version.
type layer struct {
	Name, Class string
	Bars        []box
}

type box struct{ X, Y, Width, Height percent }

// mark adds today, and the sunset if the picture has it.
func (p *picture) mark(now, sunset time.Time) {
	p.Marks = append(p.Marks, mark{p.X(now), "today, " + humanize.DayMonth(now), "now"})
	if p.has(sunset) {
		p.Marks = append(p.Marks, mark{p.X(sunset), "sunset, " + humanize.DayMonth(sunset), "sunset"})
	}
}

// around is an axis from a first day, or two weeks ago, to a little after today, or the sunset if that
// is near.
func around(first, now, sunset time.Time) axis {
	a := axis{first, now}
	if before := now.Add(-14 * day); before.Before(first) {
		a.From = before
	}
	if sunset.After(now) && sunset.Sub(now) < daysAhead*day {
		a.To = sunset
	}
	a.To = a.To.Add(a.To.Sub(a.From) / 25)
	return a
}

// draw draws a line through the middle of each day until now.
func (p *picture) draw(values []int, first, now time.Time) {
	letter := "M"
	for i, n := range values {
		at := first.Add(time.Duration(i)*day + day/2)
		if i == len(values)-1 {
			at = now
		}
		p.End = &point{p.X(at), p.Y(uint64(n))}
		p.Line += fmt.Sprintf("%s%.4g %.4g", letter, float64(p.End.X), float64(p.End.Y))
		letter = "L"
	}
}

// Legend is the layers, the top one first.
func (p *picture) Legend() []layer {
	layers := slices.Clone(p.Layers)
	slices.Reverse(layers)
	return layers
}

// listWindows names the windows that a picture has.
func (a axis) listWindows(s *lifecycle.Schedule) string {
	var days []string
	for _, b := range a.windows(s) {
		days = append(days, humanize.DayMonth(b.From))
	}
	if len(days) == 0 {
		return ""
	}
	return " Brownouts: " + strings.Join(days, ", ") + "."
}

// series is the calls of a version, or of a client of it, on each day of a picture.
type series struct {
	Name    string
	Values  []uint64
	Refused uint64
}

// stack draws series of the days of a report, the last of which is not over.
func (p *page) stack(title string, all []series) *picture {
	const classes = 3
	sums := make([]uint64, heatDays)
	for _, s := range all {
		for i, n := range s.Values[:min(len(s.Values), heatDays)] {
			sums[i] += n
		}
	}
	a := p.days()
	pic := &picture{axis: a, scale: newScale(slices.Max(sums)), Title: title}
	pic.Says = title + " from " + humanize.Date(a.From) + " to today."
	clear(sums)
	for i, s := range all {
		layer := layer{Name: s.Name, Class: "old" + strconv.Itoa(i%classes)}
		for d, n := range s.Values[:min(len(s.Values), heatDays)] {
			sums[d] += n
			if n > 0 {
				const width = 100.0 / heatDays
				bar := box{percent(width * float64(d)), pic.Y(sums[d]), 0.85 * width, 100 - pic.Y(n)}
				layer.Bars = append(layer.Bars, bar)
			}
		}
		pic.Layers = append(pic.Layers, layer)
		pic.Says += s.sentence()
	}
	return pic
}

// sentence sums up a series.
func (s series) sentence() string {
	highest := humanize.Number(slices.Max(s.Values))
	today := humanize.Number(s.Values[len(s.Values)-1])
	whole := humanize.Number(sum(s.Values))
	text := fmt.Sprintf(" %s: highest %s, today so far %s, in all %s.", s.Name, highest, today, whole)
	if s.Refused > 0 {
		text += " Refused: " + humanize.Number(s.Refused) + "."
	}
	return text
}

// firstDay is the first day of a picture.
func (p *page) firstDay() time.Time { return p.Now.UTC().Truncate(day).Add(-(heatDays - 1) * day) }

// days is the axis of the days of a report.
func (p *page) days() axis { return axis{p.firstDay(), p.firstDay().Add(heatDays * day)} }

// HeatAxis is the months above a heat map.
func (p *page) HeatAxis() []mark { return p.days().Months() }

// heatRow is the calls of a client, one box for each day.
type heatRow struct {
	Bands  []span
	values []uint64
}

func (p *page) HeatRow(c *evidence.Client) heatRow {
	days := p.days()
	row := heatRow{days.Spans(p.dates(c.Version)), make([]uint64, heatDays)}
	for _, d := range c.Days {
		if i := int(d.Day.Time().Sub(days.From) / day); i >= 0 && i < heatDays {
			row.values[i] = d.Calls
		}
	}
	return row
}

// Levels are the days of a heat map with 1 to 9 calls, 10 to 99, 100 to 999, or more: a
// path for each, as thick as the row is tall, so that each day is a box. Level 0 is empty.
func (r heatRow) Levels() (levels [5]string) {
	for i, calls := range r.values {
		if calls > 0 {
			digits := len(strconv.FormatUint(calls, 10))
			levels[min(digits, len(levels)-1)] += fmt.Sprintf("M%d 5h1", i)
		}
	}
	return levels
}

func sum(values []uint64) (n uint64) {
	for _, v := range values {
		n += v
	}
	return n
}
