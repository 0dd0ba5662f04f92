// Package journal is a log that can be read while it is written. It is for
// tests, which ask what was logged, and how often.
package journal

import (
	"bytes"
	"strings"
	"sync"
)

// Journal keeps what is written to it. The zero value is empty.
type Journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is all that was written.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Count is how often a text was written.
func (j *Journal) Count(text string) int { return strings.Count(j.String(), text) }
