package send

import (
	"slices"
	"sync"
	"time"
)

// payments are those of this process.
var payments = memory{known: map[string]*payment{}}

// A memory has payments by their content.
type memory struct {
	mu    sync.Mutex
	known map[string]*payment
}

// A payment is a swap of an account. Whoever has the account's lock uses it.
type payment struct {
	steps   []Step
	until   time.Time
	running bool
}

const (
	grace   = time.Hour      // for which a payment is remembered after its quote has expired
	longest = 24 * time.Hour // that a quote counts
)

// begin gives the payment of a swap. Others are forgotten an hour after they have expired, unless they are running.
func (m *memory) begin(content string, expires, now time.Time) *payment {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.known {
		if now.After(p.until) && !p.running {
			delete(m.known, key)
		}
	}
	p := m.known[content]
	if p == nil {
		p = &payment{}
		m.known[content] = p
	}
	until := now.Add(longest)
	if !expires.IsZero() && expires.Before(until) {
		until = expires
	}
	if until = until.Add(grace); until.After(p.until) {
		p.until = until
	}
	p.running = true
	return p
}

// end notes how far a payment came.
func (m *memory) end(p *payment, steps []Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.steps = slices.Clone(steps)
	p.running = false
}
