package caller_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/integrator"
)

const (
	wallet   = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
	checksum = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	word     = "0x0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
)

var (
	noIntegrator integrator.ID
	partner, _   = integrator.ParseID(wallet)
)

func request(headers ...string) *http.Request {
	r := &http.Request{Header: http.Header{}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func TestOrigin(t *testing.T) {
	for sent, want := range map[string]string{
		"https://App.Example":                   "https://app.example",
		"https://app.example:443":               "https://app.example",
		"https://app.example:8443":              "https://app.example:8443",
		"http://app.example:80":                 "http://app.example",
		"http://app.example:443":                "http://app.example:443",
		"http://[2001:DB8::1]:3000":             "http://[2001:db8::1]:3000",
		"chrome-extension://abcdefgh":           "chrome-extension://abcdefgh",
		"capacitor://localhost":                 "capacitor://localhost",
		"null":                                  "",
		"file://":                               "",
		"https://":                              "",
		"https://app.example/path":              "",
		"https://user@app.example":              "",
		"https://app.example:0":                 "",
		"https://app.example:99999":             "",
		"https://app.example:443:443":           "",
		"https://[::1":                          "",
		"https://a b":                           "",
		"https://ünicode.example":               "",
		"https://" + strings.Repeat("a", 5_000): "",
	} {
		if got := caller.From(request("Origin", sent), netip.Addr{}, noIntegrator).Origin; got != want {
			t.Errorf("%.60q: got %q, want %q", sent, got, want)
		}
	}
}

func TestIdentityIsTheMostTelling(t *testing.T) {
	v4, v6 := netip.MustParseAddr("203.0.113.77"), netip.MustParseAddr("2001:db8:1:2::3%eth0")
	for name, tt := range map[string]struct {
		r          *http.Request
		addr       netip.Addr
		integrator integrator.ID
		want       string
	}{
		"integrator first":   {request("Origin", "https://a.example", "User-Agent", "x"), v4, partner, "integrator " + word},
		"then origin":        {request("Origin", "https://a.example", "User-Agent", "x"), v4, noIntegrator, "origin https://a.example"},
		"then agent":         {request("Origin", "null", "User-Agent", "Node-Fetch/1.0 (+https://x)"), v4, noIntegrator, "agent node-fetch 203.0.113.0/24"},
		"agent with space":   {request("User-Agent", "Wallet 3.1"), v4, noIntegrator, "agent wallet 203.0.113.0/24"},
		"agent in IPv6":      {request("User-Agent", "curl/8"), v6, noIntegrator, "agent curl 2001:db8:1::/48"},
		"IPv4 in IPv6":       {request("User-Agent", "curl/8"), netip.MustParseAddr("::ffff:203.0.113.9"), noIntegrator, "agent curl 203.0.113.0/24"},
		"no agent":           {request(), v4, noIntegrator, "agent - 203.0.113.0/24"},
		"no address":         {request("User-Agent", "curl"), netip.Addr{}, noIntegrator, "agent curl -"},
		"agent in bad bytes": {request("User-Agent", "cu\x00rl/8"), v4, noIntegrator, "agent cu 203.0.113.0/24"},
		"agent not ASCII":    {request("User-Agent", "überwallet/8"), v4, noIntegrator, "agent - 203.0.113.0/24"},
		"agent too long":     {request("User-Agent", strings.Repeat("A", 9_999)), v4, noIntegrator, "agent " + strings.Repeat("a", 32) + " 203.0.113.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			got := caller.From(tt.r, tt.addr, tt.integrator).Identity()
			if got.String() != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			encoded, err := json.Marshal(got)
			if err != nil || string(encoded) != `"`+tt.want+`"` {
				t.Errorf("got JSON %s, %v", encoded, err)
			}
		})
	}
}

// The values come from another implementation of the same words: an instance
// of another build must agree.
func TestPositionIsTheSameEverywhere(t *testing.T) {
	id := caller.Identity{Kind: caller.Origin, Text: "https://app.example"}
	for salt, want := range map[string]float64{"v1": 0.5920538035896243, "v3": 0.8685445788213347} {
		if got := id.Position(salt); got != want {
			t.Errorf("%s: got %v, want %v", salt, got, want)
		}
	}
	agent := caller.Identity{Kind: caller.Agent, Text: id.Text}
	if agent.Position("v1") == id.Position("v1") {
		t.Error("identities of two kinds share a position")
	}
}

// Shares of ten thousand clients come out as stated, within four standard
// deviations, for every kind of identity.
func TestPositionsAreEven(t *testing.T) {
	const clients = 10_000
	kinds := map[string]func(i int) caller.Identity{
		"integrators": func(i int) caller.Identity {
			return caller.From(request(), netip.Addr{}, integrator.ID{28: byte(i >> 24), 29: byte(i >> 16), 30: byte(i >> 8), 31: byte(i)}).Identity()
		},
		"origins": func(i int) caller.Identity {
			return caller.From(request("Origin", fmt.Sprintf("https://app%d.example", i)), netip.Addr{}, noIntegrator).Identity()
		},
		"agents": func(i int) caller.Identity {
			return caller.From(request("User-Agent", "curl/8"), netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), noIntegrator).Identity()
		},
	}
	for name, make := range kinds {
		for _, share := range []float64{0.01, 0.25, 0.5, 0.9} {
			hit := 0
			for i := range clients {
				if make(i).Position("v1") < share {
					hit++
				}
			}
			want, tolerance := share*clients, 4*math.Sqrt(clients*share*(1-share))
			if math.Abs(float64(hit)-want) > tolerance {
				t.Errorf("%s: a share of %v holds %d of %d clients, want %v ± %.0f", name, share, hit, clients, want, tolerance)
			}
		}
	}
}

func TestPositionIsIndependentOfTheSalt(t *testing.T) {
	const clients = 10_000
	both := 0
	for i := range clients {
		id := caller.Identity{Kind: caller.Integrator, Text: fmt.Sprint(i)}
		if id.Position("v1") < 0.5 && id.Position("v3legacy") < 0.5 {
			both++
		}
	}
	if both < 2_300 || both > 2_700 {
		t.Errorf("%d of %d clients are in the first half of both versions, want about a quarter", both, clients)
	}
}

func FuzzFrom(f *testing.F) {
	f.Add("https://app.example:443", "curl/8", []byte{203, 0, 113, 1})
	f.Add("http://[::1]:80", "", []byte("0123456789abcdef"))
	f.Fuzz(func(t *testing.T, origin, agent string, ip []byte) {
		addr, _ := netip.AddrFromSlice(ip)
		c := caller.From(request("Origin", origin, "User-Agent", agent), addr, noIntegrator)
		id := c.Identity()
		if len(id.Text) > caller.MaxText || id.Text == "" || c.Identity() != id {
			t.Errorf("identity %q is empty, too long or not stable", id)
		}
		for _, r := range id.String() {
			if r < ' ' || r > '~' {
				t.Errorf("identity %q has a rune that is not printable ASCII", id)
			}
		}
		if c.Origin != "" {
			if again := caller.From(request("Origin", c.Origin), addr, noIntegrator).Origin; again != c.Origin {
				t.Errorf("origin %q becomes %q when read again", c.Origin, again)
			}
		}
	})
}
