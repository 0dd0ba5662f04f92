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

// whatIf simulates the plan in force, with one more window if the form has one.
func (h *handler) whatIf(w http.ResponseWriter, r *http.Request) {
	facts := h.newFacts()
	facts.Plan = h.Plan()
	values := r.URL.Query()
	form := whatIfForm{values.Get("version"), values.Get("from"), values.Get("minutes"), values.Get("percent")}
	served := func(s lifecycle.Status) bool { return s.Version == form.Version }
	if form != (whatIfForm{}) && !slices.ContainsFunc(facts.Plan.Versions, served) {
		h.problem(w, http.StatusBadRequest, "This cannot be shown", "There is no such version.")
		return
	}
	simulate := func(plan *lifecycle.Plan) (evidence.Simulation, error) { return h.Usage.Simulate(r.Context(), plan) }
	page, err := newWhatIf(facts, form, simulate)
	if err != nil {
		h.unavailable(w, err.Error())
		return
	}
	h.send(w, http.StatusOK, "what-if.html", page)
}

// whatIfForm is what an operator has filled in to try a window. Its zero value is an
// empty form.
type whatIfForm struct {
	Version string
	From    string // in UTC, as a browser sends it: 2027-03-01T14:00
	Minutes string
	Percent string
}

// formTime is how a browser sends a time. Some send seconds, too.
const formTime = "2006-01-02T15:04"

const maxMinutes = 14 * 24 * 60

func formOf(h evidence.Hit) whatIfForm {
	return whatIfForm{
		Version: h.Version,
		From:    h.From.Format(formTime),
		Minutes: strconv.Itoa(int(h.To.Sub(h.From) / time.Minute)),
		Percent: strconv.FormatFloat(h.Share*100, 'f', -1, 64),
	}
}

// Path is that of this page with the form filled in.
func (f whatIfForm) Path() string {
	return "/what-if?" + url.Values{
		"version": {f.Version}, "from": {f.From}, "minutes": {f.Minutes}, "percent": {f.Percent},
	}.Encode()
}

// Window is the window that the form describes. The error says what to correct.
func (f whatIfForm) Window() (b lifecycle.Brownout, err error) {
	var faults []error
	b.From, err = time.Parse(formTime, f.From[:min(len(f.From), len(formTime))])
	if err != nil || b.From.Year() < 1970 {
		faults = append(faults, errors.New("begin: give a date and a time in UTC, like 2027-03-01T14:00"))
	}
	minutes, err := strconv.Atoi(f.Minutes)
	if err != nil || minutes < 1 || minutes > maxMinutes {
		faults = append(faults, fmt.Errorf("length: give a number of minutes from 1 to %d", maxMinutes))
	}
	share, err := strconv.ParseFloat(f.Percent, 64)
	if err != nil || !(share > 0 && share <= 100) {
		faults = append(faults, errors.New("share: give a percentage above 0 and up to 100"))
	}
	b.To = b.From.Add(time.Duration(minutes) * time.Minute)
	rounded := strconv.FormatFloat(share/100, 'f', 3, 64) // as many decimals as a plan may have
	b.Share, _ = strconv.ParseFloat(rounded, 64)
	if len(faults) == 0 && b.Share == 0 {
		faults = append(faults, errors.New("share: give at least 0.1 %"))
	}
	return b, errors.Join(faults...)
}

// With is the plan in force with one more window. The plan itself is not changed.
// The error says why the result is not a valid plan; it can be simulated all the
// same.
func (f *Facts) With(version string, b lifecycle.Brownout) (*lifecycle.Plan, error) {
	plan := &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{}}
	served := []string{}
	for _, v := range f.Plan.Versions {
		served = append(served, v.Version)
		if s := f.Schedule(v.Version); s != nil {
			plan.Versions[v.Version] = s
		}
	}
	s := plan.Versions[version]
	if s == nil {
		plan.Versions[version] = &lifecycle.Schedule{Brownouts: []lifecycle.Brownout{b}}
		return plan, fmt.Errorf("%s is not in the plan: give it a line with its dates first", version)
	}
	if has(s, b) {
		return plan, nil
	}
	changed := *s
	changed.Brownouts = append(slices.Clone(s.Brownouts), b)
	slices.SortFunc(changed.Brownouts, func(a, b lifecycle.Brownout) int { return a.From.Compare(b.From) })
	plan.Versions[version] = &changed
	text, err := json.Marshal(plan)
	if err == nil {
		_, err = lifecycle.Parse(text, served)
	}
	return plan, err
}

// has reports whether a schedule, which may be nil, has a window already.
func has(s *lifecycle.Schedule, b lifecycle.Brownout) bool {
	return s != nil && slices.ContainsFunc(s.Brownouts, func(has lifecycle.Brownout) bool { return same(has, b) })
}

func same(a, b lifecycle.Brownout) bool {
	return a.From.Equal(b.From) && a.To.Equal(b.To) && a.Share == b.Share
}

// whatIfPage shows whom a window would hit.
type whatIfPage struct {
	frame
	Form    whatIfForm
	Faults  error // of the form
	Wrong   error // why the plan with the window would not be valid
	Past    bool  // the window has begun
	Hit     *evidence.Hit
	Names   []evidence.HitClient
	JSON    string
	InPlan  bool           // the plan has the window already
	Planned []evidence.Hit // what the plan does anyway
	Notes   []string
}

const maxNamed = 200

// newWhatIf shows the form and, if it is filled in, a simulation of the plan in force
// with that window. Without one, the simulation is that of the plan in force.
func newWhatIf(
	f *Facts, form whatIfForm, simulate func(*lifecycle.Plan) (evidence.Simulation, error),
) (p whatIfPage, err error) {
	plan := f.Plan.Plan
	window, faults := form.Window()
	if faults == nil {
		plan, err = f.With(form.Version, window)
	}
	p = whatIfPage{frame: frame{Title: "What if", Here: "/what-if", Facts: f}, Form: form, Wrong: err}
	simulation, err := simulate(plan)
	if err != nil {
		return p, err
	}
	if !simulation.At.IsZero() {
		f.Now = simulation.At
	}
	p.Notes = simulation.Notes
	if faults == nil {
		p.Past = !window.From.After(f.Now)
		p.InPlan = has(f.Schedule(form.Version), window)
	} else if form != (whatIfForm{}) {
		p.Faults = faults
	} else {
		p.Form = f.defaultForm()
	}
	for i, h := range simulation.Windows {
		is := lifecycle.Brownout{From: h.From, To: h.To, Share: h.Share}
		if faults == nil && h.Version == form.Version && same(window, is) {
			p.Hit = &simulation.Windows[i]
			if !p.InPlan {
				continue
			}
		}
		p.Planned = append(p.Planned, h)
	}
	p.Planned = slices.AppendSeq(p.Planned, maps.Values(simulation.Sunset))
	slices.SortFunc(p.Planned, func(a, b evidence.Hit) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Version, b.Version))
	})
	if p.Hit == nil {
		return p, nil
	}
	p.Names = p.Hit.Names[:min(maxNamed, len(p.Hit.Names))]
	text, err := json.Marshal(window)
	p.JSON = strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(string(text))
	return p, err
}

func lines(err error) []string { return strings.Split(err.Error(), "\n") }

// defaultForm is a short window tomorrow, on the version that ends first.
func (f *Facts) defaultForm() whatIfForm {
	form := whatIfForm{From: f.Now.UTC().Truncate(time.Hour).Add(day).Format(formTime), Minutes: "60", Percent: "25"}
	if len(f.Plan.Versions) > 0 {
		form.Version = slices.MinFunc(f.Plan.Versions, f.sooner).Version
	}
	return form
}
