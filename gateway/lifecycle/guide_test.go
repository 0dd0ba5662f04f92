package lifecycle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// The operators' guide shows a plan, what the check prints about it and what
// clients read. All three are what the code does.
func TestTheGuideIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "retire.md"))
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
	plan := between("```json\n", "```")
	t.Chdir(t.TempDir())
	check := func(name, plan, command string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := lifecycle.CheckCommand(strings.Fields(command), served, &out, time.Now()); err != nil {
			out.WriteString(err.Error())
		}
		got := strings.TrimSpace(out.String())
		if want := strings.TrimSpace(between("$ gateway plan check "+command+"\n", "```")); got != want {
			t.Errorf("%s: the guide shows\n%s\nand the check prints\n%s", command, want, got)
		}
	}
	check("plan.json", plan, "plan.json -at 2027-01-12T14:05:00Z")
	check("bad.json", strings.NewReplacer(`"2027-03-01T00:00:00Z"`, `"2027-02-01"`, `"share": 1}`, `"share": 1.5}`, `"v1"`, `"v1.0"`).Replace(plan), "bad.json")

	w := newWorld(t, "2026-10-01T00:00:00Z", plan)
	for _, stage := range []string{"brownout", "retired"} {
		message := w.get("/v1/quote", "API-Rehearse", stage).refusal(t).Message
		if !strings.Contains(guide, `{"error": "`+message+`"`) {
			t.Errorf("the guide does not show what a client reads: %s", message)
		}
	}
}
