package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/safego"
)

const (
	// maxQueued bounds the log lines that wait to be written, in bytes: some
	// thousand requests.
	maxQueued = 1 << 20
	// gatherLog is how long lines gather: a write for each would cost a request more
	// than its line.
	gatherLog = 10 * time.Millisecond
)

// logQueue writes log lines in their order and in the background, so that a slow or
// missing reader delays no request. When the queue is full, lines are dropped and
// counted, and a later line of the log says how many.
type logQueue struct {
	out     io.Writer
	direct  *slog.Logger // writes to out, for the line about dropped ones
	writing sync.Mutex   // one flush at a time, which alone uses told and written
	told    uint64       // dropped lines that the log has told of
	written []byte       // the memory of the last batch, for the lines after the next

	mu      sync.Mutex
	waiting []byte // whole lines; if there are any, a flush is about to write them
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
		safego.After(gatherLog, nil, "flushing the log", q.flush)
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
	lost := q.dropped - q.told
	q.waiting = q.written[:0]
	q.written = batch
	q.mu.Unlock()
	if len(batch) == 0 { // Close was quicker, and out may be another's by now
		return
	}
	if _, err := q.out.Write(batch); err != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.dropped += uint64(bytes.Count(batch, []byte("\n")))
	} else if lost > 0 {
		q.told += lost
		q.direct.Error("log lines were dropped: the log writer was blocked", "lines", lost)
	}
}

// logs are the two logs, their level, which can be changed while running, and
// the queue that both write to.
type logs struct {
	*slog.Logger
	access *gateway.AccessLog
	level  *slog.LevelVar
	queue  *logQueue
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
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: durationAsText}
	handler := func(w io.Writer) slog.Handler {
		if cfg.LogFormat == "text" {
			return slog.NewTextHandler(w, options)
		}
		return slog.NewJSONHandler(w, options)
	}
	queue := &logQueue{out: w, direct: slog.New(handler(w))}
	return logs{
		Logger: slog.New(handler(queue)),
		access: gateway.NewAccessLog(queue, cfg.LogFormat, level, cfg.LogClientAddress),
		level:  level,
		queue:  queue,
	}
}
