package admin

import (
	"strings"
	"testing"
)

// The menu of every page sums up the health of the process. The overview tells of issues, too.
func TestHealthOnEveryPage(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:3])
	wrong := Table{Title: "Process", Rows: []Row{{Cells: []any{"x"}, Wrong: true}, {}, {Wrong: true, Unset: true}}}
	for short, tables := range map[string][]Table{
		`">OK`:             {{Title: "Process", Rows: []Row{{}}}},
		`">5 not set up`:   registries(5),
		` wrong">2 issues`: append(registries(5), wrong),
	} {
		l.tables = tables
		for _, path := range append([]string{"/nowhere", "/client"}, everyPage...) {
			_, body, _ := get(t, l.URL+path)
			if menu := `Health <span class="condition` + short + `</span></a>`; !strings.Contains(body, menu) {
				t.Errorf("%s: the menu lacks %s", path, menu)
			}
			marked := strings.Count(body, `<td class="muted">not set up</td>`)
			if path == "/health" && len(tables[0].Rows) > 1 && marked != 5 {
				t.Errorf("%d rows are marked as not set up, want 5", marked)
			}
			bad := strings.Contains(body, `<p class="wrong">2 issues. <a href="/health">Health</a></p>`)
			if path == "/" && bad != strings.Contains(short, "wrong") {
				t.Errorf("%s: the overview tells of issues: %t", short, bad)
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
	const dead = `<td class="wrong">silent</td><td class="d">10 Feb 2027, 10:15 UTC (5 minutes ago)</td>`
	const risk = "Incomplete counts: instance gateway-2 (dead) has not reported since 10 Feb 2027, 10:15 UTC; if it "
	_, overview, _ := get(t, l.URL+"/")
	_, health, _ := get(t, l.URL+"/health")
	if !strings.Contains(overview, dead) || !strings.Contains(overview, risk) || !strings.Contains(health, dead) {
		t.Error("the overview or the page about health does not show that an instance is silent")
	}
}
