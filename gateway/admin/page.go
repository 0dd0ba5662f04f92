package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

// Facts are what pages are made from.
type Facts struct {
	Plan    lifecycle.Snapshot
	Report  usage.Report
	Missing string              // why there is no report; empty if there is one
	Moves   map[string][]string // what every client of a version has to do, by version
	Now     time.Time

	next map[string]tallied // by version: who is in the share of its next window
}

var (
	//go:embed *.html
	files embed.FS
	//go:embed style.css
	style string

	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"number": words.Number[uint64], "count": words.Number[int], "dayMonth": words.DayMonth, "moment": words.Moment, "stamp": words.Stamp,
		"share": words.Percent, "length": words.Length, "short": short, "clean": clean, "clientPath": clientPath,
		"clientsPath": clientsPath, "softwarePath": softwarePath, "plural": words.Count[int], "mailTo": mailTo, "callsBackward": slices.Backward[[]usage.DayCount],
		"daysBackward": slices.Backward[[]usage.VersionDay], "calls": words.Count[uint64], "date": words.Date, "ago": words.Ago, "bar": newBar,
		"versionsBackward": slices.Backward[[]lifecycle.Status], "lines": lines, "formOf": formOf,
		"shades": shades, "months": months, "sum": sum, "highest": slices.Max[[]uint64],
		"plus": func(a, b int) int { return a + b }, "minus": func(a, b int) int { return a - b },
	}).ParseFS(files, "*.html"))
)

// pagePolicy is the Content-Security-Policy of every page.
var pagePolicy = policy() + "; frame-ancestors 'none'"

// policy is the part of it that may stand in the page itself.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'"
}

type frame struct {
	Title string
	Here  string // the path of this page on the navigation bar
	File  bool   // the page is a file: nothing it could link to exists
	*Facts
}

func (frame) Style() template.CSS { return template.CSS(style) }
func (frame) Policy() string      { return policy() }

func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// pagePaths are the pages for people.
var pagePaths = []string{"/", "/clients", "/client", "/what-if", "/health"}

func (h *handler) facts(r *http.Request, q usage.Query) *Facts {
	facts := &Facts{Plan: h.Plan(), Moves: h.Moves}
	var err error
	if facts.Report, err = h.Usage.Report(r.Context(), q); err != nil {
		facts.Report, facts.Missing = usage.Report{}, err.Error()
	}
	if facts.Now = facts.Report.At; facts.Now.IsZero() {
		facts.Now = time.Now()
	}
	return facts
}

func (h *handler) unavailable(w http.ResponseWriter, why string) {
	h.problem(w, http.StatusServiceUnavailable, "The counts cannot be read", why)
}

func (h *handler) problem(w http.ResponseWriter, status int, title, text string) {
	h.send(w, status, "problem.html", struct {
		frame
		Text string
	}{frame{Title: title, Facts: &Facts{Now: time.Now()}}, text})
}

// send sends a whole page, or an error if it cannot be rendered.
func (h *handler) send(w http.ResponseWriter, status int, name string, data any) {
	body, err := render(name, data)
	if err != nil {
		h.Log.Error("admin: a page cannot be rendered", "error", err)
		fail(w, http.StatusInternalServerError, "The page cannot be shown; the log says why")
		return
	}
	w.Header().Set("Content-Type", htmlType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "same-origin") // fromElsewhere wants to see our own links
	w.Header().Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client has left
}

func clientPath(name string) string { return "/client?" + url.Values{"client": {name}}.Encode() }

// clean replaces what a reader cannot see, such as marks that turn the direction
// of text around.
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
