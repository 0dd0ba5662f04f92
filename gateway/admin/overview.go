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
	query := evidence.Query{Old: "yes", Per: overviewHeat, Gates: h.options.Plan().Plan}
	p.page, p.Report, p.Missing = h.counted(r, "Overview", query)
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

// said is a text of which a part leads to another page.
type said struct{ Before, Link, After, Path string }

// say makes the first occurrence of a part the link. Without a path there is none.
func say(text, part, path string) said {
	before, after, found := strings.Cut(text, part)
	if !found || path == "" {
		return said{Before: text}
	}
	return said{before, part, after, path}
}

// step is the open or next window of a version, or its sunset.
type step struct {
	Label, When string
	Says        said // whom it refuses
}

// Steps are those of a version. They say the same as `gateway plan simulate`.
func (p *overviewPage) Steps(version string) (all []step) {
	add := func(label, when string, from time.Time, window string) {
		s := step{label, when, said{Before: "not known"}}
		path := "/clients?version=" + version + "&moved=no" + window
		for _, hit := range p.hits {
			if hit.Version == version && hit.From.Equal(from) {
				s.Says = say(hit.Sentence(), humanize.Count(hit.Clients, "client", "clients"), path)
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

// Headline is the version whose verdict is the headline: the next one to go, or else the last one
// that went. It is nil without a version in the plan.
func (p *overviewPage) Headline() *lifecycle.Status {
	planned := slices.DeleteFunc(p.Versions(), func(v lifecycle.Status) bool { return v.Verdict == nil })
	if len(planned) == 0 {
		return nil
	}
	coming := func(v lifecycle.Status) bool { return v.Stage != lifecycle.Retired }
	return &planned[max(slices.IndexFunc(planned, coming), 0)]
}

// card is what is shown of a version. The first has the headline of the page.
type card struct {
	Page     *overviewPage
	Status   lifecycle.Status
	Usage    *evidence.Version
	Schedule *lifecycle.Schedule
	Window   *brownout
	First    bool
}

func (p *overviewPage) Card(v lifecycle.Status, first bool) card {
	return card{p, v, p.Usage(v.Version), p.Schedule(v.Version), p.Window(v.Version), first}
}

// Whether says whether a version can go, and the earliest date if it cannot yet.
func (p *overviewPage) Whether(v *lifecycle.Verdict) string {
	if v.Blocked && !v.Earliest.IsZero() {
		return v.Whether + ": earliest " + humanize.Date(v.Earliest)
	}
	return v.Whether
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
	said
	Wrong bool // somebody should act
}

// Risks are what may go wrong with a retirement, what needs action first.
func (p *overviewPage) Risks(v lifecycle.Status) (all []risk) {
	s := p.Schedule(v.Version)
	if s == nil {
		return nil
	}
	add := func(wrong bool, text, part, path string) { all = append(all, risk{say(text, part, path), wrong}) }
	path := "/clients?version=" + v.Version
	const incomplete, instances = "Incomplete counts", "#instances"
	if p.Counts(v) {
		for _, reason := range v.Gate.Missing {
			add(true, incomplete+": "+reason+".", incomplete, instances)
		}
		if lost, tooMuch := v.Gate.Lost(*v.Gate.Evidence); lost != "" {
			add(tooMuch, incomplete+": "+lost+".", incomplete, instances)
		}
	}
	if v.Warning != "" {
		add(true, sentence(v.Warning), "", "")
	}
	usage := p.Usage(v.Version)
	if usage == nil || v.Stage == lifecycle.Retired {
		return all
	}
	g := usage.Groups
	if g.Untold > 0 {
		who := humanize.Count(g.Untold, "known client", "known clients")
		add(!s.Sunset.IsZero(), who+" not notified.", who, path+"&moved=no&told=no&known=yes")
	}
	if v.Risk != "" {
		add(false, sentence(v.Risk), "", "")
	}
	if g.Claimed > 0 {
		keys := humanize.Proportion(g.Proven, g.Proven+g.Claimed) + " of calls"
		add(false, keys+" carry a key. Other names can be claimed by anyone.", keys, path+"&known=yes")
	}
	return all
}

// Counts reports whether a version has a gate that still counts.
func (p *overviewPage) Counts(v lifecycle.Status) bool {
	return v.Gate != nil && v.Gate.Evidence != nil && v.Stage != lifecycle.Retired
}

// sentence adds a capital and a full stop to a text.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
