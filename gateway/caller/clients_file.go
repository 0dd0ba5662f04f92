package caller

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/words"
)

// maxFile is enough for ten thousand clients with some keys and patterns each.
const maxFile = 8 << 20

// clientsFile is the file as an operator writes it.
type clientsFile struct {
	Clients []clientFile `json:"clients"`
}

type clientFile struct {
	Name      string    `json:"name"`
	Contact   string    `json:"contact"`
	Notes     string    `json:"notes"`
	Match     []Pattern `json:"match"`
	Keys      []keyHash `json:"keys"`
	PerMinute *int      `json:"perMinute"`
}

// parseClients reads a clients file. The error lists the faults, one per line. It
// never repeats a key or the hash of one.
func parseClients(data []byte) (*clientSet, error) {
	var file clientsFile
	p := clientParser{jsonfile.Decode(data, &file), newClientSet()}
	switch n := len(file.Clients); {
	case file.Clients == nil && p.Err() == nil:
		p.Add("clients", `missing; write {"clients": []} if you know none`)
	case n > maxClients:
		p.Add("clients", "there are %s, and at most %s are allowed", words.Number(n), words.Number(maxClients))
		return nil, p.Err()
	}
	for i, raw := range file.Clients {
		p.client(fmt.Sprintf("clients[%d]", i), raw)
	}
	return p.set, p.Err()
}

type clientParser struct {
	*jsonfile.Problems
	set *clientSet
}

// check reports an error, or that another client has the same already.
func (p clientParser) check(at string, err error, other *Client) (ok bool) {
	switch {
	case err != nil:
		p.Add(at, "%w", err)
	case other != nil:
		p.Add(at, "the client %s has the same", quoted(other.Name))
	}
	return err == nil && other == nil
}

func (p clientParser) client(at string, raw clientFile) {
	e := &entry{Client: Client{Name: raw.Name, Contact: raw.Contact, Notes: raw.Notes, Match: raw.Match, Keys: len(raw.Keys)}, hashes: raw.Keys}
	if e.Match == nil {
		e.Match = []Pattern{}
	}
	p.check(at+".name", CheckName(raw.Name), p.set.names[raw.Name])
	p.check(at+".contact", checkText(raw.Contact, maxContact), nil)
	p.check(at+".notes", checkText(raw.Notes, maxNotes), nil)
	if n := raw.PerMinute; n != nil {
		if e.PerMinute = *n; *n < 1 || *n > MaxPerMinute {
			p.Add(at+".perMinute", "%d is not a number of requests a minute from 1 to %d", *n, MaxPerMinute)
		}
	}
	for i, pattern := range raw.Match {
		if p.check(fmt.Sprintf("%s.match[%d]", at, i), checkMatch(pattern), p.set.patterns[pattern]) {
			p.set.addPattern(pattern, &e.Client)
		}
	}
	for i, hash := range raw.Keys {
		if p.check(fmt.Sprintf("%s.keys[%d]", at, i), nil, p.set.keys[hash.id()].client) {
			p.set.keys[hash.id()] = knownKey{hash, &e.Client}
		}
	}
	p.set.entries = append(p.set.entries, e)
	p.set.names[e.Name] = &e.Client
}

// checkMatch says why a pattern does not tell a client apart from others.
func checkMatch(p Pattern) error {
	switch {
	case p == Pattern{}:
		return errors.New("missing")
	case p.client != "":
		return fmt.Errorf("%s names a client of this file: say how to recognise it", quoted(p.String()))
	case p.network.IsValid() && p.network.Bits() == 0:
		return fmt.Errorf("%s is every address", quoted(p.String()))
	}
	return nil
}

// CheckName says what is wrong with the name of a client. A name is printable
// ASCII, as every identity is.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("missing")
	case isKey(name):
		return fmt.Errorf("a name must not begin with %s, as a key does", keyPrefix)
	case len(name) > maxName, strings.Trim(name, " ") != name,
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("%s is not a name of 1 to %d printable ASCII characters without a space at either end", quoted(name), maxName)
	}
	return nil
}

// checkText says what is wrong with a text that people read.
func checkText(text string, most int) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > most || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("must be one line of at most %d printable characters", most)
	}
	return nil
}

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

// UnmarshalText reads a hash. Its errors never repeat the text, which may be a key.
func (h *keyHash) UnmarshalText(text []byte) error {
	if isKey(string(text)) {
		return errors.New("this is a key, which must not be in a file: make a new one with `gateway key new` and write its sha256: line here")
	}
	digits, ok := bytes.CutPrefix(text, []byte(hashPrefix))
	if ok && hex.DecodedLen(len(digits)) == len(h) {
		if _, err := hex.Decode(h[:], digits); err == nil {
			return nil
		}
	}
	*h = keyHash{}
	return errors.New("not the hash of a key: write sha256: and 64 hexadecimal digits, as `gateway key new` prints them")
}

// isKey reports whether a text looks like a key, which is then shown to nobody.
func isKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }
