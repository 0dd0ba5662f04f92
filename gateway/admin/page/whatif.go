package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

// Form is what an operator has filled in to try a window. Its zero value is an
// empty form.
type Form struct {
	Version string
	From    string // in UTC, as a browser sends it: 2027-03-01T14:00
	Minutes string
	Percent string
}

// formTime is how a browser sends a time. Some send seconds, too.
const formTime = "2006-01-02T15:04"

// maxMinutes bounds a window to two weeks.
const maxMinutes = 14 * 24 * 60

// ReadForm reads the form from the parameters of a URL.
func ReadForm(values url.Values) Form {
	return Form{values.Get("version"), values.Get("from"), values.Get("minutes"), values.Get("percent")}
}

// Empty reports whether nothing was asked.
func (f Form) Empty() bool { return f == Form{} }

// Window is the window that the form describes. The error says what to correct.
func (f Form) Window() (b lifecycle.Brownout, err error) {
	var faults []error
	text := f.From
	if len(text) > len(formTime) {
		text = text[:len(formTime)]
	}
	b.From, err = time.Parse(formTime, text)
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
	b.Share, _ = strconv.ParseFloat(strconv.FormatFloat(share/100, 'f', 3, 64), 64) // as many decimals as a plan may have
	if len(faults) == 0 && b.Share == 0 {
		faults = append(faults, errors.New("share: give at least 0.1 %"))
	}
	return b, errors.Join(faults...)
}

// With is the plan in force with one more window. The plan itself is not changed.
// The error says why the result is not a valid plan; it can be simulated all the
// same.
func (f Facts) With(version string, b lifecycle.Brownout) (*lifecycle.Plan, error) {
	plan := &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{}}
	served := []string{}
	for _, v := range f.Plan.Versions {
		served = append(served, v.Version)
		if s := f.schedule(v.Version); s != nil {
			plan.Versions[v.Version] = s
		}
	}
	s := plan.Versions[version]
	if s == nil {
		plan.Versions[version] = &lifecycle.Schedule{Brownouts: []lifecycle.Brownout{b}}
		return plan, fmt.Errorf("%s is not in the plan: give it a line with its dates first", version)
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

// whatIfPage shows whom a window would hit.
type whatIfPage struct {
	frame
	Form     Form
	Versions []choice
	Faults   []string // of the form
	Asked    bool
	Wrong    []string // why the plan with the window would not be valid
	Past     bool     // the window has begun
	Window   *usage.Hit
	Length   string
	Percent  string
	Names    []named
	More     int
	JSON     string
	Planned  []planned // what the plan does anyway
	Notes    []string
}

type named struct {
	Name, Path string
	Moved      bool
}

// planned is a window or a sunset that is in the plan already.
type planned struct {
	usage.Hit
	What   string
	Length string
	Share  string
}

// maxNamed is how many clients of a window are named.
const maxNamed = 200

// WhatIf shows the form and, if it is filled in, a simulation of the plan in force
// with that window. Without one, the simulation is that of the plan in force.
func WhatIf(f Facts, form Form, simulation usage.Simulation) ([]byte, error) {
	p := whatIfPage{frame: frame{Title: "What if", Here: "/what-if", At: f.Now.UTC()}, Form: form, Notes: simulation.Notes}
	window, err := form.Window()
	p.Asked = !form.Empty()
	if p.Asked && err != nil {
		p.Faults = strings.Split(err.Error(), "\n")
	}
	if p.Asked && err == nil {
		p.predict(f, window, simulation)
	}
	p.plan(f, simulation)
	p.defaults(f)
	return render("what-if.html", p)
}

func (p *whatIfPage) predict(f Facts, window lifecycle.Brownout, simulation usage.Simulation) {
	if _, err := f.With(p.Form.Version, window); err != nil {
		p.Wrong = strings.Split(err.Error(), "\n")
	}
	p.Past = !window.From.After(f.Now)
	p.Length, p.Percent = words.Length(window.To.Sub(window.From)), words.Percent(window.Share)
	for i := range simulation.Windows {
		if h := &simulation.Windows[i]; isWindow(h, p.Form.Version, window) {
			p.Window = h
		}
	}
	if p.Window == nil {
		return
	}
	for _, c := range p.Window.Names[:min(maxNamed, len(p.Window.Names))] {
		p.Names = append(p.Names, named{c.Client, clientPath(c.Client), c.Moved})
	}
	if p.Window.Clients != nil {
		p.More = *p.Window.Clients - len(p.Names)
	}
	text, err := json.Marshal(window)
	if err == nil {
		p.JSON = strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(string(text))
	}
}

func isWindow(h *usage.Hit, version string, b lifecycle.Brownout) bool {
	return h.Version == version && h.From.Equal(b.From) && h.To.Equal(b.To) && h.Share == b.Share
}

// plan lists what the plan in force does from now on.
func (p *whatIfPage) plan(f Facts, simulation usage.Simulation) {
	for _, h := range simulation.Windows {
		if p.Window != nil && isWindow(&h, p.Window.Version, lifecycle.Brownout{From: p.Window.From, To: p.Window.To, Share: p.Window.Share}) {
			continue
		}
		if h.To.After(f.Now) {
			p.Planned = append(p.Planned, planned{h, "window", words.Length(h.To.Sub(h.From)), words.Percent(h.Share)})
		}
	}
	for _, v := range f.Plan.Versions {
		if h, ok := simulation.Sunset[v.Version]; ok && h.From.After(f.Now) {
			p.Planned = append(p.Planned, planned{h, "sunset", "for good", "100 %"})
		}
	}
}

// defaults fills an empty form with a short window tomorrow, on the version that ends
// first.
func (p *whatIfPage) defaults(f Facts) {
	if p.Form.Empty() {
		p.Form = Form{From: f.Now.UTC().Truncate(time.Hour).Add(day).Format(formTime), Minutes: "60", Percent: "25"}
	}
	if all := f.versions(); p.Form.Version == "" && len(all) > 0 {
		p.Form.Version = all[0].Name
	}
	for _, v := range slices.Backward(f.Plan.Versions) {
		p.Versions = append(p.Versions, choice{Text: v.Version, Chosen: v.Version == p.Form.Version})
	}
}

// Knows reports whether there is such a version.
func (f Facts) Knows(version string) bool {
	return slices.ContainsFunc(f.Plan.Versions, func(s lifecycle.Status) bool { return s.Version == version })
}
