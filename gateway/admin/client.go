package admin

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	text "text/template"
	"time"

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

var (
	//go:embed letter.txt
	letterText string

	letterTemplate = text.Must(text.New("").Funcs(text.FuncMap{
		"calls": words.Count[uint64], "number": words.Number[uint64], "date": words.Date, "moment": words.Moment, "length": words.Length,
		"next": func(i int) int { return i + 1 },
	}).Parse(letterText))
)

// letter is a text to a client, with its own numbers, the windows that refuse it and
// the steps that concern it.
func (f *Facts) letter(c *usage.Client) string {
	s, to := cmp.Or(f.schedule(c.Version), &lifecycle.Schedule{}), f.Current()
	moves := f.Moves[c.Version] // what everyone has to do; then comes what its calls showed
	if moves == nil {
		moves = []string{fmt.Sprintf("Call %s instead of %s, and read the answer in its new shape.", to, c.Version)}
	}
	windows := slices.DeleteFunc(slices.Clone(s.Brownouts), func(b lifecycle.Brownout) bool { return !b.To.After(f.Now) || !s.Hits(b, c.Subject()) })
	var b strings.Builder
	err := letterTemplate.Execute(&b, struct {
		*usage.Client
		To, Docs string
		Sunset   time.Time
		Ahead    bool // the sunset is to come
		Windows  []lifecycle.Brownout
		Steps    []string
	}{c, to, s.Docs, s.Sunset, s.Sunset.After(f.Now), windows, slices.Concat(moves, c.Steps(to))})
	if err != nil {
		panic(err) // the template does not fit the data, whatever these are
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
