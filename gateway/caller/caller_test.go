package caller_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/calldata"
)

const (
	wallet   = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
	checksum = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	word     = "0x0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
)

var (
	noIntegrator calldata.IntegratorID
	partner, _   = calldata.ParseIntegratorID(wallet)
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
		"https://app.example:999999":            "",
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
		integrator calldata.IntegratorID
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

func TestAddress(t *testing.T) {
	trusted := []string{"10.0.0.0/8", "192.168.7.7", "2001:db8:ffff::/48"}
	tests := []struct {
		name    string
		trusted []string
		peer    string
		xff     []string
		want    string
	}{
		{"direct", nil, "203.0.113.9:4711", nil, "203.0.113.9"},
		{"direct IPv6", nil, "[2001:db8::1]:4711", nil, "2001:db8::1"},
		{"direct, IPv4 as IPv6", nil, "[::ffff:203.0.113.9]:4711", nil, "203.0.113.9"},
		{"without trusted proxies, no header is trusted", nil, "203.0.113.9:4711", []string{"198.51.100.1"}, "203.0.113.9"},
		{"an unknown peer is not trusted", trusted, "203.0.113.9:4711", []string{"198.51.100.1"}, "203.0.113.9"},
		{"a proxy is", trusted, "10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a proxy named by address is", trusted, "192.168.7.7:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"its neighbour is not", trusted, "192.168.7.8:80", []string{"198.51.100.1"}, "192.168.7.8"},
		{"a proxy on IPv4 as IPv6 is", trusted, "[::ffff:10.0.0.1]:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what the client wrote is left of what the proxy saw", trusted, "10.0.0.1:80", []string{"1.1.1.1, 10.0.0.9, 198.51.100.1"}, "198.51.100.1"},
		{"also in a header of its own", trusted, "10.0.0.1:80", []string{"1.1.1.1", "198.51.100.1"}, "198.51.100.1"},
		{"two proxies", trusted, "10.0.0.1:80", []string{"1.1.1.1, 198.51.100.1, 2001:db8:ffff::5"}, "198.51.100.1"},
		{"a client cannot pose as a proxy in other notation", trusted, "10.0.0.1:80", []string{"198.51.100.1, ::ffff:203.0.113.9"}, "203.0.113.9"},
		{"IPv6 client", trusted, "10.0.0.1:80", []string{"2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2:3:4:5:6"},
		{"with a port", trusted, "10.0.0.1:80", []string{"1.1.1.1:1, 198.51.100.1:5060"}, "198.51.100.1"},
		{"IPv6 with a port", trusted, "10.0.0.1:80", []string{"[2001:db8:1::1]:5060"}, "2001:db8:1::1"},
		{"IPv6 in brackets", trusted, "10.0.0.1:80", []string{"[2001:db8:1::1]"}, "2001:db8:1::1"},
		{"ports on proxies too", trusted, "10.0.0.1:80", []string{"198.51.100.1:5, 10.0.0.7:6"}, "198.51.100.1"},
		{"the proxy itself asks", trusted, "10.0.0.1:80", nil, "10.0.0.1"},
		{"a machine inside asks", trusted, "10.0.0.1:80", []string{"10.0.3.4"}, "10.0.3.4"},
		{"a machine inside asks through two", trusted, "10.0.0.1:80", []string{"10.0.3.4, 10.0.0.2"}, "10.0.3.4"},
		{"unreadable", trusted, "10.0.0.1:80", []string{"unknown"}, "10.0.0.1"},
		{"unreadable behind a proxy", trusted, "10.0.0.1:80", []string{"unknown, 10.0.0.2"}, "10.0.0.2"},
		{"nothing left of the unreadable counts", trusted, "10.0.0.1:80", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"empty", trusted, "10.0.0.1:80", []string{"", " , "}, "10.0.0.1"},
		{"unix socket", nil, "@", nil, ""},
		{"unix socket is no trusted proxy", trusted, "@", []string{"198.51.100.1"}, ""},
		{"other headers are not read", trusted, "10.0.0.1:80", nil, "10.0.0.1"},
	}
	for _, tt := range tests {
		r := request("X-Real-IP", "6.6.6.6", "True-Client-IP", "6.6.6.6", "Forwarded", "6.6.6.6", "CF-Connecting-IP", "6.6.6.6")
		r.RemoteAddr = tt.peer
		r.Header["X-Forwarded-For"] = tt.xff
		want, _ := netip.ParseAddr(tt.want)
		if got := mustProxies(t, tt.trusted...).Address(r); got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
	}
}

// Whatever a trusted proxy forwards, there is a client, and the header cannot
// make it an untrusted peer.
func FuzzForwardedFor(f *testing.F) {
	for _, s := range []string{"", "unknown", "1.2.3.4", "1.2.3.4:5, 10.0.0.1", "[::1]:80", "fe80::1%eth0", ",,", "::ffff:10.0.0.1", "[", "]", "[]:"} {
		f.Add(s)
	}
	proxies := mustProxies(f, "10.0.0.0/8")
	f.Fuzz(func(t *testing.T, xff string) {
		for peer, trusted := range map[string]bool{"10.0.0.1:80": true, "203.0.113.9:80": false} {
			r := request("X-Forwarded-For", xff)
			r.RemoteAddr = peer
			ip := proxies.Address(r)
			if !ip.IsValid() || ip.Is4In6() || ip.Zone() != "" {
				t.Errorf("peer %s: got %v, want a plain address", peer, ip)
			}
			if !trusted && ip.String() != "203.0.113.9" {
				t.Errorf("an untrusted peer made itself %v", ip)
			}
		}
	})
}

func mustProxies(t testing.TB, texts ...string) caller.Proxies {
	t.Helper()
	proxies, err := caller.Config{TrustedProxies: texts}.Proxies()
	if err != nil {
		t.Fatal(err)
	}
	return proxies
}

func TestProxies(t *testing.T) {
	got := mustProxies(t, "10.0.0.5", " 10.1.2.3/16 ", "2001:db8::7", "::ffff:192.0.2.0/120", "::ffff:192.0.2.9")
	const want = "[10.0.0.5/32 10.1.0.0/16 2001:db8::7/128 192.0.2.0/24 192.0.2.9/32]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	bad := []string{"10.0.0.0/33", "proxy.example", "", "fe80::1%eth0", "10.0.0.1:80"}
	err := caller.Config{TrustedProxies: append([]string{"10.0.0.1"}, bad...)}.Validate()
	lines := strings.Split(fmt.Sprint(err), "\n")
	for i := range bad {
		if len(lines) != len(bad) || !strings.HasPrefix(lines[i], "TRUSTED_PROXIES: \""+bad[i]+"\"") {
			t.Fatalf("got %q, want a problem of each of %q", lines, bad)
		}
	}
}

// TestProxiesThatAreEveryone: nobody may trust the whole internet, however it is written.
func TestProxiesThatAreEveryone(t *testing.T) {
	sixteenths := func(but int) (list []string) {
		for i := range 14 { // up to 224.0.0.0
			if i != but {
				list = append(list, fmt.Sprintf("%d.0.0.0/4", i*16))
			}
		}
		return list
	}
	for _, tt := range []struct {
		list   []string
		family string
	}{
		{[]string{"0.0.0.0/0"}, "IPv4"},
		{[]string{"::ffff:0.0.0.0/96"}, "IPv4"},
		{[]string{"0.0.0.0/1", "10.0.0.5", "128.0.0.0/1"}, "IPv4"},
		{[]string{"128.0.0.0/1", "64.0.0.0/2", "0.0.0.0/3", "32.0.0.0/3"}, "IPv4"},
		{sixteenths(-1), "IPv4"},
		{sixteenths(5), ""},
		{append(sixteenths(5), "80.0.0.0/5", "88.0.0.0/6", "92.0.0.0/7", "94.0.0.0/8", "95.0.0.0/9", "95.128.0.0/10"), ""},
		{[]string{"0.0.0.0/1"}, ""},
		{[]string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "fc00::/7", "::1"}, ""},
		{[]string{"::/0"}, "IPv6"},
		{[]string{"::/1", "8000::/1"}, "IPv6"},
		{[]string{"2000::/4", "3000::/4"}, "IPv6"},
		{[]string{"2000::/4", "128.0.0.0/1"}, ""},
	} {
		err := caller.Config{TrustedProxies: tt.list}.Validate()
		want := "<nil>"
		if tt.family != "" {
			want = fmt.Sprintf("TRUSTED_PROXIES: %q trusts all of %s, so any client could claim any address; "+
				"name only your proxies, such as 10.0.0.5 or 10.0.0.0/24", strings.Join(tt.list, ","), tt.family)
		}
		if fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", tt.list, err, want)
		}
	}
}
