package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// whatIf simulates the plan in force and, if the form is filled in, a changed one.
func (h *handler) whatIf(w http.ResponseWriter, r *http.Request) {
	facts := h.facts(r, "What if")
	values := r.URL.Query()
	if version := values.Get("version"); values.Has("version") && facts.Schedule(version) == nil {
		h.problem(w, r, http.StatusBadRequest, "Not in the plan", "The plan has no such version.")
		return
	}
	simulate := func(plan *lifecycle.Plan) (evidence.Simulation, error) {
		return h.options.Usage.Simulate(r.Context(), plan)
	}
	page, err := newWhatIf(facts, values, simulate)
	if err != nil {
		h.unavailable(w, r, err.Error())
		return
	}
	h.send(w, http.StatusOK, "what-if.html", page)
}

// whatIfPage shows what a change of the plan would do.
type whatIfPage struct {
	*Facts
	Choices   []lifecycle.Status // the versions of the plan
	Version   string             // the one of them that the form changes
	Form      form
	Faults    []string // of the form, or of the plan with the change
	Before    evidence.Simulation
	After     evidence.Simulation // of the plan with the change
	Changed   bool                // from the plan in force
	Immediate bool                // it would refuse clients at once
	Hit       *evidence.Hit       // the clients that the form's window would refuse or, without one, the sunset
	JSON      string              // the version's entry in the plan
	Planned   []evidence.Hit      // what the plan in force does
}

// maxNamed is how many clients the page names.
const maxNamed = 200

func newWhatIf(
	f *Facts, values url.Values, simulate func(*lifecycle.Plan) (evidence.Simulation, error),
) (p whatIfPage, err error) {
	unplanned := func(v lifecycle.Status) bool { return f.Schedule(v.Version) == nil }
	p = whatIfPage{Facts: f, Choices: slices.DeleteFunc(f.Versions(), unplanned)}
	if len(p.Choices) == 0 {
		return p, nil
	}
	p.Before, err = simulate(f.Plan.Plan)
	if err != nil {
		return p, err
	}
	f.Now = cmp.Or(p.Before.At, f.Now)
	p.Planned = slices.AppendSeq(slices.Clone(p.Before.Windows), maps.Values(p.Before.Sunset))
	slices.SortFunc(p.Planned, func(a, b evidence.Hit) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Version, b.Version))
	})
	p.Version = cmp.Or(values.Get("version"), p.Choices[0].Version)
	before := f.Schedule(p.Version)
	p.Form = formOf(before)
	if !p.Form.fill(values) {
		return p, nil
	}
	after, window, err := p.Form.change(before)
	var plan *lifecycle.Plan
	if err == nil {
		plan, err = f.Plan.Plan.With(p.Version, after)
	}
	if err != nil {
		p.Faults = strings.Split(err.Error(), "\n")
		return p, nil
	}
	p.After, err = simulate(plan)
	if err != nil {
		return p, err
	}
	p.compare(before, plan.Versions[p.Version], window)
	return p, nil
}

// compare shows what becomes of the version.
func (p *whatIfPage) compare(before, after *lifecycle.Schedule, window *lifecycle.Brownout) {
	passes := func(s evidence.Simulation) bool {
		verdict := s.Verdicts[p.Version]
		return verdict == nil || !verdict.Blocked
	}
	was := before.Stage(p.Now, passes(p.Before))
	will := after.Stage(p.Now, passes(p.After))
	p.Immediate = will != was && (will == lifecycle.Retired || will == lifecycle.BrowningOut)
	p.Changed = !reflect.DeepEqual(before, after)
	text, _ := json.MarshalIndent(after, "", "  ") // it was decoded from JSON
	p.JSON = fmt.Sprintf("%q: %s", p.Version, text)
	hits := p.After.Windows
	if sunset, planned := p.After.Sunset[p.Version]; window == nil && planned {
		hits = []evidence.Hit{sunset}
	}
	for _, h := range hits {
		if h.Version == p.Version && (h.To.IsZero() || window != nil && h.From.Equal(window.From)) {
			h.Names = h.Names[:min(maxNamed, len(h.Names))]
			p.Hit = &h
		}
	}
}

// form is a change of the plan by the names of its parameters: another sunset, another
// gate, one more window. What is absent or empty is not planned.
type form map[string]string

// A browser sends a time with seconds only if there are any; some always do.
const (
	formTime    = "2006-01-02T15:04"
	formSeconds = formTime + ":05"
)

const maxMinutes = 14 * 24 * 60

// formOf is the form that changes nothing.
func formOf(s *lifecycle.Schedule) form {
	f := form{}
	if !s.Sunset.IsZero() {
		f["sunset"] = strings.TrimSuffix(s.Sunset.UTC().Format(formSeconds), ":00")
	}
	if g := s.Gate; g != nil {
		f["clients"] = strconv.Itoa(g.MaxClients)
		f["calls"] = strconv.Itoa(g.MaxCallsPerDay)
		f["days"] = strconv.Itoa(g.Days)
	}
	return f
}

// fill sets the values that a request has, and reports whether it has any.
func (f form) fill(values url.Values) (filled bool) {
	for _, name := range []string{"sunset", "clients", "calls", "days", "from", "minutes", "percent"} {
		if values.Has(name) {
			f[name] = values.Get(name)
			filled = true
		}
	}
	return filled
}

func (f form) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f[name] != "" })
}

// change is a copy of a schedule with the form's changes, and the window that it adds, if any.
func (f form) change(s *lifecycle.Schedule) (*lifecycle.Schedule, *lifecycle.Brownout, error) {
	var wrong []error
	changed := *s
	changed.Sunset = time.Time{}
	if f.has("sunset") {
		changed.Sunset = f.time("sunset", "sunset", &wrong)
	}
	changed.Gate = nil
	if f.has("clients", "calls", "days") {
		gate := *cmp.Or(s.Gate, &lifecycle.Gate{})
		gate.MaxClients = f.number("clients", "max clients", 0, 1e9, &wrong)
		gate.MaxCallsPerDay = f.number("calls", "max calls", 0, 1e9, &wrong)
		gate.Days = f.number("days", "days", 1, 90, &wrong)
		gate.Confirmed = gate.Confirmed && changed.Sunset.Equal(s.Sunset)
		changed.Gate = &gate
	}
	if !f.has("from", "minutes", "percent") {
		return &changed, nil, errors.Join(wrong...)
	}
	window := lifecycle.Brownout{From: f.time("from", "begin", &wrong)}
	window.To = window.From.Add(time.Duration(f.number("minutes", "minutes", 1, maxMinutes, &wrong)) * time.Minute)
	share, err := strconv.ParseFloat(f["percent"], 64)
	rounded := strconv.FormatFloat(share/100, 'f', 3, 64) // as many decimals as a plan may have
	window.Share, _ = strconv.ParseFloat(rounded, 64)
	if err != nil || !(window.Share > 0 && window.Share <= 1) {
		wrong = append(wrong, errors.New("share: enter a percentage from 0.1 to 100"))
	}
	if !slices.Contains(s.Brownouts, window) {
		changed.Brownouts = append(slices.Clone(s.Brownouts), window)
	}
	return &changed, &window, errors.Join(wrong...)
}

func (f form) time(name, label string, wrong *[]error) time.Time {
	layout := formTime
	if len(f[name]) > len(formTime) {
		layout = formSeconds
	}
	t, err := time.Parse(layout, f[name])
	if err != nil || t.Year() < 1970 {
		*wrong = append(*wrong, fmt.Errorf("%s: enter a date and time in UTC, like 2027-03-01T14:00", label))
	}
	return t
}

func (f form) number(name, label string, least, most int, wrong *[]error) int {
	n, err := strconv.Atoi(f[name])
	if err != nil || n < least || n > most {
		*wrong = append(*wrong, fmt.Errorf("%s: enter a number from %d to %d", label, least, most))
	}
	return n
}
