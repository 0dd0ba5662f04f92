package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
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
	if !web.PrefersHTML(r.Header) {
		reply(w, http.StatusOK, h.descriptions)
		return
	}
	facts := h.facts(r, usage.Query{Old: "yes", Per: overviewHeat})
	facts.CountNext(func(q usage.Query) (usage.Report, error) { return h.Usage.Report(r.Context(), q) })
	status := http.StatusOK
	if facts.Missing != "" {
		status = http.StatusServiceUnavailable
	}
	h.send(w, status, "overview.html", newOverview(facts, overviewHeat, overviewClients))
}

const (
	overviewHeat    = 30 // rows of the heat map on the overview
	overviewClients = 20
	fileHeat        = 200

	// FileClients is how many clients a report for File needs.
	FileClients = 1000
)

// CountNext counts the clients that have not moved and that the next window of their
// version refuses.
func (f *Facts) CountNext(read func(usage.Query) (usage.Report, error)) {
	f.next = map[string]tallied{}
	for _, v := range f.Plan.Versions {
		b, coming := f.Schedule(v.Version).NextBrownout(f.Now)
		q := usage.Query{Version: v.Version, Moved: "no", Window: words.Stamp(b.From), Per: 1}
		if !coming || q.Choose(f.Plan.Plan) != nil {
			continue
		}
		if found, err := read(q); err == nil {
			f.next[v.Version] = tallied{found.Matching, "in the next window, " + words.Moment(b.From), clientsPath(q, "per", "")}
		}
	}
}

// overview is the first page, and the file.
type overview struct {
	frame
	Heat    []usage.Client // the first of all
	Clients []usage.Client // the first of them
	Columns []column
}

// newOverview shows the versions, and the clients that have to move. The report must
// have the first clients of old versions.
func newOverview(f *Facts, heat, clients int) overview {
	all := f.Report.Clients
	return overview{
		frame: frame{Title: "Versions", Here: "/", Facts: f}, Columns: f.columns(nil),
		Heat: all[:min(len(all), heat)], Clients: all[:min(len(all), clients)],
	}
}

// Differ reports whether an instance follows another plan.
func (o overview) Differ() bool {
	return slices.ContainsFunc(o.Report.Instances, func(i usage.Instance) bool { return i.Plan != o.Plan.Hash })
}

// File is the overview as a file of its own, with more clients.
func File(f Facts) ([]byte, error) {
	o := newOverview(&f, fileHeat, FileClients)
	o.File = true
	return render("overview.html", o)
}

// bar is a number beside its limit. Both are percentages of its width.
type bar struct {
	Text         string
	Value, Limit percent
	Over         bool
}

// tallied is how many clients are in a group, and where they are listed.
type tallied struct {
	N          int
	What, Path string
}

// Current is the version that others are compared with.
func (f *Facts) Current() string {
	if len(f.Plan.Versions) == 0 {
		return ""
	}
	return f.Plan.Versions[0].Version
}

// Old reports whether the clients of a version have to move.
func (f *Facts) Old(version string) bool {
	return version != f.Current() || f.Schedule(version) != nil
}

// Schedule is nil for a version that is not in the plan.
func (f *Facts) Schedule(version string) *lifecycle.Schedule {
	if f.Plan.Plan == nil {
		return nil
	}
	return f.Plan.Plan.Versions[version]
}

// dates is the schedule of a version, an empty one if it is not in the plan.
func (f *Facts) dates(version string) *lifecycle.Schedule {
	return cmp.Or(f.Schedule(version), &lifecycle.Schedule{})
}

// UsageOf is empty for a version that is not in the report.
func (f *Facts) UsageOf(version string) (v usage.Version) {
	if i := slices.IndexFunc(f.Report.Versions, func(v usage.Version) bool { return v.Version == version }); i >= 0 {
		return f.Report.Versions[i]
	}
	return v
}

// Window is the open or next one of a version.
func (f *Facts) Window(version string) lifecycle.Brownout {
	b, _ := f.Schedule(version).NextBrownout(f.Now)
	return b
}

// Versions are those that end first: they are what the page is about.
func (f *Facts) Versions() []lifecycle.Status {
	return slices.SortedStableFunc(slices.Values(f.Plan.Versions), func(a, b lifecycle.Status) int { return f.end(a.Version).Compare(f.end(b.Version)) })
}

// end is when a version goes. One without a sunset goes later than all others, then
// come those without a plan, and last the current one.
func (f *Facts) end(version string) time.Time {
	switch s := f.Schedule(version); {
	case version == f.Current():
		return time.Unix(1<<41, 0)
	case s == nil:
		return time.Unix(1<<40, 0)
	case s.Sunset.IsZero():
		return time.Unix(1<<39, 0)
	default:
		return s.Sunset
	}
}

// Tally groups the clients of an old version. Moved, refused, different, new shape and
// not compared add up to all of them.
func (f *Facts) Tally(version string) []tallied {
	g := f.UsageOf(version).Groups
	if !f.Old(version) || g.Clients == 0 {
		return nil
	}
	path := "/clients?version=" + version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	groups := []tallied{
		{g.Clients, "called within 90 days", path},
		{g.Moved, "moved to " + f.Current(), path + "&moved=yes"},
		{g.Refused, "that " + f.Current() + " would refuse", finding(event.Refused)},
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

// Steps lists what happens to a version, in order.
func (f *Facts) Steps(version string) (all []lifecycle.Change) {
	s := f.Schedule(version)
	if s == nil {
		return nil
	}
	add := func(at time.Time, what string) {
		all = append(all, lifecycle.Change{At: at, Version: version, What: what})
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

// newBar draws a number and its limit, the larger of them at four fifths.
func newBar(value, limit int, text string) bar {
	whole := percent(max(value, limit, 1)) / 80
	return bar{text, percent(value) / whole, percent(limit) / whole, value > limit}
}
