package limit

import (
	"fmt"
	"net/netip"
)

// Source is whom a request is counted for. Its zero value is a peer without an address.
type Source struct {
	id        id
	perMinute int // 0: the configured limit
}

// id tells sources apart.
type id struct {
	addr netip.Addr // of an IPv6 /64, its first address; invalid for the holder of a key
	key  uint64     // the number of the key; 0 for an address
}

// Address is an IPv4 address, or the /64 of an IPv6 address, since one household or
// machine owns a whole /64.
func Address(addr netip.Addr) Source {
	addr = addr.Unmap()
	if addr.Is6() {
		network, _ := addr.Prefix(64) // which has no zone, and fails only for more bits than an address has
		addr = network.Addr()
	}
	return Source{id: id{addr: addr}}
}

// Key is the holder of an API key, wherever it calls from. The number is not 0. perMinute
// is the key's own limit, at most MaxPerMinute, or 0 for the configured one.
func Key(number uint64, perMinute int) Source {
	return Source{id{key: number}, perMinute}
}

// String is the key in Redis, after the prefix.
func (s id) String() string {
	switch {
	case s.key != 0:
		return fmt.Sprintf("key:%016x", s.key)
	case s.addr.Is6():
		return netip.PrefixFrom(s.addr, 64).String()
	}
	return s.addr.String()
}
