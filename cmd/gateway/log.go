package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/safego"
)

const (
	// maxQueued bounds the log lines that wait to be written, in bytes: some
	// thousand requests.
	maxQueued = 1 << 20
	// flushDelay is how long lines are batched: one write per line would cost a request
	// more than the line itself.
	flushDelay = 10 * time.Millisecond
)

// logQueue writes log lines in order and in the background, so that a slow or missing reader
// delays no request. When the queue is full, lines are dropped and counted, and a later line
// logs how many.
type logQueue struct {
	out      io.Writer
	direct   *slog.Logger // writes to out, for the line about dropped ones
	writing  sync.Mutex   // held by flush; guards reported and written
	reported uint64       // dropped lines that have been logged
	written  []byte       // the memory of the last batch, for the lines after the next

	mu      sync.Mutex
	waiting []byte // whole lines; if there are any, a flush is scheduled
	dropped uint64 // lines
}

// Write queues a line, or drops it if there is no room. It never waits for the
// reader of the log.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+len(line) > maxQueued {
		q.dropped++
		return len(line), nil
	}
	if len(q.waiting) == 0 {
		safego.After(flushDelay, nil, "flushing the log", q.flush)
	}
	q.waiting = append(q.waiting, line...)
	return len(line), nil
}

func (q *logQueue) Dropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Close waits until all lines are written, or the time is up.
func (q *logQueue) Close(timeout time.Duration) {
	done := make(chan struct{})
	safego.Go(nil, "writing the last log lines", func() {
		defer close(done)
		q.flush()
	})
	select {
	case <-done:
	case <-time.After(timeout):
	}
}

// flush writes what waits, and then how many lines were dropped. If that fails, all of
// them count as dropped.
func (q *logQueue) flush() {
	q.writing.Lock()
	defer q.writing.Unlock()
	q.mu.Lock()
	batch := q.waiting
	lost := q.dropped - q.reported
	q.waiting = q.written[:0]
	q.written = batch
	q.mu.Unlock()
	if len(batch) == 0 { // Close came first, and out may be in use elsewhere by now
		return
	}
	if _, err := q.out.Write(batch); err != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.dropped += uint64(bytes.Count(batch, []byte("\n")))
	} else if lost > 0 {
		q.reported += lost
		q.direct.Error("log lines were dropped: the log writer was blocked", "lines", lost)
	}
}

// logs are the two logs, their level, which can change at run time, and the queue that both
// write to.
type logs struct {
	*slog.Logger
	access   *gateway.AccessLog
	level    *slog.LevelVar
	queue    *logQueue
	terminal bool // a person reads it, as text
}

// durationAsText writes 1.5s in JSON too, instead of a number of nanoseconds.
func durationAsText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func newLogs(cfg *config, w io.Writer) logs {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // validated
	terminal := cfg.LogFormat != "json" && cli.IsTerminal(w)
	handler := func(w io.Writer, replace func([]string, slog.Attr) slog.Attr) slog.Handler {
		options := &slog.HandlerOptions{Level: level, ReplaceAttr: replace}
		if cfg.LogFormat == "text" || terminal {
			return slog.NewTextHandler(w, options)
		}
		return slog.NewJSONHandler(w, options)
	}
	queue := &logQueue{out: w, direct: slog.New(handler(w, durationAsText))}
	access := handler(queue, nil) // its lines have no durations, and one for each request
	return logs{
		Logger:   slog.New(handler(queue, durationAsText)),
		access:   gateway.NewAccessLog(access, cfg.LogClientAddress),
		level:    level,
		queue:    queue,
		terminal: terminal,
	}
}
