package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
)

// queried answers 400 to an invalid query, and 503 while the counts cannot be read.
func (h *handler) queried(answer func(context.Context, http.ResponseWriter, evidence.Query) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := h.query(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
		} else if err := answer(r.Context(), w, query); err != nil {
			fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
		}
	}
}

func (h *handler) usageJSON(ctx context.Context, w http.ResponseWriter, query evidence.Query) error {
	report, err := h.options.Usage.Report(ctx, query)
	if err == nil {
		reply(w, http.StatusOK, report)
	}
	return err
}

// usageCSV sends all clients, as they are read.
func (h *handler) usageCSV(ctx context.Context, w http.ResponseWriter, query evidence.Query) error {
	out := &attachment{ResponseWriter: w}
	err := h.options.Usage.WriteCSV(ctx, query, out)
	if err != nil && out.begun {
		h.options.Log.Warn("admin: a table of clients ends early", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for the whole
	}
	return err
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
		name := "usage-" + time.Now().UTC().Format(time.DateOnly) + ".csv"
		a.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
	return a.ResponseWriter.Write(p)
}
