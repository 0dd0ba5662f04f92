package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

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

// Headline is what needs attention first. It is empty if nothing does.
func (p *healthPage) Headline() string {
	if issue := p.Issue(); issue != "" {
		return issue
	}
	if p.Missing != nil {
		return "The counts cannot be read"
	}
	for _, instance := range p.Report.Instances {
		if instance.Silent {
			return instance.Name + " is silent"
		}
	}
	return ""
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

// chosen are the rows of the tables that a test accepts, without tables of which it accepts none.
func (p *page) chosen(accepts func(Row) bool) (some []Table) {
	for _, t := range p.Tables {
		empty := len(t.Rows) == 0
		t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return !accepts(r) })
		if empty && accepts(Row{}) || len(t.Rows) > 0 {
			some = append(some, t)
		}
	}
	return some
}

// Failures are the rows that need attention.
func (p *page) Failures() []Table { return p.chosen(func(r Row) bool { return r.Wrong }) }

// Working are the rows that are neither failures nor about what is not configured, and the tables that
// have no rows because nothing has failed.
func (p *page) Working() []Table { return p.chosen(func(r Row) bool { return !r.Wrong && !r.Unset }) }

// Unset names what is not configured: tables, with the rows of one that is configured in part, and
// what a table of one row says.
func (p *page) Unset() string {
	var names []string
	for _, t := range p.chosen(func(r Row) bool { return r.Unset && !r.Wrong }) {
		var rows []string
		for _, r := range t.Rows {
			rows = append(rows, fmt.Sprint(r.Cells[0]))
		}
		whole := slices.ContainsFunc(p.Tables, func(all Table) bool {
			return all.Title == t.Title && len(all.Rows) == len(rows)
		})
		if cells := t.Rows[0].Cells; whole && len(rows) == 1 {
			rows[0] = fmt.Sprint(cells[len(cells)-1])
		}
		if !whole || len(rows) == 1 {
			t.Title += " (" + strings.Join(rows, ", ") + ")"
		}
		names = append(names, t.Title)
	}
	return strings.Join(names, ", ")
}

// Issue names the first row that needs attention, and says how many more there are. It is empty if
// there is none.
func (p *page) Issue() (first string) {
	more := -1
	for _, t := range p.Failures() {
		more += len(t.Rows)
		if first == "" {
			first = t.Title + ": " + strings.TrimSpace(fmt.Sprintln(t.Rows[0].Cells[:min(2, len(t.Rows[0].Cells))]...))
		}
	}
	if more > 0 {
		first = short(first) + " and " + humanize.Number(more) + " more"
	}
	return first
}
