package main

import (
	"io"
	"log/slog"
	"sync"

	"github.com/quotegate/quotegate/gateway"
)

// logs is everything that is logged, at a level that can be changed meanwhile.
type logs struct {
	*slog.Logger
	access *gateway.AccessLog
	level  *slog.LevelVar
}

func newLogs(cfg *config, w io.Writer) logs {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // validated
	w = &oneAtATime{w: w}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewJSONHandler(w, options)
	if cfg.LogFormat == "text" {
		handler = slog.NewTextHandler(w, options)
	}
	return logs{slog.New(handler), gateway.NewAccessLog(w, cfg.LogFormat, level), level}
}

// oneAtATime keeps lines whole that come from two logs.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
