package usage

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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

// fingerprint identifies a key without revealing it.
func (k hashKey) fingerprint() string {
	sum := sha256.Sum256(append([]byte("quotegate usage fingerprint\x00"), k[:]...))
	return hex.EncodeToString(sum[:8])
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
	b := append(append(buf[:0], "network\x00"...), network...)
	hash := siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), b)
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], hash)
	b = append(append(buf[:0], id.Kind...), ' ')
	b = append(append(b, product...), " #"...)
	return string(hex.AppendEncode(b, digest[:]))
}
