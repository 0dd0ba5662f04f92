package admin

import (
	"strings"
	"testing"
)

// What the menu, the overview and the page about health say is one answer. Registries
// that are not set up are not wrong, and not in order either.
func TestCondition(t *testing.T) {
	wrong := Table{Title: "Process", Rows: []Row{{Wrong: true}, {}, {Wrong: true, Unset: true}}}
	unset := registries(5)[0]
	for name, test := range map[string]struct {
		tables                 []Table
		short, sentence, unset string
	}{
		"nothing":    {nil, "OK", "No issues.", ""},
		"all right":  {[]Table{{Title: "Process", Rows: []Row{{}}}}, "OK", "No issues.", ""},
		"wrong":      {[]Table{wrong}, "2 issues", "2 issues under Process.", ""},
		"not set up": {[]Table{unset}, "5 not set up", "No issues.", "Not set up: Integrator registries (5 of 6)."},
		"both": {
			[]Table{wrong, unset}, "2 issues", "2 issues under Process.", "Not set up: Integrator registries (5 of 6).",
		},
	} {
		c := conditionOf(test.tables)
		if c.Short() != test.short || c.Sentence() != test.sentence || c.Unset() != test.unset {
			t.Errorf("%s: got %q, %q and %q, want %+v", name, c.Short(), c.Sentence(), c.Unset(), test)
		}
	}
}

// Every page has the state of the process in its menu. The overview tells of issues, and
// the page about health of what is not set up, too.
func TestHealthOnEveryPage(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:3])
	l.tables = registries(5)
	for _, path := range append([]string{"/nowhere", "/client"}, everyPage...) {
		_, body, _ := get(t, l.URL+path)
		menu := `Health <span class="condition">5 not set up</span></a>`
		if !strings.Contains(body, menu) {
			t.Errorf("%s: the menu lacks %s", path, menu)
		}
		const unset = "Not set up: Integrator registries (5 of 6)."
		if told := strings.Contains(body, unset); told != (path == "/health") {
			t.Errorf("%s: says %q: %t", path, unset, told)
		}
	}
	_, body, _ := get(t, l.URL+"/health")
	if n := strings.Count(body, `<td class="muted">not set up</td>`); n != 5 || !strings.Contains(body, "No issues.") {
		t.Errorf("%d rows are marked as not set up, want 5", n)
	}
	l.tables = append(l.tables, Table{Title: "Process", Head: []string{"What"}, Rows: []Row{{Cells: []any{"x"}, Wrong: true}}})
	_, body, _ = get(t, l.URL+"/")
	for _, want := range []string{
		`Health <span class="condition wrong">1 issue</span></a>`,
		`<p class="wrong">1 issue under Process. <a href="/health">Health</a>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the overview lacks %s", want)
		}
	}
}

// An instance that was killed shows at the next look, on the overview and on the page
// about health, also if the counts themselves take long to read and are kept for a while.
func TestDeadInstance(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:3])
	l.recorder.Slow = 0 // what was read is shown again
	get(t, l.URL+"/")
	l.dead(t)
	l.keeper.Poll()
	const dead = `<td class="wrong">silent</td><td class="d">10 Feb 2027, 10:15 UTC (5 minutes ago)</td>`
	const risk = "Incomplete counts: instance gateway-2 (dead) has not reported since 10 Feb 2027, 10:15 UTC."
	_, overview, _ := get(t, l.URL+"/")
	_, health, _ := get(t, l.URL+"/health")
	if !strings.Contains(overview, dead) || !strings.Contains(overview, risk) || !strings.Contains(health, dead) {
		t.Error("the overview or the page about health does not show that an instance is silent")
	}
}
