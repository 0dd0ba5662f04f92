package railgun

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

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
// refuses the zero Address.
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
	if new(fr.Element).SetBytesCanonical(a.master[:]) != nil {
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
	if !canonical(a.viewing) {
		return Address{}, refuse("viewing public key is not in its canonical form")
	}
	// Such a point has at most eight multiples, so anyone could guess the shared
	// key and read the note. A point of mixed order is safe, and the engine
	// accepts it too.
	if new(edwards25519.Point).MultByCofactor(a.point).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return Address{}, refuse("viewing public key has a small order, so that anyone could read the note")
	}
	return a, nil
}

// canonical reports whether point is the encoding that Bytes would return: y is
// below the prime, and x is not both zero and negative. Calling Bytes would cost
// an inversion.
func canonical(point [32]byte) bool {
	y, err := new(field.Element).SetBytes(point[:]) // ignores the sign of x
	if err != nil {
		return false
	}
	negative := point[31]>>7 == 1
	point[31] &= 0x7f
	one := new(field.Element).One()
	xIsZero := y.Equal(one) == 1 || y.Equal(new(field.Element).Negate(one)) == 1
	return bytes.Equal(y.Bytes(), point[:]) && !(negative && xIsZero)
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
			"The 0zk address is bound to chain %d of a network type other than EVM (type %d), the route needs chain %d", id, kind, chainID)
	}
	if id != chainID {
		return fault.BadRecipient(fault.Malformed, "The 0zk address is bound to chain %d, the route needs chain %d", id, chainID)
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
