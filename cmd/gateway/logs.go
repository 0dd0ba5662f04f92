package main

import (
	"bytes"
	"io"
	"log/slog"

	"github.com/quotegate/quotegate/gateway"
)

// logs are the two logs, their level, which can be changed while running, and
// the queue that both write to.
type logs struct {
	*slog.Logger
	access *gateway.AccessLog
	level  *slog.LevelVar
	queue  *logQueue
}

func newLogs(cfg *config, w io.Writer) logs {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // validated
	options := &slog.HandlerOptions{Level: level}
	handler := func(w io.Writer) slog.Handler {
		if cfg.LogFormat == "text" {
			return slog.NewTextHandler(w, options)
		}
		return slog.NewJSONHandler(w, options)
	}
	queue := newLogQueue(w, func(lines uint64) []byte {
		var line bytes.Buffer
		slog.New(handler(&line)).Error("log lines were dropped: nobody read the log", "lines", lines)
		return line.Bytes()
	})
	return logs{slog.New(handler(queue)), gateway.NewAccessLog(queue, cfg.LogFormat, level, cfg.LogClientAddress), level, queue}
}
