package admin

import (
	"net/http"
	"time"

	"github.com/quotegate/quotegate/gateway/usage"
)

// query reads which clients a request asks for. A window is one of the plan in force.
func (h *handler) query(r *http.Request) (usage.Query, error) {
	query, err := usage.ParseQuery(r.URL.Query(), h.Versions)
	if err == nil && query.Window != "" && h.Plan != nil {
		err = query.Choose(h.Plan().Plan)
	}
	return query, err
}

// usage answers 400 to a wrong query, and 503 while the counts cannot be read.
func (h *handler) usage(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	report, err := h.Usage.Report(r.Context(), query)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
		return
	}
	reply(w, http.StatusOK, report)
}

// usageCSV sends all clients, as they are read.
func (h *handler) usageCSV(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	out := &attachment{ResponseWriter: w}
	if err := h.Usage.WriteCSV(r.Context(), query, out); err != nil && !out.begun {
		fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
	} else if err != nil {
		h.Log.Warn("admin: a table of clients ends early", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for the whole
	}
}

// attachment sets the headers of a file when its first bytes are written.
type attachment struct {
	http.ResponseWriter
	begun bool
}

func (a *attachment) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		a.Header().Set("Content-Disposition", `attachment; filename="usage-`+time.Now().UTC().Format(time.DateOnly)+`.csv"`)
	}
	return a.ResponseWriter.Write(p)
}
