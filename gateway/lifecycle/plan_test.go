package lifecycle_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

func TestParse(t *testing.T) {
	got, err := json.Marshal(parse(t, fullPlan))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","sunset":"2027-03-01T00:00:00Z",` +
		`"successor":"/v3/swap/quote","docs":"https://example.org/migrate-v1",` +
		`"brownouts":[{"from":"2027-01-12T14:00:00Z","to":"2027-01-12T14:15:00Z","share":0.25},` +
		`{"from":"2027-02-10T14:00:00Z","to":"2027-02-10T15:00:00Z","share":0.5}],` +
		`"exempt":["0x000000000000000000000000` + partner[2:] + `","203.0.113.0/24","origin:https://partner.example"],` +
		`"gate":{"maxClients":5,"maxCallsPerDay":100,"days":7}}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestParsePlans: the bounds of times, links and gates are allowed themselves.
func TestParsePlans(t *testing.T) {
	const sunset = `"sunset": "2027-03-01T00:00:00Z"`
	windows := func(all string) string { return planOf(sunset + `, "brownouts": [` + all + `]`) }
	gate := func(fields string) string { return planOf(sunset + `, "gate": {` + fields + `}`) }
	instead := func(old, new string) string { return strings.Replace(planOf(""), old, new, 1) }
	two := func(v1, v3 string) string {
		return strings.TrimSuffix(planOf(v1), "}}") + `, "v3": {"deprecated": "2026-01-01T00:00:00Z",
			"docs": "https://example.org/m", ` + v3 + `}}}`
	}
	const successor, docs = "/v3/swap/quote", "https://example.org/m"
	longPath, longDocs := "/v3/"+strings.Repeat("a", 1020), "https://example.org/"+strings.Repeat("a", 1004)
	const (
		noTime    = "is not a time"
		noYear    = "is outside the years"
		noPath    = "is not a plain path"
		noAddress = "is not an https address"
		end       = "|" // nothing else is wrong
	)
	for _, tt := range []struct{ name, text, want string }{ // v0 was deleted from the code; want is empty for a plan that is accepted
		{"no versions", nothingPlanned, ""},
		{"only deprecated", planOf(""), ""},
		{"null", planOf(`"sunset": null, "gate": null, "brownouts": null, "exempt": null`), ""},
		{"sunset at once", planOf(`"sunset": "2026-01-01T00:00:00Z"`), ""},
		{"the current version", `{"versions":{"v3":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v1/q","docs":"` + docs + `"}}}`, ""},
		{"windows that touch", windows(`{"from": "2026-09-01T00:00:00Z", "to": "2026-09-01T01:00:00Z", "share": 1},
			{"from": "2026-09-01T01:00:00Z", "to": "2026-09-01T02:00:00Z", "share": 0.001}`), ""},
		{"a chain of successors", two(sunset, `"sunset": "2027-03-01T00:00:01Z", "successor": "/v3legacy/q"`), ""},

		{"nothing", ``, "not valid JSON"},
		{"an array", `[]`, "line 1, column 1: the file must be one object"},
		{"no field", `{}`, "versions: missing"},
		{"versions null", `{"versions":null}`, "versions: missing"},
		{"a version null", `{"versions":{"v1":null}}`, "versions.v1: empty"},
		{"two of them", `{"versions":{"v1":null,"v3":null}}`, "versions.v3: empty"},
		{"only a gate", planOf(`"gate": {"maxClients": 1}`), "versions.v1.sunset: missing"},
		{"only a window", planOf(`"brownouts": [{"from": "2026-09-01T00:00:00Z", "to": "2026-09-01T01:00:00Z", "share": 1}]`),
			"versions.v1.sunset: missing"},
		{"an empty version", `{"versions":{"v1":{}}}`, "versions.v1.deprecated: missing"},
		{"a version twice", `{"versions":{"v1":{},"v1":{}}}`, "versions.v1: given twice"},
		{"brownouts no array", planOf(`"brownouts": 5`), "versions.v1.brownouts: got number, want array"},
		{"half windows", windows(`{"to": "2026-02-01T00:00:00Z", "share": 1}, {"to": "2026-02-02T00:00:00Z", "share": 1},
			{"from": "2026-02-03T00:00:00Z", "share": 1}`), "versions.v1.brownouts[0].from: missing\n" +
			"versions.v1.brownouts[1].from: missing\nversions.v1.brownouts[2].to: missing" + end},
		{"successor goes with it", two(sunset, sunset+`, "successor": "/v3legacy/x"`), "versions.v1.successor: v3 has its own sunset"},
		{"successor goes too", two("", `"sunset": "2030-01-01T00:00:00Z", "successor": "/v3legacy/x"`),
			"versions.v1.successor: v3 has its own sunset"},

		{"the first year", instead("2026-01-01", "1970-01-01"), ""},
		{"before it", instead("2026-01-01T00:00:00", "1969-12-31T23:59:59"), noYear},
		{"the last year", planOf(`"sunset": "9999-12-31T23:59:59Z"`), ""},
		{"after it", planOf(`"sunset": "10000-01-01T00:00:00Z"`), noTime},
		{"after it in UTC", planOf(`"sunset": "9999-12-31T23:59:59-01:00"`), noYear},

		{"own path, old mount", instead(successor, "/swap/v1/quote"), "belongs to v1 itself"},
		{"path with a query", instead(successor, "/v3/swap/quote?a=b"), noPath},
		{"another host", instead(successor, "//evil.example/v3"), noPath},
		{"header injection", instead(docs, `https://example.org/m>; rel=\"x`), noAddress},
		{"newline in docs", instead(docs, `https://example.org/\r\nX: y`), noAddress},
		{"docs without host", instead(docs, `https:///m`), noAddress},
		{"a long path", instead(successor, longPath), ""},
		{"too long a path", instead(successor, longPath+"a"), noPath},
		{"a long address", instead(docs, longDocs), ""},
		{"too long an address", instead(docs, longDocs+"a"), noAddress},

		{"a gate of zero", gate(`"maxClients": 0, "maxCallsPerDay": 0`), ""},
		{"few days", gate(`"days": 1, "instances": 1`), ""},
		{"most days", gate(`"days": 90, "instances": 1000`), ""},
		{"too many days", gate(`"days": 91`), "gate.days: 91 is not"},
		{"negative days", gate(`"days": -1`), "gate.days: -1 is not"},
		{"too many instances", gate(`"instances": 1001`), "gate.instances: 1001 is not"},
		{"negative instances", gate(`"instances": -1`), "gate.instances: -1 is not"},
		{"negative clients", gate(`"maxClients": -1`), "gate.maxClients: -1 is not"},
		{"negative calls", gate(`"maxCallsPerDay": -1`), "gate.maxCallsPerDay: -1 is not"},
		{"roaming, as of old", gate(`"roaming": "once"`), "versions.v1.gate.roaming: unknown field"},
		{"proven", gate(`"count": "proven"`), ""},
		{"all", gate(`"count": "all"`), ""},
		{"known", gate(`"count": "known"`), `gate.count: "known" is neither "all", which counts every client, nor "proven"`},
		{"strangers, as of old", gate(`"count": "proven", "strangers": {"maxCallsPerDay": 5, "maxShare": 7}`), ""},
		{"strangers no object", gate(`"strangers": 5`), "gate.strangers: got number, want object"},
		{"a gap", gate(`"maxGap": "90m"`), ""},
		{"no gap", gate(`"maxGap": "0s"`), ""},
		{"a negative gap", gate(`"maxGap": "-1s"`), `gate.maxGap: "-1s" is not a length of time like "15m" or "1h30m"; "0s" tolerates no gap`},
		{"a gap without a unit", gate(`"maxGap": "15"`), `gate.maxGap: "15" is not a length of time`},
		{"a gap as a number", gate(`"maxGap": 15`), "gate.maxGap: got number, want string"},

		{"active", `{"versions":{"v1":{"active":true}}}`, ""},
		{"active, and more", planOf(`"active": true`), `versions.v1: "active" is not the only key; remove it`},
		{"not active", `{"versions":{"v1":{"active":false}}}`, "versions.v1.deprecated: missing"},
		{"deleted", `{"versions":{"v0":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v0/q"}}}`, ""},
		{"deleted, null", `{"versions":{"v0":null}}`, ""},
		{"misspelt", `{"versions":{"v00":null}}`, "versions.v00: unknown version; this gateway serves v3, v3legacy, v1"},
	} {
		_, err := lifecycle.Parse([]byte(tt.text), served, []string{"v0"})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error()+end, tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Releases are recorded under an entry: another hash would bring retired versions back. These
// are the hashes of 1.0.0; what it did not know changes them only where it is no default.
func TestEntry(t *testing.T) {
	for gate, want := range map[string]string{
		`"maxClients":2,"maxCallsPerDay":100,"days":7,"instances":1,"strangers":{"maxCallsPerDay":50,"maxShare":0.5}`: "11edb0832509",
		`"maxClients":2,"maxCallsPerDay":100,"days":7,"instances":1`:                                                  "3aa17b0018d7",
		`"maxClients":2,"maxCallsPerDay":100,"instances":1,"count":"proven"`:                                          "6cde11749cce",
		`"maxClients":2,"maxCallsPerDay":100`:                                                                         "69f8b3852d1e",
		`"maxClients":2,"maxCallsPerDay":100,"days":7,"released":true`:                                                "69f8b3852d1e",
		`"maxClients":2,"maxCallsPerDay":100,"maxGap":"15m0s","count":"all"`:                                          "69f8b3852d1e",
		`"strangers":{"maxShare":1,"maxCallsPerDay":1}`:                                                               "4fa17b550163",
		`"days":35,"strangers":{"maxCallsPerDay":9,"maxShare":0.0000001}`:                                             "0b03dc28bf81",
		`"days":35,"strangers":{"maxCallsPerDay":9,"maxShare":1e-1}`:                                                  "ae5a9abd6ce2",
		`"maxClients":2,"strangers":{}`:                                                                               "369461850579",
		`"maxClients":2,"strangers":null`:                                                                             "369461850579",
	} {
		plan := parse(t, `{"versions":{"v1":{"deprecated":"2026-12-01T00:00:00Z","sunset":"2027-03-10T12:00:00Z",
			"successor":"/v3/swap/quote","docs":"https://example.org/migrate","gate":{`+gate+`}}}}`)
		if got := plan.Versions["v1"].Entry(); got != want {
			t.Errorf("%s: got %s, want %s", gate, got, want)
		}
	}
}

// One bad plan: every fault is reported, each once, with its place.
func TestParseReportsEveryFault(t *testing.T) {
	_, err := lifecycle.Parse([]byte(`{"comment": "x", "versions": {
  "v1": {"deprecated": "2026-09-01", "sunset": "2027-03-01T00:00:00.5Z", "sunest": "typo",
         "successor": "/v1/quote", "docs": "http://example.org/plain",
         "brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T13:00:00Z", "share": 0},
                       {"from": 5, "to": null, "share": 0.0005},
                       {"to": "1969-12-31T23:59:59Z", "share": "half"}],
         "exempt": ["nobody", 7, null],
         "gate": {"maxClients": -1, "maxCallsPerDay": 1.5, "days": 91, "instances": 1001}},
  "v2": {"deprecated": "2026-09-01T00:00:00Z", "successor": "v3", "docs": "https://example.org/m",
         "brownouts": [{"from": "2026-10-01T00:00:00Z", "to": "2026-10-02T00:00:00Z", "share": 2}], "gate": {"maxClients": 1}},
  "v3": {"deprecated": "2027-01-01T00:00:00Z", "sunset": "2026-01-01T00:00:00Z", "successor": "/v4/quote", "docs": 5},
  "v3legacy": {"deprecated": "2026-01-01T00:00:00Z", "sunset": "2027-01-01T00:00:00Z",
         "successor": "/v3/swap/quote", "docs": "https://user:secret@example.org/",
         "brownouts": [{"from": "2026-02-01T00:00:00Z", "to": "2026-03-01T00:00:00Z", "share": 0.1},
                       {"from": "2026-02-15T00:00:00Z", "to": "2026-02-16T00:00:00Z", "share": 0.1},
                       {"from": "2026-02-20T00:00:00Z", "to": "2026-02-21T00:00:00Z", "share": 0.1},
                       {"from": "2025-12-31T00:00:00Z", "to": "2026-01-02T00:00:00Z", "share": 0.1},
                       {"from": "2026-12-31T00:00:00Z", "to": "2027-01-02T00:00:00Z", "share": 0.1}]}}}`), served, nil)
	if err == nil {
		t.Fatal("accepted")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		"line 1, column 2: comment: unknown field",
		"line 2, column 74: versions.v1.sunest: unknown field",
		"line 2, column 24: versions.v1.deprecated: \"2026-09-01\" is not a time in RFC 3339",
		"line 2, column 48: versions.v1.sunset: 2027-03-01T00:00:00.5Z has a fraction",
		"line 3, column 23: versions.v1.successor: \"/v1/quote\" belongs to v1 itself",
		"line 3, column 44: versions.v1.docs: \"http://example.org/plain\" is not an https address",
		"line 4, column 96: versions.v1.brownouts[0].share: 0 is not a number above 0",
		"line 4, column 24: versions.v1.brownouts[0]: ends at 2027-01-12T13:00:00Z",
		"line 5, column 33: versions.v1.brownouts[1].from: 5 is not a time in RFC 3339",
		"line 5, column 42: versions.v1.brownouts[1].to: missing",
		"line 5, column 57: versions.v1.brownouts[1].share: 0.0005 has more than three decimals",
		"versions.v1.brownouts[2].from: missing",
		"line 6, column 31: versions.v1.brownouts[2].to: 1969-12-31T23:59:59Z is outside the years",
		"line 6, column 64: versions.v1.brownouts[2].share: got string, want number",
		"line 7, column 21: versions.v1.exempt[0]: \"nobody\" is none of",
		"line 7, column 31: versions.v1.exempt[1]: got number, want string",
		"line 7, column 34: versions.v1.exempt[2]: got null, want string",
		"line 8, column 33: versions.v1.gate.maxClients: -1 is not a whole number",
		"line 8, column 55: versions.v1.gate.maxCallsPerDay: got number 1.5, want whole number",
		"line 8, column 68: versions.v1.gate.days: 91 is not a whole number from 1 to 90",
		"line 8, column 85: versions.v1.gate.instances: 1001 is not a whole number from 0 to 1000",
		"line 9, column 9: versions.v2: unknown version; this gateway serves v3, v3legacy, v1",
		"line 9, column 61: versions.v2.successor: \"v3\" is not a plain path",
		"versions.v2.sunset: missing; brownouts and a gate need one",
		"line 10, column 96: versions.v2.brownouts[0].share: 2 is not a number above 0 and at most 1",
		"line 11, column 116: versions.v3.docs: got number, want string",
		"line 11, column 58: versions.v3.sunset: 2026-01-01T00:00:00Z is before the version is deprecated",
		"line 11, column 95: versions.v3.successor: \"/v4/quote\" leads to no version",
		"line 13, column 49: versions.v3legacy.docs: \"https://user:secret@example.org/\" is not an https address",
		"line 15, column 24: versions.v3legacy.brownouts[1]: overlaps brownouts[0]",
		"line 16, column 24: versions.v3legacy.brownouts[2]: overlaps brownouts[0]",
		"line 17, column 33: versions.v3legacy.brownouts[3].from: 2025-12-31T00:00:00Z is before the version is deprecated",
		"line 18, column 63: versions.v3legacy.brownouts[4].to: 2027-01-02T00:00:00Z is after the sunset",
		"line 13, column 23: versions.v3legacy.successor: v3 has its own sunset",
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(line string) bool { return strings.HasPrefix(line, w) })
		if i < 0 {
			t.Errorf("not reported: %s", w)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) > 0 {
		t.Errorf("reported beyond that:\n%s", strings.Join(got, "\n"))
	}
}

func TestStage(t *testing.T) {
	s := scheduleOf(t, fullPlan)
	for moment, want := range map[string]lifecycle.Stage{
		"2026-08-31T23:59:59Z": lifecycle.Active,
		"2026-09-01T00:00:00Z": lifecycle.Deprecated,
		"2027-01-12T13:59:59Z": lifecycle.Deprecated,
		"2027-01-12T14:00:00Z": lifecycle.BrowningOut,
		"2027-01-12T14:14:59Z": lifecycle.BrowningOut,
		"2027-01-12T14:15:00Z": lifecycle.Deprecated,
		"2027-02-10T14:59:59Z": lifecycle.BrowningOut,
		"2027-02-28T23:59:59Z": lifecycle.Deprecated,
		"2027-03-01T00:00:00Z": lifecycle.Retired,
		"2107-03-01T00:00:00Z": lifecycle.Retired,
	} {
		if got := s.Stage(at(moment), true); got != want {
			t.Errorf("%s: got %s, want %s", moment, got, want)
		}
		if want == lifecycle.Retired {
			want = lifecycle.Held
		}
		if got := s.Stage(at(moment), false); got != want {
			t.Errorf("%s while the gate holds: got %s, want %s", moment, got, want)
		}
	}
	s.Gate = nil
	if got := s.Stage(s.Sunset, false); got != lifecycle.Retired {
		t.Errorf("without a gate: got %s, want the date to decide", got)
	}
	var none *lifecycle.Schedule
	if got := none.Stage(s.Sunset, true); got != lifecycle.Active {
		t.Errorf("without a plan: got %s, want active", got)
	}
}

// A plan that keeps to every bound gives no warning, one beyond a bound gives its own.
func TestWarningsBeginBeyondTheirBounds(t *testing.T) {
	const plan = `{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","sunset":"2026-11-30T00:00:00Z",
		"successor":"/v3/swap/quote","docs":"https://example.org/m",
		"brownouts":[{"from":"2026-11-23T00:00:00Z","to":"2026-11-26T12:00:00Z","share":1}],
		"gate":{"maxClients":5,"maxCallsPerDay":100,"days":7,"instances":1}}}}`
	for name, tt := range map[string]struct{ now, old, new, want string }{
		"at all bounds":       {"2026-11-23T00:00:00Z", "", "", ""},
		"seven days left":     {"2026-11-23T00:00:01Z", "", "", "the sunset is only"},
		"ninety days' notice": {"2026-11-23T00:00:00Z", "2026-09-01T00:00:00Z", "2026-09-01T00:00:01Z", "clients have "},
		"all clients":         {"2026-11-23T00:00:00Z", `"share":1`, `"share":0.9`, "no brownout reaches more than"},
		"no window": {
			"2026-11-23T00:00:00Z", `{"from":"2026-11-23T00:00:00Z","to":"2026-11-26T12:00:00Z","share":1}`, "",
			"no brownout comes before the sunset",
		},
		"instances":      {"2026-11-23T00:00:00Z", `,"instances":1`, "", "does not say how many instances"},
		"everybody":      {"2026-11-23T00:00:00Z", `"gate"`, `"exempt":["::/1","8000::/1"],"gate"`, `"exempt" has all of IPv6`},
		"many":           {"2026-11-23T00:00:00Z", `"gate"`, `"exempt":["0.0.0.0/1","agent:curl"],"gate"`, ""},
		"strangers":      {"2026-11-23T00:00:00Z", `,"instances":1`, `,"instances":1,"strangers":{"maxShare":1}`, `"strangers" in the gate is ignored`},
		"at the sunset":  {"2026-11-30T00:00:00Z", "", "", "as soon as its gate lets it"},
		"before it":      {"2026-11-29T23:59:59Z", "", "", "the sunset is only"},
		"confirmed":      {"2026-11-23T00:00:00Z", `"instances":1`, `"instances":1,"released":true`, "nothing to confirm"},
		"duly confirmed": {"2026-11-30T00:00:00Z", `"instances":1`, `"instances":1,"released":true`, "the sunset has passed"},
	} {
		var got []string
		for _, o := range parse(t, strings.Replace(plan, tt.old, tt.new, 1)).Outlook(at(tt.now)) {
			if o.Version == "v1" {
				got = o.Warnings
			}
		}
		if want := min(1, len(tt.want)); len(got) != want || want == 1 && !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// What is accepted means the same when written out and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(fullPlan))
	f.Add([]byte(`{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v3/q","docs":"https://example.org/m"}}}`))
	f.Add([]byte(`{"versions":{"v9":{"brownouts":[null],"exempt":[null],"gate":{}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := lifecycle.Parse(data, served, nil)
		if err != nil {
			return
		}
		once, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := lifecycle.Parse(once, served, nil)
		if err != nil {
			t.Fatalf("accepted once, then refused: %v\n%s", err, once)
		}
		if twice, _ := json.Marshal(again); string(twice) != string(once) {
			t.Errorf("got  %s\nwant %s", twice, once)
		}
		if got := plan.Outlook(at("2027-01-01T00:00:00Z")); len(got) != len(served) {
			t.Errorf("got %+v", got)
		}
	})
}
