package swap

import (
	"errors"
	"fmt"

	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

// ShieldNotice is what to know of money that was shielded.
const ShieldNotice = "Shielded money shows at once, but may be spendable only after RAILGUN's waiting time."

// A Checked quote is what was asked for, through reviewed contracts, and its note pays the recipient.
type Checked struct {
	*client.Checked
	Swap    Swap
	OwnNote bool // Main carries a note made here for the recipient, and not the answer's, which nobody opened
}

// Accept makes sure whom the shield note of a quote pays. The recipient's viewing key opens it. Without the key nobody
// can tell, and the quote gets a note made here.
func Accept(s Swap, q *client.Checked, viewingKey *[32]byte) (*Checked, error) {
	checked := &Checked{Checked: q, Swap: s, OwnNote: s.Dst.Private() && viewingKey == nil}
	if !s.Dst.Private() {
		return checked, nil
	}
	note, err := s.note(q.Note(), viewingKey)
	if err == nil {
		checked.Checked, err = q.WithNote(note)
	}
	if err != nil {
		return nil, &client.Error{
			Code:     client.Unverified,
			Message:  "do not sign this quote",
			Problems: []string{fmt.Sprintf("note: %v", err)},
		}
	}
	if checked.OwnNote {
		checked.Unchecked = q.Unchecked // the answer, which somebody may sign elsewhere, has the other note
	}
	return checked, nil
}

// note is the note to sign: the given one if the viewing key opens it, or one made here.
func (s Swap) note(given []byte, viewingKey *[32]byte) ([]byte, error) {
	owner, err := railgun.ParseAddress(s.Recipient)
	if err == nil {
		err = owner.PayableOn(uint64(s.Dst.Network()))
	}
	if err != nil {
		return nil, err
	}
	if viewingKey != nil {
		return given, checkNote(owner, given, *viewingKey)
	}
	// A wrong note is money lost, so the code that makes it has to prove itself first.
	if err := railgun.SelfTest(); err != nil {
		return nil, err
	}
	own, err := railgun.NewNote(owner)
	return own.Recipient(), err
}

// checkNote opens a note with the recipient's own key.
func checkNote(owner railgun.Address, recipient []byte, viewingKey [32]byte) error {
	note, err := railgun.ParseNote(recipient)
	if err != nil {
		return err
	}
	random, err := railgun.Open(viewingKey, note)
	if err != nil {
		return fmt.Errorf("the recipient cannot open it: %w", err)
	}
	if owner.NPK(random) != note.NPK {
		return errors.New("the recipient could see it and never spend it")
	}
	return nil
}
