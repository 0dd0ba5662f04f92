package admin

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/static"
)

// page is what every page has. Each has a type of its own, and a template that shows it.
type page struct {
	Title   string
	Here    string // the path
	Now     time.Time
	Plan    lifecycle.Snapshot
	Current string  // the version that others are compared with
	Tables  []Table // about this process
}

var (
	//go:embed *.html
	files embed.FS
	//go:embed style.css
	style string
	//go:embed copy.js
	copyScript string

	functions = template.FuncMap{
		"number": humanize.Number[uint64], "count": humanize.Number[int],
		"plural": humanize.Count[int], "calls": humanize.Count[uint64],
		"share": humanize.Percent, "length": humanize.Duration, "ago": humanize.Ago,
		"date": humanize.Date, "dayMonth": humanize.DayMonth, "moment": humanize.DateTime, "stamp": humanize.Timestamp,
		"short": short, "clean": clean, "sentence": sentence,
		"clientPath": clientPath, "queryPath": queryPath, "softwarePath": softwarePath,
		"place": place, "mail": mailTo,
		"plus": func(a, b int) int { return a + b }, "minus": func(a, b int) int { return a - b },
		"style":  func() template.CSS { return template.CSS(style) },
		"script": func() template.JS { return template.JS(copyScript) },
	}
	templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "*.html"))
)

// pagePolicy is the Content-Security-Policy of every page.
var pagePolicy = "default-src 'none'; style-src " + static.PolicyHash(style) +
	"; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// withScript are the templates with a script: copy.js, and nothing else.
var withScript = []string{"client.html"}

// pagePaths are the pages for people.
var pagePaths = []string{"/", "/clients", "/client", "/health"}

func (h *handler) page(r *http.Request, title string) page {
	return page{title, r.URL.Path, time.Now(), h.options.Plan(), h.options.Current, h.options.Health()}
}

// counted is a page, as of the time of a report with the clients of a query.
func (h *handler) counted(r *http.Request, title string, q evidence.Query) (page, evidence.Report, error) {
	p := h.page(r, title)
	report, err := h.options.Usage.Report(r.Context(), q)
	p.Now = cmp.Or(report.At, p.Now)
	return p, report, err
}

func (h *handler) unavailable(w http.ResponseWriter, r *http.Request, why error) {
	h.problem(w, r, http.StatusServiceUnavailable, "The counts cannot be read", why.Error())
}

// problemPage says why there is no page.
type problemPage struct {
	page
	Why string
}

func (h *handler) problem(w http.ResponseWriter, r *http.Request, status int, title, why string) {
	h.send(w, status, "problem.html", &problemPage{h.page(r, title), why})
}

// send sends a whole page, or an error if it cannot be rendered.
func (h *handler) send(w http.ResponseWriter, status int, name string, data any) {
	var body bytes.Buffer
	err := templates.ExecuteTemplate(&body, name, data)
	if err != nil {
		h.options.Log.Error("admin: a page cannot be rendered", "error", err)
		fail(w, http.StatusInternalServerError, "Internal error. See the log.")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	policy := pagePolicy
	if slices.Contains(withScript, name) {
		policy += "; script-src " + static.PolicyHash(copyScript)
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "same-origin") // fromElsewhere wants to see our own links
	w.Header().Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // an error here means that the client has left
}

func clientPath(name string) string { return "/client?" + url.Values{"client": {name}}.Encode() }

// clean replaces invisible characters, such as marks that reverse the direction of text.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' '
		case unicode.IsGraphic(r):
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func short(text string) string {
	const head, tail = 30, 12
	runes := []rune(clean(text))
	if len(runes) <= head+tail+1 {
		return string(runes)
	}
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}
