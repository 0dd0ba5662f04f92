package admin

import (
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	runtime "runtime/pprof"
)

const (
	profiles = "/debug/pprof/"
	// maxProfile is how many seconds one request may profile for.
	maxProfile = 120
)

// addProfiles adds what `go tool pprof` asks for.
func (h *handler) addProfiles() {
	h.get(profiles, "profiles for go tool pprof", inJSON(pprof.Index))
	h.get(profiles+"cmdline", "the command line", pprof.Cmdline)
	h.get(profiles+"symbol", "names of program counters", pprof.Symbol)
	h.get(profiles+"profile", "CPU profile, for ?seconds=30", bounded(inJSON(pprof.Profile)))
	h.get(profiles+"trace", "execution trace, for ?seconds=1", bounded(inJSON(pprof.Trace)))
	for _, p := range runtime.Profiles() {
		h.get(profiles+p.Name(), "profile", bounded(inJSON(pprof.Handler(p.Name()).ServeHTTP)))
	}
}

// bounded refuses to profile for longer than anybody waits.
func bounded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if text := r.URL.Query().Get("seconds"); text != "" {
			seconds, err := strconv.ParseFloat(text, 64)
			if err != nil || !(seconds > 0 && seconds <= maxProfile) {
				fail(w, http.StatusBadRequest, "seconds must be a number above 0 and up to "+strconv.Itoa(maxProfile))
				return
			}
		}
		next(w, r)
	}
}

// inJSON has a handler of others say its errors in JSON.
func inJSON(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t := &translator{ResponseWriter: w}
		next(t, r)
		if t.status != 0 {
			w.Header().Del("Content-Length")
			w.Header().Del("Content-Encoding")
			fail(w, t.status, strings.TrimSpace(t.text.String()))
		}
	}
}

// translator holds back an error's status and text.
type translator struct {
	http.ResponseWriter
	status int // of an error; 0: none so far
	text   strings.Builder
}

func (t *translator) WriteHeader(status int) {
	if status >= 400 {
		t.status = status
		return
	}
	t.ResponseWriter.WriteHeader(status)
}

// maxError bounds how much of an error is told.
const maxError = 4 << 10

func (t *translator) Write(p []byte) (int, error) {
	if t.status == 0 {
		return t.ResponseWriter.Write(p)
	}
	t.text.Write(p[:min(len(p), maxError-min(t.text.Len(), maxError))])
	return len(p), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (t *translator) Unwrap() http.ResponseWriter { return t.ResponseWriter }
