package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

const (
	partner = "0x000000000000000000000000000000000000c0de"

	fullPlan = `{"versions": {
  "v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
         "successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1",
         "brownouts": [{"from": "2027-02-10T14:00:00Z", "to": "2027-02-10T15:00:00Z", "share": 0.5},
                       {"from": "2027-01-12T15:00:00+01:00", "to": "2027-01-12T14:15:00Z", "share": 0.25}],
         "exempt": ["` + partner + `", "203.0.113.0/24", "origin:https://partner.example"],
         "gate": {"maxClients": 5, "maxCallsPerDay": 100, "instances": 2}}}}`
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// planCheck runs the command with the versions that the guide shows, whatever this
// program serves.
func planCheck(t *testing.T, out io.Writer, now time.Time, args ...string) error {
	t.Helper()
	in := invocation{args: args, stdout: out}
	c, _ := find([]string{"plan", "check"})
	if err := in.parse(c); err != nil {
		return err
	}
	return checkPlanFor(t.Context(), in, []string{"v3", "v3legacy", "v1"}, now)
}

func checkAsJSON(t *testing.T, plan, now string) (found checked, err error) {
	t.Helper()
	var out strings.Builder
	err = planCheck(t, &out, at(now), "-json", planFile(t, plan))
	if err := json.Unmarshal([]byte(out.String()), &found); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	return found, err
}

func TestPlanCheckWarns(t *testing.T) {
	const window = `{"from": "2027-02-10T14:00:00Z", "to": "2027-02-10T15:00:00Z", "share": 0.5}`
	whole := strings.Replace(fullPlan, window, strings.Replace(window, "0.5", "1", 1), 1)
	if whole == fullPlan {
		t.Fatal("the window is not in the plan")
	}
	for name, tt := range map[string]struct {
		plan, now string
		want      []string
	}{
		"a good plan":      {whole, "2026-10-01T00:00:00Z", nil},
		"a passed sunset":  {whole, "2027-03-01T00:00:00Z", []string{"the sunset has passed: the version is retired as soon as its gate lets it"}},
		"a near sunset":    {whole, "2027-02-26T00:00:00Z", []string{"the sunset is only 3 days away"}},
		"little notice":    {strings.Replace(whole, "2026-09-01", "2027-01-01", 1), "2026-10-01T00:00:00Z", []string{"clients have 59 days between the announcement and the sunset; give them at least 90 days"}},
		"nobody is spared": {strings.Replace(fullPlan, window, window, 1), "2026-10-01T00:00:00Z", []string{"no brownout reaches more than 50 % of clients"}},
		"a gate that looks at brownouts": {strings.Replace(whole, `"2027-02-10T15:00:00Z"`, `"2027-02-27T15:00:00Z"`, 1), "2026-10-01T00:00:00Z",
			[]string{"brownouts take up 5 days of the 7 days that the gate looks at"}},
		"nobody says how many": {strings.Replace(whole, `, "instances": 2`, "", 1), "2026-10-01T00:00:00Z",
			[]string{"the gate does not say how many instances there are, so one that cannot write its counts is not missed"}},
		"no gate": {strings.NewReplacer(`{"maxClients": 5, "maxCallsPerDay": 100, "instances": 2}`, "null", `"2027-02-10T15:00:00Z"`, `"2027-02-27T15:00:00Z"`).Replace(whole), "2027-03-02T00:00:00Z",
			[]string{"the sunset has passed: a gateway that starts with this plan retires the version at once"}},
	} {
		found, err := checkAsJSON(t, tt.plan, tt.now)
		if err != nil || !found.Valid || len(found.Faults) != 0 || found.Hash == "" || len(found.Versions) != 3 {
			t.Errorf("%s: got %+v, %v, want a valid plan", name, found, err)
			continue
		}
		i := slices.IndexFunc(found.Versions, func(v lifecycle.Outlook) bool { return v.Version == "v1" })
		got := found.Versions[i].Warnings
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: got %q, want %q", name, got[i], want)
			}
		}
		if len(found.Versions[i].Changes) < 4 {
			t.Errorf("%s: got changes %+v", name, found.Versions[i].Changes)
		}
	}
}

func TestPlanCheckAsJSONListsFaults(t *testing.T) {
	found, err := checkAsJSON(t, strings.NewReplacer("0.25", "7", "/v3/swap/quote", "/nowhere").Replace(fullPlan), "2026-10-01T00:00:00Z")
	if err == nil || found.Valid || len(found.Faults) != 2 || !strings.Contains(found.Faults[0], ": versions.v1.") || len(found.Versions) != 0 {
		t.Errorf("got %+v, %v, want two faults with their places", found, err)
	}
}

func TestPlanCheckTellsOfAWrongClock(t *testing.T) {
	file := planFile(t, fullPlan)
	now := at("2026-10-01T00:00:00Z")
	if err := os.Chtimes(file, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := planCheck(t, &out, now, file); err != nil || !strings.Contains(out.String(), "changed at 2026-10-01T01:00:00Z, and the time here is 2026-10-01T00:00:00Z: one of the clocks is wrong") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}

const described = ` is a valid plan.

v3: active, not in the plan

v3legacy: active, not in the plan

v1: brownout at 2027-01-12T14:05:00Z

  timeline
    2026-09-01T00:00:00Z  deprecated
    2027-01-12T14:00:00Z  brownout begins: 25 % of clients get 410 for 15m
  > 2027-01-12T14:05:00Z  the time asked about
    2027-01-12T14:15:00Z  brownout ends
    2027-02-10T14:00:00Z  brownout begins: 50 % of clients get 410 for 1h
    2027-02-10T15:00:00Z  brownout ends
    2027-03-01T00:00:00Z  sunset: every client gets 410 from here on, unless there were more than 5 clients within 7 days, or more than 100 calls on one of them, or fewer than 2 instances that counted
    warning: no brownout reaches more than 50 % of clients: for the others the sunset is the first 410

  who sees what at 2027-01-12T14:05:00Z
    clients in the share of 25 %              410 VERSION_BROWNOUT until 2027-01-12T14:15:00Z, successor /v3/swap/quote
    exempt clients (3 in the plan)            served as always, with the headers below
    all other clients                         served as always, with the headers below

  headers of every answer at 2027-01-12T14:05:00Z
    Deprecation: @1788220800
    Sunset: Mon, 01 Mar 2027 00:00:00 GMT
    Link: <https://example.org/migrate-v1>; rel="deprecation", <https://example.org/migrate-v1>; rel="sunset", </v3/swap/quote>; rel="successor-version"
    API-Brownout: from=@1799762400, to=@1799763300, share=0.25

`

func planFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	old := at("2020-01-01T00:00:00Z")
	if err := os.Chtimes(file, old, old); err != nil { // before any time that a test calls the present
		t.Fatal(err)
	}
	return file
}

func TestPlanCheckDescribesThePlan(t *testing.T) {
	file := planFile(t, fullPlan)
	now := at("2026-08-01T00:00:00Z")
	for name, args := range map[string][]string{
		"flag last":    {file, "-at", "2027-01-12T14:05:00Z"},
		"flag first":   {"-at=2027-01-12T14:05:00Z", file},
		"another zone": {"--at", "2027-01-12T15:05:00+01:00", file},
	} {
		var out strings.Builder
		if err := planCheck(t, &out, now, args...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := out.String(); got != file+described {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, file+described)
		}
	}
	var out strings.Builder
	if err := planCheck(t, &out, now.Add(time.Nanosecond), file); err != nil || !strings.Contains(out.String(), "v1: active at 2026-08-01T00:00:00Z") {
		t.Errorf("without -at: got %v\n%s", err, out.String())
	}
}

func TestPlanCheckSaysWhoSeesWhat(t *testing.T) {
	ungated := strings.Replace(fullPlan, `{"maxClients": 5, "maxCallsPerDay": 100, "instances": 2}`, "null", 1)
	unplanned := `{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v3/q","docs":"https://example.org/m"}}}`
	for name, tt := range map[string]struct {
		plan, at string
		want     []string
	}{
		"before": {fullPlan, "2026-08-01T00:00:00Z", []string{"v1: active at", "everyone                                  served as always"}},
		"gated sunset": {fullPlan, "2027-03-01T00:00:00Z", []string{
			"v1: retired, unless its gate holds, at", "everyone, while the gate holds            served as always",
			"everyone, once it does not                410 VERSION_RETIRED, successor /v3/swap/quote", "while there are more than 5 clients within 7 days, or more than 100 calls"}},
		"sunset": {ungated, "2027-03-01T00:00:00Z", []string{"v1: retired at", "everyone, exempt or not                   410 VERSION_RETIRED"}},
		"whole share, nobody exempt": {
			strings.NewReplacer("0.25", "1", `["`+partner+`", "203.0.113.0/24", "origin:https://partner.example"]`, "[]").Replace(fullPlan),
			"2027-01-12T14:05:00Z", []string{"clients in the share of 100 %             410 VERSION_BROWNOUT"}},
		"no sunset":    {unplanned, "2027-03-01T00:00:00Z", []string{"v1: deprecated at", "warning: no sunset is set"}},
		"no brownouts": {strings.Replace(unplanned, `"successor"`, `"sunset":"2027-01-01T00:00:00Z","successor"`, 1), "2026-10-01T00:00:00Z", []string{"warning: no brownout comes before the sunset"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := planCheck(t, &out, time.Now(), planFile(t, tt.plan), "-at", tt.at); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing from\n%s", want, out.String())
				}
			}
			if strings.HasPrefix(name, "whole share") && (strings.Contains(out.String(), "exempt clients") || strings.Contains(out.String(), "all other")) {
				t.Errorf("groups of nobody in\n%s", out.String())
			}
		})
	}
}

func TestPlanCheckRefuses(t *testing.T) {
	bad := planFile(t, `{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v1/q","docs":"x"}}}`)
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"a bad plan":   {[]string{bad}, []string{bad, "versions.v1.successor", "versions.v1.docs"}},
		"no file":      {nil, []string{"usage: gateway plan check FILE"}},
		"two files":    {[]string{bad, bad}, []string{"usage: gateway plan check FILE"}},
		"lost file":    {[]string{bad + "x"}, []string{"no such file"}},
		"a bad time":   {[]string{bad, "-at", "noon"}, []string{`"noon" for flag -at`, "RFC 3339"}},
		"unknown flag": {[]string{bad, "-when", "now"}, []string{"-when", "usage:"}},
	} {
		var out strings.Builder
		err := planCheck(t, &out, time.Now(), tt.args...)
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want it to say %q", name, err, want)
			}
		}
		if out.Len() > 0 {
			t.Errorf("%s: something was printed: %s", name, out.String())
		}
	}
	var out strings.Builder
	if err := execute(t.Context(), invocation{args: []string{"plan", "check", "-h"}, stdout: &out}); err != nil || !strings.HasPrefix(out.String(), "usage: gateway plan check") {
		t.Errorf("-h: got %v, %q", err, out.String())
	}
}

// TestGuideShowsWhatPlanCheckPrints reads the operators' guide, which shows a plan
// and what the check prints about it.
func TestGuideShowsWhatPlanCheckPrints(t *testing.T) {
	text, err := os.ReadFile("../../docs/retire.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	between := func(begin, end string) string {
		t.Helper()
		_, rest, ok := strings.Cut(guide, begin)
		inner, _, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("the guide has nothing between %q and %q", begin, end)
		}
		return inner
	}
	plan := between("```json file=plan.json\n", "```")
	t.Chdir(t.TempDir())
	check := func(name, plan, command string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := planCheck(t, &out, time.Now(), strings.Fields(command)...); err != nil {
			out.WriteString(err.Error())
		}
		got := strings.TrimSpace(out.String())
		if want := strings.TrimSpace(between("$ gateway plan check "+command+"\n", "```")); got != want {
			t.Errorf("%s: the guide shows\n%s\nand the check prints\n%s", command, want, got)
		}
	}
	check("plan.json", plan, "plan.json -at 2027-01-12T14:05:00Z")
	check("bad.json", strings.NewReplacer(`"2027-03-01T00:00:00Z"`, `"2027-02-01"`, `"share": 1}`, `"share": 1.5}`, `"v1"`, `"v1.0"`).Replace(plan), "bad.json")
}

// TestPlanCheckComparesGatesWithTheCounts has a service count a call, and checks its
// plan beside the database.
func TestPlanCheckComparesGatesWithTheCounts(t *testing.T) {
	version, quotes := oldest(t)
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	writeFile(t, plan, `{"versions": {"`+version+`": {"deprecated": "2026-01-01T00:00:00Z", "sunset": "2999-01-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m", "gate": {"maxClients": 0}}}}`)
	env := environment{"USAGE_DB": filepath.Join(dir, "usage.db"), "LIFECYCLE_FILE": plan}
	check := func() string {
		t.Helper()
		var out strings.Builder
		if err := execute(t.Context(), invocation{args: []string{"plan", "check", plan}, env: env, stdout: &out}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := check(); !strings.Contains(got, "warning: the gates are not compared with the counts: USAGE_DB: ") {
		t.Errorf("without a database: got\n%s", got)
	}
	base, _, stop := start(t, env)
	if got, _ := statusOf(t, base+quotes+strings.TrimPrefix(quotePath, "/v3/swap/quote")); got != 200 {
		t.Fatalf("got %d", got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := check(); !strings.Contains(got, "warning: the gate holds now: 1 client in 7 days (limit 0), 1 call on the busiest day (limit 0)") {
		t.Errorf("with a call: got\n%s", got)
	}
}

// TestConfirmedReleaseNeedsNoDatabase starts the service while its database is away.
func TestConfirmedReleaseNeedsNoDatabase(t *testing.T) {
	version, quotes := oldest(t)
	for released, want := range map[string]int{"true": 410, "false": 200} {
		plan := filepath.Join(t.TempDir(), "plan.json")
		writeFile(t, plan, `{"versions": {"`+version+`": {"deprecated": "2020-01-01T00:00:00Z", "sunset": "2021-01-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m",
			"gate": {"maxClients": 5, "maxCallsPerDay": 100, "days": 35, "released": `+released+`}}}}`)
		_, base := process(t, "LIFECYCLE_FILE="+plan, "USAGE_DB=postgres://nobody@127.0.0.1:1/none")
		if got, _ := statusOf(t, base+quotes+strings.TrimPrefix(quotePath, "/v3/swap/quote")); got != want {
			t.Errorf("released %s: got %d, want %d", released, got, want)
		}
	}
}
