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

// percent is a position on a picture, so that text keeps its size when the picture is scaled.
type percent float64

func (p percent) String() string { return fmt.Sprintf("%.3g%%", float64(p)) }

// mark is a place on a line and its text.
type mark struct {
	X    percent
	Text string
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

// Timeline spans a little more than the first and the last step, and now. It is nil for a
// version without a plan.
func (p *overviewPage) Timeline(version string) *timeline {
	s := p.Schedule(version)
	if s == nil {
		return nil
	}
	points := []time.Time{s.Deprecated, p.Now, cmp.Or(s.Sunset, p.Now)}
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
func (p *overviewPage) Curves() []evidence.Version {
	used := func(d evidence.VersionDay) bool { return d.Clients > 0 || d.Served > 0 || d.Refused > 0 }
	all := slices.DeleteFunc(slices.Clone(p.Report.Versions), func(v evidence.Version) bool {
		return len(v.Days) == 0 || p.Schedule(v.Version) == nil && !slices.ContainsFunc(v.Days, used)
	})
	slices.SortStableFunc(all, func(a, b evidence.Version) int { return p.end(a.Version).Compare(p.end(b.Version)) })
	return all
}

// Charts are the calls and clients of a version day by day. A series of zeros has no chart.
func (p *overviewPage) Charts(v evidence.Version) []chart {
	var calls, refused, clients []uint64
	for _, d := range v.Days {
		calls = append(calls, d.Served+d.Refused)
		refused = append(refused, d.Refused)
		clients = append(clients, d.Clients)
	}
	first := v.Days[0].Day.Time()
	plan := p.dates(v.Version)
	who := "clients"
	if !p.Old(v.Version) {
		who = "clients of old versions"
	}
	all := []chart{
		{v.Version + ": calls per day", first, plan, calls, refused},
		{v.Version + ": " + who + " per day", first, plan, clients, nil},
	}
	return slices.DeleteFunc(all, func(c chart) bool { return sum(c.Values) == 0 })
}

// firstDay is the first day of a picture of a client.
func (p *page) firstDay() time.Time { return p.Now.UTC().Truncate(day).Add(-(heatDays - 1) * day) }

// Axis is the months above a heat map.
func (p *page) Axis() []mark { return months(p.firstDay(), p.firstDay().Add(heatDays*day)) }

// ClientChart has the calls of a client: as a chart, and as its row of a heat map.
func (p *page) ClientChart(c *evidence.Client) chart {
	values := make([]uint64, heatDays)
	for _, d := range c.Days {
		if i := int(d.Day.Time().Sub(p.firstDay()) / day); i >= 0 && i < heatDays {
			values[i] = d.Calls
		}
	}
	return chart{c.Version + ": calls per day", p.firstDay(), p.dates(c.Version), values, nil}
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

// Top is an even number, so that half of it can label the axis.
func (c chart) Top() uint64 {
	highest := max(2, slices.Max(c.Values))
	return highest + highest%2
}

// Sunset is its position, empty if it is not on the picture.
func (c chart) Sunset() string {
	if at := c.Plan.Sunset; at.After(c.First) && at.Before(c.End()) {
		return fmt.Sprintf("%.3g", at.Sub(c.First).Hours()/24)
	}
	return ""
}

type shade struct{ X, Width int }

// Shades are the windows of the plan.
func (c chart) Shades() (all []shade) {
	for _, b := range c.Plan.Brownouts {
		from := max(0, int(b.From.Sub(c.First)/day))
		to := min(len(c.Values)-1, int(b.To.Add(-time.Second).Sub(c.First)/day))
		if b.To.After(c.First) && from <= to {
			all = append(all, shade{from, to - from + 1})
		}
	}
	return all
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
		fmt.Fprintf(&b, "%c%.3g %.3g", letter, float64(i)+0.5, 100-100*float64(values[i])/top)
		letter = 'L'
	}
	return b.String()
}

// Levels are the days of a heat map with 1 to 9 calls, 10 to 99, 100 to 999, or more: a
// path for each, as thick as the row is tall, so that each day is a box. Level 0 is empty.
func (c chart) Levels() (levels [5]string) {
	for i, calls := range c.Values {
		if calls > 0 {
			digits := len(strconv.FormatUint(calls, 10))
			levels[min(digits, len(levels)-1)] += fmt.Sprintf("M%d 5h1", i)
		}
	}
	return levels
}
