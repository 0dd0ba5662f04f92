package usage

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/dchest/siphash"

	"github.com/quotegate/quotegate/gateway/caller"
)

// key hashes addresses. Without it, nobody can tell which address a hash is of;
// with it, trying all of them is easy.
type key [16]byte

// keyFrom makes a key of a secret of any length.
func keyFrom(secret string) (k key) {
	sum := sha256.Sum256([]byte("quotegate usage key\x00" + secret))
	copy(k[:], sum[:])
	return k
}

// fingerprint tells keys apart without giving them away.
func (k key) fingerprint() string {
	sum := sha256.Sum256(append([]byte("quotegate usage fingerprint\x00"), k[:]...))
	return hex.EncodeToString(sum[:8])
}

// name is one line: "origin https://wallet.example", "agent curl #5f1c…". The
// address prefix of an agent is hashed, "-" stands for none.
func (k key) name(id caller.Identity) string {
	if id.Kind != caller.Agent {
		return id.String()
	}
	family, network, _ := strings.Cut(id.Text, " ")
	if network == "" || network == "-" {
		return string(id.Kind) + " " + family + " -"
	}
	var room [128]byte
	b := append(append(room[:0], "network\x00"...), network...)
	hash := siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), b)
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], hash)
	b = append(append(room[:0], id.Kind...), ' ')
	b = append(append(b, family...), " #"...)
	return string(hex.AppendEncode(b, digest[:]))
}
