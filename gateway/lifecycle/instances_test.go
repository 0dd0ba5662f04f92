package lifecycle_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// counted is the full plan with a gate that says how many instances there are.
var counted = strings.Replace(fullPlan, `"maxCallsPerDay": 100}`, `"maxCallsPerDay": 100, "instances": 3}`, 1)

// A gate that does not say how many instances there are misses none of them: log, page
// and check say so, until the gate says it or has let the sunset pass.
func TestGateWithoutInstancesIsARisk(t *testing.T) {
	const risk = "the gate does not say how many instances there are"
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	for range 47 {
		w.advance(time.Hour)
		w.keeper.Poll()
	}
	if n := len(w.log.lines(risk)); n != 2 || !strings.Contains(w.v1().Risk, risk) {
		t.Errorf("got %d log lines in two days, want 2, and the risk %q", n, w.v1().Risk)
	}
	warned := func(plan string) bool {
		p, err := lifecycle.Parse([]byte(plan), served)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Outlook(at("2027-02-20T00:00:00Z")) {
			if strings.Contains(strings.Join(o.Warnings, "\n"), risk) {
				return true
			}
		}
		return false
	}
	if !warned(fullPlan) || warned(counted) || warned(confirmed) {
		t.Errorf("got %t, %t and %t, want a warning of the first plan", warned(fullPlan), warned(counted), warned(confirmed))
	}
	w.reload(counted)
	if got := w.v1().Risk; got != "" {
		t.Errorf("got %q of a gate that says it", got)
	}
	w.reload(fullPlan)
	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	if got := w.v1(); got.Stage != lifecycle.Retired || got.Risk != "" {
		t.Errorf("got %+v once the sunset has passed", got)
	}
}

// A gate asks about its own days, instances and sunset.
func TestEvidenceIsAskedForTheGate(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:59Z", counted)
	want := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 3}
	if got := *w.usage.gate.Load(); got != want || !w.usage.sunset.Load().Equal(at("2027-03-01T00:00:00Z")) {
		t.Errorf("got %+v and the sunset %s, want %+v", got, w.usage.sunset.Load(), want)
	}
}

// An instance that cannot read a gate knows that it does not know. Past the sunset it
// serves the version, and says so in its health.
func TestGateThatCannotBeRead(t *testing.T) {
	counts := &usage{}
	counts.broken.Store(&errAway)
	w := newWorld(t, "2027-02-28T23:00:00Z", counted, func(o *lifecycle.Options) { o.Usage = counts })
	if got := w.v1(); !got.Gate.Unknown || len(w.keeper.Problems()) != 0 {
		t.Errorf("got %+v and %q before the sunset, want unknown, and no problem of anybody's", got.Gate, w.keeper.Problems())
	}
	w.setTime("2027-03-01T00:00:01Z")
	w.keeper.Poll()
	w.wantStatus(http.StatusOK, "while it does not know")
	if got := w.keeper.Problems(); len(got) != 1 || !strings.HasPrefix(got[0], "Version v1: its sunset has come, and this instance cannot read") {
		t.Errorf("got problems %q, want one about v1", got)
	}
	counts.broken.Store(nil)
	w.keeper.Poll()
	if got := w.v1(); got.Gate.Unknown || got.Stage != lifecycle.Retired || len(w.keeper.Problems()) != 0 {
		t.Errorf("got %+v and %q once it can be read", got, w.keeper.Problems())
	}
}
