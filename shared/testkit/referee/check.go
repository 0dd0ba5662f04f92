package referee

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/railgun"
)

const (
	noteSize = 160
	// noteAt is where the note begins in the calldata of a shielding call:
	// after the selector, six words and the length.
	noteAt = 4 + 7*32
)

// Note is a note that says nothing, to stand in for one that is not known yet.
func Note() []byte { return make([]byte, noteSize) }

// NoteIn is where the digits of the note lie in an answer made with Note.
func NoteIn(body []byte) (from, to int) {
	at := bytes.Index(body, []byte(`"methodParameters":{"calldata":"0x`))
	from = at + len(`"methodParameters":{"calldata":"0x`) + 2*noteAt
	return from, from + 2*noteSize
}

// Check tells whether an answer of a version to a swap is the one it must give.
// Of the rates that the issuer may have stated for a burn, one must fit.
func (r *Referee) Check(version string, s *Swap, integratorBPS int64, issuerBPS []*big.Rat, body []byte) error {
	note, err := r.OpenNote(s, body)
	if err != nil {
		return err
	}
	if !s.Burn {
		issuerBPS = []*big.Rat{nil}
	}
	var want []byte
	for _, rate := range issuerBPS {
		if want, err = r.Body(version, s, Terms{integratorBPS, rate}, note); err != nil {
			return err
		}
		if bytes.Equal(body, want) {
			return nil
		}
	}
	return fmt.Errorf("got %s\nwant %s", body, want)
}

// OpenNote takes the note out of an answer, once its owner has opened it and
// found that it can be spent. There is none if the swap does not shield.
func (r *Referee) OpenNote(s *Swap, body []byte) ([]byte, error) {
	if !s.Shields() {
		return nil, nil
	}
	var answer struct {
		MethodParameters struct{ Calldata string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	data := common.FromHex(answer.MethodParameters.Calldata)
	if len(data) != noteAt+noteSize {
		return nil, fmt.Errorf("a shielding call has %d bytes, want %d", len(data), noteAt+noteSize)
	}
	note, err := railgun.ParseNote(data[noteAt:])
	if err != nil {
		return nil, err
	}
	key, err := r.viewingKey(s.Recipient)
	if err != nil {
		return nil, err
	}
	random, err := railgun.Open(key, note)
	if err != nil {
		return nil, fmt.Errorf("the recipient cannot open the note: %w", err)
	}
	owner, err := railgun.ParseAddress(s.Recipient)
	if err != nil {
		return nil, err
	}
	if owner.NPK(random) != note.NPK {
		return nil, errors.New("the recipient can see the note but never spend it: wrong npk")
	}
	return data[noteAt:], nil
}
