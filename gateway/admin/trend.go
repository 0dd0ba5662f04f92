package admin

import (
	"fmt"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

// knownFrom is the first day of a report on which it is known what the gate of a version counted, or -1.
func (p *overviewPage) knownFrom(version string) int {
	usage := p.Usage(version)
	s := p.Schedule(version)
	if usage == nil || s == nil || s.Gate == nil {
		return -1
	}
	return slices.IndexFunc(usage.Counted, func(n int) bool { return n >= 0 })
}

func gateTitle(version string, gate *lifecycle.Gate) string {
	return version + ": clients in " + humanize.Count(gate.Days, "day", "days")
}

// GatePicture is how many clients the gate of a version has counted over time. It is nil if the gate
// has not counted yet, or the version has none.
func (p *overviewPage) GatePicture(version string) *picture {
	known := p.knownFrom(version)
	if known < 0 {
		return nil
	}
	usage := p.Usage(version)
	s := p.Schedule(version)
	counted := usage.Counted[known:]
	first := usage.Days[known].Day.Time()
	limit := uint64(s.Gate.MaxClients)
	pic := &picture{
		axis:  around(first, p.Now, s.Sunset),
		scale: newScale(max(limit, uint64(slices.Max(counted)))),
		Title: gateTitle(version, s.Gate),
	}
	pic.Bands = pic.Spans(s)
	pic.Limit = &level{pic.Y(limit), "limit " + humanize.Number(limit)}
	pic.mark(p.Now, s.Sunset)
	pic.draw(counted, first, p.Now)
	highest := slices.Max(counted)
	highestDay := first.Add(time.Duration(slices.Index(counted, highest)) * day)
	pic.Says = fmt.Sprintf("%s, from %s to today: at first %s, at most %s (%s), today %s; limit %s.",
		pic.Title, humanize.Date(first), humanize.Number(counted[0]), humanize.Number(highest),
		humanize.DayMonth(highestDay), humanize.Number(counted[len(counted)-1]), humanize.Number(limit))
	pic.Says += pic.listWindows(s)
	if !s.Sunset.IsZero() {
		pic.Says += " Sunset " + humanize.Date(s.Sunset) + "."
	}
	return pic
}

// Unknown says from when on a gate's clients are known, if they are not.
func (p *overviewPage) Unknown(v lifecycle.Status) string {
	if p.Missing != nil || !p.Counts(v) {
		return ""
	}
	return "Clients over time are not known yet: the gate looks back " + humanize.Count(v.Gate.Days, "day", "days") +
		", and counts are complete since " + humanize.Date(p.Report.Since) + "."
}

// used are the versions with calls. Those that end first come first.
func (p *overviewPage) used() []evidence.Version {
	unused := func(v evidence.Version) bool {
		return !slices.ContainsFunc(v.Days, func(d evidence.VersionDay) bool { return d.Served+d.Refused > 0 })
	}
	all := slices.DeleteFunc(slices.Clone(p.Report.Versions), unused)
	slices.SortStableFunc(all, func(a, b evidence.Version) int { return p.end(a.Version).Compare(p.end(b.Version)) })
	return all
}

// CallPicture is the calls per day of all versions. Those that end first are at the bottom. It is nil
// without calls.
func (p *overviewPage) CallPicture() *picture {
	var all []series
	for _, v := range p.used() {
		s := series{Name: v.Version}
		for _, d := range v.Days {
			s.Values = append(s.Values, d.Served+d.Refused)
			s.Refused += d.Refused
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	pic := p.stack("Calls per day", all)
	for i := range pic.Layers {
		if pic.Layers[i].Name == p.Current {
			pic.Layers[i].Class = "current"
		}
	}
	pic.mark(p.Now, time.Time{})
	return pic
}

// ClientPicture is the calls per day of a client. It is nil without calls.
func (p *page) ClientPicture(c *evidence.Client) *picture {
	row := p.HeatRow(c)
	if slices.Max(row.values) == 0 {
		return nil
	}
	pic := p.stack("Calls per day", []series{{Name: c.Version, Values: row.values}})
	pic.Layers[0].Class = "current"
	pic.Bands = pic.Spans(p.dates(c.Version))
	pic.mark(p.Now, p.dates(c.Version).Sunset)
	return pic
}

// numbers are those of the pictures as a table, the last day first.
type numbers struct {
	Head []string
	Days []dayNumbers
}

type dayNumbers struct {
	Day   time.Time
	Cells []string
}

// Numbers are those of the pictures of the overview.
func (p *overviewPage) Numbers() (table numbers) {
	add := func(head string, days []evidence.VersionDay, cell func(i int) string) {
		table.Head = append(table.Head, head)
		for i, d := range days {
			if i == len(table.Days) {
				table.Days = append(table.Days, dayNumbers{Day: d.Day.Time()})
			}
			table.Days[i].Cells = append(table.Days[i].Cells, cell(i))
		}
	}
	for _, v := range p.used() {
		if p.knownFrom(v.Version) >= 0 {
			add(gateTitle(v.Version, p.Schedule(v.Version).Gate), v.Days, func(i int) string {
				if v.Counted[i] < 0 {
					return unknown
				}
				return humanize.Number(v.Counted[i])
			})
		}
		add(v.Version+": calls", v.Days, func(i int) string {
			d := v.Days[i]
			if d.Refused > 0 {
				return humanize.Number(d.Served+d.Refused) + ", " + humanize.Number(d.Refused) + " refused"
			}
			return humanize.Number(d.Served)
		})
	}
	slices.Reverse(table.Days)
	return table
}
