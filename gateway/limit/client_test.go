package limit

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestClientOf(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"203.0.113.9", "::ffff:203.0.113.9", "203.0.113.9"},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"},
		{"fe80::1", "fe80::1%eth0", "fe80::/64"},
		{"::1", "::2", "::/64"},
		{"255.255.255.255", "255.255.255.255", "255.255.255.255"},
	}
	for _, tt := range tests {
		a, b := clientKeyOf(netip.MustParseAddr(tt.a)), clientKeyOf(netip.MustParseAddr(tt.b))
		if a != b {
			t.Errorf("%s and %s are two clients, want one", tt.a, tt.b)
		}
		if got := a.String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.a, got, tt.want)
		}
	}
	different := []string{"203.0.113.9", "203.0.113.8", "2001:db8:1:2::1", "2001:db8:1:3::1", "::1", "0.0.0.1"}
	seen := map[clientKey]string{}
	for _, s := range different {
		c := clientKeyOf(netip.MustParseAddr(s))
		if other, ok := seen[c]; ok {
			t.Errorf("%s and %s are one client, want two", s, other)
		}
		seen[c] = s
	}
	for _, id := range []uint64{0, 1, 1<<52 - 1} {
		c := Key(id, 0).key
		if other, ok := seen[c]; ok || c.String() != fmt.Sprintf("key:%013x", id) {
			t.Errorf("the key %d is %q, and the same client as %q", id, c, other)
		}
		seen[c] = c.String()
	}
}
