package usage

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"github.com/dchest/siphash"
)

// Key hashes names and addresses. It must stay secret: anyone who has it can find the
// address of a hash by trying all addresses.
type Key [16]byte

// KeyFrom makes a key from a secret of any length.
func KeyFrom(secret string) (k Key) {
	sum := sha256.Sum256([]byte("quotegate usage key\x00" + secret))
	copy(k[:], sum[:])
	return k
}

// ID is the number of a client of this name.
func (k Key) ID(name string) int64 {
	var buf [128]byte
	message := append(append(buf[:0], "client\x00"...), name...)
	return int64(k.hash(message))
}

// Network is the hash of a network.
func (k Key) Network(network netip.Prefix) uint64 {
	var buf [64]byte
	return k.hash(network.AppendTo(append(buf[:0], "network\x00"...)))
}

func (k Key) hash(message []byte) uint64 {
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), message)
}
