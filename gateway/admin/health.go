package admin

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/shared/humanize"
)

func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	facts := h.facts(r, evidence.Query{Per: 1})
	h.send(w, http.StatusOK, "health.html", healthPage{
		frame{Title: "Health", Here: "/health", Facts: facts}, h.Health(),
	})
}

// healthPage is tables about the process that answers.
type healthPage struct {
	frame
	Tables []Table
}

// Table is a part of the page about a service's health.
type Table struct {
	Title string
	About string // one sentence under the title
	Head  []string
	Rows  []Row
}

// Row is a row of a Table.
type Row struct {
	Cells []any
	Wrong bool // somebody should look at it
	Unset bool // it is about something that the configuration leaves out
}

// Mark says in words why a row stands out. It is empty if the row does not.
func (r Row) Mark() string {
	switch {
	case r.Wrong:
		return "check"
	case r.Unset:
		return "not set up"
	}
	return ""
}

// Marked reports whether any row stands out.
func (t Table) Marked() bool { return t.count(func(r Row) bool { return r.Mark() != "" }) > 0 }

func (t Table) count(counts func(Row) bool) (n int) {
	for _, r := range t.Rows {
		if counts(r) {
			n++
		}
	}
	return n
}

// condition sums up the health of a process, for the menu and the overview. What is
// not set up is not wrong, but it is not in order either.
type condition struct {
	wrong   int      // rows that somebody should look at
	wrongIn []string // the tables that have them
	unset   int      // rows about what is not set up
	unsetIn []string // the tables that have them, with how many of how many
}

func conditionOf(tables []Table) *condition {
	c := &condition{}
	for _, t := range tables {
		if n := t.count(func(r Row) bool { return r.Wrong }); n > 0 {
			c.wrong += n
			c.wrongIn = append(c.wrongIn, t.Title)
		}
		if n := t.count(func(r Row) bool { return r.Unset && !r.Wrong }); n > 0 {
			c.unset += n
			c.unsetIn = append(c.unsetIn, fmt.Sprintf("%s (%d of %d)", t.Title, n, len(t.Rows)))
		}
	}
	return c
}

// Bad reports whether somebody should look.
func (c *condition) Bad() bool { return c.wrong > 0 }

// Short is for the menu.
func (c *condition) Short() string {
	switch {
	case c.wrong > 0:
		return humanize.Count(c.wrong, "issue", "issues")
	case c.unset > 0:
		return humanize.Number(c.unset) + " not set up"
	}
	return "OK"
}

// Sentence says where the issues are.
func (c *condition) Sentence() string {
	if c.wrong == 0 {
		return "No issues."
	}
	return c.Short() + " under " + strings.Join(c.wrongIn, ", ") + "."
}

// Unset says what is not set up, if anything.
func (c *condition) Unset() string {
	if c.unset == 0 {
		return ""
	}
	return "Not set up: " + strings.Join(c.unsetIn, ", ") + "."
}
