package admin

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/static"
)

const (
	overviewHeat = 30 // rows of the heat map on the overview
	maxStaying   = 5  // clients that a card names
)

// root is the overview for browsers, and a list of the paths for everyone else.
func (h *handler) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !static.PrefersHTML(r.Header) {
		reply(w, http.StatusOK, h.descriptions)
		return
	}
	facts := h.counted(r, "Versions", evidence.Query{Old: "yes", Per: overviewHeat})
	status := http.StatusOK
	if facts.Missing == "" {
		h.look(r.Context(), facts)
	} else {
		status = http.StatusServiceUnavailable
	}
	h.send(w, status, "overview.html", facts)
}

// look reads who has not moved from each old version, and predicts whom the plan refuses.
func (h *handler) look(ctx context.Context, f *Facts) {
	f.staying = map[string][]evidence.Client{}
	for _, v := range f.Plan.Versions {
		if f.Old(v.Version) {
			q := evidence.Query{Version: v.Version, Moved: "no", Per: maxStaying}
			report, err := h.options.Usage.Report(ctx, q)
			if err != nil {
				f.Unpredicted = err.Error()
				return
			}
			f.staying[v.Version] = report.Clients
		}
	}
	if f.Plan.Plan == nil {
		return
	}
	simulation, err := h.options.Usage.Simulate(ctx, f.Plan.Plan)
	if err != nil {
		f.Unpredicted = err.Error()
		return
	}
	f.hits = slices.AppendSeq(simulation.Windows, maps.Values(simulation.Sunset))
	f.Remarks = simulation.Notes
}

// Staying are the first clients that have not moved from a version.
func (f *Facts) Staying(version string) []evidence.Client { return f.staying[version] }

// step is the open or next window of a version, or its sunset.
type step struct {
	Label, When string
	Says        string // whom it refuses
	Path        string // where these clients are listed; empty if there are none
}

// Steps are those of a version. They say the same as `gateway plan simulate`.
func (f *Facts) Steps(version string) (all []step) {
	add := func(label, when string, from time.Time, window string) {
		s := step{label, when, "not known", "/clients?version=" + version + "&moved=no" + window}
		for _, hit := range f.hits {
			if hit.Version == version && hit.From.Equal(from) {
				s.Says = hit.Sentence()
				if hit.Clients != nil && *hit.Clients == 0 {
					s.Path = ""
				}
			}
		}
		all = append(all, s)
	}
	if w := f.Window(version); w != nil {
		add(w.Label(), w.When(), w.From, "&window="+humanize.Timestamp(w.From))
	}
	if sunset := f.dates(version).Sunset; !sunset.IsZero() {
		add("Sunset", humanize.DateTime(sunset), sunset, "")
	}
	return all
}

// Old reports whether the clients of a version have to move.
func (f *Facts) Old(version string) bool {
	return version != f.Current || f.Schedule(version) != nil
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

// brownout is the open or next window of a version.
type brownout struct {
	lifecycle.Brownout
	open bool
}

// Window is nil without one.
func (f *Facts) Window(version string) *brownout {
	if b, planned := f.Schedule(version).NextBrownout(f.Now); planned {
		return &brownout{b, !b.From.After(f.Now)}
	}
	return nil
}

func (w *brownout) Label() string {
	if w != nil && w.open {
		return "Open window"
	}
	return "Next window"
}

func (w *brownout) When() string {
	when := humanize.DateTime(w.From) + ", for " + humanize.Duration(w.To.Sub(w.From))
	if w.open {
		when = "until " + humanize.DateTime(w.To)
	}
	return when + ", " + humanize.Percent(w.Share) + " of clients"
}

// Usage is nil for a version that is not in the report.
func (f *Facts) Usage(version string) *evidence.Version {
	for i, v := range f.Report.Versions {
		if v.Version == version {
			return &f.Report.Versions[i]
		}
	}
	return nil
}

// Versions are all served versions. Those that end first come first.
func (f *Facts) Versions() []lifecycle.Status {
	sooner := func(a, b lifecycle.Status) int { return f.end(a.Version).Compare(f.end(b.Version)) }
	return slices.SortedStableFunc(slices.Values(f.Plan.Versions), sooner)
}

// end is when a version ends, for sorting: versions with a sunset, then those without one, then
// those without a plan, and last the current one.
func (f *Facts) end(version string) time.Time {
	s := f.Schedule(version)
	switch {
	case version == f.Current:
		return time.Unix(1<<41, 0)
	case s == nil:
		return time.Unix(1<<40, 0)
	case s.Sunset.IsZero():
		return time.Unix(1<<39, 0)
	default:
		return s.Sunset
	}
}

// group is some of the clients of a version, and where they are listed.
type group struct {
	Clients     int
	Label, Path string
	always      bool // also without clients
}

// Groups are the clients of an old version by what is left to do. Moved, refused,
// different, the same and not compared add up to all of them.
func (f *Facts) Groups(usage *evidence.Version) []group {
	if usage == nil || !f.Old(usage.Version) || usage.Groups.Clients == 0 {
		return nil
	}
	g := usage.Groups
	path := "/clients?version=" + usage.Version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	all := []group{
		{g.Moved, "moved to " + f.Current, path + "&moved=yes", true},
		{g.Refused, "refused by " + f.Current, finding(event.Refused), true},
		{g.Different, "different amount", finding(event.DifferentMoney), true},
		{g.Same, "same amounts", finding(event.SameMoney), true},
		{g.Uncompared, "not compared", finding("none"), true},
		{g.Marked, "marked as moved", path + "&moved=yes", false},
		{g.Addresses, "named by network", path + "&kind=agent", false},
	}
	return slices.DeleteFunc(all, func(g group) bool { return g.Clients == 0 && !g.always })
}

// risk is what may go wrong, and where to look.
type risk struct {
	Text       string
	Link, Path string // the name of the place; empty: nowhere else
	Wrong      bool   // somebody should act
}

// Risks are what may go wrong with a retirement, what needs action first.
func (f *Facts) Risks(v lifecycle.Status) (all []risk) {
	s := f.Schedule(v.Version)
	if s == nil {
		return nil
	}
	path := "/clients?version=" + v.Version
	if f.Counts(v) && v.Gate.Missing != "" {
		for reason := range strings.SplitSeq(v.Gate.Missing, "; ") {
			all = append(all, risk{"Incomplete counts: " + reason + ".", "Instances", "#instances", true})
		}
	}
	if v.Warning != "" {
		all = append(all, risk{sentence(v.Warning), "", "", true})
	}
	usage := f.Usage(v.Version)
	if usage == nil || v.Stage == lifecycle.Retired {
		return all
	}
	g := usage.Groups
	if g.Untold > 0 {
		text := humanize.Count(g.Untold, "known client", "known clients") + " not notified."
		where := path + "&moved=no&told=no&known=yes"
		all = append(all, risk{text, "Clients not notified", where, !s.Sunset.IsZero()})
	}
	if v.Risk != "" {
		all = append(all, risk{Text: sentence(v.Risk)})
	}
	if g.Claimed > 0 {
		keys := humanize.Proportion(g.Proven, g.Proven+g.Claimed) + " of calls carry a key."
		text := keys + " Other names can be claimed by anyone."
		all = append(all, risk{Text: text, Link: "Known clients", Path: path + "&known=yes"})
	}
	return all
}

// Counts reports whether a version has a gate that still counts.
func (f *Facts) Counts(v lifecycle.Status) bool {
	return v.Gate != nil && v.Gate.Evidence != nil && v.Stage != lifecycle.Retired
}

// sentence adds a capital and a full stop to a text.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
