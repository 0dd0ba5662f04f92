package caller

import (
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

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
		t.Run(tt.name, func(t *testing.T) {
			proxies := mustProxies(t, tt.trusted...)
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			r.Header["X-Forwarded-For"] = tt.xff
			for _, h := range []string{"X-Real-Ip", "True-Client-Ip", "Forwarded", "Cf-Connecting-Ip"} {
				r.Header.Set(h, "6.6.6.6")
			}
			var want netip.Addr
			if tt.want != "" {
				want = netip.MustParseAddr(tt.want)
			}
			if got := proxies.Address(r); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
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
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-For", xff)
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

func mustProxies(t testing.TB, texts ...string) Proxies {
	t.Helper()
	proxies, err := Config{TrustedProxies: texts}.Proxies()
	if err != nil {
		t.Fatal(err)
	}
	return proxies
}

func TestProxies(t *testing.T) {
	got := mustProxies(t, "10.0.0.5", " 10.1.2.3/16 ", "2001:db8::7", "::ffff:192.0.2.0/120", "::ffff:192.0.2.9")
	want := Proxies{
		netip.MustParsePrefix("10.0.0.5/32"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("2001:db8::7/128"),
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.0.2.9/32"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValidateReportsEveryProxy(t *testing.T) {
	bad := []string{"10.0.0.0/33", "proxy.example", "", "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96", "fe80::1%eth0", "10.0.0.1:80"}
	err := Config{TrustedProxies: append([]string{"10.0.0.1"}, bad...)}.Validate()
	if err == nil {
		t.Fatal("got no problem")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(bad) {
		t.Fatalf("got %d problems, want %d:\n%v", len(lines), len(bad), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, "TRUSTED_PROXIES: \""+bad[i]+"\"") {
			t.Errorf("got %q, want it to name %q", line, bad[i])
		}
	}
}
