package send

import (
	"testing"
	"time"
)

// TestMemory: a payment is remembered until an hour after its quote has expired, and while it is running.
func TestMemory(t *testing.T) {
	start := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	expires := start.Add(time.Minute)
	step := []Step{{What: SwapStep}}
	for name, test := range map[string]struct {
		expires time.Time
		after   time.Duration
		running bool
		want    int // steps
	}{
		"at once":                       {expires, 0, false, 1},
		"an hour after it has expired":  {expires, 61 * time.Minute, false, 1},
		"later":                         {expires, 61*time.Minute + 1, false, 0},
		"later, and running":            {expires, 1000 * time.Hour, true, 1},
		"without an end":                {time.Time{}, 25 * time.Hour, false, 1},
		"without an end, later":         {time.Time{}, 25*time.Hour + 1, false, 0},
		"an end in many years, a day":   {start.AddDate(9, 0, 0), 25 * time.Hour, false, 1},
		"an end in many years, and now": {start.AddDate(9, 0, 0), 26 * time.Hour, false, 0},
	} {
		m := memory{known: map[string]*payment{}}
		p := m.begin("a", test.expires, start)
		m.end(p, step)
		if test.running {
			p = m.begin("a", test.expires, start)
			p.steps = step
		}
		m.begin("b", expires, start.Add(test.after))
		if got := m.begin("a", expires, start.Add(test.after)); len(got.steps) != test.want {
			t.Errorf("%s: got %d steps, want %d", name, len(got.steps), test.want)
		}
		if len(m.known) != 2 {
			t.Errorf("%s: %d payments are held, want 2", name, len(m.known))
		}
	}
	// A copy that ends sooner does not shorten it.
	m := memory{known: map[string]*payment{}}
	m.end(m.begin("a", expires, start), step)
	m.end(m.begin("a", start, start), step)
	if got := m.begin("a", expires, start.Add(61*time.Minute)); len(got.steps) != 1 {
		t.Error("a copy has shortened it")
	}
}
