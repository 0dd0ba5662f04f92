package swap

import (
	"fmt"

	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

// settleNote opens the note of the answer with the recipient's own viewing key. Without the key, nobody can tell
// whom it pays: then it gives the quote with a note made here, and true.
func settleNote(q *client.Checked, viewingKey *[32]byte) (*client.Checked, bool, error) {
	owner, err := railgun.ParseAddress(q.Request.Recipient)
	if err != nil {
		return nil, false, fmt.Errorf("recipient: %w", err)
	}
	if viewingKey != nil {
		if err := checkNote(owner, q.Note(), *viewingKey); err != nil {
			return nil, false, err
		}
		opened, err := q.WithNote(q.Note())
		return opened, false, err
	}
	note, err := newNote(owner)
	if err != nil {
		return nil, false, fmt.Errorf("note: %w", err)
	}
	own, err := q.WithNote(note.Recipient())
	if err != nil {
		return nil, false, err
	}
	own.Unchecked = q.Unchecked // the answer, which somebody may sign elsewhere, has the other note
	return own, true, nil
}

// checkNote opens the note with the recipient's own key.
func checkNote(owner railgun.Address, recipient []byte, viewingKey [32]byte) error {
	note, err := railgun.ParseNote(recipient)
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	random, err := railgun.Open(viewingKey, note)
	if err != nil {
		return fmt.Errorf("note: the recipient cannot open it: %w", err)
	}
	if owner.NPK(random) != note.NPK {
		return fmt.Errorf("note: the recipient could see it and never spend it")
	}
	return nil
}

// newNote makes a note, once the code that makes it has proved itself: a wrong one is money lost.
func newNote(owner railgun.Address) (railgun.Note, error) {
	if err := railgun.SelfTest(); err != nil {
		return railgun.Note{}, err
	}
	return railgun.NewNote(owner)
}
