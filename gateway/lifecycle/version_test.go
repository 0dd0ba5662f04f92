package lifecycle_test

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
)

const (
	firstWindow  = "from=@1799762400, to=@1799763300, share=0.25"
	secondWindow = "from=@1802268000, to=@1802271600, share=0.5"
)

// wantHeaders compares what a response announces with the full plan and the next window.
func wantHeaders(t *testing.T, when string, got http.Header, window string) {
	t.Helper()
	want := http.Header{
		"Deprecation": {"@1788220800"},
		"Sunset":      {"Mon, 01 Mar 2027 00:00:00 GMT"},
		"Link": {`<https://example.org/migrate-v1>; rel="deprecation", <https://example.org/migrate-v1>; rel="sunset", ` +
			`</v3/swap/quote>; rel="successor-version"`},
	}
	if window != "" {
		want.Set("API-Brownout", window)
	}
	got = got.Clone()
	got.Del("Cache-Control")
	got.Del("API-Rehearse")
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: got headers %q, want %q", when, got, want)
	}
}

// One version from active to gone and back, while its siblings notice nothing. A share is
// refused for a whole window; a larger one refuses the same clients, and more. An exempt
// client is refused only after the sunset.
func TestWalk(t *testing.T) {
	const clients = 120
	r := newRig(t, "2026-08-01T00:00:00Z", nothingPlanned)
	before := map[uint16]bool{} // the clients that were last refused
	for _, tt := range []struct {
		at, plan string
		stage    lifecycle.Stage
		window   string
		code     fault.Code
		share    float64 // of clients that are refused
		more     bool    // more than before
	}{
		{"2026-08-01T00:00:00Z", fullPlan, lifecycle.Active, firstWindow, "", 0, false},
		{"2026-09-01T00:00:00Z", fullPlan, lifecycle.Deprecated, firstWindow, "", 0, false},
		{"2027-01-12T14:00:00Z", fullPlan, lifecycle.BrowningOut, firstWindow, fault.VersionBrownout, 0.25, true},
		{"2027-01-12T14:14:59Z", fullPlan, lifecycle.BrowningOut, firstWindow, fault.VersionBrownout, 0.25, false},
		{"2027-01-12T14:14:59Z", strings.Replace(fullPlan, `0.25}]`, `0.4}], "immediate": true`, 1), lifecycle.BrowningOut,
			strings.Replace(firstWindow, "0.25", "0.4", 1), fault.VersionBrownout, 0.4, true},
		{"2027-01-12T14:15:00Z", fullPlan, lifecycle.Deprecated, secondWindow, "", 0, false},
		{"2027-02-10T14:30:00Z", fullPlan, lifecycle.BrowningOut, secondWindow, fault.VersionBrownout, 0.5, true},
		{"2027-03-01T00:00:00Z", fullPlan, lifecycle.Retired, "", fault.VersionRetired, 1, true},
	} {
		r.write(tt.plan)
		r.pollAt(tt.at)
		refused := map[uint16]bool{}
		for i := range uint16(clients) {
			h, e := r.admit("v1", integratorOf(i+1))
			wantHeaders(t, tt.at, h, tt.window)
			if e == nil {
				continue
			}
			refused[i] = true
			window, _ := r.Snapshot().Plan.Versions["v1"].NextBrownout(at(tt.at))
			if e.Code != tt.code || e.Successor != "/v3/swap/quote" || !e.Until.Equal(window.To) || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: got %+v with %v", tt.at, e, h)
			}
		}
		deviation := 4 * math.Sqrt(clients*tt.share*(1-tt.share))
		if math.Abs(float64(len(refused))-clients*tt.share) > deviation {
			t.Errorf("%s: %d of %d clients are refused, want %v of them", tt.at, len(refused), clients, tt.share)
		}
		if tt.share > 0 {
			for i := range before {
				if !refused[i] {
					t.Errorf("%s: client %d is no longer refused", tt.at, i)
				}
			}
			if (len(refused) > len(before)) != tt.more {
				t.Errorf("%s: %d clients are refused after %d", tt.at, len(refused), len(before))
			}
			before = refused
		}
		if got := r.v1().Stage; got != tt.stage {
			t.Errorf("%s: got %s, want %s", tt.at, got, tt.stage)
		}
		exempt := from("203.0.113.200")
		if _, e := r.admit("v1", exempt); (e != nil) != (tt.stage == lifecycle.Retired) {
			t.Errorf("%s: an exempt client got %v", tt.at, e)
		}
		if h, e := r.admit("v3", caller.Caller{}); len(h) != 0 || e != nil {
			t.Errorf("%s: v3 got %v and %v, want it untouched", tt.at, h, e)
		}
	}
	r.reload(broughtBack)
	if h, e := r.admit("v1", caller.Caller{}); r.v1().Stage != lifecycle.Active || len(h) != 0 || e != nil {
		t.Errorf("got %v and %v in stage %s after it was brought back", h, e, r.v1().Stage)
	}
}

// A rehearsal is refused in every stage, exempt or not, as in the stage that it rehearses.
func TestRehearsal(t *testing.T) {
	const (
		use       = "; use /v3/swap/quote instead, as https://example.org/migrate-v1 explains"
		permanent = ", and permanently on 2027-03-01T00:00:00Z" + use
		away      = "Version v1 is temporarily unavailable until "
		gone      = "Version v1 was retired"
	)
	all := strings.Replace(fullPlan, "0.25", "1", 1)
	for _, tt := range []struct{ at, plan, brownout, retired string }{
		{"2026-10-01T00:00:00Z", all, away + "2027-01-12T14:15:00Z" + permanent, gone + " on 2027-03-01T00:00:00Z" + use},
		{"2027-01-12T14:05:00Z", all, away + "2027-01-12T14:15:00Z" + permanent, gone + " on 2027-03-01T00:00:00Z" + use},
		{"2027-02-20T00:00:00Z", all, away + "2027-02-20T00:15:00Z" + permanent, gone + " on 2027-03-01T00:00:00Z" + use},
		{"2027-03-01T00:00:00Z", all, // held
			away + "2027-03-01T00:15:00Z" + use, gone + " on 2027-03-01T00:00:00Z" + use},
		{"2027-04-01T00:00:00Z", nothingPlanned, away + "2027-04-01T00:15:00Z", gone},
	} {
		r := newRig(t, tt.at, tt.plan, with(newUsage(database{evidence: lifecycle.Evidence{Clients: 1000}})))
		for _, who := range []caller.Caller{{}, integratorOf(0xc0de)} {
			for value, want := range map[string]string{"brownout": tt.brownout, " Retired": tt.retired} {
				h, e := r.admit("v1", who, value)
				if e == nil || e.Message != want || (e.Successor == "") != (tt.plan == nothingPlanned) {
					t.Errorf("%s: got %+v, want %s", tt.at, e, want)
				}
				echo := strings.ToLower(strings.TrimSpace(value))
				if h.Get("API-Rehearse") != echo || h.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: got headers %v", tt.at, h)
				}
			}
		}
		for _, values := range [][]string{{"sunset"}, {""}, {"active"}, {"retired", "retired"}} {
			h, e := r.admit("v1", caller.Caller{}, values...)
			if codeOf(e) != fault.InvalidParameter || h.Get("API-Rehearse") != "" {
				t.Errorf("%q: got %v and %v", values, e, h)
			}
		}
		if r.v1().Stage == lifecycle.BrowningOut {
			h, e := r.admit("v1", caller.Caller{})
			if e == nil || e.Message != tt.brownout || !strings.HasSuffix(h.Get("API-Brownout"), ", share=1.0") {
				t.Errorf("got %v and %v in the brownout itself", e, h)
			}
		}
	}
}

func TestDocument(t *testing.T) {
	r := newRig(t, "2026-10-01T00:00:00Z", fullPlan)
	got, err := json.Marshal(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"release":"1.0.0","plan":"abb36cd5c11a","versions":[` +
		`{"name":"v3","state":"active","brownouts":[],"contract":"/v3/openapi.yaml","gate":null},` +
		`{"name":"v3legacy","state":"active","brownouts":[],"contract":"/v3legacy/openapi.yaml","gate":null},` +
		`{"name":"v1","state":"deprecated","deprecated":"2026-09-01T00:00:00Z","sunset":"2027-03-01T00:00:00Z",` +
		`"brownouts":[{"from":"2027-01-12T14:00:00Z","to":"2027-01-12T14:15:00Z","share":0.25},` +
		`{"from":"2027-02-10T14:00:00Z","to":"2027-02-10T15:00:00Z","share":0.5}],` +
		`"successor":"/v3/swap/quote","contract":"/v1/openapi.yaml","migration":"https://example.org/migrate-v1",` +
		`"gate":{"holds":false}}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The operators' guide shows a plan and the refusals that clients get under it.
func TestGuideShowsWhatClientsRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/retire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```json file=plan.json\n")
	plan, _, _ := strings.Cut(rest, "```")
	r := newRig(t, "2026-10-01T00:00:00Z", plan)
	for _, stage := range []string{"brownout", "retired"} {
		if _, e := r.admit("v1", caller.Caller{}, stage); !strings.Contains(string(text), `{"error": "`+e.Message+`"`) {
			t.Errorf("the guide does not show what a client reads: %s", e.Message)
		}
	}
}
