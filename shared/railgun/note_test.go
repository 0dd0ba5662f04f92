package railgun

import (
	"bytes"
	"sync"
	"testing"

	"filippo.io/edwards25519"
)

func TestKnownNotes(t *testing.T) {
	for _, v := range loadVectors(t).Valid {
		t.Run(v.Note, func(t *testing.T) {
			to := mustParse(t, v.Address)
			got, err := seal(to, v.secrets())
			if err != nil {
				t.Fatal(err)
			}
			if want := v.note(); got != want {
				t.Errorf("got %x, want %x", got, want)
			}
			// In the engine's call of shield, the note stands around token and value.
			call := v.ShieldCalldata[4+2*32:]
			if want := bytes.Join([][]byte{call[:32], call[5*32:]}, nil); !bytes.Equal(got.Recipient(), want) {
				t.Errorf("got recipient %x, want %x", got.Recipient(), want)
			}

			random, err := Open([32]byte(v.ViewingKey), v.note())
			if err != nil {
				t.Fatal(err)
			}
			if want := [16]byte(v.Random); random != want {
				t.Errorf("Open: got %x, want %x", random, want)
			}
			if got, want := to.NPK(random), [32]byte(v.NPK); got != want {
				t.Errorf("NPK: got %x, want %x", got, want)
			}
		})
	}
}

func TestNewNoteIsFreshAndArrives(t *testing.T) {
	v := loadVectors(t).Valid[0]
	to := mustParse(t, v.Address)
	const count = 32
	notes := make([]Note, count)
	var wg sync.WaitGroup
	for i := range notes {
		wg.Go(func() {
			n, err := NewNote(to)
			if err != nil {
				t.Error(err)
			}
			notes[i] = n
		})
	}
	wg.Wait()

	seen := map[string]bool{}
	fresh := func(what string, part []byte) {
		t.Helper()
		if seen[string(part)] {
			t.Errorf("%s %x is used twice", what, part)
		}
		seen[string(part)] = true
	}
	for _, n := range notes {
		sent, err := ParseNote(n.Recipient())
		if err != nil || sent != n {
			t.Fatalf("got %x, %v, want %x", sent, err, n)
		}
		random, err := Open([32]byte(v.ViewingKey), sent)
		if err != nil {
			t.Fatal(err)
		}
		if got := to.NPK(random); got != n.NPK {
			t.Errorf("got npk %x, want %x", got, n.NPK)
		}
		fresh("random", random[:])
		fresh("npk", n.NPK[:])
		fresh("shield key", n.ShieldKey[:])
		fresh("GCM IV", n.EncryptedBundle[0][:16])
		fresh("CTR IV", n.EncryptedBundle[1][16:])
	}
}

func TestCheckNoticesEveryBitItVouchesFor(t *testing.T) {
	v := loadVectors(t).Valid[0]
	to := mustParse(t, v.Address)
	aead, err := sharedCipher(privateScalar([32]byte(v.ShieldPrivateKey)), to.point)
	if err != nil {
		t.Fatal(err)
	}
	public := new(edwards25519.Point).ScalarBaseMult(privateScalar([32]byte(v.ShieldPrivateKey)))
	note := v.note()
	if err := note.check(to, aead, public); err != nil {
		t.Fatalf("untouched note: %v", err)
	}
	for bit := range 8 * recipientSize {
		if at := bit / 8; 80 <= at && at < 128 {
			continue // what only the sender could read, and the sender forgets the key
		}
		recipient := note.Recipient()
		recipient[bit/8] ^= 1 << (bit % 8)
		broken, err := ParseNote(recipient)
		if err != nil {
			t.Fatal(err)
		}
		if broken.check(to, aead, public) == nil {
			t.Errorf("bit %d of the recipient may change unnoticed", bit)
		}
	}
	stranger := mustParse(t, loadVectors(t).Valid[1].Address)
	if note.check(stranger, aead, public) == nil {
		t.Error("a note for one address passes as one for another")
	}
	other := new(edwards25519.Point).Add(public, edwards25519.NewGeneratorPoint())
	if note.check(to, aead, other) == nil {
		t.Error("a note passes with the shield key of another")
	}
}

// A note must not leave when the two hashes disagree.
func TestNoNoteLeavesWithABrokenHash(t *testing.T) {
	saved := mix
	defer func() { mix = saved }()
	mix[2][1].SetOne()
	if n, err := NewNote(mustParse(t, knownAnswers[0].address)); err == nil || n != (Note{}) {
		t.Errorf("got %x, %v, want an error and no note", n, err)
	}
	if SelfTest() == nil {
		t.Error("SelfTest does not notice")
	}
}

func TestNotesThatAreRefused(t *testing.T) {
	v := loadVectors(t).Valid
	noPoint := v[0].note()
	noPoint.ShieldKey = [32]byte{2}
	if random, err := Open([32]byte(v[0].ViewingKey), noPoint); err == nil {
		t.Errorf("a shield key that is no point: got %x", random)
	}
	if random, err := Open([32]byte(v[1].ViewingKey), v[0].note()); err == nil {
		t.Errorf("the note of another: got %x", random)
	}
	for _, size := range []int{0, 159, 161} {
		if n, err := ParseNote(make([]byte, size)); err == nil {
			t.Errorf("got %x of %d bytes, want an error", n, size)
		}
	}
	if n, err := NewNote(Address{}); err == nil || n != (Note{}) {
		t.Errorf("the zero address: got %x, %v, want an error and no note", n, err)
	}
}
