package admin

import (
	"cmp"
	"strings"
	"testing"
)

// The menu of every page says which issue there is, and so does the overview. The page about health has
// failures first, then what works, and names what is not configured.
func TestHealthOnEveryPage(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:3])
	row := func(wrong bool, cells ...any) Row { return Row{Cells: cells, Wrong: wrong} }
	process := Table{Title: "Process", Head: []string{"What", "Now"}, Rows: []Row{row(false, "State", "ready")}}
	failing := process
	failing.Rows = append(failing.Rows, row(true, "Lost", "<3>"), Row{Cells: []any{"Late", 2}, Wrong: true, Unset: true})
	checks := Table{Title: "Checks", About: "All 7 passed."}
	database := Table{Title: "Database", Rows: []Row{{Cells: []any{"Storage", "memory: lost on restart"}, Unset: true}}}
	whole := registries(5)[0]
	whole.Title = "Fees"
	whole.Rows = whole.Rows[:5]
	for _, test := range []struct {
		tables []Table
		issue  string   // in the menu
		health []string // in this order
		lacks  string
	}{
		{
			[]Table{process, checks}, "", []string{"No issues</h1>", "<h2>Instances", "<h2>Process", "<h2>Checks", "All 7 passed"},
			"Failures",
		},
		{
			append(registries(5), process, whole, database), "",
			[]string{"<h2>Integrator registries", ">369<", "<h2>Process",
				"Not configured: Integrator registries (1, 2, 3, 4, 5), Fees, Database (memory: lost on restart)."}, "unconfigured",
		},
		{
			append(registries(5), failing), "Process: Lost &lt;3&gt; and 1 more",
			[]string{"Process: Lost &lt;3&gt; and 1 more</h1>", "<h2>Failures", "<h3>Process", "Lost", "Late", "<h2>Instances",
				"<h2>Integrator", "<h2>Process", "State", "Not configured: Integrator registries"}, "Registries, Process",
		},
	} {
		l.tables = test.tables
		for _, path := range append([]string{"/nowhere", "/client"}, everyPage...) {
			_, body, _ := get(t, l.URL+path)
			menu := `Health <span class="condition">OK</span></a>`
			if test.issue != "" {
				menu = `Health <span class="condition wrong">` + test.issue + `</span></a>`
			}
			wants(t, path, body, menu)
			said := strings.Contains(body, `<a class="wrong" href="/health">`+cmp.Or(test.issue, "nothing")+"</a>")
			if path == "/" && said != (test.issue != "") {
				t.Errorf("%q: the overview says so: %t", test.issue, said)
			}
		}
		_, body, _ := get(t, l.URL+"/health")
		if strings.Contains(body, test.lacks) {
			t.Errorf("%q: the page has %s", test.issue, test.lacks)
		}
		for _, want := range test.health {
			var found bool
			if _, body, found = strings.Cut(body, want); !found {
				t.Errorf("%q: the page lacks %s, there", test.issue, want)
			}
		}
	}
}

// An instance that was killed shows at the next look, on the overview and on the page
// about health.
func TestDeadInstance(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:3])
	get(t, l.URL+"/")
	l.dead(t)
	l.keeper.Poll()
	l.tables = nil
	const dead = `<td class="wrong">silent</td><td class="d">10 Feb 2027, 10:15 UTC (5 minutes ago)</td>`
	const risk = `<a href="#instances">Incomplete counts</a>: instance gateway-2 (dead) has not reported since 10 Feb 2027, 10:15 UTC; if it `
	const headline = "gateway-2 (dead) is silent</h1>"
	_, overview, _ := get(t, l.URL+"/")
	_, health, _ := get(t, l.URL+"/health")
	if !strings.Contains(overview, dead) || !strings.Contains(overview, risk) || !strings.Contains(health, dead) || !strings.Contains(health, headline) {
		t.Error("the overview or the page about health does not show that an instance is silent")
	}
}
