package admin

import (
	"html/template"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/gateway/usage"
)

func (h *handler) client(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("client")
	if name == "" {
		h.problem(w, http.StatusBadRequest, "Which client?", "The address of this page ends in ?client= and the client's name.")
		return
	}
	facts := h.facts(r, usage.Query{Client: name})
	switch {
	case facts.Missing != "":
		h.unavailable(w, facts)
	case len(facts.Report.Clients) == 0:
		h.problem(w, http.StatusNotFound, "Not seen", "No client of this name has called within 90 days.")
	default:
		h.send(w, http.StatusOK)(showClient(facts))
	}
}

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
	Old      bool             // it has to move
	Letter   string           // what to write to it; empty on the current version
	Mail     template.URL     // opens a mail with the letter; empty if its contact is no address
}

// showClient shows one client. The report must have its clients and no others, and at
// least one.
func showClient(f Facts) ([]byte, error) {
	first := &f.Report.Clients[0]
	p := clientPage{frame: frame{Title: short(first.Name()), Here: "/client", At: f.Now.UTC()}, Name: first.Client, First: first, Notes: f.Report.Notes}
	for i := range f.Report.Clients {
		c := &f.Report.Clients[i]
		v := clientVersion{clientRow: f.clientRow(c), Chart: f.clientChart(c), Old: f.old(c.Version)}
		for _, found := range c.Findings {
			v.Findings = append(v.Findings, found.Sentence(c.Version, f.current()))
		}
		for i := len(c.Days) - 1; i >= 0; i-- {
			v.Days = append(v.Days, c.Days[i])
		}
		if v.Old {
			v.Letter = f.letter(c)
			v.Mail = mailTo(c.Contact.Contact, v.Letter)
		}
		p.Versions = append(p.Versions, v)
	}
	slices.SortStableFunc(p.Versions, func(a, b clientVersion) int { return f.end(a.Version).Compare(f.end(b.Version)) })
	return render("client.html", p)
}

// mailTo is a link that opens a mail with a letter, whose first line is the subject.
func mailTo(contact, letter string) template.URL {
	address, err := mail.ParseAddress(contact)
	if err != nil {
		return ""
	}
	subject, body, _ := strings.Cut(strings.TrimPrefix(letter, subjectPrefix), "\n")
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	return template.URL("mailto:" + escape(address.Address) + "?subject=" + escape(subject) + "&body=" + escape(strings.TrimLeft(body, "\n")))
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
