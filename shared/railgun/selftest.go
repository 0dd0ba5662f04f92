package railgun

import (
	"bytes"
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
