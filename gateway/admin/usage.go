package admin

import (
	"math"
	"net/http"

	"github.com/quotegate/quotegate/gateway/usage"
)

// report reads a report. It answers 400 to a wrong query, and 503 while the counts
// cannot be read.
func (h *handler) report(w http.ResponseWriter, r *http.Request, change func(*usage.Query)) (report usage.Report, ok bool) {
	query, err := usage.ParseQuery(r.URL.Query(), h.Versions)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return report, false
	}
	change(&query)
	if report, err = h.Usage.Report(r.Context(), query); err != nil {
		fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
		return report, false
	}
	return report, true
}

func (h *handler) usage(w http.ResponseWriter, r *http.Request) {
	if report, ok := h.report(w, r, func(*usage.Query) {}); ok {
		reply(w, http.StatusOK, report)
	}
}

// usageCSV puts all clients on one page.
func (h *handler) usageCSV(w http.ResponseWriter, r *http.Request) {
	report, ok := h.report(w, r, func(q *usage.Query) { q.Page, q.Per = 1, math.MaxInt32 })
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	w.Header().Set("Content-Disposition", `attachment; filename="usage-`+report.At.Format("2006-01-02")+`.csv"`)
	_ = report.WriteCSV(w) // an error here means that the client has left
}
