package caller

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
)

const (
	keyHeader  = "Api-Key" // API-Key, as net/http stores it
	keyPrefix  = "qg_"
	keyLength  = len(keyPrefix) + 43 // 32 bytes in base64url
	hashPrefix = "sha256:"
)

// NewKey makes an API key, and the hash that a clients file keeps of it.
func NewKey() (key, hash string) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	sum := hashOf(key)
	return key, hashPrefix + hex.EncodeToString(sum[:])
}

// keyHash is what is known of a key. A key is 32 random bytes, so that nobody can
// find it from its hash.
type keyHash [sha256.Size]byte

func hashOf(key string) keyHash { return sha256.Sum256([]byte(key)) }

// KeyID tells the keys of a file apart: 52 bits of the hash, and one that is always
// set. Zero means no key.
type KeyID uint64

const keyIDBits = 52

func (h *keyHash) id() KeyID {
	return 1<<keyIDBits | KeyID(binary.BigEndian.Uint64(h[:])>>(64-keyIDBits))
}

// parseHash reads a hash. Its errors never repeat the text, which may be a key.
func parseHash(text string) (h keyHash, err error) {
	if isKey(text) {
		return h, errors.New("this is a key, which must not be in a file: make a new one with `gateway key new` and write its sha256: line here")
	}
	digits, ok := strings.CutPrefix(text, hashPrefix)
	if ok && hex.DecodedLen(len(digits)) == len(h) {
		if _, err := hex.Decode(h[:], []byte(digits)); err == nil {
			return h, nil
		}
	}
	return keyHash{}, errors.New("not the hash of a key: write sha256: and 64 hexadecimal digits, as `gateway key new` prints them")
}

// isKey reports whether a text looks like a key, which is then shown to nobody.
func isKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }
