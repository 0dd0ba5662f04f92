package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// TestRowsOfAnotherRelease: words, codes and numbers that only a later or an earlier
// release knows are shown as unknown, by every question that reads them. None of them
// is an index.
func TestRowsOfAnotherRelease(t *testing.T) {
	const (
		later   = "origin https://later.example"
		earlier = "origin https://earlier.example"
		known   = "origin https://known.example"
	)
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := counted.Begin(t, cfg, at)
		r.Found(later, 3, omits)
		r.Found(earlier, 2, same)
		r.Found(known, 5, omits)
		r.Flush(t)
		of := func(name string) string { return "(select id from usage_names where name = '" + name + "')" }
		for _, change := range []string{
			"update usage_clients set worst = 7, kind = 9 where client = " + of(later),
			"update usage_clients set worst = -9 where client = " + of(earlier),
			"update usage_findings set finding = 'teleported', code = 'NO_SUCH_CODE', param = 'warp' " +
				"where client = " + of(later),
			"update usage_findings set finding = '', code = '' where client = " + of(earlier),
			"update usage_days set hours = 2147483647 where client = " + of(later),
			"insert into usage_totals (began, version, outcome, calls, unnamed) " +
				"values (4102444800000, 'v1', 'served', 1, 1)", // milliseconds
			"insert into usage_totals (began, version, outcome, calls, unnamed) values (1804982400, 'v1', 'teleported', 4, 4)",
			"insert into usage_totals (began, version, outcome, calls, unnamed) values (1804982400, 'v9', 'served', 4, 4)",
			"insert into usage_version_days (day, version, clients) values (999999999, 'v1', 3)",
			"insert into usage_gaps (instance, began, ended, reason) " +
				"values ('x', 1804982400, 1804982500, 'a reason of another release')",
		} {
			if _, err := r.DB.ExecContext(t.Context(), change); err != nil {
				t.Fatalf("%s: %v", change, err)
			}
		}
		before := guard.Total()

		read := r.Report(t)
		v1 := read.Versions[1]
		if g := v1.Groups; g.Unknown != 2 || g.Refused != 1 || g.Clients != 3 {
			t.Errorf("got the groups %+v, want two unknown", g)
		}
		if f := v1.Findings; f.Unknown == 0 || f.Refused != 5 ||
			!strings.Contains(f.Summary, `another release, "teleported"`) {
			t.Errorf("got the findings %+v, want one unknown", f)
		}
		for _, c := range read.Clients {
			if c.Client == later && (len(c.Findings) != 1 ||
				c.Findings[0].Short() != `unknown: "teleported"` || len(c.Steps("v3")) != 0) {
				t.Errorf("got %+v", c.Findings)
			}
		}
		var table bytes.Buffer
		if err := r.Pages.WriteCSV(t.Context(), report.Query{}, &table); err != nil ||
			!strings.Contains(table.String(), later) {
			t.Errorf("got %v and %s", err, &table)
		}
		if _, err := r.Pages.Traffic(t.Context(), report.Query{}, "software"); err != nil {
			t.Error(err)
		}
		r.Evidence("v1", 30)
		plan := &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{"v1": {
			Deprecated: recorded.Noon, Sunset: recorded.Noon.Add(48 * time.Hour),
			Gate: &lifecycle.Gate{Days: 7}}}}
		if _, err := r.Simulate(t.Context(), plan); err != nil {
			t.Error(err)
		}
		r.Flush(t) // which reads the numbers of all versions
		if got := guard.Total() - before; got != 0 {
			t.Errorf("%d panics: %s", got, r.Log.String())
		}
	})
}
