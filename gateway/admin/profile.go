package admin

import (
	"net/http"
	"net/http/pprof"
	"strconv"

	runtime "runtime/pprof"
)

const (
	profiles = "/debug/pprof/"
	// maxProfile is how many seconds one request may profile for.
	maxProfile = 120
)

// addProfiles adds what `go tool pprof` asks for.
func (h *handler) addProfiles() {
	h.get(profiles, "profiles for go tool pprof", pprof.Index)
	h.get(profiles+"cmdline", "the command line", pprof.Cmdline)
	h.get(profiles+"symbol", "names of program counters", pprof.Symbol)
	h.get(profiles+"profile", "CPU profile, for ?seconds=30", bounded(pprof.Profile))
	h.get(profiles+"trace", "execution trace, for ?seconds=1", bounded(pprof.Trace))
	for _, p := range runtime.Profiles() {
		h.get(profiles+p.Name(), "profile", bounded(pprof.Handler(p.Name()).ServeHTTP))
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
