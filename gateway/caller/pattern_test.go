package caller_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/integrator"
)

func TestPatternMatches(t *testing.T) {
	known := caller.From(request("Origin", "https://Partner.example", "User-Agent", "OkHttp/4.12"), netip.MustParseAddr("::ffff:203.0.113.9"), partner)
	known.Known = &caller.Client{Name: "Acme Wallet"}
	unknown := caller.From(request(), netip.Addr{}, noIntegrator)
	for text, want := range map[string]bool{
		wallet:                                true,
		checksum:                              true,
		word:                                  true,
		"0x" + strings.Repeat("1", 40):        false,
		"203.0.113.0/24":                      true,
		"203.0.113.9/32":                      true,
		"203.0.112.0/24":                      false,
		"2001:db8::/32":                       false,
		"origin:https://partner.example":      true,
		"origin:https://partner.example:443":  true,
		"origin:http://partner.example":       false,
		"origin:https://evilpartner.example":  false,
		"origin:https://partner.example.evil": false,
		"agent:okhttp":                        true,
		"agent:OKHTTP":                        true,
		"agent:okhttp3":                       false,
		"client:Acme Wallet":                  true,
		"client:Acme":                         false,
		"client:acme wallet":                  false,
	} {
		p, err := caller.ParsePattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Matches(known); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
		if p.Matches(unknown) {
			t.Errorf("%s: matches a caller who said nothing", text)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "none of",
		"partner":                           "none of",
		strings.Repeat("p", 5_000):          "none of",
		"0x12":                              "wallet address",
		"0X" + wallet[2:]:                   "none of",
		"203.0.113.9":                       "write 203.0.113.9/32",
		"2001:db8::1":                       "write 2001:db8::1/128",
		"203.0.113.9/24":                    "write 203.0.113.0/24",
		"203.0.113.0/33":                    "none of",
		"::ffff:203.0.113.0/120":            "write it as IPv4",
		"origin:partner.example":            "without a path",
		"origin:https://p.example/path":     "without a path",
		"origin:":                           "without a path",
		"https://partner.example":           "none of",
		"agent:":                            "like agent:okhttp",
		"agent:okhttp/4":                    "like agent:okhttp",
		"agent:" + strings.Repeat("a", 33):  "like agent:okhttp",
		"client:":                           "the name of the client: missing",
		"client:" + strings.Repeat("a", 65): "1 to 64 printable",
		"qg_0123456789":                     "this is a key",
	} {
		_, err := caller.ParsePattern(text)
		if err == nil {
			t.Errorf("%.60q: accepted", text)
			continue
		}
		if !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.60q: got %.400q, want something short about %q", text, err, want)
		}
	}
}

// TestPatternAgreesWithRecordedNames: where a name tells whether a pattern matches,
// that is what the pattern does with every caller of that name.
func TestPatternAgreesWithRecordedNames(t *testing.T) {
	id, err := integrator.ParseID("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	if err != nil {
		t.Fatal(err)
	}
	var callers []caller.Caller
	for _, known := range []*caller.Client{nil, {Name: "Acme"}, {Name: "Other"}} {
		for _, partner := range []integrator.ID{{}, id} {
			for _, origin := range []string{"", "https://a.example", "https://b.example"} {
				for _, agent := range []string{"curl", "okhttp"} {
					for _, addr := range []string{"203.0.113.7", "198.51.100.7"} {
						callers = append(callers, caller.Caller{Known: known, Integrator: partner, Origin: origin, Agent: agent, Addr: netip.MustParseAddr(addr)})
					}
				}
			}
		}
	}
	for _, text := range []string{id.String(), "origin:https://a.example", "203.0.113.0/24", "agent:curl", "client:Acme"} {
		p, err := caller.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		decided := 0
		for _, c := range callers {
			name := c.Identity().String()
			yes, no := p.MatchesRecorded(name, true), p.MatchesRecorded(name, false)
			if yes == no { // whatever it was before
				decided++
				if yes != p.Matches(c) {
					t.Errorf("%s: got %t for the name %q, and %t for a caller of it", text, yes, name, p.Matches(c))
				}
			} else if no {
				t.Errorf("%s: %q is the opposite of what it was before", text, name)
			}
		}
		if decided == 0 != p.IsNetwork() {
			t.Errorf("%s: decides for %d callers", text, decided)
		}
	}
}
