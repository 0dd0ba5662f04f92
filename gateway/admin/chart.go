package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

// curves are a version day by day.
type curves struct {
	Version string
	Clients string // what its clients are
	Charts  []chart
	Windows string   // that lie within these days, in words
	Days    []dayRow // the numbers behind the charts, the last day first
}

// dayRow is the numbers of one day.
type dayRow struct {
	usage.VersionDay
	Window string
}

// chart is one number over the days of a report. The picture is 100 high and has
// one unit of width for each day.
type chart struct {
	Title   string
	Label   string
	Width   int
	Top     string // the number at the upper edge
	Middle  string
	Line    string // path of the days that are over
	Partial string // path from the last of them to today
	Area    string // path below the line
	Refused string // path of the calls that were refused; empty if there are none
	Shades  []shade
	Sunset  string // position of the sunset; empty if it is not on the picture
	Ticks   []mark
	Today   string // the number of the last day, which is not over
}

type shade struct{ X, Width string }

// curves draws every old version that is in the plan or in use, and then the current
// one, once.
func (f *Facts) curves() (all []curves) {
	versions := slices.Clone(f.Report.Versions)
	slices.SortStableFunc(versions, func(a, b usage.Version) int { return f.end(a.Version).Compare(f.end(b.Version)) })
	for _, v := range versions {
		s := f.schedule(v.Version)
		if len(v.Days) == 0 || s == nil && !inUse(v) {
			continue
		}
		c := curves{Version: v.Version, Clients: "clients"}
		if s == nil && v.Version == f.current() {
			c.Clients = "clients of old versions"
		}
		var calls, refused, clients []uint64
		var windows []string
		for _, d := range v.Days {
			calls, refused, clients = append(calls, d.Served+d.Refused), append(refused, d.Refused), append(clients, d.Clients)
			window := windowOn(s, d.Day)
			c.Days = append(c.Days, dayRow{d, window})
			if window != "" {
				windows = append(windows, words.DayMonth(time.Unix(int64(d.Day), 0))+", "+window)
			}
		}
		slices.Reverse(c.Days)
		c.Windows = strings.Join(windows, "; ")
		c.Charts = []chart{newChart(v.Version+": calls a day", v.Days, s, calls, refused), newChart(v.Version+": "+c.Clients+" a day", v.Days, s, clients, nil)}
		all = append(all, c)
	}
	return all
}

func inUse(v usage.Version) bool {
	for _, d := range v.Days {
		if d.Clients > 0 || d.Served > 0 || d.Refused > 0 {
			return true
		}
	}
	return false
}

// newChart draws values, one for each day. A schedule may be nil.
func newChart(title string, days []usage.VersionDay, s *lifecycle.Schedule, values, refused []uint64) chart {
	most, sum := uint64(0), uint64(0)
	for _, v := range values {
		most, sum = max(most, v), sum+v
	}
	top := niceAbove(most)
	c := chart{Title: title, Width: len(days), Top: words.Number(top), Today: words.Number(values[len(values)-1])}
	if top%2 == 0 {
		c.Middle = words.Number(top / 2)
	}
	last := len(values) - 1
	c.Line, c.Partial = path(values[:last], top, 0), path(values[max(last-1, 0):], top, max(last-1, 0))
	c.Area = path(values, top, 0) + "V100H.5z"
	total := uint64(0)
	for _, v := range refused {
		total += v
	}
	c.Label = fmt.Sprintf("%s over %d days: highest %s, today so far %s, in all %s.", title, len(days), words.Number(most), c.Today, words.Number(sum))
	if total > 0 {
		c.Refused = path(refused, top, 0) + "V100H.5z"
		c.Label += " Refused: " + words.Number(total) + "."
	}
	first := time.Unix(int64(days[0].Day), 0).UTC()
	end := first.Add(time.Duration(len(days)) * day)
	for i, d := range days {
		if windowOn(s, d.Day) != "" {
			c.Shades = append(c.Shades, shade{strconv.Itoa(i), "1"})
		}
	}
	at := func(t time.Time) float64 { return t.Sub(first).Hours() / 24 }
	if s != nil && !s.Sunset.IsZero() && s.Sunset.After(first) && s.Sunset.Before(end) {
		c.Sunset = coord(at(s.Sunset))
	}
	c.Ticks = months(first, end, func(t time.Time) float64 { return 100 * at(t) / float64(len(days)) })
	return c
}

// path draws a line through the middle of every day from a day on.
func path(values []uint64, top uint64, from int) string {
	var b strings.Builder
	for i, v := range values {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%s %s", letter, coord(float64(from+i)+0.5), coord(100-100*float64(v)/float64(top)))
	}
	return b.String()
}

// niceAbove is a round number that is not below n.
func niceAbove(n uint64) uint64 {
	for unit := uint64(1); unit < 1<<60; unit *= 10 {
		for _, m := range []uint64{1, 2, 4, 6, 8} {
			if nice := m * unit; nice >= max(n, 2) {
				return nice
			}
		}
	}
	return max(n, 2)
}

// windowOn names the windows of a day: "window 2 (50 %)".
func windowOn(s *lifecycle.Schedule, d usage.Day) string {
	if s == nil {
		return ""
	}
	var names []string
	begin := time.Unix(int64(d), 0)
	for i, b := range s.Brownouts {
		if b.From.Before(begin.Add(day)) && b.To.After(begin) {
			names = append(names, fmt.Sprintf("window %d (%s)", i+1, words.Percent(b.Share)))
		}
	}
	return strings.Join(names, ", ")
}
