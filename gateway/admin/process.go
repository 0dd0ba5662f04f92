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
	Status   string `json:"status"`
	Instance string `json:"instance,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

func (h *handler) status(text string) status {
	return status{Status: text, Instance: h.options.Instance}
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	if err := h.options.Ready(); err != nil {
		not := h.status("not ready")
		not.Reason = err.Error()
		reply(w, http.StatusServiceUnavailable, not)
		return
	}
	reply(w, http.StatusOK, h.status("ready"))
}

func (h *handler) level(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"level": strings.ToLower(h.options.Level.Level().String())})
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
	if was := h.options.Level.Level(); wanted != was {
		h.options.Level.Set(min(was, wanted)) // so that neither level silences the line
		h.options.Log.Warn("log level changed", "from", was.String(), "to", wanted.String())
		h.options.Level.Set(wanted)
	}
	h.level(w, r)
}

type profile struct {
	description string
	handler     http.HandlerFunc
}

// profiles are at the paths that `go tool pprof` uses.
func profiles() map[string]profile {
	const root = "/debug/pprof/"
	all := map[string]profile{
		root:             {"profiles for go tool pprof", pprof.Index},
		root + "cmdline": {"the command line", pprof.Cmdline},
		root + "symbol":  {"names of program counters", pprof.Symbol},
		root + "profile": {"CPU profile, for ?seconds=30", pprof.Profile},
		root + "trace":   {"execution trace, for ?seconds=1", pprof.Trace},
	}
	for _, p := range runtime.Profiles() {
		all[root+p.Name()] = profile{"profile", pprof.Handler(p.Name()).ServeHTTP}
	}
	return all
}
