package caller

import (
	"net/netip"
	"testing"

	"github.com/quotegate/quotegate/shared/integrator"
)

// What a name decides is what the pattern does with every caller of that name.
func TestPatternsOfRecordedClients(t *testing.T) {
	id, err := integrator.ParseID("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	if err != nil {
		t.Fatal(err)
	}
	var callers []Caller
	for _, known := range []*Client{nil, {Name: "Acme"}, {Name: "Other"}} {
		for _, partner := range []integrator.ID{{}, id} {
			for _, origin := range []string{"", "https://a.example", "https://b.example"} {
				for _, agent := range []string{"curl", "okhttp"} {
					for _, addr := range []string{"203.0.113.7", "198.51.100.7"} {
						callers = append(callers, Caller{Known: known, Integrator: partner, Origin: origin, Agent: agent, Addr: netip.MustParseAddr(addr)})
					}
				}
			}
		}
	}
	for _, text := range []string{id.String(), "origin:https://a.example", "203.0.113.0/24", "agent:curl", "client:Acme"} {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		decided := 0
		for _, c := range callers {
			name := c.Identity().String()
			if p.Decides(name) {
				decided++
				if p.Names(name) != p.Matches(c) {
					t.Errorf("%s: got %t for the name %q, and %t for a caller of it", text, p.Names(name), name, p.Matches(c))
				}
			} else if p.Names(name) {
				t.Errorf("%s: matches %q, which it does not decide", text, name)
			}
		}
		if decided == 0 != p.IsNetwork() {
			t.Errorf("%s: decides for %d callers", text, decided)
		}
	}
}
