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
		tables          []Table
		short, sentence string
	}{
		"nothing":   {nil, "in order", "Nothing needs a look."},
		"all right": {[]Table{{Title: "Process", Rows: []Row{{}}}}, "in order", "Nothing needs a look."},
		"wrong":     {[]Table{wrong}, "2 to look at", "2 rows need a look, in Process."},
		"not set up": {
			[]Table{unset}, "5 not set up", "Nothing is wrong. Not set up: Integrator registries (5 of 6).",
		},
		"both": {
			[]Table{wrong, unset}, "2 to look at",
			"2 rows need a look, in Process. Not set up: Integrator registries (5 of 6).",
		},
	} {
		c := conditionOf(test.tables)
		if c.Short() != test.short || c.Sentence() != test.sentence {
			t.Errorf("%s: got %q and %q, want %q and %q", name, c.Short(), c.Sentence(), test.short, test.sentence)
		}
	}
}

// Every page has the state of the process in its menu, and the overview has it in a
// line of its own.
func TestHealthOnEveryPage(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:3])
	l.tables = registries(5)
	const sentence = "Nothing is wrong. Not set up: Integrator registries (5 of 6)."
	for _, path := range append([]string{"/nowhere", "/client"}, everyPage...) {
		_, body, _ := get(t, l.URL+path)
		menu := `Health <span class="condition">5 not set up</span></a>`
		if !strings.Contains(body, menu) {
			t.Errorf("%s: the menu lacks %s", path, menu)
		}
		if told := strings.Contains(body, sentence); told != (path == "/" || path == "/health") {
			t.Errorf("%s: says %q: %t", path, sentence, told)
		}
	}
	_, body, _ := get(t, l.URL+"/health")
	if n := strings.Count(body, `<td class="muted">not set up</td>`); n != 5 || strings.Contains(body, "Nothing needs a look") {
		t.Errorf("%d rows are marked as not set up, want 5", n)
	}
	l.tables = append(l.tables, Table{Title: "Process", Head: []string{"What"}, Rows: []Row{{Cells: []any{"x"}, Wrong: true}}})
	_, body, _ = get(t, l.URL+"/")
	for _, want := range []string{
		`Health <span class="condition wrong">1 to look at</span></a>`,
		`<span class="wrong">1 row needs a look, in Process.`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the overview lacks %s", want)
		}
	}
}
