package limit

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Source is whom a request is counted for. Its zero value is a peer without an address.
type Source struct {
	id        id
	perMinute int // 0: the configured limit
}

// Address is an IPv4 address, or the /64 of an IPv6 address, since one household or
// machine owns a whole /64.
func Address(addr netip.Addr) Source {
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		b := addr.As4()
		return Source{id: id{ipv4, uint64(binary.BigEndian.Uint32(b[:]))}}
	case addr.Is6():
		b := addr.As16()
		return Source{id: id{ipv6, binary.BigEndian.Uint64(b[:8])}}
	}
	return Source{}
}

// Key is the holder of an API key, wherever it calls from. perMinute is the key's own
// limit, at most MaxPerMinute, or 0 for the configured one.
func Key(number uint64, perMinute int) Source {
	return Source{id{apiKey, number}, perMinute}
}

// id tells sources apart.
type id struct {
	kind  kind
	value uint64 // the address, the first half of it, or the number of the key
}

type kind uint8

const (
	noAddress kind = iota
	ipv4
	ipv6
	apiKey
)

// String is the key in Redis, after the prefix.
func (s id) String() string {
	switch s.kind {
	case ipv4:
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(s.value))
		return netip.AddrFrom4(b).String()
	case ipv6:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], s.value)
		return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
	case apiKey:
		return fmt.Sprintf("key:%016x", s.value)
	}
	return "no address"
}
