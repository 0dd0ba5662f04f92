package railgun

import (
	"crypto/cipher"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
)

// The receiver's side, for tools and tests.

// ParseNote reads a note that Recipient has encoded.
func ParseNote(recipient []byte) (Note, error) {
	if len(recipient) != recipientSize {
		return Note{}, fmt.Errorf("railgun: note has %d bytes, must have %d", len(recipient), recipientSize)
	}
	word := func(i int) [32]byte { return [32]byte(recipient[32*i:]) }
	return Note{
		NPK:             word(0),
		EncryptedBundle: [3][32]byte{word(1), word(2), word(3)},
		ShieldKey:       word(4),
	}, nil
}

// Open decrypts a note with the receiver's viewing private key and returns its
// random. The note can be spent only if its NPK equals Address.NPK(random). The
// caller must check that, because Open does not know the address.
func Open(viewingKey [32]byte, n Note) (random [16]byte, err error) {
	point, err := new(edwards25519.Point).SetBytes(n.ShieldKey[:])
	if err != nil {
		return random, errors.New("railgun: shield key is not a point of the curve")
	}
	aead, err := sharedCipher(privateScalar(viewingKey), point)
	if err != nil {
		return random, err
	}
	random, err = n.open(aead)
	if err != nil {
		return random, errors.New("railgun: note is not for this viewing key")
	}
	return random, nil
}

func (n Note) open(aead cipher.AEAD) (random [16]byte, err error) {
	iv, tag := n.EncryptedBundle[0][:16], n.EncryptedBundle[0][16:]
	var sealed [32]byte
	copy(sealed[:], n.EncryptedBundle[1][:16])
	copy(sealed[16:], tag)
	_, err = aead.Open(random[:0], iv, sealed[:], nil)
	return random, err
}
