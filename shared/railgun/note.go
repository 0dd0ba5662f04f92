package railgun

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"filippo.io/edwards25519"
	iden3 "github.com/iden3/go-iden3-crypto/poseidon"
)

// Note is what RAILGUN's shield call needs in addition to token and value. It
// depends on neither of them, nor on the chain.
type Note struct {
	NPK             [32]byte    // note public key: decides who can spend the note
	EncryptedBundle [3][32]byte // lets the owner of the address find the note
	ShieldKey       [32]byte    // the sender's half of the shared key
}

// secrets is all the randomness of a note. It is never reused: a repeated shield
// key or npk would link two payments on the chain.
type secrets struct {
	random        [16]byte // hides the receiver in the npk; the receiver needs it to spend
	shieldPrivate [32]byte // the sender's half of the shared key; not stored
	gcmIV         [16]byte
	ctrIV         [16]byte
}

// NewNote makes a note that only the owner of the address can spend. Its secrets are fresh and
// not stored. For an address from ParseAddress, an error means a fault of this machine, not of
// the address.
func NewNote(to Address) (Note, error) {
	var s secrets
	// crypto/rand never returns short or with an error; it ends the process instead.
	rand.Read(s.random[:])
	rand.Read(s.shieldPrivate[:])
	rand.Read(s.gcmIV[:])
	rand.Read(s.ctrIV[:])
	return seal(to, &s)
}

func seal(to Address, s *secrets) (Note, error) {
	if to.point == nil {
		return Note{}, errors.New("railgun: address was not parsed")
	}
	scalar := privateScalar(s.shieldPrivate)
	aead, err := sharedCipher(scalar, to.point)
	if err != nil {
		return Note{}, err
	}
	sender, _ := aes.NewCipher(s.shieldPrivate[:]) // any 32 bytes are a key
	public := new(edwards25519.Point).ScalarBaseMult(scalar)
	n := Note{NPK: to.NPK(s.random), ShieldKey: [32]byte(public.Bytes())}
	var sealed [32]byte // encrypted random, tag
	aead.Seal(sealed[:0], s.gcmIV[:], s.random[:], nil)
	copy(n.EncryptedBundle[0][:16], s.gcmIV[:])
	copy(n.EncryptedBundle[0][16:], sealed[16:])
	copy(n.EncryptedBundle[1][:16], sealed[:16])
	copy(n.EncryptedBundle[1][16:], s.ctrIV[:])
	// With this the sender can find the receiver again. The receiver ignores it.
	cipher.NewCTR(sender, s.ctrIV[:]).XORKeyStream(n.EncryptedBundle[2][:], to.viewing[:])

	if err := n.check(s.random, aead, public); err != nil {
		return Note{}, err
	}
	return n, nil
}

// check reads the finished note as a wallet would, but without the wallet's key.
// public is the point that the shield key must encode.
//
// Opening the bundle detects a wrong layout and a faulty cipher. It cannot
// detect a wrong shared key, because it uses the same one, and nothing here
// detects a wrong npk: SelfTest compares both with the public engine's.
//
// Decoding the shield key detects a changed bit, and a point that is not on the
// curve, which is what faulty arithmetic gives. The receiver could not find such
// a note. It cannot detect a different point of the curve. Deriving the key
// again would, but takes about a sixth of the time of a note; decoding takes
// less than a twentieth.
func (n Note) check(random [16]byte, aead cipher.AEAD, public *edwards25519.Point) error {
	opened, err := n.open(aead)
	if err != nil || opened != random {
		return errors.New("railgun: note cannot be opened again")
	}
	shieldKey, err := new(edwards25519.Point).SetBytes(n.ShieldKey[:])
	if err != nil || shieldKey.Equal(public) != 1 {
		return errors.New("railgun: shield key differs when read again")
	}
	return nil
}

// NPK is the note public key for the address and the random of a note. It decides who
// can spend the note, and a wallet does not check it.
func (a Address) NPK(random [16]byte) [32]byte {
	return poseidon(new(big.Int).SetBytes(a.master[:]), new(big.Int).SetBytes(random[:]))
}

// poseidon hashes two numbers below the prime of the field, as circomlib does.
func poseidon(a, b *big.Int) (hash [32]byte) {
	sum, err := iden3.Hash([]*big.Int{a, b})
	if err != nil { // impossible: ParseAddress rejects a larger key, and a random is smaller
		panic(fmt.Sprintf("railgun: poseidon: %v", err))
	}
	sum.FillBytes(hash[:])
	return hash
}

// Recipient is the note as an argument of the pool's swap:
// abi.encode(bytes32 npk, bytes32[3] encryptedBundle, bytes32 shieldKey).
func (n Note) Recipient() []byte {
	b := make([]byte, 0, recipientSize)
	b = append(b, n.NPK[:]...)
	for _, word := range n.EncryptedBundle {
		b = append(b, word[:]...)
	}
	return append(b, n.ShieldKey[:]...)
}

const recipientSize = 5 * 32

// privateScalar is the ed25519 scalar of a private key.
func privateScalar(key [32]byte) *edwards25519.Scalar {
	digest := sha512.Sum512(key[:])
	scalar, _ := new(edwards25519.Scalar).SetBytesWithClamping(digest[:32]) // 32 bytes cannot fail
	return scalar
}

// sharedCipher is the cipher for one side's private scalar and the other side's
// public point. Both sides get the same.
func sharedCipher(scalar *edwards25519.Scalar, public *edwards25519.Point) (cipher.AEAD, error) {
	key := sha256.Sum256(new(edwards25519.Point).ScalarMult(scalar, public).Bytes())
	block, _ := aes.NewCipher(key[:]) // any 32 bytes are a key
	aead, err := cipher.NewGCMWithNonceSize(block, 16)
	if err != nil {
		return nil, fmt.Errorf("railgun: shared cipher: %w", err)
	}
	return aead, nil
}

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

// CheckNote opens an encoded note with the viewing key of its owner, who must also be able to spend it.
func CheckNote(recipient []byte, owner Address, viewingKey [32]byte) error {
	note, err := ParseNote(recipient)
	if err != nil {
		return err
	}
	random, err := Open(viewingKey, note)
	if err != nil {
		return fmt.Errorf("the recipient cannot open it: %w", err)
	}
	if owner.NPK(random) != note.NPK {
		return errors.New("the recipient could see it and never spend it")
	}
	return nil
}

func (n Note) open(aead cipher.AEAD) (random [16]byte, err error) {
	iv, tag := n.EncryptedBundle[0][:16], n.EncryptedBundle[0][16:]
	var sealed [32]byte
	copy(sealed[:], n.EncryptedBundle[1][:16])
	copy(sealed[16:], tag)
	_, err = aead.Open(random[:0], iv, sealed[:], nil)
	return random, err
}

// knownAnswer is a note of the public engine, with all its inputs. Byte strings are in hex.
type knownAnswer struct {
	what       string
	address    string
	viewingKey string // private, of the receiver
	secrets    string // random, shield private key, GCM IV, CTR IV
	recipient  string
}

//go:embed selftest.txt
var selfTestText string

// knownAnswers are read from five lines of text each, in the order of the fields.
var knownAnswers = func() (all []knownAnswer) {
	for k := range slices.Chunk(strings.Split(strings.TrimSpace(selfTestText), "\n"), 5) {
		all = append(all, knownAnswer{k[0], k[1], k[2], k[3], k[4]})
	}
	return all
}()

// SelfTest makes notes whose bytes are known from the public engine, and opens them as their
// receivers do. It takes about a millisecond.
func SelfTest() error {
	for _, known := range knownAnswers {
		if err := known.prove(); err != nil {
			return fmt.Errorf("railgun: known answer (%s): %w", known.what, err)
		}
	}
	return nil
}

func (k knownAnswer) prove() error {
	to, err := ParseAddress(k.address)
	if err != nil {
		return err
	}
	b, err := hex.DecodeString(k.secrets + k.viewingKey + k.recipient)
	if err != nil || len(b) != 16+32+16+16+32+recipientSize {
		return errors.New("hex text is not as long as it must be")
	}
	s := secrets{[16]byte(b), [32]byte(b[16:]), [16]byte(b[48:]), [16]byte(b[64:])}
	viewingKey, recipient := [32]byte(b[80:]), b[112:]

	note, err := seal(to, &s)
	if err != nil {
		return err
	}
	if !bytes.Equal(note.Recipient(), recipient) {
		return errors.New("note differs from that of the public engine")
	}
	if random, err := Open(viewingKey, note); err != nil || random != s.random {
		return errors.New("receiver cannot read the note")
	}
	return nil
}
