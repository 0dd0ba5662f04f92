package evidence_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A report says of each client what an operator asks.
func TestClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		at := clock.At(recorded.Noon.Add(-60 * 24 * time.Hour))
		known := func(recorded string) (caller.Client, bool) {
			if recorded != "client Acme" {
				return caller.Client{}, false
			}
			return caller.Client{Contact: "Acme@example.org"}, true
		}
		r := recorded.Begin(t, cfg, at, recorded.Knowing(known))
		c := caller.Caller{Origin: "https://shop.example", Agent: "okhttp", Addr: netip.MustParseAddr("203.0.113.7")}
		shop := r.Name(c.Identity())
		r.Observe(&event.Event{
			Time: at.Now(), Version: "v1", Caller: c, Client: shop, Pair: recorded.Pair, Exempt: true, Finding: omits,
		})
		r.Up(t, 40*24*time.Hour) // 20 days ago
		r.Call(shop, 2)
		r.Found(shop, 1, same)
		r.Refuse(shop, 3, fault.VersionBrownout)
		refused := at.Now()
		r.Up(t, 12*24*time.Hour) // 8 days ago
		r.Call("client Acme", 7)
		r.Observe(&event.Event{
			Time: at.Now(), Version: "v1", Client: "client Acme", Quotes: true,
			Code: fault.VersionRetired, Rehearsal: true,
		})
		rehearsed := at.Now()
		r.Up(t, 8*24*time.Hour)
		r.On("v3", "client Acme")
		read := r.Report(t)
		if len(read.Clients) != 3 {
			t.Fatalf("got %+v", read.Clients)
		}
		acme := read.Clients[0]
		if acme.Client != "client Acme" || acme.Name() != "Acme" || !acme.Known ||
			acme.Contact.Contact != "Acme@example.org" || acme.Version != "v1" || acme.Calls30 != 7 ||
			!acme.Rehearsed.Equal(rehearsed) || !acme.Moved.Equal(recorded.Noon) || !acme.Last410.IsZero() || acme.Exempt {
			t.Errorf("got %+v, want the known client, which has moved", acme)
		}
		if v3 := read.Clients[1]; v3.Version != "v3" || v3.Client != "client Acme" || !v3.Moved.IsZero() {
			t.Errorf("got %+v, want the same client on v3", v3)
		}
		got := read.Clients[2]
		want := evidence.Client{
			Version: "v1", Client: shop, Software: "okhttp",
			FirstSeen: recorded.Noon.Add(-60 * 24 * time.Hour), LastSeen: refused, Last410: refused,
			Sum: evidence.Sum{Calls30: 6, Calls90: 7}, Claimed: 7, Found: dayOf(refused).Time(),
			Days: []evidence.DayCount{
				{Day: dayOf(recorded.Noon.AddDate(0, 0, -60)), Calls: 1}, {Day: dayOf(refused), Calls: 6},
			},
			Findings: []event.Finding{{Outcome: event.SameMoney, Calls: 1}}, Position: got.Position,
		}
		if got, want := asJSON(t, got), asJSON(t, want); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		v1 := read.Versions[1].Days
		if got := v1[evidence.ReportDays-20]; got.Served != 3 || got.Refused != 3 || got.Clients != 1 {
			t.Errorf("got %+v 20 days ago, want 3 served and 3 refused of one client", got)
		}
	})
}

func TestQuery(t *testing.T) {
	r := recorded.Begin(t, evidence.Config{}, clock.At(recorded.Noon))
	for i := range 5 {
		r.From(fmt.Sprintf("10.0.%d.1", i), fmt.Sprintf("https://wallet-%d.example", i))
		r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), i)
	}
	r.Found("origin https://wallet-1.example", 1, omits)
	r.Found("origin https://wallet-2.example", 9, same)
	r.Call("client Acme", 1)
	r.On("v3", "client Acme")
	for _, test := range []struct {
		query   string
		clients string // their last letters before the dot, in order
		pages   int
	}{
		{"", "Acme Acme 2 4 3 1 0", 1},
		{"version=v1", "Acme 2 4 3 1 0", 1},
		{"known=yes", "Acme Acme", 1},
		{"known=no&sort=name", "0 1 2 3 4", 1},
		{"finding=refused", "1", 1},
		{"finding=same", "2", 1},
		{"software=CURL&sort=name", "0 1 2 3 4", 1},
		{"client=origin+https%3A%2F%2Fwallet-3.example", "3", 1},
		{"per=3", "Acme Acme 2", 3},
		{"per=3&page=3", "0", 3},
		{"per=3&page=99", "0", 3},
		{"sort=calls&per=2", "2 4", 4},
	} {
		values, err := url.ParseQuery(test.query)
		if err != nil {
			t.Fatal(err)
		}
		q, err := evidence.ParseQuery(values, recorded.Versions, nil)
		if err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		if again, err := evidence.ParseQuery(q.Values(), recorded.Versions, nil); err != nil || !reflect.DeepEqual(again, q) {
			t.Errorf("%s: got %+v, %v from its own values, want %+v", test.query, again, err, q)
		}
		read, err := r.Read.Report(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range read.Clients {
			name := strings.TrimSuffix(c.Name(), ".example")
			got = append(got, name[strings.LastIndexAny(name, "-")+1:])
		}
		if strings.Join(got, " ") != test.clients || read.Pages != test.pages {
			t.Errorf("%s: got %q on %d pages, want %q on %d", test.query, got, read.Pages, test.clients, test.pages)
		}
	}
	for query, want := range map[string]string{
		"version=v2": `version "v2" is none of v3, v1`, "finding=bad": "is none of refused, different, same",
		"known=perhaps": "is none of yes, no",
		"sort=colour":   "is none of calls, calls30", "page=0": `page "0" is not a number from 1`,
		"per=1001": "from 1 to 1000", "per=x": "from 1",
		"colour=red": `"colour" is not a parameter`, "page=1&page=2": "page is given 2 times",
	} {
		values, _ := url.ParseQuery(query)
		if _, err := evidence.ParseQuery(values, recorded.Versions, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", query, err, want)
		}
	}
}

// A table for spreadsheets has a column for each day, and no text that a
// spreadsheet would run.
func TestCSV(t *testing.T) {
	r := recorded.Begin(t, evidence.Config{}, clock.At(recorded.Noon.Add(-24*time.Hour)))
	r.Call("origin https://a.example", 3)
	r.Clock.Advance(24 * time.Hour)
	r.Found("origin https://a.example", 4, omits)
	r.Call(`=HYPERLINK("https://evil.example")`, 1)
	r.Call(`a "quoted", name`, 1)
	r.Call("x;=cmd|0", 1)
	for _, sign := range "@+-" {
		r.Call(string(sign)+"SUM(1)", 1)
	}
	var out strings.Builder
	if err := r.Read.WriteCSV(t.Context(), evidence.Query{}, &out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != 8 {
		t.Fatalf("got %d rows, %v", len(rows), err)
	}
	header := rows[0]
	byName := map[string][]string{}
	for _, row := range rows[1:] {
		byName[row[1]] = row
	}
	a := byName["origin https://a.example"]
	if n := len(header); header[n-1] != "2027-03-10" || header[n-90] != "2026-12-11" ||
		a[n-1] != "4" || a[n-2] != "3" || a[n-3] != "" {
		t.Errorf("got days %q with %q", header[n-3:], a[n-3:])
	}
	if i := slices.Index(header, "reasons"); a[i] != "refused MISSING_PARAMETER recipient" ||
		a[i-1] != "refused" || a[1] != "origin https://a.example" {
		t.Errorf("got %q", a)
	}
	for _, name := range []string{
		`'=HYPERLINK("https://evil.example")`, `a "quoted", name`, "x;'=cmd|0", "'@SUM(1)", "'+SUM(1)", "'-SUM(1)",
	} {
		if byName[name] == nil {
			t.Errorf("%q is not in the table", name)
		}
	}
}

func dayOf(at time.Time) evidence.Day { return evidence.Day(at.Unix() / 86_400 * 86_400) }
