package admin

import (
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
	p, status := &overviewPage{}, http.StatusOK
	p.page, p.Report, p.Missing = h.counted(r, "Versions", evidence.Query{Old: "yes", Per: overviewHeat})
	if p.Missing == nil {
		p.simulate()
	} else {
		status = http.StatusServiceUnavailable
	}
	h.send(w, status, "overview.html", p)
}

// overviewPage says whether versions can be retired, when, and whom that refuses.
type overviewPage struct {
	page
	Report  evidence.Report
	Missing error    // why there is no report
	Remarks []string // what is not known of whom the plan refuses
	hits    []evidence.Hit
}

// simulate finds out whom the plan refuses.
func (p *overviewPage) simulate() {
	if p.Plan.Plan == nil {
		return
	}
	gates := map[string]*lifecycle.GateReading{}
	for _, v := range p.Plan.Versions {
		gates[v.Version] = v.Gate
	}
	simulation := p.Report.Simulate(p.Plan.Plan, gates)
	p.hits = slices.AppendSeq(simulation.Windows, maps.Values(simulation.Sunset))
	p.Remarks = simulation.Notes
}

// Staying are the first clients of an old version that have not moved.
func (p *overviewPage) Staying(version string) []*evidence.Client {
	if !p.Old(version) {
		return nil
	}
	return p.Report.NotMoved(version, maxStaying)
}

// step is the open or next window of a version, or its sunset.
type step struct {
	Label, When string
	Says        string // whom it refuses
	Path        string // where these clients are listed; empty if there are none
}

// Steps are those of a version. They say the same as `gateway plan simulate`.
func (p *overviewPage) Steps(version string) (all []step) {
	add := func(label, when string, from time.Time, window string) {
		s := step{label, when, "not known", "/clients?version=" + version + "&moved=no" + window}
		for _, hit := range p.hits {
			if hit.Version == version && hit.From.Equal(from) {
				s.Says = hit.Sentence()
				if hit.Clients == 0 {
					s.Path = ""
				}
			}
		}
		all = append(all, s)
	}
	if w := p.Window(version); w != nil {
		add(w.Label(), w.When(), w.From, "&window="+humanize.Timestamp(w.From))
	}
	if sunset := p.dates(version).Sunset; !sunset.IsZero() {
		add("Sunset", humanize.DateTime(sunset), sunset, "")
	}
	return all
}

// Usage is nil for a version that is not in the report.
func (p *overviewPage) Usage(version string) *evidence.Version {
	for i, v := range p.Report.Versions {
		if v.Version == version {
			return &p.Report.Versions[i]
		}
	}
	return nil
}

// Versions are all served versions. Those that end first come first.
func (p *overviewPage) Versions() []lifecycle.Status {
	sooner := func(a, b lifecycle.Status) int { return p.end(a.Version).Compare(p.end(b.Version)) }
	return slices.SortedStableFunc(slices.Values(p.Plan.Versions), sooner)
}

// group is some of the clients of a version, and where they are listed.
type group struct {
	Clients     int
	Label, Path string
	always      bool // also without clients
}

// Groups are the clients of an old version by what is left to do. Moved, refused,
// different, the same and not compared add up to all of them.
func (p *overviewPage) Groups(usage *evidence.Version) []group {
	if usage == nil || !p.Old(usage.Version) || usage.Groups.Clients == 0 {
		return nil
	}
	g := usage.Groups
	path := "/clients?version=" + usage.Version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	all := []group{
		{g.Moved, "moved to " + p.Current, path + "&moved=yes", true},
		{g.Refused, "refused by " + p.Current, finding(event.Refused), true},
		{g.Different, "different amount", finding(event.DifferentMoney), true},
		{g.Same, "same amounts", finding(event.SameMoney), true},
		{g.Uncompared, "not compared", finding("none"), true},
		{g.Both, "call both versions", path + "&moved=both", false},
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
func (p *overviewPage) Risks(v lifecycle.Status) (all []risk) {
	s := p.Schedule(v.Version)
	if s == nil {
		return nil
	}
	path := "/clients?version=" + v.Version
	if p.Counts(v) {
		for _, reason := range v.Gate.Missing {
			all = append(all, risk{"Incomplete counts: " + reason + ".", "Instances", "#instances", true})
		}
		if lost, tooMuch := v.Gate.Lost(*v.Gate.Evidence); lost != "" {
			all = append(all, risk{"Incomplete counts: " + lost + ".", "Instances", "#instances", tooMuch})
		}
	}
	if v.Warning != "" {
		all = append(all, risk{sentence(v.Warning), "", "", true})
	}
	usage := p.Usage(v.Version)
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
func (p *overviewPage) Counts(v lifecycle.Status) bool {
	return v.Gate != nil && v.Gate.Evidence != nil && v.Stage != lifecycle.Retired
}

// sentence adds a capital and a full stop to a text.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
