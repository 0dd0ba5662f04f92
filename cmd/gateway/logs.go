package main

import (
	"io"
	"log/slog"
	"sync"

	"github.com/quotegate/quotegate/gateway"
)

// logs are the two logs, and their level, which can be changed while running.
type logs struct {
	*slog.Logger
	access *gateway.AccessLog
	level  *slog.LevelVar
}

func newLogs(cfg *config, w io.Writer) logs {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // validated
	w = &lockedWriter{w: w}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewJSONHandler(w, options)
	if cfg.LogFormat == "text" {
		handler = slog.NewTextHandler(w, options)
	}
	return logs{slog.New(handler), gateway.NewAccessLog(w, cfg.LogFormat, level), level}
}

// lockedWriter lets two logs write to one writer without mixing their lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *lockedWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
