package railgun

import (
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// knownAnswer is one note made by the public engine, with all that went into
// it. Byte strings are in hex.
type knownAnswer struct {
	what       string
	address    string
	viewingKey string // private, of the receiver
	secrets    string // random, shield private key, GCM IV, CTR IV
	recipient  string
}

//go:embed selftest.txt
var selfTestText string

// knownAnswers has five lines of the text for each, in the order of the fields.
var knownAnswers = func() (all []knownAnswer) {
	for k := range slices.Chunk(strings.Split(strings.TrimSpace(selfTestText), "\n"), 5) {
		all = append(all, knownAnswer{k[0], k[1], k[2], k[3], k[4]})
	}
	return all
}()

// SelfTest makes notes whose every byte is known from the public engine, and
// opens them as their receivers do. It takes about a millisecond.
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
	var s secrets
	var viewingKey [32]byte
	var recipient [recipientSize]byte
	if err := errors.Join(
		decodeHex(k.secrets, s.random[:], s.shieldPrivate[:], s.gcmIV[:], s.ctrIV[:]),
		decodeHex(k.viewingKey, viewingKey[:]),
		decodeHex(k.recipient, recipient[:]),
	); err != nil {
		return err
	}

	note, err := seal(to, &s)
	if err != nil {
		return err
	}
	if [recipientSize]byte(note.Recipient()) != recipient {
		return errors.New("note differs from that of the public engine")
	}
	if random, err := Open(viewingKey, note); err != nil || random != s.random {
		return errors.New("receiver cannot read the note")
	}
	return nil
}

// decodeHex fills the fields in turn from text, all of it.
func decodeHex(text string, fields ...[]byte) error {
	b, err := hex.DecodeString(text)
	if err != nil {
		return err
	}
	for _, field := range fields {
		b = b[copy(field, b):]
	}
	if len(b) != 0 {
		return errors.New("hex text is too long")
	}
	return nil
}
