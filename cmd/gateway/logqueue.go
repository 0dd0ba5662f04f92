package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/safego"
)

const (
	// maxQueued bounds the log lines that wait to be written, in bytes: some
	// thousand requests.
	maxQueued = 1 << 20
	// maxKept is the longest queue whose memory is used again. A longer one is of a
	// time in which nobody read the log.
	maxKept = 128 << 10
)

// logQueue writes log lines in their order, from a goroutine of its own, so that
// a reader who is slow or gone holds up no request. When the queue is full, lines
// are dropped and counted, and the log says how many as soon as it can be written
// again.
type logQueue struct {
	out    io.Writer
	notice func(lines uint64) []byte // the line about dropped ones

	mu      sync.Mutex
	waiting []byte // whole lines
	lost    uint64 // dropped since the last notice
	dropped uint64 // in all
	closed  bool
	changed *sync.Cond    // of the fields above
	done    chan struct{} // closed once all is written
}

func newLogQueue(out io.Writer, notice func(lines uint64) []byte) *logQueue {
	q := &logQueue{out: out, notice: notice, done: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	safego.Go(nil, "writing the log", q.run)
	return q
}

// Write queues a line, or drops it if there is no room. It never waits for the
// reader of the log.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	if q.closed || len(q.waiting)+len(line) > maxQueued {
		q.lost++
		q.dropped++
	} else {
		if len(q.waiting)+len(line) > cap(q.waiting) { // twice the room, since append would copy more often
			q.waiting = slices.Grow(q.waiting, max(len(line), len(q.waiting)))
		}
		q.waiting = append(q.waiting, line...)
	}
	q.mu.Unlock()
	q.changed.Signal()
	return len(line), nil
}

func (q *logQueue) Dropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Close waits until all lines are written, or ctx ends. Later lines are dropped.
func (q *logQueue) Close(ctx context.Context) {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.changed.Signal()
	select {
	case <-q.done:
	case <-ctx.Done():
	}
}

// run writes what waits until the queue is closed and all is written, or the
// last lines cannot be.
func (q *logQueue) run() {
	defer close(q.done)
	for batch := []byte(nil); ; {
		q.mu.Lock()
		for len(q.waiting) == 0 && q.lost == 0 && !q.closed {
			q.changed.Wait()
		}
		lost, closed := q.lost, q.closed
		batch, q.waiting, q.lost = q.waiting, batch[:0], 0
		q.mu.Unlock()
		empty, err := len(batch) == 0, q.write(batch, lost)
		if cap(batch) > maxKept {
			batch = nil
		}
		switch {
		case closed && (err != nil || empty):
			return
		case err != nil:
			time.Sleep(retryLog)
		case !closed:
			time.Sleep(gatherLog)
		}
	}
}

const (
	// retryLog is how long to wait after a failed write: trying at once would
	// keep a core busy.
	retryLog = 100 * time.Millisecond
	// gatherLog is how long lines gather: waking the writer for each would cost a
	// request more than its line.
	gatherLog = 10 * time.Millisecond
)

// write writes a batch, and then how many lines were lost after it. Lines that
// cannot be written are lost too.
func (q *logQueue) write(batch []byte, lost uint64) error {
	text := batch
	if lost > 0 {
		text = append(text, q.notice(lost)...)
	}
	if len(text) == 0 {
		return nil
	}
	n := 0
	err := safego.Try(nil, "writing the log", func() (err error) {
		n, err = q.out.Write(text)
		return err
	})
	if err != nil {
		unwritten := uint64(bytes.Count(batch[min(n, len(batch)):], []byte("\n")))
		q.mu.Lock()
		q.lost += lost + unwritten
		q.dropped += unwritten
		q.mu.Unlock()
	}
	return err
}

// logs are the two logs, their level, which can be changed while running, and
// the queue that both write to.
type logs struct {
	*slog.Logger
	access *gateway.AccessLog
	level  *slog.LevelVar
	queue  *logQueue
}

// durationAsText writes a duration in JSON as in text, 1.5s, instead of as a number of
// nanoseconds, which nobody recognises.
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
	queue := newLogQueue(w, func(lines uint64) []byte {
		var line bytes.Buffer
		slog.New(handler(&line)).Error("log lines were dropped: the log writer was blocked", "lines", lines)
		return line.Bytes()
	})
	return logs{
		Logger: slog.New(handler(queue)),
		access: gateway.NewAccessLog(queue, cfg.LogFormat, level, cfg.LogClientAddress),
		level:  level,
		queue:  queue,
	}
}
