package admin

import (
	"cmp"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Old reports whether the clients of a version have to move.
func (p *page) Old(version string) bool {
	return version != p.Current || p.Schedule(version) != nil
}

// Schedule is nil for a version that is not in the plan.
func (p *page) Schedule(version string) *lifecycle.Schedule {
	if p.Plan.Plan == nil {
		return nil
	}
	return p.Plan.Plan.Versions[version]
}

// dates is the schedule of a version, an empty one if it is not in the plan.
func (p *page) dates(version string) *lifecycle.Schedule {
	return cmp.Or(p.Schedule(version), &lifecycle.Schedule{})
}

// brownout is the open or next window of a version.
type brownout struct {
	lifecycle.Brownout
	open bool
}

// Window is nil without one.
func (p *page) Window(version string) *brownout {
	if b, planned := p.Schedule(version).NextBrownout(p.Now); planned {
		return &brownout{b, !b.From.After(p.Now)}
	}
	return nil
}

func (w *brownout) Label() string {
	if w != nil && w.open {
		return "Open window"
	}
	return "Next window"
}

func (w *brownout) When() string {
	when := humanize.DateTime(w.From) + ", for " + humanize.Duration(w.To.Sub(w.From))
	if w.open {
		when = "until " + humanize.DateTime(w.To)
	}
	return when + ", " + humanize.Percent(w.Share) + " of clients"
}

// end is when a version ends, for sorting: versions with a sunset, then those without one, then
// those without a plan, and last the current one.
func (p *page) end(version string) time.Time {
	s := p.Schedule(version)
	switch {
	case version == p.Current:
		return time.Unix(1<<41, 0)
	case s == nil:
		return time.Unix(1<<40, 0)
	case s.Sunset.IsZero():
		return time.Unix(1<<39, 0)
	default:
		return s.Sunset
	}
}
