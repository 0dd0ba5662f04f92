package lifecycle_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// checked is what `gateway plan check -json` prints.
type checked struct {
	Hash     string
	Valid    bool
	Faults   []string
	Warnings []string
	Versions []checkedVersion
}

type checkedVersion struct {
	Version  string
	Stage    lifecycle.Stage
	Changes  []lifecycle.Change
	Warnings []string
}

func check(t *testing.T, plan, now string) (found checked, err error) {
	t.Helper()
	var out strings.Builder
	err = lifecycle.CheckCommand([]string{"-json", planFile(t, plan)}, served, &out, at(now))
	if err := json.Unmarshal([]byte(out.String()), &found); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	return found, err
}

func TestCheckWarns(t *testing.T) {
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
		"no gate": {strings.NewReplacer(`{"maxClients": 5, "maxCallsPerDay": 100}`, "null", `"2027-02-10T15:00:00Z"`, `"2027-02-27T15:00:00Z"`).Replace(whole), "2027-03-02T00:00:00Z",
			[]string{"the sunset has passed: a gateway that starts with this plan retires the version at once"}},
	} {
		found, err := check(t, tt.plan, tt.now)
		if err != nil || !found.Valid || len(found.Faults) != 0 || found.Hash == "" || len(found.Versions) != len(served) {
			t.Errorf("%s: got %+v, %v, want a valid plan", name, found, err)
			continue
		}
		i := slices.IndexFunc(found.Versions, func(v checkedVersion) bool { return v.Version == "v1" })
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

func TestCheckAsJSONListsFaults(t *testing.T) {
	found, err := check(t, strings.NewReplacer("0.25", "7", "/v3/swap/quote", "/nowhere").Replace(fullPlan), "2026-10-01T00:00:00Z")
	if err == nil || found.Valid || len(found.Faults) != 2 || !strings.HasPrefix(found.Faults[0], "versions.v1.") || len(found.Versions) != 0 {
		t.Errorf("got %+v, %v, want two faults with their places", found, err)
	}
}

func TestCheckTellsOfAClock(t *testing.T) {
	file := planFile(t, fullPlan)
	now := at("2026-10-01T00:00:00Z")
	if err := os.Chtimes(file, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := lifecycle.CheckCommand([]string{file}, served, &out, now); err != nil || !strings.Contains(out.String(), "changed at 2026-10-01T01:00:00Z, and the time here is 2026-10-01T00:00:00Z: one of the clocks is wrong") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}
