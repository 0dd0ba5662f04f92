package admin

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
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
	facts := h.facts(r, evidence.Query{Old: "yes", Per: overviewHeat})
	facts.CountNext(func(q evidence.Query) (evidence.Report, error) { return h.Usage.Report(r.Context(), q) })
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
func (f *Facts) CountNext(read func(evidence.Query) (evidence.Report, error)) {
	f.next = map[string]tallied{}
	for _, v := range f.Plan.Versions {
		b, coming := f.Schedule(v.Version).NextBrownout(f.Now)
		q := evidence.Query{Version: v.Version, Moved: "no", Window: words.Stamp(b.From), Per: 1}
		if !coming {
			continue
		}
		if err := q.Choose(f.Plan.Plan); err != nil {
			continue
		}
		if found, err := read(q); err == nil {
			what := "of them are in the next window, " + words.Moment(b.From)
			f.next[v.Version] = tallied{found.Matching, what, clientsPath(q, "per", "")}
		}
	}
}

// overview is the first page, and the file.
type overview struct {
	frame
	Heat    []evidence.Client // the first of all
	Clients []evidence.Client // the first of them
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
	return slices.ContainsFunc(o.Report.Instances, func(i evidence.Instance) bool { return i.Plan != o.Plan.Hash })
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

// UsageOf is empty for a version that is not in the report.
func (f *Facts) UsageOf(version string) (v evidence.Version) {
	if i := slices.IndexFunc(f.Report.Versions, func(v evidence.Version) bool { return v.Version == version }); i >= 0 {
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
	return slices.SortedStableFunc(slices.Values(f.Plan.Versions), f.sooner)
}

// sooner orders versions by their end.
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

// Figures are the two that matter most about an old version: how many of its clients have
// not moved, and how many of these its next window refuses. The gate asks something else:
// how many called lately, also if they have moved since.
func (f *Facts) Figures(version string) []tallied {
	g := f.UsageOf(version).Groups
	if !f.Old(version) || g.Clients == 0 {
		return nil
	}
	path := "/clients?version=" + version + "&moved=no"
	still := tallied{g.Still(), "clients of 90 days have not moved from " + version, path}
	if still.N == 1 {
		still.What = "client of 90 days has not moved from " + version
	}
	figures := []tallied{still}
	if next, coming := f.next[version]; coming {
		figures = append(figures, next)
	}
	return figures
}

// Tally groups the clients of an old version. Moved, refused, different, the same,
// not compared and unknown add up to all of them.
func (f *Facts) Tally(version string) []tallied {
	g := f.UsageOf(version).Groups
	if !f.Old(version) || g.Clients == 0 {
		return nil
	}
	path := "/clients?version=" + version
	finding := func(outcome event.Outcome) string { return path + "&moved=no&finding=" + string(outcome) }
	current := f.Current
	groups := []tallied{
		{g.Clients, "called within 90 days", path},
		{g.Moved, "of them moved to " + current, path + "&moved=yes"},
		{g.Refused, "would be refused by " + current, finding(event.Refused)},
		{g.Different, "would get a different amount from " + current, finding(event.DifferentMoney)},
		{g.Same, "would get the same amounts, in a new format", finding(event.SameMoney)},
		{g.Uncompared, "not compared yet", finding("none")},
	}
	for _, more := range []tallied{
		{g.Unknown, "with a finding that only another release knows", path + "&moved=no"},
		{g.Marked, "moved because you say so", path + "&moved=yes"},
		{g.Addresses, "are names of software at a network: one that moves has several", path + "&kind=agent"},
	} {
		if more.N > 0 {
			groups = append(groups, more)
		}
	}
	return groups
}

// answer is what the counts say to a question about a retirement.
type answer struct {
	Question, Text string
	Path           string // where it can be seen in full; empty: nowhere else
	Wrong          bool
}

// Answers say whether a version may be retired, in every stage of its retirement.
func (f *Facts) Answers(v lifecycle.Status) (all []answer) {
	if f.Schedule(v.Version) == nil || v.Stage == lifecycle.Retired {
		return nil
	}
	g := f.UsageOf(v.Version).Groups
	path := "/clients?version=" + v.Version
	if v.Gate != nil && v.Gate.Released.IsZero() && v.Gate.Evidence != nil {
		all = append(all, f.earliest(v), whoCounts(v.Gate, path), f.instances(v.Gate))
	}
	if calls := g.Proven + g.Claimed; calls > 0 {
		text := words.Proportion(g.Proven, calls) + " of the answers to these clients went to calls with a key. " +
			"All others are from whom they claim to be from."
		all = append(all, answer{"How much is proven?", text, path + "&known=yes", false})
	}
	if g.Told+g.Untold > 0 {
		text := whoWasTold(g.Told, g.Untold) + ", by CLIENTS_FILE."
		all = append(all, answer{"Who has been told?", text, path + "&moved=no&told=no&known=yes", g.Untold > 0})
	}
	return all
}

// whoWasTold says how many of the known clients that have not moved were told to. There
// is at least one such client.
func whoWasTold(told, untold int) string {
	known := told + untold
	switch {
	case known == 1 && told == 1:
		return "The one known client that has not moved was told"
	case known == 1:
		return "The one known client that has not moved was not told"
	case told == 0:
		return fmt.Sprintf("None of the %d known clients that have not moved was told", known)
	}
	return fmt.Sprintf("%d of %d known clients that have not moved %s told", told, known, agree(told, "was", "were"))
}

// agree is the word that goes with a number.
func agree(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// earliest says when the gate could let the sunset pass.
func (f *Facts) earliest(v lifecycle.Status) answer {
	g := v.Gate
	sunset := f.dates(v.Version).Sunset
	at := answer{Question: "When at the earliest?", Path: "/clients?version=" + v.Version + "&sort=last"}
	switch {
	case g.Exceeds(*g.Evidence) && g.Earliest.IsZero():
		at.Text = "Not known: strangers make too large a share of all calls."
		at.Wrong = true
	case g.Earliest.After(sunset):
		at.Text = "On " + f.moment(g.Earliest) + ", if nobody else calls. That is after the sunset."
		at.Wrong = true
	case sunset.After(f.Now):
		at.Text = "On its sunset, " + f.moment(sunset) + ", if nobody else calls."
	default:
		at.Text = "Now, as far as clients and calls go."
	}
	if g.Missing != "" {
		at.Text += " What is missing from the counts may delay it: " + g.Missing + "."
		at.Wrong = true
	}
	return at
}

// moment is a time and how far it is away.
func (f *Facts) moment(t time.Time) string { return words.Moment(t) + " (" + words.Ago(t, f.Now) + ")" }

// whoCounts tells proven clients and claimed ones apart.
func whoCounts(g *lifecycle.GateReading, path string) answer {
	registered := words.Count(g.Registered, "integrator", "integrators")
	if g.Unasked < g.Registered {
		registered = words.Count(g.Registered, "registered integrator", "registered integrators")
	}
	text := fmt.Sprintf("Within %s: %s, %s and %s. "+
		"Strangers made %s on their busiest day, %s of the calls to all versions.",
		words.Count(g.Days, "day", "days"), words.Count(g.Known, "known client", "known clients"), registered,
		words.Count(g.StrangerNames, "stranger", "strangers"),
		words.Count(g.StrangerCalls, "call", "calls"), words.Percent(math.Round(g.StrangerShare*1000)/1000))
	if g.Marked > 0 {
		text += fmt.Sprintf(" %s not count, because you marked %s as moved.",
			words.Count(g.Marked, "name does", "names do"), agree(g.Marked, "it", "them"))
	}
	if g.Errors > 0 {
		text += fmt.Sprintf(" %s not count, because of errors only.", words.Count(g.Errors, "name does", "names do"))
	}
	switch {
	case g.Count == lifecycle.CountProven:
		text += fmt.Sprintf(" The gate counts those that called with their key, %s.", words.Number(g.Proven))
	case g.CountsStrangers():
		text += " The gate counts all of them, also those that have moved since."
	default:
		text += " The gate counts those that are known or registered, also if they have moved since, " +
			"and bounds the strangers."
	}
	return answer{"Whom does the gate count?", text, path, false}
}

// instances says which instances write, and how many should.
func (f *Facts) instances(g *lifecycle.GateReading) answer {
	writing := 0
	var silent []string
	for _, i := range f.Report.Instances {
		if i.Silent {
			silent = append(silent, i.Name)
		} else {
			writing++
		}
	}
	a := answer{Question: "Does every instance count?", Path: "/health"}
	a.Wrong = writing < g.Instances || len(silent) > 0
	a.Text = words.Count(writing, "instance writes its counts", "instances write their counts")
	if g.Instances > 0 {
		a.Text += ", and " + words.Number(g.Instances) + " should"
	} else {
		a.Text += "; the gate does not say how many should"
	}
	if len(silent) > 0 {
		a.Text += "; silent: " + strings.Join(silent, ", ")
	}
	a.Text += "."
	return a
}

// Steps lists what happens to a version, in order.
func (f *Facts) Steps(version string) []lifecycle.Change {
	return f.Schedule(version).Changes(version)
}

// newBar draws a number and its limit, the larger of them at four fifths.
func newBar(value, limit int, text string) bar {
	whole := percent(max(value, limit, 1)) / 80
	return bar{text, percent(value) / whole, percent(limit) / whole, value > limit}
}
