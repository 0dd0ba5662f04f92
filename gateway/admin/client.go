package admin

import (
	"fmt"
	"html/template"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
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
		h.unavailable(w, facts.Missing)
	case len(facts.Report.Clients) == 0:
		h.problem(w, http.StatusNotFound, "Not seen", "No client of this name has called within 90 days.")
	default:
		h.send(w, http.StatusOK, "client.html", newClientPage(facts))
	}
}

// clientPage is one client on all versions that it called.
type clientPage struct {
	frame
	First    *usage.Client
	Versions []clientVersion
}

// clientVersion is a client on one version.
type clientVersion struct {
	clientRow
	Chart  chart
	Days   []usage.DayCount // the last first
	Old    bool             // it has to move
	Letter string           // what to write to it; empty on the current version
	Mail   template.URL     // opens a mail with the letter; empty if its contact is no address
}

// newClientPage shows one client. The report must have its clients and no others, and
// at least one.
func newClientPage(f *Facts) clientPage {
	first := &f.Report.Clients[0]
	p := clientPage{frame: frame{Title: short(first.Name()), Facts: f}, First: first}
	for _, row := range f.rows() {
		v := clientVersion{clientRow: row, Chart: f.clientChart(row.Client), Days: slices.Clone(row.Client.Days), Old: f.old(row.Version)}
		slices.Reverse(v.Days)
		if v.Old {
			v.Letter = f.letter(row.Client)
			v.Mail = mailTo(row.Contact.Contact, v.Letter)
		}
		p.Versions = append(p.Versions, v)
	}
	slices.SortStableFunc(p.Versions, func(a, b clientVersion) int { return f.end(a.Version).Compare(f.end(b.Version)) })
	return p
}

const subjectPrefix = "Subject: "

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

// letter is a text to a client, with its own numbers and the steps that concern it.
func (f *Facts) letter(c *usage.Client) string {
	s, to := f.schedule(c.Version), f.Current()
	var b strings.Builder
	line := func(format string, args ...any) {
		for text := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			b.WriteString(clean(text) + "\n")
		}
	}
	subject := fmt.Sprintf("Please move from version %s to %s", c.Version, to)
	if s != nil && s.Sunset.After(f.Now) {
		subject += " by " + words.Date(s.Sunset)
	}
	line(subjectPrefix+"%s\n\nHello,\n", subject)
	line("your client still calls version %s of our quote service: %s within the last 90 days, %s of them within the last 7, the last one on %s.",
		c.Version, words.Count(c.Calls90, "call", "calls"), words.Number(c.Calls7), words.Date(c.LastSeen))
	who := c.Name()
	if c.Software != "" {
		who += ", software " + c.Software
	}
	line("We know it as: %s.\n", who)
	f.dates(line, c, s)
	line("What to change:")
	moves := f.Moves[c.Version] // what everyone has to do; then comes what its calls showed
	if moves == nil {
		moves = []string{fmt.Sprintf("Call %s instead of %s, and read the answer in its new shape.", to, c.Version)}
	}
	for i, text := range slices.Concat(moves, c.Steps(to)) {
		line("  %d. %s", i+1, text)
	}
	line("\nApart from this, both versions give the same transaction and the same money for the same request.")
	line("To see today what your client gets then, send the header API-Rehearse: retired with any call to %s.", c.Version)
	if s != nil {
		line("All changes, field by field: %s", s.Docs)
	}
	line("\nIf you have a question, or if this is not your software, please answer this mail.")
	return b.String()
}

// dates says when the version goes, and which windows refuse this client before.
func (f *Facts) dates(line func(string, ...any), c *usage.Client, s *lifecycle.Schedule) {
	if s == nil || s.Sunset.IsZero() {
		line("Version %s has no end date yet. It will be retired, and a move now saves you a hurry later.\n", c.Version)
		return
	}
	if s.Sunset.After(f.Now) {
		line("Version %s is retired on %s. From then on every call to it is answered with HTTP status 410.", c.Version, words.Moment(s.Sunset))
	} else {
		line("The end of version %s was announced for %s. Every call to it is, or soon will be, answered with HTTP status 410.", c.Version, words.Moment(s.Sunset))
	}
	if !c.Last410.IsZero() {
		line("Your client has already had such an answer, last on %s.", words.Moment(c.Last410))
	}
	var windows []string
	for _, b := range s.Brownouts {
		if b.To.After(f.Now) && s.Hits(b, c.Subject()) {
			windows = append(windows, fmt.Sprintf("  - %s, for %s", words.Moment(b.From), words.Length(b.To.Sub(b.From))))
		}
	}
	if len(windows) > 0 {
		line("Before that it is switched off for a while, so that the end surprises nobody. This concerns your client:\n%s", strings.Join(windows, "\n"))
	}
	line("")
}
