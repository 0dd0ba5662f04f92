package usage

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dchest/siphash"

	"github.com/quotegate/quotegate/gateway/caller"
)

// key hashes identities. Without it, nobody can tell which address a hash is
// of; with it, trying all of them is easy.
type key [16]byte

func randomKey() (k key) {
	_, _ = rand.Read(k[:]) // never fails: it would end the program
	return k
}

// keyFrom makes a key of a secret of any length.
func keyFrom(secret string) (k key) {
	sum := sha256.Sum256([]byte("quotegate usage key\x00" + secret))
	copy(k[:], sum[:])
	return k
}

func parseKey(text string) (k key, err error) {
	if len(text) != hex.EncodedLen(len(k)) {
		return k, fmt.Errorf("a key has %d hexadecimal digits, this has %d characters", hex.EncodedLen(len(k)), len(text))
	}
	_, err = hex.Decode(k[:], []byte(text))
	return k, err
}

func (k key) String() string { return hex.EncodeToString(k[:]) }

// fingerprint tells keys apart without giving them away.
func (k key) fingerprint() string {
	sum := sha256.Sum256(append([]byte("quotegate usage fingerprint\x00"), k[:]...))
	return hex.EncodeToString(sum[:8])
}

// hash is one 64-bit hash for everything: the sketches, the rows, the names.
// SipHash makes it even and unforeseeable, so that nobody can choose names
// that skew a sketch.
func (k key) hash(domain, text string) uint64 {
	var room [16 + caller.MaxText]byte
	b := append(append(append(room[:0], domain...), 0), text...)
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), b)
}

func (k key) identity(id caller.Identity) uint64 { return k.hash(string(id.Kind), id.Text) }

// name is an identity as it is kept and shown: without the address.
type name struct {
	kind    caller.Kind
	text    string // as it is; of an agent, the family alone
	network uint64 // of an agent, the hash of its address prefix; 0 if it has none
}

func (k key) name(id caller.Identity) name {
	if id.Kind != caller.Agent {
		return name{kind: id.Kind, text: id.Text}
	}
	family, network, _ := strings.Cut(id.Text, " ")
	n := name{kind: id.Kind, text: family}
	if network != "" && network != "-" {
		n.network = k.hash("network", network)
	}
	return n
}

// kept is the name without the rest of the text that it is a part of.
func (n name) kept() name {
	n.text = strings.Clone(n.text)
	return n
}

// String is one line: "origin https://wallet.example", "agent curl #5f1c…".
func (n name) String() string {
	if n.kind != caller.Agent {
		return string(n.kind) + " " + n.text
	}
	if n.network == 0 {
		return string(n.kind) + " " + n.text + " -"
	}
	var network [8]byte
	binary.BigEndian.PutUint64(network[:], n.network)
	var room [64]byte
	b := append(room[:0], n.kind...)
	b = append(append(append(b, ' '), n.text...), " #"...)
	return string(hex.AppendEncode(b, network[:]))
}

// clear tells whether the name says all that the identity does.
func (n name) clear() bool { return n.kind != caller.Agent }

// valid holds a name from a file or another instance to what a client package
// can make.
func (n name) valid() bool {
	switch n.kind {
	case caller.Integrator, caller.Origin, caller.Agent:
	default:
		return false
	}
	if n.text == "" || len(n.text) > caller.MaxText {
		return false
	}
	for i := range len(n.text) {
		if n.text[i] <= ' ' || n.text[i] > '~' {
			return false
		}
	}
	return true
}
