package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

const (
	day = 24 * time.Hour
	// heatDays is how many days a picture of a client has, as many as a report.
	heatDays = 90
)

// coord is a coordinate, written in as few bytes as possible.
type coord float64

func (c coord) String() string {
	return strings.TrimSuffix(strconv.FormatFloat(float64(c), 'f', 1, 64), ".0")
}

// percent is a place on a picture, so that the text keeps its size when the picture
// grows or shrinks.
type percent float64

func (p percent) String() string { return coord(p).String() + "%" }

// mark is a place on a line and its text.
type mark struct {
	X    percent
	Text string
}

type shade struct{ X, Width int }

// shades are the windows of a schedule within some days.
func shades(s *lifecycle.Schedule, first time.Time, days int) (all []shade) {
	for _, b := range s.Brownouts {
		from := max(0, int(b.From.Sub(first)/day))
		to := min(days-1, int(b.To.Add(-time.Second).Sub(first)/day))
		if b.To.After(first) && from <= to {
			all = append(all, shade{from, to - from + 1})
		}
	}
	return all
}

// months marks the first day of each month.
func months(from, to time.Time) (marks []mark) {
	t := time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	for ; t.Before(to); t = t.AddDate(0, 1, 0) {
		marks = append(marks, mark{X: between(from, to, t), Text: t.Format("Jan")})
	}
	return marks
}

func between(from, to, t time.Time) percent {
	return percent(100 * float64(t.Unix()-from.Unix()) / float64(to.Unix()-from.Unix()))
}

// timeline places the steps of a version on a line.
type timeline struct {
	*lifecycle.Schedule
	from, to time.Time
}

// Timeline is one that goes a little beyond the first and the last step, and now. It is
// nil for a version without a plan.
func (f *Facts) Timeline(version string) *timeline {
	s := f.Schedule(version)
	if s == nil {
		return nil
	}
	points := []time.Time{s.Deprecated, f.Now, cmp.Or(s.Sunset, f.Now)}
	from, to := slices.MinFunc(points, time.Time.Compare), slices.MaxFunc(points, time.Time.Compare)
	edge := max(day, to.Sub(from)/20)
	return &timeline{s, from.Add(-edge), to.Add(edge)}
}

func (l *timeline) X(t time.Time) percent { return between(l.from, l.to, t) }

// Anchor keeps the text of a place inside the picture.
func (l *timeline) Anchor(t time.Time) string {
	x := l.X(t)
	switch {
	case x < 15:
		return "start"
	case x > 85:
		return "end"
	}
	return "middle"
}

func (l *timeline) Width(b lifecycle.Brownout) string {
	if width := l.X(b.To) - l.X(b.From); width > 1 {
		return width.String()
	}
	return "4"
}

// Tall is the height of a window: 26 if its share is 1.
func (l *timeline) Tall(b lifecycle.Brownout) int { return max(6, int(b.Share*26)) }

// Curves are the versions to draw: every old one that is in the plan or in use, and
// then the current one, once.
func (f *Facts) Curves() []evidence.Version {
	used := func(d evidence.VersionDay) bool { return d.Clients > 0 || d.Served > 0 || d.Refused > 0 }
	all := slices.DeleteFunc(slices.Clone(f.Report.Versions), func(v evidence.Version) bool {
		return len(v.Days) == 0 || f.Schedule(v.Version) == nil && !slices.ContainsFunc(v.Days, used)
	})
	slices.SortStableFunc(all, func(a, b evidence.Version) int { return f.end(a.Version).Compare(f.end(b.Version)) })
	return all
}

// Charts are a version day by day. What was 0 on every day has no chart.
func (f *Facts) Charts(v evidence.Version) []chart {
	var calls, refused, clients []uint64
	for _, d := range v.Days {
		calls = append(calls, d.Served+d.Refused)
		refused = append(refused, d.Refused)
		clients = append(clients, d.Clients)
	}
	first := v.Days[0].Day.Time()
	plan := f.dates(v.Version)
	who := "clients"
	if !f.Old(v.Version) {
		who = "clients of old versions"
	}
	all := []chart{
		{v.Version + ": calls per day", first, plan, calls, refused},
		{v.Version + ": " + who + " per day", first, plan, clients, nil},
	}
	return slices.DeleteFunc(all, func(c chart) bool { return sum(c.Values) == 0 })
}

// chart is one number over some days. The picture is 100 high and has one unit of
// width for each day.
type chart struct {
	Title           string
	First           time.Time
	Plan            *lifecycle.Schedule
	Values, Refused []uint64 // one for each day, of which the last is not over
}

func (c chart) End() time.Time { return c.First.Add(time.Duration(len(c.Values)) * day) }

func (c chart) Top() uint64 { return niceAbove(slices.Max(c.Values)) }

// Sunset is its position, empty if it is not on the picture.
func (c chart) Sunset() string {
	if at := c.Plan.Sunset; at.After(c.First) && at.Before(c.End()) {
		return coord(at.Sub(c.First).Hours() / 24).String()
	}
	return ""
}

func sum(values []uint64) (n uint64) {
	for _, v := range values {
		n += v
	}
	return n
}

// Path is a line through the middle of every day from one day, or the first, to before
// another.
func (c chart) Path(values []uint64, from, to int) string {
	var b strings.Builder
	letter := 'M'
	top := float64(c.Top())
	for i := max(from, 0); i < to; i++ {
		fmt.Fprintf(&b, "%c%v %v", letter, coord(float64(i)+0.5), coord(100-100*float64(values[i])/top))
		letter = 'L'
	}
	return b.String()
}

func niceAbove(n uint64) uint64 {
	for unit := uint64(1); unit < 1<<60; unit *= 10 {
		for _, m := range []uint64{1, 2, 4, 6, 8} {
			if nice := m * unit; nice >= max(n, 2) {
				return nice
			}
		}
	}
	return n
}

// firstDay is the first day of a picture of a client.
func (f *Facts) firstDay() time.Time { return f.Now.UTC().Truncate(day).Add(-(heatDays - 1) * day) }

// Axis is the months above a heat map.
func (f *Facts) Axis() []mark { return months(f.firstDay(), f.firstDay().Add(heatDays*day)) }

// calls are those of a client on each day of its pictures.
func (f *Facts) calls(c *evidence.Client) []uint64 {
	values := make([]uint64, heatDays)
	for _, d := range c.Days {
		if i := int(d.Day.Time().Sub(f.firstDay()) / day); i >= 0 && i < heatDays {
			values[i] = d.Calls
		}
	}
	return values
}

func (f *Facts) ClientChart(c *evidence.Client) chart {
	return chart{c.Version + ": calls per day", f.firstDay(), f.dates(c.Version), f.calls(c), nil}
}

// Shades are the windows behind a heat map.
func (f *Facts) Shades(version string) []shade {
	return shades(f.dates(version), f.firstDay(), heatDays)
}

// Levels draws a heat map: a stroke for each run of days with about the same number of calls: 1 to
// 9, 10 to 99, 100 to 999, or more. There is one path for each of these levels, as
// thick as the row is tall, so that each day is a box. Level 0 is empty.
func (f *Facts) Levels(c *evidence.Client) (levels [5]string) {
	calls := f.calls(c)
	level := func(i int) int {
		if calls[i] == 0 {
			return 0
		}
		return min(len(strconv.FormatUint(calls[i], 10)), len(levels)-1) // the number of digits
	}
	for from := 0; from < len(calls); {
		to := from + 1
		for to < len(calls) && level(to) == level(from) {
			to++
		}
		if l := level(from); l > 0 {
			levels[l] += fmt.Sprintf("M%d 5h%d", from, to-from)
		}
		from = to
	}
	return levels
}
