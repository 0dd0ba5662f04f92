package admin

import (
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

// figure is a number of a version, with its limit in words and, if there is one, as a bar.
type figure struct {
	Label, Value string
	Path         string // where it can be seen; empty: nowhere
	About        said   // the limit
	Bar          *bar
	Wrong        bool // beyond the limit
}

// bar is how much of a limit is used. The limit is a mark where the bar is longer.
type bar struct{ Used, Limit percent }

func newBar(used, limit, longest float64) *bar {
	longest = max(used, limit, longest)
	if longest == 0 {
		longest = 1 // nothing is used, and nothing may be
	}
	return &bar{percent(100 * used / longest), percent(100 * limit / longest)}
}

const unknown = "not known"

// Figures are those of a version in the plan. What is not known, or has no limit, has no bar.
func (p *overviewPage) Figures(v lifecycle.Status) []figure {
	usage := p.Usage(v.Version)
	all := []figure{p.moved(v.Version, usage)}
	switch {
	case v.Stage == lifecycle.Retired && v.Gate != nil:
		passed := figure{Label: "Gate passed", Value: humanize.Date(v.Gate.Released), About: said{Before: "final"}}
		return append(all, passed)
	case v.Stage == lifecycle.Retired:
		return all
	case v.Gate != nil:
		all = append(gated(v), all...)
	default:
		all = append(ungated(v.Version, usage), all...)
	}
	if s := p.Schedule(v.Version); !s.Sunset.IsZero() {
		all = append(all, p.earliest(v.Verdict, s))
	}
	return all
}

// gated are the two numbers that a gate limits.
func gated(v lifecycle.Status) []figure {
	g := v.Gate
	days := humanize.Count(g.Days, "day", "days")
	clients := figure{
		Label: "Clients in " + days, Value: unknown,
		About: said{Before: "limit " + humanize.Number(g.MaxClients)},
	}
	calls := figure{
		Label: "Busiest day of " + days, Value: unknown,
		About: said{Before: "limit " + humanize.Count(g.MaxCallsPerDay, "call", "calls")},
	}
	if g.Evidence == nil {
		return []figure{clients, calls}
	}
	one, many := "client", "clients"
	if g.OnlyProven() {
		one, many = "proven client", "proven clients"
	}
	path := "/clients?version=" + v.Version + "&gate=counted"
	clients.set(g.Clients, g.MaxClients, humanize.Count(g.Clients, one, many), path)
	calls.set(g.Calls, g.MaxCallsPerDay, humanize.Count(g.Calls, "call", "calls"), path+"&sort=calls7")
	return []figure{clients, calls}
}

// set compares a number with its limit.
func (f *figure) set(n, limit int, value, path string) {
	f.Value = value
	f.Bar = newBar(float64(n), float64(limit), 0)
	if n > 0 {
		f.Path = path
	}
	if n > limit {
		f.Wrong = true
		f.About.Before += ", " + humanize.Number(n-limit) + " too many"
	}
}

// ungated are the numbers of a version that nothing limits.
func ungated(version string, usage *evidence.Version) []figure {
	clients := figure{Label: "Clients in 7 days", Value: unknown, About: said{Before: "no limit: the plan has no gate"}}
	calls := figure{Label: "Calls in 7 days", Value: unknown, About: clients.About}
	if usage != nil {
		clients.Value = humanize.Count(usage.Week.Clients, "client", "clients")
		clients.Path = "/clients?version=" + version + "&sort=last"
		calls.Value = humanize.Count(usage.Week.Calls, "call", "calls")
	}
	return []figure{clients, calls}
}

// moved is how many clients have moved, of all.
func (p *overviewPage) moved(version string, usage *evidence.Version) figure {
	f := figure{Label: "Moved", Value: unknown}
	if usage == nil {
		return f
	}
	g := usage.Groups
	path := "/clients?version=" + version
	clients := humanize.Count(g.Clients, "client", "clients")
	stay := humanize.Number(g.Still()) + " not moved"
	f.Value = humanize.Number(g.Moved) + " of " + clients
	f.About = say(stay+", in 90 days", stay, path+"&moved=no")
	if g.Still() == 0 {
		f.About = said{Before: "in 90 days"}
	}
	if g.Moved > 0 {
		f.Path = path + "&moved=yes"
	}
	if g.Clients > 0 {
		f.Bar = newBar(float64(g.Moved), float64(g.Clients), 0)
	}
	return f
}

// earliest is the earliest date, and the time until the planned one.
func (p *overviewPage) earliest(v *lifecycle.Verdict, s *lifecycle.Schedule) figure {
	f := figure{Label: "Earliest date", Value: unknown, Wrong: v.Late}
	f.About.Before = "planned " + humanize.Date(s.Sunset) + ", " + humanize.Ago(s.Sunset, p.Now)
	latest := s.Sunset
	if !v.Earliest.IsZero() {
		f.Value = humanize.Date(v.Earliest)
		latest = v.Earliest
	}
	since := func(t time.Time) float64 { return max(0, t.Sub(s.Deprecated).Hours()) }
	f.Bar = newBar(since(p.Now), since(s.Sunset), since(latest))
	return f
}
