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

// addProfiles adds the paths that `go tool pprof` uses.
func (h *handler) addProfiles() {
	h.get(profiles, "profiles for go tool pprof", pprof.Index)
	h.get(profiles+"cmdline", "the command line", pprof.Cmdline)
	h.get(profiles+"symbol", "names of program counters", pprof.Symbol)
	h.get(profiles+"profile", "CPU profile, for ?seconds=30", limitSeconds(pprof.Profile))
	h.get(profiles+"trace", "execution trace, for ?seconds=1", limitSeconds(pprof.Trace))
	for _, p := range runtime.Profiles() {
		h.get(profiles+p.Name(), "profile", limitSeconds(pprof.Handler(p.Name()).ServeHTTP))
	}
}

// limitSeconds refuses to profile for longer than maxProfile.
func limitSeconds(next http.HandlerFunc) http.HandlerFunc {
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
