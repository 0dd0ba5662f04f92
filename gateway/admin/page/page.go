// Package page renders what an operator looks at when retiring a version: time
// lines, curves, who still calls, what a window would do, and the health of a
// service.
//
// What it promises:
//   - A page is one HTML file without script. It loads nothing, and Policy makes
//     the browser hold it to that.
//   - All that clients send is text: it is escaped, shortened and kept apart from
//     the text around it. The full text is on the client's own page.
//   - Each picture has its numbers beside or behind it, and no meaning is carried
//     by colour alone.
//   - Nothing is changed by looking at a page.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/url"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

// Facts are what pages are made from.
type Facts struct {
	Plan    lifecycle.Snapshot
	Report  usage.Report
	Missing string // why there is no report; empty if there is one
	Now     time.Time

	next map[string]tallied // by version: who is in the share of its next window
}

// CountNext counts the clients that have not moved and that the next window of their
// version refuses.
func (f *Facts) CountNext(read func(usage.Query) (usage.Report, error)) {
	f.next = map[string]tallied{}
	for _, v := range f.Plan.Versions {
		b, coming := f.schedule(v.Version).NextBrownout(f.Now)
		if !coming {
			continue
		}
		q := usage.Query{Version: v.Version, Moved: "no", Window: words.Stamp(b.From), Per: 1}
		if q.Choose(f.Plan.Plan) != nil {
			continue
		}
		if found, err := read(q); err == nil {
			q.Per = 0
			f.next[v.Version] = tallied{found.Matching, "in the share of the next window", clientsPath(q)}
		}
	}
}

var (
	//go:embed templates/*.html
	files embed.FS
	//go:embed style.css
	style string

	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"number": words.Number[uint64], "count": words.Number[int], "dayMonth": words.DayMonth, "moment": words.Moment, "short": short, "clean": clean,
	}).ParseFS(files, "templates/*.html"))
)

// Policy is the Content-Security-Policy of every page.
var Policy = policy() + "; frame-ancestors 'none'"

// policy is the part of it that may stand in the page itself.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'"
}

// frame is what every page has.
type frame struct {
	Title string
	Here  string // the path of this page
	At    time.Time
	File  bool // the page is a file: nothing it could link to exists
}

func (frame) Style() template.CSS { return template.CSS(style) }
func (frame) Policy() string      { return policy() }

// Link is a place on the navigation bar.
type Link struct{ Path, Text string }

func (frame) Links() []Link {
	return []Link{{"/", "Overview"}, {"/clients", "Clients"}, {"/what-if", "What if"}, {"/health", "Health"}}
}

func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// Problem is a page that says why there is nothing to show.
func Problem(title, text string, now time.Time) ([]byte, error) {
	return render("problem.html", struct {
		frame
		Text string
	}{frame{Title: title, At: now.UTC()}, text})
}

// Table is a part of the page about a service's health.
type Table struct {
	Title string
	About string // one sentence under the title
	Head  []string
	Rows  []Row
}

// Row is a row of a Table. One that is wrong is marked.
type Row struct {
	Cells []string
	Wrong bool
}

// Wrong is how many rows are marked.
func (t Table) Wrong() (n int) {
	for _, r := range t.Rows {
		if r.Wrong {
			n++
		}
	}
	return n
}

// Health shows tables about the process that answers.
func Health(tables []Table, now time.Time) ([]byte, error) {
	wrong := 0
	for _, t := range tables {
		wrong += t.Wrong()
	}
	return render("health.html", struct {
		frame
		Tables []Table
		Wrong  int
	}{frame{Title: "Health", Here: "/health", At: now.UTC()}, tables, wrong})
}

// clientPath is the address of a client's own page.
func clientPath(name string) string { return "/client?" + url.Values{"client": {name}}.Encode() }
