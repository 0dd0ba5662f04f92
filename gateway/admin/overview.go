package admin

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/words"
)

// root is the overview for browsers, and a list of the paths for everyone else.
func (h *handler) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !h.hasPages() || !web.PrefersHTML(r.Header) {
		reply(w, http.StatusOK, h.descriptions)
		return
	}
	facts := h.facts(r, usage.Query{Old: "yes", Per: overviewHeat})
	facts.CountNext(func(q usage.Query) (usage.Report, error) { return h.Usage.Report(r.Context(), q) })
	status := http.StatusOK
	if facts.Missing != "" {
		status = http.StatusServiceUnavailable
	}
	h.send(w, status)(showOverview(facts))
}

const (
	overviewHeat    = 30 // rows of the heat map on the overview
	overviewClients = 20
	fileHeat        = 200

	// FileClients is how many clients a report for File needs.
	FileClients = 1000
)

// clients are those of the report.
func (f *Facts) clients() (clients []*usage.Client) {
	for i := range f.Report.Clients {
		clients = append(clients, &f.Report.Clients[i])
	}
	return clients
}

// CountNext counts the clients that have not moved and that the next window of their
// version refuses.
func (f *Facts) CountNext(read func(usage.Query) (usage.Report, error)) {
	f.next = map[string]tallied{}
	for _, v := range f.Plan.Versions {
		b, coming := f.schedule(v.Version).NextBrownout(f.Now)
		if !coming {
			continue
		}
		q := usage.Query{Version: v.Version, Moved: "no", Window: words.Stamp(b.From), Per: 1}
		if q.Choose(f.Plan.Plan) != nil {
			continue
		}
		if found, err := read(q); err == nil {
			q.Per = 0
			f.next[v.Version] = tallied{found.Matching, "in the next window, " + words.Moment(b.From), clientsPath(q)}
		}
	}
}

// overview is the first page, and the file.
type overview struct {
	frame
	Facts    *Facts
	Plan     planView
	Versions []versionView
	Curves   []curves
	Axis     []mark
	Heat     []heatRow
	Clients  []clientRow
	Columns  []column
	Left     int    // rows of clients, of which Heat and Clients show the first
	Callers  int    // how many clients they are: one may call several versions
	Old      bool   // they call old versions
	Current  string // the version that they should move to
}

func newOverview(f *Facts, heat, clients int) overview {
	left := f.clients()
	return overview{
		frame: frame{Title: "Versions", Here: "/", At: f.Now.UTC()}, Facts: f,
		Plan: f.planView(), Versions: f.versions(), Curves: f.curves(), Axis: heatAxis(f.Now),
		Heat: f.heatRows(left[:min(len(left), heat)]), Clients: f.clientRows(left[:min(len(left), clients)]),
		Columns: f.columns(usage.Query{}, true), Left: f.Report.Matching, Callers: f.Report.Distinct, Current: f.current(),
	}
}

// showOverview shows the versions, and the clients that have to move. The report must
// have the first clients of old versions.
func showOverview(f Facts) ([]byte, error) {
	return render("overview.html", newOverview(&f, overviewHeat, overviewClients))
}

// File is the overview as a file of its own, with more clients.
func File(f Facts) ([]byte, error) {
	o := newOverview(&f, fileHeat, FileClients)
	o.File = true
	for i := range o.Heat {
		o.Heat[i].Path = ""
	}
	for i := range o.Clients {
		o.Clients[i].Path = ""
	}
	return render("overview.html", o)
}

// versionView is one version as the overview shows it.
type versionView struct {
	Name, Stage string
	Means       string // what the stage means for clients, now
	Line        *timeline
	Steps       []step
	Next        string
	Verdict     verdict
	Warning     string // what to do about the gate
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

// verdict says whether a version can be retired, and by which numbers.
type verdict struct {
	Text string // the answer
	Why  string // one or more sentences
	Bad  bool
	Bars []bar
}

// bar is a number beside its limit. Both are percentages of its width.
type bar struct {
	Text         string
	Value, Limit string
	Over         bool
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

// old reports whether the clients of a version have to move.
func (f *Facts) old(version string) bool {
	return version != f.current() || f.schedule(version) != nil
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
		v.Verdict, v.Warning = f.verdict(status, s), status.Warning
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

// tally groups the clients of an old version. Moved, refused, different, new shape and
// not compared add up to all of them.
func (f *Facts) tally(version string) []tallied {
	g := f.usage(version).Groups
	if !f.old(version) || g.Clients == 0 {
		return nil
	}
	path := "/clients?version=" + version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	groups := []tallied{
		{g.Clients, "called within 90 days", path},
		{g.Moved, "moved to " + f.current(), path + "&moved=yes"},
		{g.Refused, "that " + f.current() + " would refuse", finding(event.Refused)},
		{g.Different, "with different money", finding(event.DifferentMoney)},
		{g.Same, "with only a new shape", finding(event.SameMoney)},
		{g.Uncompared, "not compared", finding("none")},
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

// verdict is the answer to "can this version be retired?".
func (f *Facts) verdict(status lifecycle.Status, s *lifecycle.Schedule) (v verdict) {
	gate := status.Gate
	switch {
	case s == nil: // what the stage means says it all
	case status.Stage == lifecycle.Retired && gate != nil:
		v.Text, v.Why = status.Version+" is retired.", "The gate let the sunset pass on "+words.Moment(gate.Released)+". That is final."
	case status.Stage == lifecycle.Retired:
		v.Text = status.Version + " is retired."
	case gate == nil && s.Sunset.IsZero():
		v.Text = status.Version + " has no sunset: nothing retires it."
	case gate == nil:
		v.Text, v.Why = fmt.Sprintf("%s ends on %s, whoever calls it then.", status.Version, words.Moment(s.Sunset)), "Its plan has no gate."
	default:
		v.Text, v.Bad = status.Version+": safe to retire.", gate.Holds
		if gate.Holds {
			v.Text = status.Version + ": not safe to retire."
		}
		if gate.Holds && gate.Clients <= gate.MaxClients && gate.Calls <= gate.MaxCallsPerDay { // the bars do not say why
			v.Why = gate.Why + "."
		}
		v.Bars = []bar{
			newBar(gate.Clients, gate.MaxClients, words.Count(gate.Clients, "client", "clients")+" of at most "+words.Number(gate.MaxClients)+" within "+words.Count(gate.Days, "day", "days")),
			newBar(gate.Calls, gate.MaxCallsPerDay, words.Count(gate.Calls, "call", "calls")+" of at most "+words.Number(gate.MaxCallsPerDay)+" on the busiest day"),
		}
	}
	return v
}

// newBar draws a number and its limit, the larger of them at four fifths.
func newBar(value, limit int, text string) bar {
	whole := float64(max(value, limit, 1)) / 80
	return bar{text, coord(float64(value)/whole) + "%", coord(float64(limit)/whole) + "%", value > limit}
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
