package limit

import (
	"encoding/binary"
	"net/netip"
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
