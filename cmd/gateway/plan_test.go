package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

func TestPlanCheckAsJSON(t *testing.T) {
	good, err := checkAsJSON(t, fullPlan, "2027-02-26T00:00:00Z")
	if err != nil || !good.Valid || len(good.Faults) != 0 || good.Hash == "" || len(good.Versions) != 3 ||
		len(good.Versions[2].Changes) < 4 || !strings.HasPrefix(good.Versions[2].Warnings[0], "the sunset is only 3 days away") {
		t.Errorf("got %+v, %v, want a valid plan with a warning", good, err)
	}
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

func planFile(t *testing.T, text string) string {
	t.Helper()
	file := tempFile(t, text)
	old := at("2020-01-01T00:00:00Z")
	if err := os.Chtimes(file, old, old); err != nil { // before any time that a test calls the present
		t.Fatal(err)
	}
	return file
}

// The time is given before or after the file, in any zone. Without one it is the present.
func TestPlanCheckAtATime(t *testing.T) {
	file := planFile(t, fullPlan)
	now := at("2026-08-01T00:00:00Z")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{file, "-at", "2027-01-12T14:05:00Z"}, "v1: brownout at 2027-01-12T14:05:00Z"},
		{[]string{"-at=2027-01-12T14:05:00Z", file}, "v1: brownout at 2027-01-12T14:05:00Z"},
		{[]string{"--at", "2027-01-12T15:05:00+01:00", file}, "v1: brownout at 2027-01-12T14:05:00Z"},
		{[]string{file}, "v1: active at 2026-08-01T00:00:00Z"},
	} {
		var out strings.Builder
		if err := planCheck(t, &out, now.Add(time.Nanosecond), tt.args...); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: got %v\n%s", tt.args, err, out.String())
		}
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
}

// TestGuideShowsWhatPlanCheckPrints reads the operators' guide, which shows a plan
// and what the check prints about it.
func TestGuideShowsWhatPlanCheckPrints(t *testing.T) {
	guide := readText(t, "../../docs/retire.md")
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
		writeFile(t, name, plan)
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
	plan := tempFile(t, planOf(version, "2999-01-01T00:00:00Z", `, "gate": {"maxClients": 0}`))
	env := environment{"USAGE_DB": filepath.Join(t.TempDir(), "usage.db"), "LIFECYCLE_FILE": plan}
	check := func() string {
		t.Helper()
		out, err := runCommand(t, env, "plan", "check", plan)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := check(); !strings.Contains(got, "warning: the gates are not compared with the counts: USAGE_DB: ") {
		t.Errorf("without a database: got\n%s", got)
	}
	base, _, stop := start(t, env)
	if got, _ := get(t, base+quotes+quoteQuery); got != 200 {
		t.Fatalf("got %d", got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := check(); !strings.Contains(got, "warning: the gate holds now: 1 client in 7 days (limit 0), 1 call on the busiest day (limit 0)") {
		t.Errorf("with a call: got\n%s", got)
	}
}
