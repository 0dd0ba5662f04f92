package admin

import (
	"net/http"

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

// condition sums up the health of a process. What is not set up is not wrong, but it is
// not in order either.
type condition struct{ wrong, unset int }

func conditionOf(tables []Table) *condition {
	c := &condition{}
	for _, t := range tables {
		for _, r := range t.Rows {
			switch {
			case r.Wrong:
				c.wrong++
			case r.Unset:
				c.unset++
			}
		}
	}
	return c
}

// Bad reports whether somebody should look.
func (c *condition) Bad() bool { return c.wrong > 0 }

func (c *condition) String() string {
	switch {
	case c.wrong > 0:
		return humanize.Count(c.wrong, "issue", "issues")
	case c.unset > 0:
		return humanize.Number(c.unset) + " not set up"
	}
	return "OK"
}
