package admin

import (
	"net/http"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/shared/humanize"
)

func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	p, report, err := h.counted(r, "Health", evidence.Query{Per: 1})
	h.send(w, http.StatusOK, "health.html", &healthPage{p, report, err})
}

// healthPage is about this process, and the instances.
type healthPage struct {
	page
	Report  evidence.Report
	Missing error // why there is no report
}

// Table is a table on the health page.
type Table struct {
	Title string
	About string // one sentence under the title
	Head  []string
	Rows  []Row
}

// Row is a row of a Table.
type Row struct {
	Cells []any
	Wrong bool // needs attention
	Unset bool // about something that is not configured
}

const wrongRow, unsetRow = "check", "not set up"

// Mark is the label of a row that stands out, or empty.
func (r Row) Mark() string {
	switch {
	case r.Wrong:
		return wrongRow
	case r.Unset:
		return unsetRow
	}
	return ""
}

// Issues is the number of rows that need attention.
func (p *page) Issues() int { return p.marked(wrongRow) }

func (p *page) marked(mark string) (n int) {
	for _, t := range p.Tables {
		for _, r := range t.Rows {
			if r.Mark() == mark {
				n++
			}
		}
	}
	return n
}

// Health sums up the health of this process. Rows that are not set up are neither issues nor OK.
func (p *page) Health() string {
	unset := p.marked(unsetRow)
	switch {
	case p.Issues() > 0:
		return humanize.Count(p.Issues(), "issue", "issues")
	case unset > 0:
		return humanize.Number(unset) + " " + unsetRow
	}
	return "OK"
}
