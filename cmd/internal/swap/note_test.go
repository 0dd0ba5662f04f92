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
	return railgun.CheckNote(data, owner, *viewingKey(t, s.Recipient)) == nil
}

// TestOwnNote has a gateway put anything in a note's place. Without the viewing key nobody can tell, so the call to
// sign has a note of its own, and is the call that was asked for in all other bytes. With the key, the answer's is
// opened.
func TestOwnNote(t *testing.T) {
	g := read(t, "shield")
	key := viewingKey(t, g.swap.Recipient)
	opened, err := verify(g.swap, g.body, key)
	if err != nil || opened.OwnNote || strings.Contains(strings.Join(opened.Unchecked, "\n"), "note") {
		t.Fatalf("got %+v and %v, want the answer's own note, which the viewing key opens", opened, err)
	}
	answer := opened.Main.Data
	noteAt := len(answer) - len(opened.Note())
	at := bytes.Index(g.body, []byte(fmt.Sprintf("%x", answer)))
	for i := 0; i < len(answer); i += 5 { // some byte of every word and field
		forged := bytes.Clone(answer)
		forged[i] ^= 1
		body := bytes.Clone(g.body)
		copy(body[at:], fmt.Sprintf("%x", forged))
		checked, err := verify(g.swap, body, nil)
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
		if _, err := verify(g.swap, body, key); err == nil && !spendable(t, g.swap, forged[noteAt:]) {
			t.Fatalf("byte %d: with the viewing key, a note that is not the recipient's passes", i)
		}
	}
	npk := fmt.Sprintf("%x", answer[noteAt:noteAt+32])
	unspendable := strings.ReplaceAll(string(g.body), npk, strings.Repeat("01", 32))
	if _, err := verify(g.swap, []byte(unspendable), key); err == nil || !strings.Contains(err.Error(), "never spend it") {
		t.Errorf("got %v for a note that the recipient can open and not spend", err)
	}
	if _, err := verify(g.swap, g.body, &[32]byte{1}); err == nil || !strings.Contains(err.Error(), "cannot open it") {
		t.Errorf("got %v for another's viewing key", err)
	}
	g.swap.Recipient = "0zk1qy5zht8754jmmlaaxvzcyv5f6x2lspwjetahc9yxyfl43692xpva5unpd9kxwatw8rw0xufcqw6q0m6nrkcur3vh2368" +
		"5tg72fv5ju8t48v29kyzcqes29xr7pf"
	if _, err := Accept(g.swap, opened.Checked, nil); err == nil || !strings.Contains(err.Error(), "bound to chain 56") {
		t.Errorf("got %v for a recipient on another chain", err)
	}
}
