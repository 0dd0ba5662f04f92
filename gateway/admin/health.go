package admin

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	tables := h.Health()
	facts := &Facts{Now: time.Now(), Health: conditionOf(tables)}
	h.send(w, http.StatusOK, "health.html", healthPage{
		frame{Title: "Health", Here: "/health", Facts: facts}, tables,
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
		return "look"
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
		return words.Number(c.wrong) + " to look at"
	case c.unset > 0:
		return words.Number(c.unset) + " not set up"
	}
	return "in order"
}

// Sentence says what to look at, and what is not set up.
func (c *condition) Sentence() string {
	unset := "Not set up: " + strings.Join(c.unsetIn, ", ") + "."
	wrong := words.Count(c.wrong, "row needs", "rows need") + " a look, in " + strings.Join(c.wrongIn, ", ") + "."
	switch {
	case c.wrong > 0 && c.unset > 0:
		return wrong + " " + unset
	case c.wrong > 0:
		return wrong
	case c.unset > 0:
		return "Nothing is wrong. " + unset
	}
	return "Nothing needs a look."
}
