package admin

import (
	"net/http"
	"time"
)

func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	h.send(w, http.StatusOK)(showHealth(h.Health(), time.Now()))
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

// showHealth shows tables about the process that answers.
func showHealth(tables []Table, now time.Time) ([]byte, error) {
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
