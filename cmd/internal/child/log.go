package child

import (
	"bytes"
	"sync"
)

// Log takes the log of a process: it passes each line to See, if that is set, and keeps the last lines.
type Log struct {
	See func(line []byte)

	mu      sync.Mutex
	partial []byte // a line whose end has not been written
	tail    [][]byte
}

const tailLines = 20

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if l.See != nil {
			l.See(line)
		}
		if len(l.tail) == tailLines {
			l.tail = append(l.tail[:0], l.tail[1:]...)
		}
		l.tail = append(l.tail, bytes.Clone(line))
		l.partial = append(l.partial[:0], rest...)
	}
}

// Tail is the last lines.
func (l *Log) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.Join(append(l.tail[:len(l.tail):len(l.tail)], l.partial), []byte("\n")))
}
