package wallet

import "github.com/quotegate/quotegate/shared/railgun"

const (
	noteSize = 160
	noteAt   = 4 + 7*32 // in a swap: six words, then the length of the bytes
)

// checkShield builds the call again that pays a private recipient, and gives the call to sign. Its note is the answer's
// if the viewing key opens it, and a new one if there is no viewing key: then nobody can tell whom the answer's pays.
func (c *check) checkShield(data []byte) []byte {
	if len(data) != noteAt+noteSize {
		c.problem("calldata: %d bytes, where shielding takes %d", len(data), noteAt+noteSize)
		return nil
	}
	owner, err := railgun.ParseAddress(c.swap.Recipient)
	if err != nil {
		c.problem("recipient: %w", err)
		return nil
	}
	answer := c.checkSwapTo(data[noteAt:], toPrivate, data)
	if c.viewingKey != nil {
		c.checkNote(owner, data[noteAt:])
		return answer
	}
	note, err := newNote(owner)
	if err != nil {
		c.problem("note: %w", err)
		return nil
	}
	c.result.OwnNote = true
	c.unchecked("whom the note in the answer pays: only the viewing key of the 0zk address can tell")
	return c.swap.call(note.Recipient(), toPrivate)
}

// checkNote opens the note with the recipient's own key.
func (c *check) checkNote(owner railgun.Address, recipient []byte) {
	note, err := railgun.ParseNote(recipient)
	if err != nil {
		c.problem("note: %w", err)
		return
	}
	random, err := railgun.Open(*c.viewingKey, note)
	if err != nil {
		c.problem("note: the recipient cannot open it: %w", err)
		return
	}
	if owner.NPK(random) != note.NPK {
		c.problem("note: the recipient could see it and never spend it")
	}
}

// newNote makes a note, once the code that makes it has proved itself: a wrong one is money lost.
func newNote(owner railgun.Address) (railgun.Note, error) {
	if err := railgun.SelfTest(); err != nil {
		return railgun.Note{}, err
	}
	return railgun.NewNote(owner)
}
