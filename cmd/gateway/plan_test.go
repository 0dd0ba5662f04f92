package main

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"
)

const (
	exempt = `["0x000000000000000000000000000000000000c0de", "203.0.113.0/24", "origin:https://partner.example"]`
	gate   = `{"maxClients": 5, "maxCallsPerDay": 100, "instances": 2}`

	fullPlan = `{"versions": {
  "v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
         "successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1",
         "brownouts": [{"from": "2027-02-10T14:00:00Z", "to": "2027-02-10T15:00:00Z", "share": 0.5},
                       {"from": "2027-01-12T15:00:00+01:00", "to": "2027-01-12T14:15:00Z", "share": 0.25}],
         "exempt": ` + exempt + `,
         "gate": ` + gate + `}}}`
)

// runPlanCheck runs the command with the versions that the guide shows, whatever this
// program serves.
func runPlanCheck(t *testing.T, now time.Time, args ...string) (string, error) {
	t.Helper()
	var p *planCheck
	c := command{name: "plan check", args: 1, setup: func(flags *flag.FlagSet) action {
		p = planCheckOf(flags)
		return nil
	}}
	args, _, err := c.parse(args)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = p.run(t.Context(), invocation{args: args, stdout: &out}, &config{}, []string{"v3", "v3legacy", "v1"}, now)
	return out.String(), err
}

func TestPlanCheckAsJSON(t *testing.T) {
	check := func(plan string) (found checked, err error) {
		t.Helper()
		out, err := runPlanCheck(t, time.Now(), "-json", tempFile(t, plan), "-at", "2027-02-26T00:00:00Z")
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		return found, err
	}
	good, err := check(fullPlan)
	if err != nil || !good.Valid || len(good.Faults) != 0 || good.Hash == "" || len(good.Versions) != 3 ||
		!strings.HasPrefix(good.Versions[2].Warnings[0], "the sunset is only 3 days away") {
		t.Errorf("got %+v, %v, want a valid plan with a warning", good, err)
	}
	bad, err := check(strings.NewReplacer("0.25", "7", "/v3/swap/quote", "/nowhere").Replace(fullPlan))
	if err == nil || bad.Valid || len(bad.Faults) != 2 || len(bad.Versions) != 0 ||
		!strings.Contains(bad.Faults[0], ": versions.v1.") {
		t.Errorf("got %+v, %v, want two faults with their places", bad, err)
	}
}

// The time is given before or after the file, in any zone. Without one it is the present.
func TestPlanCheckAtATime(t *testing.T) {
	file := tempFile(t, fullPlan)
	for args, want := range map[string]string{
		file + " -at 2027-01-12T14:05:00Z":       "v1: brownout at 2027-01-12T14:05:00Z",
		"--at 2027-01-12T15:05:00+01:00 " + file: "v1: brownout at 2027-01-12T14:05:00Z",
		file:                                     "v1: active at 2026-08-01T00:00:00Z",
	} {
		now := time.Date(2026, 8, 1, 0, 0, 0, 1, time.UTC)
		out, err := runPlanCheck(t, now, strings.Fields(args)...)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		wantContains(t, out, want)
	}
}

func TestPlanCheckSaysWhoSeesWhat(t *testing.T) {
	const sunset, brownout = "2027-03-01T00:00:00Z", "2027-01-12T14:05:00Z"
	whole := strings.NewReplacer("0.25", "1", exempt, "[]").Replace(fullPlan)
	for _, tt := range []struct {
		plan, at string
		want     []string
	}{
		{fullPlan, "2026-08-01T00:00:00Z", []string{"v1: active at", "everyone  served as always"}},
		{fullPlan, brownout, []string{
			"clients in the share of 25 %  410 VERSION_BROWNOUT", "exempt clients (3 in the plan)  served as always",
			"all other clients  served as always",
		}},
		{fullPlan, sunset, []string{
			"v1: retired, unless its gate holds, at", "everyone, while the gate holds  served as always",
			"everyone, once it does not  410 VERSION_RETIRED, successor /v3/swap/quote",
		}},
		{strings.Replace(fullPlan, gate, "null", 1), sunset, []string{
			"v1: retired at", "everyone, exempt or not  410 VERSION_RETIRED",
		}},
		{whole, brownout, []string{"clients in the share of 100 %  410 VERSION_BROWNOUT"}},
	} {
		out, err := runPlanCheck(t, time.Now(), tempFile(t, tt.plan), "-at", tt.at)
		if err != nil {
			t.Fatal(err)
		}
		for strings.Contains(out, "   ") {
			out = strings.ReplaceAll(out, "   ", "  ")
		}
		wantContains(t, out, tt.want...)
		if tt.plan == whole && (strings.Contains(out, "exempt clients") || strings.Contains(out, "all other")) {
			t.Errorf("groups of nobody in\n%s", out)
		}
	}
}

func TestPlanCheckRefuses(t *testing.T) {
	bad := tempFile(t, `{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v1/q","docs":"x"}}}`)
	for args, wants := range map[string][]string{
		bad:                {bad, "versions.v1.successor", "versions.v1.docs"},
		bad + " " + bad:    {"wrong arguments"},
		bad + "x":          {"no such file"},
		bad + " -at noon":  {`"noon" for flag -at`},
		bad + " -when now": {"-when"},
	} {
		out, err := runPlanCheck(t, time.Now(), strings.Fields(args)...)
		if err == nil || out != "" {
			t.Fatalf("%s: got %v and %s", args, err, out)
		}
		wantContains(t, err.Error(), wants...)
	}
}

// The operators' guide shows a plan and what the check prints about it.
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
		got, err := runPlanCheck(t, time.Now(), strings.Fields(command)...)
		if err != nil {
			got += err.Error()
		}
		want := between("$ gateway plan check "+command+"\n", "```")
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: the guide shows\n%s\nand the check prints\n%s", command, want, got)
		}
	}
	check("plan.json", plan, "plan.json -at 2027-01-12T14:05:00Z")
	faults := strings.NewReplacer(`"2027-03-01T00:00:00Z"`, `"2027-02-01"`, `"share": 1}`, `"share": 1.5}`, `"v1"`, `"v1.0"`)
	check("bad.json", faults.Replace(plan), "bad.json")
}
