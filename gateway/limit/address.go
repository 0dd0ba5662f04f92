package limit

import (
	"encoding/binary"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// client names who is counted: the upper half of an IPv6 address, since one
// household or machine owns a whole /64, or an IPv4 address. The latter borrows
// ffff:ffff::/32, multicast addresses nobody can connect from.
type client uint64

const ipv4 = client(0xffffffff) << 32

func clientOf(ip netip.Addr) client {
	ip = ip.Unmap()
	if ip.Is4() {
		b := ip.As4()
		return ipv4 | client(binary.BigEndian.Uint32(b[:]))
	}
	b := ip.As16()
	return client(binary.BigEndian.Uint64(b[:8]))
}

func (c client) String() string {
	var b [16]byte
	if c&ipv4 == ipv4 {
		binary.BigEndian.PutUint32(b[:], uint32(c))
		return netip.AddrFrom4([4]byte(b[:4])).String()
	}
	binary.BigEndian.PutUint64(b[:], uint64(c))
	return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
}

// Address is where a request comes from. It is the zero Addr only when the peer
// itself has none.
//
// A peer that is a trusted proxy is asked for the hop before it, which is the
// last in X-Forwarded-For, and so on from hop to hop until one is not trusted.
// Where that says nothing more that is readable, the farthest hop that trusted
// proxies vouch for is the client.
func (l *Limiter) Address(r *http.Request) netip.Addr {
	hop, ok := parseHop(r.RemoteAddr)
	if !ok {
		return netip.Addr{}
	}
	headers := r.Header[forwardedFor]
	for i := len(headers) - 1; i >= 0; i-- {
		for rest := headers[i]; rest != "" && l.trusts(hop); {
			cut := strings.LastIndexByte(rest, ',')
			text := strings.TrimSpace(rest[cut+1:])
			rest = rest[:max(cut, 0)]
			if text == "" {
				continue
			}
			before, ok := parseHop(text)
			if !ok {
				return hop
			}
			hop = before
		}
	}
	return hop
}

const forwardedFor = "X-Forwarded-For"

func (l *Limiter) trusts(hop netip.Addr) bool {
	return slices.ContainsFunc(l.trusted, func(p netip.Prefix) bool { return p.Contains(hop) })
}

// parseHop reads an address with a port, as peers have one and some load
// balancers write it, or without.
func parseHop(s string) (netip.Addr, bool) {
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		if ap, err := netip.ParseAddrPort(s); err == nil {
			return ap.Addr().Unmap().WithZone(""), true
		}
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}
