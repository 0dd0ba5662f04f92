package node

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// Meter counts what is asked of a node: calls, those of a batch each for itself, and
// the requests that carry them. It stands in front of a Front's node, or is one.
type Meter struct {
	Node http.Handler

	mu              sync.Mutex
	calls, requests int
}

func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	calls := 1
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) == nil {
		calls = len(batch)
	}
	m.mu.Lock()
	m.calls += calls
	m.requests++
	m.mu.Unlock()
	m.Node.ServeHTTP(w, r)
}

// Read gives what was asked since the last time, and begins anew.
func (m *Meter) Read() (calls, requests int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, requests = m.calls, m.requests
	m.calls, m.requests = 0, 0
	return calls, requests
}
