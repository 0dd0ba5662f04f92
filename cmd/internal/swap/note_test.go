package swap

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/railgun"
)

// spendable tells whether a note can be opened and spent by its recipient.
func spendable(t *testing.T, s Swap, data []byte) bool {
	t.Helper()
	owner, err := railgun.ParseAddress(s.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	return checkNote(owner, data, *knowledge(t, s).ViewingKey) == nil
}

// TestOwnNote has a gateway put anything in a note's place. Without the viewing key nobody can tell, so the call to
// sign has a note of its own, and is the call that was asked for in all other bytes. With the key, the answer's is
// opened.
func TestOwnNote(t *testing.T) {
	g := read(t, "pair-usdc-1-to-usdc-69696969")
	k := knowledge(t, g.swap)
	opened, err := Verify(g.swap, g.body, k)
	if err != nil || opened.OwnNote || strings.Contains(strings.Join(opened.Unchecked, "\n"), "note") {
		t.Fatalf("got %+v and %v, want the answer's own note, which the viewing key opens", opened, err)
	}
	blind := k
	blind.ViewingKey = nil
	answer := opened.Main.Data
	noteAt := len(answer) - len(opened.Note())
	at := bytes.Index(g.body, []byte(fmt.Sprintf("%x", answer)))
	for i := 0; i < len(answer); i += 5 { // some byte of every word and field
		forged := bytes.Clone(answer)
		forged[i] ^= 1
		body := bytes.Clone(g.body)
		copy(body[at:], fmt.Sprintf("%x", forged))
		checked, err := Verify(g.swap, body, blind)
		if i < noteAt {
			if err == nil {
				t.Fatalf("byte %d, outside of the note, may be anything", i)
			}
			continue
		}
		if err != nil {
			t.Fatalf("byte %d, in the note that is not used: %v", i, err)
		}
		data := checked.Main.Data
		if !checked.OwnNote || !spendable(t, g.swap, data[noteAt:]) {
			t.Fatalf("byte %d: the note to sign is not the recipient's", i)
		}
		if !bytes.Equal(data[:noteAt], answer[:noteAt]) || bytes.Contains(data, answer[noteAt:noteAt+32]) {
			t.Fatalf("byte %d: got %x to sign, want the call that was asked for with a note of its own", i, data)
		}
		if last := checked.Calls[len(checked.Calls)-1]; !bytes.Equal(last.Data, data) {
			t.Fatalf("byte %d: the calls have another note", i)
		}
		if _, err := Verify(g.swap, body, k); err == nil && !spendable(t, g.swap, forged[noteAt:]) {
			t.Fatalf("byte %d: with the viewing key, a note that is not the recipient's passes", i)
		}
	}
	npk := fmt.Sprintf("%x", answer[noteAt:noteAt+32])
	unspendable := strings.ReplaceAll(string(g.body), npk, strings.Repeat("01", 32))
	if _, err := Verify(g.swap, []byte(unspendable), k); err == nil || !strings.Contains(err.Error(), "never spend it") {
		t.Errorf("got %v for a note that the recipient can open and not spend", err)
	}
	other := k
	key := [32]byte{1}
	other.ViewingKey = &key
	if _, err := Verify(g.swap, g.body, other); err == nil || !strings.Contains(err.Error(), "cannot open it") {
		t.Errorf("got %v for another's viewing key", err)
	}
}
