package limit

import (
	"encoding/binary"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
)

const forwardedFor = "X-Forwarded-For"

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

// ClientIP puts the client's address in the request's context, where chi's
// middleware.GetClientIP and GetClientIPAddr find it. There is none only when
// the peer itself has none.
func (l *Limiter) ClientIP(next http.Handler) http.Handler { return l.clientIP(next) }

// clientIP lets chi walk X-Forwarded-For past trusted hops. Where chi gives up,
// the farthest hop that trusted proxies vouch for is the client, and that is
// the peer when they say nothing readable.
func clientIP(trusted []netip.Prefix) func(http.Handler) http.Handler {
	if len(trusted) == 0 {
		return middleware.ClientIPFromRemoteAddr
	}
	cidrs := make([]string, len(trusted))
	for i, p := range trusted {
		cidrs[i] = p.String()
	}
	walk := middleware.ClientIPFromXFF(cidrs...)
	return func(next http.Handler) http.Handler {
		peer := middleware.ClientIPFromRemoteAddr(next)
		only := middleware.ClientIPFromXFFTrustedProxies(1)(next)
		return walk(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if middleware.GetClientIPAddr(r.Context()).IsValid() {
				next.ServeHTTP(w, r)
				return
			}
			hop, ok := farthestHop(r, trusted)
			if !ok {
				peer.ServeHTTP(w, r)
				return
			}
			r = r.Clone(r.Context())
			r.Header.Set(forwardedFor, hop.String())
			only.ServeHTTP(w, r)
		}))
	}
}

// farthestHop walks X-Forwarded-For as chi does, with two differences: it reads
// an address that carries a port, as some load balancers write it, and a chain
// of nothing but trusted hops ends at the first of them. It is asked only where
// chi found no client, so a peer with an address is a trusted one.
func farthestHop(r *http.Request, trusted []netip.Prefix) (netip.Addr, bool) {
	if _, ok := parseHop(r.RemoteAddr); !ok {
		return netip.Addr{}, false
	}
	var farthest netip.Addr
	hops := strings.Split(strings.Join(r.Header.Values(forwardedFor), ","), ",")
	for _, s := range slices.Backward(hops) {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		hop, ok := parseHop(s)
		if !ok {
			break
		}
		farthest = hop
		if !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(hop) }) {
			break
		}
	}
	return farthest, farthest.IsValid()
}

func parseHop(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}
