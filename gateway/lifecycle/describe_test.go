package lifecycle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

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
    2027-03-01T00:00:00Z  sunset: every client gets 410 from here on, unless there were more than 5 clients within 7 days, or more than 100 calls on one of them
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

func TestCheckCommand(t *testing.T) {
	file := planFile(t, fullPlan)
	now := at("2026-08-01T00:00:00Z")
	for name, args := range map[string][]string{
		"flag last":    {file, "-at", "2027-01-12T14:05:00Z"},
		"flag first":   {"-at=2027-01-12T14:05:00Z", file},
		"another zone": {"--at", "2027-01-12T15:05:00+01:00", file},
	} {
		var out strings.Builder
		if err := lifecycle.CheckCommand(args, served, &out, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := out.String(); got != file+described {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, file+described)
		}
	}
	var out strings.Builder
	if err := lifecycle.CheckCommand([]string{file}, served, &out, now.Add(time.Nanosecond)); err != nil || !strings.Contains(out.String(), "v1: active at 2026-08-01T00:00:00Z") {
		t.Errorf("without -at: got %v\n%s", err, out.String())
	}
}

func TestCheckCommandSaysWhoSeesWhat(t *testing.T) {
	ungated := strings.Replace(fullPlan, `{"maxClients": 5, "maxCallsPerDay": 100}`, "null", 1)
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
			if err := lifecycle.CheckCommand([]string{planFile(t, tt.plan), "-at", tt.at}, served, &out, time.Now()); err != nil {
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

func TestCheckCommandRefuses(t *testing.T) {
	bad := planFile(t, `{"versions":{"v1":{"deprecated":"2026-09-01T00:00:00Z","successor":"/v1/q","docs":"x"}}}`)
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"a bad plan":   {[]string{bad}, []string{bad, "versions.v1.successor", "versions.v1.docs"}},
		"no file":      {nil, []string{"one plan is needed", "usage:"}},
		"two files":    {[]string{bad, bad}, []string{"2 were named", "usage:"}},
		"lost file":    {[]string{bad + "x"}, []string{"no such file"}},
		"a bad time":   {[]string{bad, "-at", "noon"}, []string{`-at "noon"`, "RFC 3339"}},
		"unknown flag": {[]string{bad, "-when", "now"}, []string{"-when", "usage:"}},
	} {
		var out strings.Builder
		err := lifecycle.CheckCommand(tt.args, served, &out, time.Now())
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
	if err := lifecycle.CheckCommand([]string{"-h"}, served, &out, time.Now()); err != nil || !strings.HasPrefix(out.String(), "usage: gateway plan check") {
		t.Errorf("-h: got %v, %q", err, out.String())
	}
}
