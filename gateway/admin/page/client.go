package page

import (
	"github.com/quotegate/quotegate/gateway/usage"
)

// clientPage is one client on all versions that it called.
type clientPage struct {
	frame
	Name     string
	First    *usage.Client
	Versions []clientVersion
	Notes    []string // of the report
}

// clientVersion is a client on one version.
type clientVersion struct {
	clientRow
	Chart    chart
	Findings []string
	Days     []usage.DayCount // the last first
	Letter   string           // what to write to it; empty on the current version
}

// Client shows one client. The report must have its clients and no others, and at
// least one.
func Client(f Facts) ([]byte, error) {
	first := &f.Report.Clients[0]
	p := clientPage{frame: frame{Title: short(first.Name()), Here: "/client", At: f.Now.UTC()}, Name: first.Client, First: first, Notes: f.Report.Notes}
	for i := range f.Report.Clients {
		c := &f.Report.Clients[i]
		v := clientVersion{clientRow: f.clientRow(c), Chart: f.clientChart(c)}
		for _, found := range c.Findings {
			v.Findings = append(v.Findings, found.Sentence(c.Version, f.current()))
		}
		for i := len(c.Days) - 1; i >= 0; i-- {
			v.Days = append(v.Days, c.Days[i])
		}
		if c.Version != f.current() {
			v.Letter = f.letter(c)
		}
		p.Versions = append(p.Versions, v)
	}
	return render("client.html", p)
}

func (f *Facts) clientChart(c *usage.Client) chart {
	days := make([]usage.VersionDay, heatDays)
	values := make([]uint64, heatDays)
	first := usage.Day(heatStart(f.Now).Unix())
	for i := range days {
		days[i].Day = first + usage.Day(i)*usage.Day(day.Seconds())
	}
	for _, d := range c.Days {
		if i := int(d.Day-first) / int(day.Seconds()); d.Day >= first && i < heatDays {
			values[i] = d.Calls
		}
	}
	return newChart(c.Version+": calls a day", days, f.schedule(c.Version), values, nil)
}
