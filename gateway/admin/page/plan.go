package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

// versionView is one version as the overview shows it.
type versionView struct {
	Name, Stage string
	Means       string // what the stage means for clients, now
	Line        *timeline
	Steps       []step
	Next        string
	Gate        *gateView
	Week        string // served calls, and clients
	Outlook     string // what the current version would answer
	Tally       []tallied
}

// step is a moment in the life of a version.
type step struct {
	At   time.Time
	When string // past, coming
	What string
	Ago  string
}

type gateView struct {
	Holds    bool
	Why      string
	Limits   string
	Numbers  string
	Released time.Time
}

// tallied is how many clients are in a group, and where they are listed.
type tallied struct {
	N    int
	What string
	Path string
}

// planView is the plan as a whole.
type planView struct {
	lifecycle.Snapshot
	Instances []instanceView
	Differ    bool
}

type instanceView struct {
	usage.Instance
	Differs bool
}

func (f *Facts) planView() planView {
	v := planView{Snapshot: f.Plan}
	for _, i := range f.Report.Instances {
		differs := i.Plan != f.Plan.Hash
		v.Instances = append(v.Instances, instanceView{i, differs})
		v.Differ = v.Differ || differs
	}
	return v
}

// current is the version that others are compared with.
func (f *Facts) current() string {
	if len(f.Plan.Versions) == 0 {
		return ""
	}
	return f.Plan.Versions[0].Version
}

// schedule is nil for a version that is not in the plan.
func (f *Facts) schedule(version string) *lifecycle.Schedule {
	if f.Plan.Plan == nil {
		return nil
	}
	return f.Plan.Plan.Versions[version]
}

func (f *Facts) usage(version string) (v usage.Version) {
	if i := slices.IndexFunc(f.Report.Versions, func(v usage.Version) bool { return v.Version == version }); i >= 0 {
		return f.Report.Versions[i]
	}
	return v
}

// versions shows those that end first: they are what the page is about.
func (f *Facts) versions() (all []versionView) {
	for _, status := range f.Plan.Versions {
		s, u := f.schedule(status.Version), f.usage(status.Version)
		v := versionView{Name: status.Version, Stage: string(status.Stage), Tally: f.tally(status.Version)}
		v.Means = f.means(status, s)
		v.Week = words.Count(u.Week.Calls, "call", "calls") + " served, " + words.Count(u.Week.Clients, "client", "clients")
		if u.Findings != nil {
			v.Outlook = u.Findings.Summary
		}
		if s != nil {
			v.Line, v.Steps = newTimeline(s, f.Now), steps(s, f.Now)
			v.Next = next(v.Steps)
		}
		if status.Gate != nil {
			v.Gate = newGateView(status.Gate, s, f.Now)
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b versionView) int { return f.end(a.Name).Compare(f.end(b.Name)) })
	return all
}

// end is when a version goes. One without a sunset goes later than all others, then
// come those without a plan, and last the current one.
func (f *Facts) end(version string) time.Time {
	switch s := f.schedule(version); {
	case version == f.current():
		return time.Unix(1<<41, 0)
	case s == nil:
		return time.Unix(1<<40, 0)
	case s.Sunset.IsZero():
		return time.Unix(1<<39, 0)
	default:
		return s.Sunset
	}
}

func (f *Facts) means(status lifecycle.Status, s *lifecycle.Schedule) string {
	switch status.Stage {
	case lifecycle.Deprecated:
		return "Every client is served. The headers of each answer announce the end."
	case lifecycle.BrowningOut:
		b, _ := s.NextBrownout(f.Now)
		return fmt.Sprintf("%s of clients get 410 until %s. The others are served.", words.Percent(b.Share), words.Moment(b.To))
	case lifecycle.Held:
		return "The sunset has passed, and every client is still served, because the gate holds."
	case lifecycle.Retired:
		return "Every call gets 410."
	}
	if s != nil {
		return fmt.Sprintf("Every client is served. The version is deprecated from %s on.", words.Moment(s.Deprecated))
	}
	return "Every client is served. The version is not in the plan."
}

// tally groups the clients of an old version.
func (f *Facts) tally(version string) []tallied {
	g := f.usage(version).Groups
	if version == f.current() || g.Clients == 0 {
		return nil
	}
	path := "/clients?version=" + version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	groups := []tallied{
		{g.Clients, "called within 90 days", path},
		{g.Moved, "moved to " + f.current(), path + "&moved=yes"},
		{g.Clients - g.Moved, "still to move", path + "&moved=no"},
		{g.Refused, "that " + f.current() + " would refuse", finding(event.Refused)},
		{g.Different, "with different money", finding(event.DifferentMoney)},
		{g.Same, "with only a new shape", finding(event.SameMoney)},
		{g.Uncompared, "of which no call was compared", finding("none")},
	}
	if g.Addresses > 0 {
		groups = append(groups, tallied{g.Addresses, "are names of software at a network: one that moves has several", path + "&kind=agent"})
	}
	if next, coming := f.next[version]; coming {
		groups = append(groups, next)
	}
	return groups
}

// steps lists what happens to a version, in order.
func steps(s *lifecycle.Schedule, now time.Time) (all []step) {
	add := func(at time.Time, what string) {
		when := "coming"
		if !at.After(now) {
			when = "past"
		}
		all = append(all, step{at, when, what, words.Ago(at, now)})
	}
	add(s.Deprecated, "deprecated")
	for i, b := range s.Brownouts {
		add(b.From, fmt.Sprintf("window %d begins: %s of clients get 410 for %s", i+1, words.Percent(b.Share), words.Length(b.To.Sub(b.From))))
		add(b.To, fmt.Sprintf("window %d ends", i+1))
	}
	if !s.Sunset.IsZero() {
		what := "sunset: every client gets 410 from here on"
		if s.Gate != nil {
			what += ", once the gate lets it"
		}
		add(s.Sunset, what)
	}
	return all
}

// next is the first step to come, as a sentence.
func next(all []step) string {
	for _, s := range all {
		if s.When == "coming" {
			return fmt.Sprintf("%s, %s: %s.", s.Ago, words.Moment(s.At), s.What)
		}
	}
	return ""
}

func newGateView(g *lifecycle.GateReading, s *lifecycle.Schedule, now time.Time) *gateView {
	v := &gateView{Holds: g.Holds, Why: g.Why, Released: g.Released}
	v.Limits = fmt.Sprintf("It lets the sunset pass at %s and %s on the busiest day or fewer, within %s.",
		words.Count(g.MaxClients, "client", "clients"), words.Count(g.MaxCallsPerDay, "call", "calls"), words.Count(g.Days, "day", "days"))
	if !g.Holds && g.Released.IsZero() {
		v.Numbers = fmt.Sprintf("%s called, with %s on the busiest day.", words.Count(g.Clients, "client", "clients"), words.Count(g.Calls, "call", "calls"))
		if s != nil && now.Before(s.Sunset) {
			v.Numbers += " If the sunset were now, it would pass."
		}
	}
	return v
}

// timeline places the steps of a version on a line. Positions are percentages, so
// that the text keeps its size when the picture grows or shrinks.
type timeline struct {
	Label      string
	Now        mark
	Deprecated mark
	Sunset     *mark
	Windows    []windowMark
	Months     []mark
}

// mark is a place on a line and its text. Anchor keeps the text inside the picture.
type mark struct {
	X, Text, Anchor string
}

type windowMark struct {
	X, Width string
	Y, Tall  int // by its share
	Past     bool
	Text     string
}

// The height of a window whose share is 1, and where windows stand.
const windowTall, windowBase = 26, 44

func newTimeline(s *lifecycle.Schedule, now time.Time) *timeline {
	from, to := earlier(s.Deprecated, now), later(s.Deprecated, now)
	if !s.Sunset.IsZero() {
		to = later(to, s.Sunset)
	}
	edge := max(day, to.Sub(from)/20)
	from, to = from.Add(-edge), to.Add(edge)
	at := func(t time.Time) float64 { return 100 * t.Sub(from).Hours() / to.Sub(from).Hours() }
	place := func(t time.Time, text string) mark {
		x := at(t)
		anchor := "middle"
		if x < 15 {
			anchor = "start"
		} else if x > 85 {
			anchor = "end"
		}
		return mark{coord(x) + "%", text, anchor}
	}
	line := &timeline{
		Label: "Time line: deprecated " + words.Date(s.Deprecated),
		Now:   place(now, "now"), Deprecated: place(s.Deprecated, "deprecated "+words.Date(s.Deprecated)),
	}
	for i, b := range s.Brownouts {
		width := at(b.To) - at(b.From)
		w := windowMark{X: coord(at(b.From)) + "%", Width: "4", Past: !b.To.After(now), Tall: max(6, int(b.Share*windowTall)),
			Text: fmt.Sprintf("Window %d: %s, %s, %s of clients", i+1, words.Moment(b.From), words.Length(b.To.Sub(b.From)), words.Percent(b.Share))}
		if width > 1 {
			w.Width = coord(width) + "%"
		}
		w.Y = windowBase - w.Tall
		line.Windows = append(line.Windows, w)
	}
	line.Label += fmt.Sprintf(", %s", words.Count(len(s.Brownouts), "window", "windows"))
	if !s.Sunset.IsZero() {
		sunset := place(s.Sunset, "sunset "+words.Date(s.Sunset))
		line.Sunset = &sunset
		line.Label += ", sunset " + words.Date(s.Sunset)
	}
	line.Label += ", now " + words.Date(now) + ". The list below has all dates."
	line.Months = slices.DeleteFunc(months(from, to, at), func(m mark) bool {
		return near(m.X, line.Deprecated.X) || line.Sunset != nil && near(m.X, line.Sunset.X)
	})
	return line
}

// near reports whether the texts of two places would overlap.
func near(a, b string) bool {
	x, _ := strconv.ParseFloat(strings.TrimSuffix(a, "%"), 64)
	y, _ := strconv.ParseFloat(strings.TrimSuffix(b, "%"), 64)
	return math.Abs(x-y) < 5
}

// months marks the first day of up to twelve months or years.
func months(from, to time.Time, at func(time.Time) float64) (marks []mark) {
	every := 1
	for to.Sub(from) > time.Duration(every)*12*31*day {
		every *= 2
	}
	t := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC)
	for ; t.Before(to); t = t.AddDate(0, every, 0) {
		if t.After(from) {
			marks = append(marks, mark{X: coord(at(t)) + "%", Text: t.Format("Jan")})
		}
	}
	return marks
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
