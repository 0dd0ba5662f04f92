package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// whatIf simulates the plan in force and, if the form is filled in, a changed one.
func (h *handler) whatIf(w http.ResponseWriter, r *http.Request) {
	facts := h.newFacts()
	facts.Plan = h.Plan()
	values := r.URL.Query()
	if version := values.Get("version"); values.Has("version") && facts.Schedule(version) == nil {
		h.problem(w, http.StatusBadRequest, "Not in the plan", "The plan has no such version.")
		return
	}
	simulate := func(plan *lifecycle.Plan) (evidence.Simulation, error) { return h.Usage.Simulate(r.Context(), plan) }
	page, err := newWhatIf(facts, values, simulate)
	if err != nil {
		h.unavailable(w, err.Error())
		return
	}
	h.send(w, http.StatusOK, "what-if.html", page)
}

// whatIfForm is a change of the plan: another sunset, another gate, one more window. Its
// zero value is an empty form.
type whatIfForm struct {
	Version string
	Sunset  string // in UTC, as a browser sends it: 2027-03-01T14:00
	Clients string // of the gate; these three are empty without one
	Calls   string
	Days    string
	From    string // of the window; these three are empty without one
	Minutes string
	Percent string
}

// with is the form with what the parameters say, and whether they say anything.
func (f whatIfForm) with(values url.Values) (form whatIfForm, asked bool) {
	for name, field := range map[string]*string{
		"version": &f.Version, "sunset": &f.Sunset, "clients": &f.Clients, "calls": &f.Calls, "days": &f.Days,
		"from": &f.From, "minutes": &f.Minutes, "percent": &f.Percent,
	} {
		if values.Has(name) {
			*field = values.Get(name)
			asked = asked || name != "version"
		}
	}
	return f, asked
}

// A browser sends a time with seconds only if there are any; some always do.
const (
	formTime    = "2006-01-02T15:04"
	formSeconds = formTime + ":05"
)

func formatTime(t time.Time) string { return strings.TrimSuffix(t.UTC().Format(formSeconds), ":00") }

const maxMinutes = 14 * 24 * 60

// formOf is the form that changes nothing.
func (f *Facts) formOf(version string) whatIfForm {
	s := f.dates(version)
	form := whatIfForm{Version: version}
	if !s.Sunset.IsZero() {
		form.Sunset = formatTime(s.Sunset)
	}
	if g := s.Gate; g != nil {
		form.Clients = strconv.Itoa(g.MaxClients)
		form.Calls = strconv.Itoa(g.MaxCallsPerDay)
		form.Days = strconv.Itoa(g.Days)
	}
	return form
}

// faults are what to correct in a form.
type faults []error

func (f *faults) add(text string, args ...any) { *f = append(*f, fmt.Errorf(text, args...)) }

func (f *faults) time(name, text string) time.Time {
	layout := formTime
	if len(text) > len(formTime) {
		layout = formSeconds
	}
	t, err := time.Parse(layout, text)
	if err != nil || t.Year() < 1970 {
		f.add("%s: enter a date and time in UTC, like 2027-03-01T14:00", name)
	}
	return t
}

func (f *faults) number(name, text string, least, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		f.add("%s: enter a number from %d to %d", name, least, most)
	}
	return n
}

// window is the window that the form describes; nil if its fields are empty.
func (f whatIfForm) window(wrong *faults) *lifecycle.Brownout {
	if f.From+f.Minutes+f.Percent == "" {
		return nil
	}
	b := &lifecycle.Brownout{From: wrong.time("begin", f.From)}
	minutes := wrong.number("minutes", f.Minutes, 1, maxMinutes)
	b.To = b.From.Add(time.Duration(minutes) * time.Minute)
	share, err := strconv.ParseFloat(f.Percent, 64)
	rounded := strconv.FormatFloat(share/100, 'f', 3, 64) // as many decimals as a plan may have
	b.Share, _ = strconv.ParseFloat(rounded, 64)
	if err != nil || !(b.Share > 0 && b.Share <= 1) {
		wrong.add("share: enter a percentage from 0.1 to 100")
	}
	return b
}

// change is a schedule with what the form says, and the window that it adds, if any. The
// schedule itself is not changed.
func (f whatIfForm) change(s *lifecycle.Schedule) (*lifecycle.Schedule, *lifecycle.Brownout, error) {
	var wrong faults
	changed := *s
	changed.Sunset = time.Time{}
	if f.Sunset != "" {
		changed.Sunset = wrong.time("sunset", f.Sunset)
	}
	changed.Gate = nil
	if f.Clients+f.Calls+f.Days != "" {
		gate := *cmp.Or(s.Gate, &lifecycle.Gate{})
		gate.MaxClients = wrong.number("max clients", f.Clients, 0, 1e9)
		gate.MaxCallsPerDay = wrong.number("max calls", f.Calls, 0, 1e9)
		gate.Days = wrong.number("days", f.Days, 1, 90)
		gate.Confirmed = gate.Confirmed && changed.Sunset.Equal(s.Sunset)
		changed.Gate = &gate
	}
	window := f.window(&wrong)
	if window != nil && !slices.ContainsFunc(s.Brownouts, func(b lifecycle.Brownout) bool { return same(b, *window) }) {
		changed.Brownouts = append(slices.Clone(s.Brownouts), *window)
	}
	return &changed, window, errors.Join(wrong...)
}

func same(a, b lifecycle.Brownout) bool {
	return a.From.Equal(b.From) && a.To.Equal(b.To) && a.Share == b.Share
}

// With is the plan in force with another schedule of a version. The plan itself is not
// changed. The error says why the result is not a valid plan.
func (f *Facts) With(version string, s *lifecycle.Schedule) (*lifecycle.Plan, error) {
	plan := lifecycle.Plan{Versions: maps.Clone(f.Plan.Plan.Versions)}
	plan.Versions[version] = s
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	var served []string
	for _, v := range f.Plan.Versions {
		served = append(served, v.Version)
	}
	return lifecycle.Parse(text, served)
}

// whatIfPage shows what a change of the plan would do.
type whatIfPage struct {
	frame
	Form      whatIfForm
	Versions  []string // of the plan
	Faults    []string // of the form, or of the plan with the change
	Rows      []outcome
	Changed   bool // from the plan in force
	Immediate bool // it would refuse clients at once
	Hit       *evidence.Hit
	Names     []evidence.HitClient
	JSON      string         // the version's entry in the plan
	Planned   []evidence.Hit // what the plan in force does
	Notes     []string
}

// outcome is what the plan in force does, and what the changed one would do.
type outcome struct{ Label, Now, Then string }

const maxNamed = 200

// newWhatIf simulates the plan in force and, if the form is filled in, the plan with its
// change.
func newWhatIf(
	f *Facts, values url.Values, simulate func(*lifecycle.Plan) (evidence.Simulation, error),
) (p whatIfPage, err error) {
	p = whatIfPage{frame: frame{Title: "What if", Here: "/what-if", Facts: f}}
	for _, v := range slices.SortedStableFunc(slices.Values(f.Plan.Versions), f.sooner) {
		if f.Schedule(v.Version) != nil {
			p.Versions = append(p.Versions, v.Version)
		}
	}
	if len(p.Versions) == 0 {
		return p, nil
	}
	now, err := simulate(f.Plan.Plan)
	if err != nil {
		return p, err
	}
	f.Now = cmp.Or(now.At, f.Now)
	p.Notes = now.Notes
	p.Planned = slices.AppendSeq(now.Windows, maps.Values(now.Sunset))
	slices.SortFunc(p.Planned, func(a, b evidence.Hit) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Version, b.Version))
	})
	unchanged := f.formOf(cmp.Or(values.Get("version"), p.Versions[0]))
	asked := false
	p.Form, asked = unchanged.with(values)
	if asked {
		return p, p.change(now, simulate)
	}
	p.Rows = outcomes(p.Form.Version, now, now)
	return p, nil
}

// change shows what the form would do.
func (p *whatIfPage) change(
	now evidence.Simulation, simulate func(*lifecycle.Plan) (evidence.Simulation, error),
) error {
	version := p.Form.Version
	before := p.dates(version)
	schedule, window, err := p.Form.change(before)
	var plan *lifecycle.Plan
	if err == nil {
		plan, err = p.With(version, schedule)
	}
	if err != nil {
		p.Faults = strings.Split(err.Error(), "\n")
		return nil
	}
	after := plan.Versions[version]
	then, err := simulate(plan)
	if err != nil {
		return err
	}
	p.Rows = outcomes(version, now, then)
	p.explain(then, version, window)
	text, err := json.MarshalIndent(after, "", "  ")
	p.JSON = fmt.Sprintf("%q: %s", version, text)
	old, _ := json.Marshal(before)
	new, _ := json.Marshal(after)
	p.Changed = string(old) != string(new)
	passes := func(s evidence.Simulation) bool { return s.Verdicts[version] == nil || !s.Verdicts[version].Blocked }
	was := before.Stage(p.Now, passes(now))
	will := after.Stage(p.Now, passes(then))
	p.Immediate = will != was && (will == lifecycle.Retired || will == lifecycle.BrowningOut)
	return err
}

// explain names the clients that the window would refuse or, without one, the sunset.
func (p *whatIfPage) explain(then evidence.Simulation, version string, window *lifecycle.Brownout) {
	hits := then.Windows
	if sunset, planned := then.Sunset[version]; window == nil && planned {
		hits = []evidence.Hit{sunset}
	}
	for i, h := range hits {
		is := lifecycle.Brownout{From: h.From, To: h.To, Share: h.Share}
		if h.Version == version && (h.To.IsZero() || window != nil && same(*window, is)) {
			p.Hit = &hits[i]
			p.Names = h.Names[:min(maxNamed, len(h.Names))]
		}
	}
}

func outcomes(version string, now, then evidence.Simulation) []outcome {
	return []outcome{
		{"Verdict", now.Verdicts[version].Summary(), then.Verdicts[version].Summary()},
		{"At the sunset", sunsetOf(now, version), sunsetOf(then, version)},
	}
}

// sunsetOf says whom the sunset of a version refuses.
func sunsetOf(s evidence.Simulation, version string) string {
	hit, planned := s.Sunset[version]
	if !planned {
		return "no sunset"
	}
	return hit.Sentence()
}
