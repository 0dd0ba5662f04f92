package admin

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
)

type status struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	if h.Ready != nil {
		if err := h.Ready(); err != nil {
			reply(w, http.StatusServiceUnavailable, status{"not ready", err.Error()})
			return
		}
	}
	reply(w, http.StatusOK, status{Status: "ready"})
}

type level struct {
	Level string `json:"level"`
}

// levels that an operator can set.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (h *handler) level(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, level{strings.ToLower(h.Level.Level().String())})
}

// maxLevel bounds the size of the body. A level is much shorter.
const maxLevel = 256

// setLevel takes a level as GET shows it, or the bare word.
func (h *handler) setLevel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLevel))
	text := strings.TrimSpace(string(body))
	if wanted := (level{}); json.Unmarshal(body, &wanted) == nil {
		text = wanted.Level
	}
	wanted, known := levels[strings.ToLower(text)]
	if err != nil || !known {
		fail(w, http.StatusBadRequest, "Send debug, info, warn or error")
		return
	}
	was := h.Level.Level()
	announce := func() { h.Log.Warn("log level changed", "from", was.String(), "to", wanted.String()) }
	if wanted > was {
		announce() // before the new level can silence it
	}
	h.Level.Set(wanted)
	if wanted < was {
		announce()
	}
	h.level(w, r)
}
