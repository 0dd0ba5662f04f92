package admin

import (
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

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

func (h *handler) client(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("client")
	if name == "" {
		h.problem(w, http.StatusBadRequest, "No client given",
			"Add ?client= and the name of a client.")
		return
	}
	facts := h.facts(r, evidence.Query{Client: name})
	switch {
	case facts.Missing != "":
		h.unavailable(w, facts.Missing)
	case len(facts.Report.Clients) == 0:
		h.problem(w, http.StatusNotFound, "Not seen", "No client of this name in 90 days.")
	default:
		h.send(w, http.StatusOK, "client.html", newClientPage(facts))
	}
}

// clientPage is one client on all versions that it called.
type clientPage struct {
	frame
	First   *evidence.Client
	Clients []evidence.Client // by version, the one that ends first first
}

// newClientPage shows one client. The report must have its clients and no others, and
// at least one.
func newClientPage(f *Facts) clientPage {
	first := &f.Report.Clients[0]
	sooner := func(a, b evidence.Client) int { return f.end(a.Version).Compare(f.end(b.Version)) }
	all := slices.SortedStableFunc(slices.Values(f.Report.Clients), sooner)
	return clientPage{frame{Title: short(first.Name()), Facts: f}, first, all}
}

const subjectPrefix = "Subject: "

// mailTo is a link that opens a mail with a letter, whose first line is the subject. It
// is empty if the contact is no address.
func mailTo(contact, letter string) template.URL {
	address, err := mail.ParseAddress(contact)
	if err != nil {
		return ""
	}
	subject, body, _ := strings.Cut(strings.TrimPrefix(letter, subjectPrefix), "\n")
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	body = strings.TrimLeft(body, "\n")
	return template.URL("mailto:" + escape(address.Address) + "?subject=" + escape(subject) + "&body=" + escape(body))
}

var (
	//go:embed letter.txt
	letterText string

	letterTemplate = text.Must(text.New("").Funcs(text.FuncMap{
		"calls": humanize.Count[uint64], "number": humanize.Number[uint64],
		"date": humanize.Date, "moment": humanize.DateTime, "length": humanize.Duration,
		"next": func(i int) int { return i + 1 },
	}).Parse(letterText))
)

// Letter is a text to a client, with its own numbers, the windows that refuse it and
// the steps that concern it.
func (f *Facts) Letter(c *evidence.Client) (string, error) {
	s := f.dates(c.Version)
	to := f.Current
	moves := f.Moves[c.Version] // what everyone has to do; then comes what its calls showed
	if moves == nil {
		moves = []string{fmt.Sprintf("Call %s instead of %s, and read the answer in its new format.", to, c.Version)}
	}
	windows := slices.DeleteFunc(slices.Clone(s.Brownouts), func(b lifecycle.Brownout) bool {
		return !b.To.After(f.Now) || !s.Hits(b, c.Subject())
	})
	var b strings.Builder
	err := letterTemplate.Execute(&b, struct {
		*evidence.Client
		To, Docs string
		Sunset   time.Time
		Ahead    bool // the sunset is to come
		Windows  []lifecycle.Brownout
		Steps    []string
	}{c, to, s.Docs, s.Sunset, s.Sunset.After(f.Now), windows, slices.Concat(moves, c.Steps(to))})
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n"), err
}
