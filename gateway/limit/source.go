package limit

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Source is whom a request is counted for.
type Source struct {
	id        id
	perMinute int // 0: the configured limit
}

// id tells sources apart.
type id struct {
	kind   kind
	number uint64 // an IPv4 address, the first half of an IPv6 address, or the number of a key
}

type kind uint8

const (
	unknown kind = iota
	ipv4
	ipv6
	holder // of an API key
)

// Address is an IPv4 address, or the /64 of an IPv6 address, since one household or
// machine owns a whole /64.
func Address(addr netip.Addr) Source {
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		bytes := addr.As4()
		return Source{id: id{ipv4, uint64(binary.BigEndian.Uint32(bytes[:]))}}
	case addr.Is6():
		bytes := addr.As16()
		return Source{id: id{ipv6, binary.BigEndian.Uint64(bytes[:])}}
	}
	return Source{}
}

// Key is the holder of an API key, wherever it calls from. The number is not 0. perMinute
// is the key's own limit, at most MaxPerMinute, or 0 for the configured one.
func Key(number uint64, perMinute int) Source {
	return Source{id{holder, number}, perMinute}
}

// String is the key in Redis, after the prefix.
func (i id) String() string {
	var bytes [16]byte
	switch i.kind {
	case holder:
		return fmt.Sprintf("key:%016x", i.number)
	case ipv6:
		binary.BigEndian.PutUint64(bytes[:], i.number)
		return netip.PrefixFrom(netip.AddrFrom16(bytes), 64).String()
	}
	binary.BigEndian.PutUint32(bytes[:], uint32(i.number))
	return netip.AddrFrom4([4]byte(bytes[:4])).String()
}

// binary is shorter than the text, and faster to make.
func (i id) binary() string {
	bytes := [9]byte{byte(i.kind)}
	binary.BigEndian.PutUint64(bytes[1:], i.number)
	return string(bytes[:])
}
