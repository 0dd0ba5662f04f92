package evidence

import (
	_ "embed" // the text of a simulation
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Simulation says whom the windows to come and the sunsets of a plan refuse.
type Simulation struct {
	At      time.Time      `json:"at"`
	Notes   []string       `json:"notes"` // what it leaves out
	Windows []Hit          `json:"windows"`
	Sunset  map[string]Hit `json:"sunset"` // by version

	Verdicts map[string]*lifecycle.Verdict `json:"verdicts"` // by version: whether and when the plan can retire it
}

// Hit is whom a window or a sunset refuses: the clients in its share that called within 90
// days and have not moved, as the list of clients has them.
type Hit struct {
	Version string    `json:"version"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // a sunset has no end
	Share   float64   `json:"share"`
	Gone    bool      `json:"gone,omitempty"` // of a sunset: it has come, and no gate holds it
	Clients int       `json:"clients"`
	Known   int       `json:"known"`  // how many of them the operator knows
	Both    int       `json:"both"`   // how many call the current version, too
	Calls7  uint64    `json:"calls7"` // their calls of 7 days
	Names   []refused `json:"names"`  // at most 1,000: known clients first, then those with the most calls
}

// refused is a client that a window or a sunset refuses.
type refused struct {
	Client string `json:"client"`
}

const maxNames = 1000

// Simulate says whom a plan refuses. A client's place in the order of a share is recorded, so
// it is known which ones a share takes. Gates are the readings of those of the plan.
func (r *Report) Simulate(plan *lifecycle.Plan, gates map[string]*lifecycle.GateReading) Simulation {
	s := Simulation{
		At: r.At, Notes: []string{}, Windows: []Hit{}, Sunset: map[string]Hit{},
		Verdicts: map[string]*lifecycle.Verdict{},
	}
	if unix(firstDay(r.At, reportDays) * day).Before(r.Since) {
		s.Notes = append(s.Notes, "the counts are complete only since "+humanize.DateTime(r.Since))
	}
	for _, v := range r.Versions {
		schedule := plan.Versions[v.Version]
		if schedule == nil {
			continue
		}
		s.Notes = append(s.Notes, unnamed(int64(v.Unnamed), v.Version+": ")...)
		if slices.ContainsFunc(schedule.Exempt, caller.Pattern.IsNetwork) {
			s.Notes = append(s.Notes, v.Version+": addresses are not kept, so exempt networks spare the clients "+
				"that the plan in force spared when they last called")
		}
		for _, b := range schedule.Brownouts {
			if b.To.After(r.At) {
				hit := Hit{Version: v.Version, From: b.From, To: b.To, Share: b.Share}
				s.Windows = append(s.Windows, r.fill(hit, func(c *Client) bool { return c.hitBy(schedule, b) }))
			}
		}
		gate := gates[v.Version]
		s.Verdicts[v.Version] = schedule.Verdict(v.Version, gate, r.At)
		if !schedule.Sunset.IsZero() {
			passed := gate == nil || !gate.Released.IsZero()
			gone := schedule.Stage(r.At, passed) == lifecycle.Retired
			hit := Hit{Version: v.Version, From: schedule.Sunset, Share: 1, Gone: gone}
			s.Sunset[v.Version] = r.fill(hit, func(*Client) bool { return true })
		}
	}
	return s
}

// fill adds to a hit the clients of its version that have not moved and that it refuses.
func (r *Report) fill(hit Hit, refuses func(*Client) bool) Hit {
	hit.Names = []refused{}
	for _, c := range r.all {
		if c.Version != hit.Version || !c.stays() || !refuses(c) {
			continue
		}
		hit.Clients++
		hit.Known += oneIf(c.Known)
		hit.Both += oneIf(c.Both)
		hit.Calls7 += c.Calls7
		if len(hit.Names) < maxNames {
			hit.Names = append(hit.Names, refused{c.Client})
		}
	}
	return hit
}

//go:embed simulation.txt
var simulationText string

var printed = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": humanize.Timestamp, "share": humanize.Percent,
	"short": func(client string) string { return strings.TrimPrefix(client, "client ") },
	"first": func(names []refused) []refused { return names[:min(10, len(names))] },
	"more":  func(h Hit) int { return h.Clients - min(10, len(h.Names)) }, // clients that are not printed
}).Parse(simulationText))

// Print writes a simulation as text.
func (s *Simulation) Print(w io.Writer) error { return printed.Execute(w, s) }

// Sentence says whom the window or sunset refuses.
func (h Hit) Sentence() string {
	switch {
	case h.Gone:
		return "every call is refused; " + humanize.Count(h.Clients,
			"client of the last 90 days has not moved", "clients of the last 90 days have not moved")
	case h.Clients == 0:
		return "would refuse nobody"
	}
	text := "would refuse " + humanize.Count(h.Clients, "client", "clients") +
		" (" + humanize.Number(h.Known) + " known) with " + humanize.Count(h.Calls7, "call", "calls") + " in 7 days"
	if h.Both > 0 {
		text += "; " + humanize.Number(h.Both) + " calling both versions"
	}
	return text
}
