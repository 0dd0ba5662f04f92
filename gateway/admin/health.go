package admin

import (
	"net/http"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/shared/humanize"
)

func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	h.send(w, http.StatusOK, "health.html", h.counted(r, "Health", evidence.Query{Per: 1}))
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

const wrongRow, unsetRow = "check", "not set up"

// Mark says in words why a row stands out. It is empty if the row does not.
func (r Row) Mark() string {
	switch {
	case r.Wrong:
		return wrongRow
	case r.Unset:
		return unsetRow
	}
	return ""
}

// Issues is how many rows somebody should look at.
func (f *Facts) Issues() int { return f.marked(wrongRow) }

func (f *Facts) marked(mark string) (n int) {
	for _, t := range f.Tables {
		for _, r := range t.Rows {
			if r.Mark() == mark {
				n++
			}
		}
	}
	return n
}

// Health sums up the health of this process. What is not set up is not wrong, but it is
// not in order either.
func (f *Facts) Health() string {
	unset := f.marked(unsetRow)
	switch {
	case f.Issues() > 0:
		return humanize.Count(f.Issues(), "issue", "issues")
	case unset > 0:
		return humanize.Number(unset) + " " + unsetRow
	}
	return "OK"
}
