// Package railgun turns a 0zk address into a shield note: what a pool needs, besides token and
// value, to credit that address privately in RAILGUN.
//
// An address is accepted only in the form that wallets print and only if a wallet can
// own it. A note uses fresh randomness that is not stored, and NewNote verifies the note
// before it returns it. SelfTest compares with notes of the public engine; a service
// must not start unless it returns nil, because a wallet shows a note with a wrong
// public key but can never spend it.
package railgun

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	"math"
	"math/big"
	"strings"

	"filippo.io/edwards25519"
	"github.com/iden3/go-iden3-crypto/constants"

	"github.com/quotegate/quotegate/shared/fault"
)

// Payload of an address: version (1), master public key (32, big-endian),
// network (8, masked), viewing public key (32, as in RFC 8032).
const (
	version       = 1
	masterStart   = 1
	networkStart  = masterStart + 32
	viewingStart  = networkStart + 8
	networkMask   = 0x7261696c67756e00 // "railgun" and a zero byte; not a secret
	everyNetwork  = math.MaxUint64
	networkIDBits = 56 // the byte above is the type of network, 0 for EVM
)

// Address is a 0zk address that passed every check of ParseAddress. NewNote
// rejects the zero Address.
type Address struct {
	master  [32]byte // below the prime of the field, and not zero
	viewing [32]byte
	network uint64
	point   *edwards25519.Point // the decoded viewing key; never changed
}

// Equal reports whether two addresses have the same text.
func (a Address) Equal(b Address) bool {
	return a.master == b.master && a.viewing == b.viewing && a.network == b.network
}

// LooksLikeAddress reports whether text starts like a 0zk address, valid or not.
func LooksLikeAddress(text string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// ParseAddress decodes a 0zk address. The error is an InvalidRecipient that says
// what is wrong and does not repeat the address.
//
// The public engine does not check the keys. Here they are checked, because with
// a bad key the receiver loses the money or the privacy.
func ParseAddress(text string) (Address, error) {
	payload, err := decodeText(text)
	if err != nil {
		return Address{}, err
	}
	if payload[0] != version {
		return Address{}, refuse("version is %d, must be %d", payload[0], version)
	}
	a := Address{
		master:  [32]byte(payload[masterStart:networkStart]),
		network: binary.BigEndian.Uint64(payload[networkStart:viewingStart]) ^ networkMask,
		viewing: [32]byte(payload[viewingStart:]),
	}

	// Engines reduce a larger key silently, and so pay a different key.
	if new(big.Int).SetBytes(a.master[:]).Cmp(constants.Q) >= 0 {
		return Address{}, refuse("master public key is not below the prime of the field")
	}
	if a.master == [32]byte{} {
		return Address{}, refuse("master public key is zero, which no wallet has")
	}

	a.point, err = new(edwards25519.Point).SetBytes(a.viewing[:])
	if err != nil {
		return Address{}, refuse("viewing public key is not a point of the curve")
	}
	// Some engines accept other encodings of a point and some do not.
	if !bytes.Equal(a.point.Bytes(), a.viewing[:]) {
		return Address{}, refuse("viewing public key is not in its canonical form")
	}
	if !primeOrder(a.point) {
		return Address{}, refuse("viewing public key is not of prime order, and no wallet has such a key")
	}
	return a, nil
}

// minusOne is the scalar l-1, where l is the order of the group of ed25519.
var minusOne = func() *edwards25519.Scalar {
	one, err := new(edwards25519.Scalar).SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		panic(err)
	}
	return new(edwards25519.Scalar).Negate(one)
}()

// primeOrder reports whether l*p is the identity, and p is not. Every public key that is derived
// from a private key has this order. With a key of small order, anyone could guess the shared
// key and read the note. With a key that has a component of small order, the sender's shared key
// has that component too but the owner's does not, so the owner cannot open the note.
func primeOrder(p *edwards25519.Point) bool {
	identity := edwards25519.NewIdentityPoint()
	// l*p is computed as (l-1)*p + p, because as a scalar, l is 0. All values are public.
	product := new(edwards25519.Point).VarTimeDoubleScalarBaseMult(minusOne, p, edwards25519.NewScalar())
	return product.Add(product, p).Equal(identity) == 1 && p.Equal(identity) == 0
}

func refuse(format string, args ...any) error {
	return fault.BadRecipient(fault.Malformed, "Invalid 0zk address: "+format, args...)
}

// PayableOn is nil if the address may be paid on the EVM network chainID: it is
// valid on all networks, or bound to that one. The keys are the same everywhere,
// so a payment on another network would not be lost, but the owner did not ask
// for it.
func (a Address) PayableOn(chainID uint64) error {
	if a.network == everyNetwork {
		return nil
	}
	kind, id := a.network>>networkIDBits, a.network&(1<<networkIDBits-1)
	if kind != 0 {
		return fault.BadRecipient(fault.Malformed,
			"The 0zk address is bound to chain %d of a network type other than EVM (type %d), the route needs chain %d",
			id, kind, chainID)
	}
	if id != chainID {
		return fault.BadRecipient(fault.Malformed,
			"The 0zk address is bound to chain %d, the route needs chain %d", id, chainID)
	}
	return nil
}

// String is the address as wallets print it, in lower case.
func (a Address) String() string {
	payload := [payloadSize]byte{version}
	copy(payload[masterStart:], a.master[:])
	binary.BigEndian.PutUint64(payload[networkStart:], a.network^networkMask)
	copy(payload[viewingStart:], a.viewing[:])
	return encodeText(payload)
}

// A 0zk address is bech32m (BIP-350) of fixed length. Wallets write 127
// characters, which is more than the 90 for which bech32 guarantees to detect
// four errors.
const (
	prefix       = "0zk"
	payloadSize  = 73
	dataSize     = (payloadSize*8 + 4) / 5 // digits of payload; the last one ends in a padding bit
	checksumSize = 6
	textSize     = len(prefix) + len("1") + dataSize + checksumSize

	alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

	bech32Residue  = 1 // BIP-173, the older checksum
	bech32mResidue = 0x2bc830a3
)

// base32Text writes a payload, five bits a digit.
var base32Text = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// decodeText returns the payload of an address. For each payload, exactly one
// lower-case and one upper-case text are accepted.
func decodeText(text string) (payload [payloadSize]byte, err error) {
	if text == "" {
		return payload, refuse("it is empty")
	}
	lower, err := foldCase(text)
	if err != nil {
		return payload, err
	}
	if !strings.HasPrefix(lower, prefix+"1") {
		return payload, refuse("it does not start with %s1", prefix)
	}
	if len(lower) != textSize {
		return payload, refuse("it has %d characters, must have %d", len(lower), textSize)
	}

	digits := lower[len(prefix)+len("1"):]
	for i := range digits {
		if strings.IndexByte(alphabet, digits[i]) < 0 {
			at := len(text) - len(digits) + i
			return payload, refuse("character %d (%q) is not in the bech32 alphabet", at+1, text[at])
		}
	}
	switch residue(digits) {
	case bech32mResidue:
	case bech32Residue:
		return payload, fault.BadRecipient(fault.Checksum,
			"Invalid 0zk address: checksum is of bech32, must be of bech32m")
	default:
		return payload, fault.BadRecipient(fault.Checksum,
			"Invalid 0zk address: checksum does not match; a character is wrong or out of place")
	}

	if strings.IndexByte(alphabet, digits[dataSize-1])&1 != 0 {
		return payload, refuse("padding after the payload is not zero")
	}
	_, err = base32Text.Decode(payload[:], []byte(digits[:dataSize]))
	return payload, err
}

// foldCase returns text in lower case, on which bech32 is defined. It rejects what bech32
// forbids: characters other than printable ASCII, and mixed case.
func foldCase(text string) (string, error) {
	for i, c := range text {
		if c < '!' || c > '~' {
			return "", refuse("character %d (%q) is not allowed", i+1, c)
		}
	}
	lower := strings.ToLower(text)
	if text != lower && text != strings.ToUpper(text) {
		return "", refuse("upper and lower case are mixed")
	}
	return lower, nil
}

// encodeText is the inverse of decodeText, in lower case.
func encodeText(payload [payloadSize]byte) string {
	digits := base32Text.EncodeToString(payload[:])
	checksum := residue(digits+strings.Repeat(alphabet[:1], checksumSize)) ^ bech32mResidue
	for i := range checksumSize {
		digits += string(alphabet[checksum>>(5*(checksumSize-1-i))&31])
	}
	return prefix + "1" + digits
}

// residue is the remainder of the prefix and the digits by the generator of
// the bech32 code. With a valid checksum at the end it is a constant.
func residue(digits string) uint32 {
	r := uint32(1)
	for i := range len(prefix) {
		r = step(r, prefix[i]>>5)
	}
	r = step(r, 0)
	for i := range len(prefix) {
		r = step(r, prefix[i]&31)
	}
	for i := range len(digits) {
		r = step(r, byte(strings.IndexByte(alphabet, digits[i])))
	}
	return r
}

func step(r uint32, group byte) uint32 {
	top := r >> 25
	r = r&(1<<25-1)<<5 ^ uint32(group)
	for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if top>>i&1 == 1 {
			r ^= g
		}
	}
	return r
}
