package limit

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Client is whom a request is counted for. Its zero value is a peer without an
// address.
type Client struct {
	key       clientKey
	perMinute int // 0: the configured limit
	valid     bool
}

// Address is the client at an address.
func Address(addr netip.Addr) Client {
	if !addr.IsValid() {
		return Client{}
	}
	return Client{key: clientKeyOf(addr), valid: true}
}

// Key is the holder of an API key, wherever it calls from. Of the ID the lower 52
// bits tell keys apart. perMinute is the key's own limit, at most MaxPerMinute, or
// 0 for the configured one.
func Key(id uint64, perMinute int) Client {
	return Client{key: apiKey | clientKey(id)&apiKeyBits, perMinute: perMinute, valid: true}
}

// clientKey identifies a client: an IPv4 address, or the upper half of an IPv6
// address, since one household or machine owns a whole /64. IPv4 addresses are
// stored in ffff:ffff::/32 and API keys in ff00::/12. These are multicast, so that
// no client has them as its address.
type clientKey uint64

const (
	ipv4       = clientKey(0xffffffff) << 32
	apiKeyBits = clientKey(1)<<52 - 1
	apiKey     = clientKey(0xff0) << 52
)

func clientKeyOf(ip netip.Addr) clientKey {
	ip = ip.Unmap()
	if ip.Is4() {
		b := ip.As4()
		return ipv4 | clientKey(binary.BigEndian.Uint32(b[:]))
	}
	b := ip.As16()
	return clientKey(binary.BigEndian.Uint64(b[:8]))
}

func (c clientKey) isAPIKey() bool { return c&^apiKeyBits == apiKey }

func (c clientKey) String() string {
	if c.isAPIKey() {
		return fmt.Sprintf("key:%013x", uint64(c&apiKeyBits))
	}
	var b [16]byte
	if c&ipv4 == ipv4 {
		binary.BigEndian.PutUint32(b[:], uint32(c))
		return netip.AddrFrom4([4]byte(b[:4])).String()
	}
	binary.BigEndian.PutUint64(b[:], uint64(c))
	return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
}

// question is a request to be counted.
type question struct {
	client clientKey
	limit  int  // the client's, a minute
	polled bool // it may use half of the limit only
}

// most is how many requests of this kind the client may make in a minute.
func (q question) most() int {
	if q.polled {
		return half(q.limit)
	}
	return q.limit
}

// half is what polling may use of a limit. A limit of 1 has no half.
func half(limit int) int { return max(limit/2, 1) }
