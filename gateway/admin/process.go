package admin

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	runtime "runtime/pprof"
	"strings"
)

type status struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	if err := h.Ready(); err != nil {
		reply(w, http.StatusServiceUnavailable, status{"not ready", err.Error()})
		return
	}
	reply(w, http.StatusOK, status{Status: "ready"})
}

func (h *handler) level(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"level": strings.ToLower(h.Level.Level().String())})
}

// maxLevel bounds the size of the body. A level is much shorter.
const maxLevel = 256

func (h *handler) setLevel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLevel))
	var wanted slog.Level
	if err == nil {
		err = wanted.UnmarshalText(bytes.TrimSpace(body))
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "Send debug, info, warn or error")
		return
	}
	if was := h.Level.Level(); wanted != was {
		h.Level.Set(min(was, wanted)) // so that neither level silences the line
		h.Log.Warn("log level changed", "from", was.String(), "to", wanted.String())
		h.Level.Set(wanted)
	}
	h.level(w, r)
}

const profiles = "/debug/pprof/"

// addProfiles adds the paths that `go tool pprof` uses.
func (h *handler) addProfiles() {
	h.get(profiles, "profiles for go tool pprof", pprof.Index)
	h.get(profiles+"cmdline", "the command line", pprof.Cmdline)
	h.get(profiles+"symbol", "names of program counters", pprof.Symbol)
	h.get(profiles+"profile", "CPU profile, for ?seconds=30", pprof.Profile)
	h.get(profiles+"trace", "execution trace, for ?seconds=1", pprof.Trace)
	for _, p := range runtime.Profiles() {
		h.get(profiles+p.Name(), "profile", pprof.Handler(p.Name()).ServeHTTP)
	}
}
