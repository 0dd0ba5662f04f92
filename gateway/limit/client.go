package limit

import (
	"encoding/binary"
	"net/netip"
)

// clientKey identifies a client: an IPv4 address, or the upper half of an IPv6
// address, since one household or machine owns a whole /64. IPv4 addresses are
// stored in ffff:ffff::/32, which is multicast, so that no client has it.
type clientKey uint64

const ipv4 = clientKey(0xffffffff) << 32

func clientKeyOf(ip netip.Addr) clientKey {
	ip = ip.Unmap()
	if ip.Is4() {
		b := ip.As4()
		return ipv4 | clientKey(binary.BigEndian.Uint32(b[:]))
	}
	b := ip.As16()
	return clientKey(binary.BigEndian.Uint64(b[:8]))
}

func (c clientKey) String() string {
	var b [16]byte
	if c&ipv4 == ipv4 {
		binary.BigEndian.PutUint32(b[:], uint32(c))
		return netip.AddrFrom4([4]byte(b[:4])).String()
	}
	binary.BigEndian.PutUint64(b[:], uint64(c))
	return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
}
