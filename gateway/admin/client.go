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

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
)

func (h *handler) client(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("client")
	if name == "" {
		h.problem(w, r, http.StatusBadRequest, "No client given", "Add ?client= and the name of a client.")
		return
	}
	p, report, err := h.counted(r, "", evidence.Query{Client: name})
	switch {
	case err != nil:
		h.unavailable(w, r, err)
	case len(report.Clients) == 0:
		h.problem(w, r, http.StatusNotFound, "Not seen", "No client of this name in 90 days.")
	default:
		h.send(w, http.StatusOK, "client.html", newClientPage(p, h.options.Moves, report))
	}
}

// clientPage is about one client.
type clientPage struct {
	page
	Moves  map[string][]string // what every client of a version has to do, by version
	Report evidence.Report     // of this client: an entry for each version
}

// newClientPage begins with the version that ends first.
func newClientPage(p page, moves map[string][]string, report evidence.Report) *clientPage {
	sooner := func(a, b evidence.Client) int { return p.end(a.Version).Compare(p.end(b.Version)) }
	report.Clients = slices.SortedStableFunc(slices.Values(report.Clients), sooner)
	p.Title = short(report.Clients[0].Name())
	return &clientPage{p, moves, report}
}

// InWindow says whether the open or next window of a client's version refuses it. A client that
// has moved no longer calls the version, and is not counted either.
func (p *page) InWindow(c *evidence.Client) string {
	s := p.Schedule(c.Version)
	w := p.Window(c.Version)
	switch {
	case w == nil:
		return "no window"
	case c.HasMoved():
		return "no, moved"
	case s.Exempts(c.Subject()):
		return "no, exempt"
	case s.Hits(w.Brownout, c.Subject()):
		return "yes"
	}
	return "no"
}

// place is a client's position in the order from which a window takes its share.
func place(c *evidence.Client) string {
	if c.Position < 0 {
		return "position not known"
	}
	return fmt.Sprintf("position %.3f", c.Position)
}

var (
	//go:embed letter.txt
	letterText string

	letterTemplate = text.Must(text.New("").Funcs(functions).Parse(letterText))
)

// maxMail is how long a mailto link may be. Windows opens none above 2,048 characters.
const maxMail = 2000

// mailLink opens a letter in a mail program. It has a recipient if the contact is an address.
type mailLink struct {
	Href  template.URL
	Whole bool // the letter is in it; else only its subject
}

// mailTo makes the link of a letter that begins with its subject.
func mailTo(contact, letter string) mailLink {
	to := ""
	if address, err := mail.ParseAddress(contact); err == nil && address.Address == contact {
		to = url.PathEscape(contact)
	}
	head, body, _ := strings.Cut(letter, "\n\n")
	// In a mailto link a plus is a plus, and lines end as they do in mail.
	escape := func(text string) string {
		return strings.ReplaceAll(url.QueryEscape(strings.ReplaceAll(text, "\n", "\r\n")), "+", "%20")
	}
	href := "mailto:" + to + "?subject=" + escape(strings.TrimPrefix(head, "Subject: "))
	if whole := href + "&body=" + escape(body); len(whole) <= maxMail {
		return mailLink{template.URL(whole), true}
	}
	return mailLink{template.URL(href), false}
}

// Letter is a text to a client, with its own numbers, the windows that refuse it and the steps
// that it has to take.
func (p *clientPage) Letter(c *evidence.Client) (string, error) {
	s := p.dates(c.Version)
	to := p.Current
	moves := p.Moves[c.Version] // what every client has to do; the findings of its calls follow
	if moves == nil {
		moves = []string{fmt.Sprintf("Call %s instead of %s, and read the answer in its new format.", to, c.Version)}
	}
	windows := slices.DeleteFunc(slices.Clone(s.Brownouts), func(b lifecycle.Brownout) bool {
		return !b.To.After(p.Now) || !s.Hits(b, c.Subject())
	})
	steps := slices.Clone(moves)
	for _, finding := range c.Findings {
		if finding.Outcome != event.SameMoney {
			steps = append(steps, fmt.Sprintf("On %s, %s", humanize.Date(c.Found), finding.Sentence(c.Version, to)))
		}
	}
	var b strings.Builder
	err := letterTemplate.Execute(&b, struct {
		*evidence.Client
		To, Docs string
		Sunset   time.Time
		Ahead    bool // the sunset is in the future
		Windows  []lifecycle.Brownout
		Steps    []string
	}{c, to, s.Docs, s.Sunset, s.Sunset.After(p.Now), windows, steps})
	return b.String(), err
}
