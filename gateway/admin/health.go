package admin

import (
	"net/http"
	"time"
)

func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	h.send(w, http.StatusOK, "health.html", healthPage{frame{Title: "Health", Here: "/health", Facts: &Facts{Now: time.Now()}}, h.Health()})
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
	Cells []any
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

// healthPage is tables about the process that answers.
type healthPage struct {
	frame
	Tables []Table
}
