package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// planOf is a plan for v1.
func planOf(more string) string {
	return fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2026-01-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/v1", %s}}}`, more)
}

// TestAbruptPlansAreRefused: a changed plan that would refuse clients the moment
// it is read is not taken, unless it says so.
func TestAbruptPlansAreRefused(t *testing.T) {
	const (
		now    = "2026-11-15T12:00:00Z"
		later  = `"sunset": "2027-03-01T00:00:00Z"`
		past   = `"sunset": "2026-03-01T00:00:00Z"` // a year too early
		window = `, "brownouts": [{"from": "2026-11-15T11:00:00Z", "to": "2026-11-15T13:00:00Z", "share": 0.5}]`
		gate   = `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`
	)
	for name, tt := range map[string]struct {
		before, after string
		refused       string // empty: it is taken
		stage         lifecycle.Stage
	}{
		"a sunset in the past":        {later, past, "v1: this would retire the version at once: its sunset, 2026-03-01T00:00:00Z, has passed", lifecycle.Deprecated},
		"a window under way":          {later, later + window, "v1: this would refuse clients at once: the window from 2026-11-15T11:00:00Z", lifecycle.Deprecated},
		"a sunset that is meant":      {later, past + `, "immediate": true`, "", lifecycle.Retired},
		"a window that is meant":      {later, later + window + `, "immediate": true`, "", lifecycle.BrowningOut},
		"a sunset that a gate holds":  {later, past + gate, "", lifecycle.Held},
		"a window that was there":     {later + window, later + window + `, "exempt": ["203.0.113.0/24"]`, "", lifecycle.BrowningOut},
		"a version brought back":      {past, later, "", lifecycle.Deprecated},
		"a date that changes nothing": {later, `"sunset": "2027-04-01T00:00:00Z"`, "", lifecycle.Deprecated},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, now, planOf(tt.before))
			w.usage.clients.Store(1) // so that the gate holds
			before := w.keeper.Document().Plan
			w.reload(planOf(tt.after))
			if got := w.state("v1"); got != tt.stage {
				t.Errorf("got stage %s, want %s", got, tt.stage)
			}
			refused := w.keeper.Snapshot().Refused
			if tt.refused == "" {
				if refused != nil || w.keeper.Document().Plan == before || len(w.log.lines("lifecycle plan in force")) != 1 {
					t.Errorf("it is refused or not in force: %v", refused)
				}
				return
			}
			if refused == nil || !strings.Contains(strings.Join(refused.Faults, "\n"), tt.refused) || !strings.Contains(refused.Faults[0], `"immediate": true`) {
				t.Errorf("got %v, want it refused with %q", refused, tt.refused)
			}
			if w.keeper.Document().Plan != before {
				t.Error("the hash is that of a plan which is not in force")
			}
		})
	}
}

// TestAStartTakesAnyPlan, with a warning: what was retired last month stays
// retired.
func TestAStartTakesAnyPlan(t *testing.T) {
	w := newWorld(t, "2026-11-15T12:00:00Z", planOf(`"sunset": "2026-03-01T00:00:00Z"`))
	if got := w.state("v1"); got != lifecycle.Retired {
		t.Errorf("got stage %s", got)
	}
	if lines := w.log.lines("clients are refused from the start"); len(lines) != 1 || !strings.Contains(lines[0], "WARN") {
		t.Errorf("got %q, want a warning", lines)
	}
}

func TestChangesAreLogged(t *testing.T) {
	w := newWorld(t, "2026-11-15T12:00:00Z", planOf(`"sunset": "2027-03-01T00:00:00Z"`))
	from := w.keeper.Document().Plan
	w.reload(planOf(`"sunset": "2027-04-01T00:00:00Z", "gate": {"maxClients": 5, "maxCallsPerDay": 9}`))
	lines := w.log.lines("lifecycle plan in force")
	if len(lines) != 1 {
		t.Fatalf("got %q, want one line", lines)
	}
	for _, want := range []string{`"from":"` + from, `"to":"` + w.keeper.Document().Plan, "v1: sunset 2027-03-01T00:00:00Z becomes 2027-04-01T00:00:00Z", "v1: another gate"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%q is missing from %s", want, lines[0])
		}
	}
	w.reload(`{"versions": {}}`)
	if lines := w.log.lines("lifecycle plan in force"); len(lines) != 2 || !strings.Contains(lines[1], "v1 is no longer in the plan") {
		t.Errorf("got %q", lines)
	}
}
