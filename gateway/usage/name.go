package usage

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/dchest/siphash"

	"github.com/quotegate/quotegate/gateway/caller"
)

// hashKey is the secret key for hashing addresses. It must stay secret: anyone who
// has it can find the address of a hash by trying all addresses.
type hashKey [16]byte

// keyFrom makes a key from a secret of any length.
func keyFrom(secret string) (k hashKey) {
	sum := sha256.Sum256([]byte("quotegate usage key\x00" + secret))
	copy(k[:], sum[:])
	return k
}

// name is one line: "origin https://wallet.example", "agent curl #5f1c…". The
// address prefix of an agent is hashed. "-" means that there is none.
func (k hashKey) name(id caller.Identity) string {
	if id.Kind != caller.Agent {
		return id.String()
	}
	product, network, _ := strings.Cut(id.Text, " ")
	if network == "" || network == "-" {
		return string(id.Kind) + " " + product + " -"
	}
	var buf [128]byte
	b := append(append(buf[:0], id.Kind...), ' ')
	b = append(append(b, product...), ' ')
	return string(appendHash(b, k.hash(network)))
}

// network is the hash of the network of an address, as in the name of an agent, or
// 0 without an address.
func (k hashKey) network(addr netip.Addr) int64 {
	_, network, _ := strings.Cut(caller.Caller{Addr: addr}.Identity().Text, " ")
	if network == "" || network == "-" {
		return 0
	}
	return int64(k.hash(network))
}

// networkName is the name under which further clients of a network count.
func networkName(hash int64) string { return string(appendHash([]byte("network "), uint64(hash))) }

func (k hashKey) hash(network string) uint64 {
	var buf [64]byte
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), append(append(buf[:0], "network\x00"...), network...))
}

func appendHash(b []byte, hash uint64) []byte {
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], hash)
	return hex.AppendEncode(append(b, '#'), digest[:])
}

// Kinds of names, as the database keeps them.
const (
	otherKind   int64 = iota
	knownKind         // of a client known to the operator
	addressKind       // made from software and a network: a client that moves has several
)

func kindOf(name string) int64 {
	switch kind, _, _ := strings.Cut(name, " "); kind {
	case string(caller.Known):
		return knownKind
	case string(caller.Agent), "network":
		return addressKind
	}
	return otherKind
}
