package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// TestExemptClientsThatAreNotKnown: the log warns each time the list of such names
// changes, whether the plan has changed or the known clients have.
func TestExemptClientsThatAreNotKnown(t *testing.T) {
	known := map[string]bool{"Acme": true}
	plan := func(exempt string) string {
		return strings.Replace(fullPlan, `"origin:https://partner.example"]`, exempt+`]`, 1)
	}
	w := newWorld(t, "2026-10-01T00:00:00Z", plan(`"client:Acme"`), func(o *lifecycle.Options) {
		o.Known = func(name string) bool { return known[name] }
	})
	const warning = "the plan exempts clients that CLIENTS_FILE does not have"
	want := func(n int, names string) {
		t.Helper()
		w.keeper.Poll()
		w.keeper.Poll()
		lines := w.log.lines(warning)
		if len(lines) != n || n > 0 && !strings.Contains(lines[n-1], `"clients":[`+names+`]`) {
			t.Errorf("got %q, want %d, the last with %s", lines, n, names)
		}
	}
	want(0, "")
	w.write(plan(`"client:Zeta", "client:Acme", "client:Beta", "203.0.112.0/24"`))
	want(1, `"Beta","Zeta"`)
	known["Beta"] = true
	want(2, `"Zeta"`)
	known["Zeta"] = true
	want(2, `"Zeta"`)
	delete(known, "Acme")
	want(3, `"Acme"`)
}

// TestExemptByName: the name counts, not what the client is recognised by.
func TestExemptByName(t *testing.T) {
	plan, err := lifecycle.Parse([]byte(strings.Replace(fullPlan, `"origin:https://partner.example"]`, `"client:Acme"]`, 1)), served)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"Acme": false, "Other": true} {
		c := caller.Caller{Origin: "https://same.example", Known: &caller.Client{Name: name}}
		if got := plan.Versions["v1"].Hits(lifecycle.Brownout{Share: 1}, lifecycle.Calling("v1", c)); got != want {
			t.Errorf("%s: refused %v, want %v", name, got, want)
		}
	}
}
