package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/web"
)

// root is the overview for browsers, and a list of the paths for everyone else.
func (h *handler) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !web.PrefersHTML(r.Header) {
		reply(w, http.StatusOK, h.descriptions)
		return
	}
	facts := h.facts(r, evidence.Query{Old: "yes", Per: overviewHeat})
	facts.Look(func(q evidence.Query) (evidence.Report, error) { return h.Usage.Report(r.Context(), q) })
	status := http.StatusOK
	if facts.Missing != "" {
		status = http.StatusServiceUnavailable
	}
	h.send(w, status, "overview.html", newOverview(facts, overviewHeat))
}

const (
	overviewHeat = 30 // rows of the heat map on the overview
	fileHeat     = 200
	maxStaying   = 5 // clients that a card names

	// FileClients is how many clients a report for File needs.
	FileClients = 1000
)

// remaining are the clients that have not moved from a version, and how many of them its
// next window refuses.
type remaining struct {
	Clients []evidence.Client // the first of them
	refused int
	path    string // where those that the window refuses are listed
}

// Look reads who has not moved from each old version. What cannot be read is not known.
func (f *Facts) Look(read func(evidence.Query) (evidence.Report, error)) {
	f.staying = map[string]remaining{}
	for _, v := range f.Plan.Versions {
		if !f.Old(v.Version) {
			continue
		}
		q := evidence.Query{Version: v.Version, Moved: "no", Per: maxStaying}
		found, err := read(q)
		if err != nil {
			continue
		}
		s := remaining{Clients: found.Clients}
		if b, coming := f.Schedule(v.Version).NextBrownout(f.Now); coming {
			q.Window = humanize.Timestamp(b.From)
			err = q.Choose(f.Plan.Plan)
			if err == nil {
				found, err = read(q)
			}
			s.refused = found.Matching
			s.path = clientsPath(q, "per", "")
		}
		if err == nil {
			f.staying[v.Version] = s
		}
	}
}

// overview is the first page, and the file.
type overview struct {
	frame
	Cards   []card
	Heat    []evidence.Client // the first of all
	Clients []evidence.Client // all, in the file
}

// newOverview shows the versions, and the clients that have to move. The report must
// have the first clients of old versions.
func newOverview(f *Facts, heat int) overview {
	all := f.Report.Clients
	o := overview{frame: frame{Title: "Versions", Here: "/", Facts: f}, Heat: all[:min(len(all), heat)]}
	for _, v := range slices.SortedStableFunc(slices.Values(f.Plan.Versions), f.sooner) {
		o.Cards = append(o.Cards, f.card(v))
	}
	return o
}

// File is the overview as a file of its own, with a table of clients.
func File(f Facts) ([]byte, error) {
	o := newOverview(&f, fileHeat)
	o.File = true
	o.Clients = f.Report.Clients
	return render("overview.html", o)
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

// usageOf is nil for a version that is not in the report.
func (f *Facts) usageOf(version string) *evidence.Version {
	for i, v := range f.Report.Versions {
		if v.Version == version {
			return &f.Report.Versions[i]
		}
	}
	return nil
}

// sooner orders versions by their end: those that end first are what the page is about.
func (f *Facts) sooner(a, b lifecycle.Status) int { return f.end(a.Version).Compare(f.end(b.Version)) }

// end is when a version goes. One without a sunset goes later than all others, then
// come those without a plan, and last the current one.
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

// card is what the overview says about a version: the verdict, the dates, who has not
// moved, and what may go wrong.
type card struct {
	lifecycle.Status
	Serves  string // who is served
	Week    string // calls and clients of 7 days
	Figures []figure
	Staying []evidence.Client // the first that have not moved
	Counted string            // whom the gate counts; empty if nobody called
	Groups  []figure
	Risks   []risk
	Found   string // what the current version would answer; empty if nothing was compared
	Steps   []lifecycle.Change
}

// figure is a number or a date that stands out.
type figure struct {
	Label, Value, Note string
	Link, Path         string // where it can be seen in full; empty: nowhere else
	Wrong              bool
}

// risk is what may go wrong, and where to look.
type risk struct {
	Text       string
	Link, Path string // the name of the place; empty: nowhere else
	Wrong      bool   // somebody should act
}

func (f *Facts) card(v lifecycle.Status) card {
	c := card{
		Status: v, Serves: f.serves(v), Week: "not known", Figures: f.figures(v), Risks: f.risks(v),
		Staying: f.staying[v.Version].Clients, Steps: f.Schedule(v.Version).Changes(v.Version),
	}
	if counts(v) && v.Gate.Names > 0 {
		c.Counted = whoCounts(v.Gate)
	}
	usage := f.usageOf(v.Version)
	if usage == nil {
		return c
	}
	c.Week = humanize.Count(usage.Week.Calls, "call", "calls") + ", " +
		humanize.Count(usage.Week.Clients, "client", "clients")
	c.Groups = f.groups(v.Version, usage.Groups)
	if usage.Findings != nil {
		c.Found = usage.Findings.Summary
	}
	return c
}

// serves says who is served now.
func (f *Facts) serves(v lifecycle.Status) string {
	switch window, _ := f.Schedule(v.Version).NextBrownout(f.Now); v.Stage {
	case lifecycle.BrowningOut:
		share := humanize.Percent(window.Share)
		return fmt.Sprintf("%s of clients get 410 until %s.", share, humanize.DateTime(window.To))
	case lifecycle.Retired:
		return "Every call gets 410."
	case lifecycle.Held:
		return "Past its sunset and still served, because the gate holds."
	case lifecycle.Deprecated:
		return "Every client is served. Headers announce the end."
	}
	return "Every client is served."
}

const notKnown = "not known"

// figures are the dates of a retirement and how many clients it concerns.
func (f *Facts) figures(v lifecycle.Status) (all []figure) {
	s := f.Schedule(v.Version)
	if v.Stage == lifecycle.Retired && v.Gate != nil {
		all = append(all, figure{Label: "Gate passed", Value: humanize.Date(v.Gate.Released), Note: "final"})
	}
	if verdict := v.Verdict; verdict != nil && !s.Sunset.IsZero() && v.Stage != lifecycle.Retired {
		earliest := figure{Label: "Earliest date", Value: notKnown, Wrong: verdict.Late}
		if at := verdict.Earliest; !at.IsZero() {
			earliest.Value = humanize.Date(at)
			earliest.Note = humanize.Ago(at, f.Now)
		}
		all = append(all, earliest)
		if quiet := verdict.QuietFrom; quiet.After(f.Now) {
			note := humanize.Ago(quiet, f.Now)
			all = append(all, figure{Label: "Quiet from", Value: humanize.Date(quiet), Note: note})
		} else if !quiet.IsZero() {
			all = append(all, figure{Label: "Quiet from", Value: "today", Note: "no calls from now on"})
		}
	}
	if !f.Old(v.Version) {
		return all
	}
	still := figure{Label: "Not moved", Value: notKnown}
	if usage := f.usageOf(v.Version); usage != nil {
		still.Value = humanize.Number(usage.Groups.Still())
		still.Note = "of " + humanize.Count(usage.Groups.Clients, "client", "clients") + " in 90 days"
		still.Link = "Clients not moved"
		still.Path = "/clients?version=" + v.Version + "&moved=no"
	}
	all = append(all, still)
	if b, coming := s.NextBrownout(f.Now); coming {
		next := figure{Label: "Next window", Value: humanize.Date(b.From), Note: "clients " + notKnown}
		if staying, read := f.staying[v.Version]; read {
			next.Note = "refuses " + humanize.Count(staying.refused, "client", "clients")
			next.Link = "Clients refused"
			next.Path = staying.path
		}
		all = append(all, next)
	}
	return all
}

// groups are the clients of an old version by what is left to do. Moved, refused,
// different, the same and not compared add up to all of them.
func (f *Facts) groups(version string, g evidence.Groups) (all []figure) {
	if !f.Old(version) || g.Clients == 0 {
		return nil
	}
	path := "/clients?version=" + version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	for _, group := range []struct {
		n           int
		label, path string
		always      bool
	}{
		{g.Moved, "moved to " + f.Current, path + "&moved=yes", true},
		{g.Refused, "refused by " + f.Current, finding(event.Refused), true},
		{g.Different, "different amount", finding(event.DifferentMoney), true},
		{g.Same, "same amounts", finding(event.SameMoney), true},
		{g.Uncompared, "not compared", finding("none"), true},
		{g.Marked, "marked as moved", path + "&moved=yes", false},
		{g.Addresses, "named by network", path + "&kind=agent", false},
	} {
		if group.n > 0 || group.always {
			all = append(all, figure{Label: group.label, Value: humanize.Number(group.n), Path: group.path})
		}
	}
	return all
}

// risks are what may go wrong with a retirement, what needs action first.
func (f *Facts) risks(v lifecycle.Status) (all []risk) {
	s := f.Schedule(v.Version)
	if s == nil {
		return nil
	}
	ends := !s.Sunset.IsZero()
	path := "/clients?version=" + v.Version
	if counts(v) && v.Gate.Missing != "" {
		for reason := range strings.SplitSeq(v.Gate.Missing, "; ") {
			all = append(all, risk{"Incomplete counts: " + reason + ".", "Instances", "#instances", true})
		}
	}
	if v.Warning != "" {
		all = append(all, risk{sentence(v.Warning), "", "", true})
	}
	usage := f.usageOf(v.Version)
	if usage == nil || v.Stage == lifecycle.Retired {
		return all
	}
	g := usage.Groups
	if g.Untold > 0 {
		told := humanize.Count(g.Untold, "known client", "known clients") + " not told to move."
		all = append(all, risk{told, "Clients not told", path + "&moved=no&told=no&known=yes", ends})
	}
	if v.Risk != "" {
		all = append(all, risk{Text: sentence(v.Risk)})
	}
	if calls := g.Proven + g.Claimed; calls > 0 && g.Claimed > 0 {
		text := humanize.Proportion(g.Proven, calls) + " of calls carry a key. Other names can be claimed by anyone."
		all = append(all, risk{Text: text, Link: "Known clients", Path: path + "&known=yes"})
	}
	return all
}

// counts reports whether a version has a gate that still counts.
func counts(v lifecycle.Status) bool {
	return v.Gate != nil && v.Gate.Evidence != nil && v.Stage != lifecycle.Retired
}

// sentence makes one of a text that has no capital and no full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// whoCounts says whom a gate counts, and whom it does not.
func whoCounts(g *lifecycle.GateReading) string {
	integrators := humanize.Count(g.Registered, "registered integrator", "registered integrators")
	if g.Unasked > 0 {
		integrators = humanize.Count(g.Registered, "integrator", "integrators")
	}
	text := fmt.Sprintf("The gate counts %s of %s in %s: %s known, %s, %s.",
		humanize.Number(g.Clients), humanize.Count(g.Names, "client", "clients"), humanize.Count(g.Days, "day", "days"),
		humanize.Number(g.Known), integrators, humanize.Count(g.UnverifiedNames, "unverified", "unverified"))
	if g.Marked > 0 {
		text += " Not counted: " + humanize.Number(g.Marked) + " marked as moved."
	}
	if g.Errors > 0 {
		text += " Not counted: " + humanize.Number(g.Errors) + " with errors only."
	}
	return text
}
