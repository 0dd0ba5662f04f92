package railgun

import (
	"bytes"
	"encoding/hex"
	"math/big"
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
	random := [16]byte(v.Random)
	scalar := privateScalar([32]byte(v.ShieldPrivateKey))
	aead, err := sharedCipher(scalar, mustParse(t, v.Address).point)
	if err != nil {
		t.Fatal(err)
	}
	public := new(edwards25519.Point).ScalarBaseMult(scalar)
	note := v.note()
	if err := note.check(random, aead, public); err != nil {
		t.Fatalf("untouched note: %v", err)
	}
	const afterNPK = 32 // which SelfTest vouches for
	for bit := 8 * afterNPK; bit < 8*recipientSize; bit++ {
		if at := bit / 8; 80 <= at && at < 128 {
			continue // what only the sender could read, and the sender forgets the key
		}
		recipient := note.Recipient()
		recipient[bit/8] ^= 1 << (bit % 8)
		broken, err := ParseNote(recipient)
		if err != nil {
			t.Fatal(err)
		}
		if broken.check(random, aead, public) == nil {
			t.Errorf("bit %d of the recipient may change unnoticed", bit)
		}
	}
	if note.check([16]byte{1}, aead, public) == nil {
		t.Error("a note passes with the random of another")
	}
	other := new(edwards25519.Point).Add(public, edwards25519.NewGeneratorPoint())
	if note.check(random, aead, other) == nil {
		t.Error("a note passes with the shield key of another")
	}
}

// The first two are circomlib's published answers. The rest are from the same rounds over the field arithmetic of another
// library, gnark-crypto, at numbers at which carries happen. The vectors of the public engine are in TestKnownNotes.
func TestPoseidon(t *testing.T) {
	const largest = "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000000" // of the field
	for _, tt := range []struct{ a, b, want string }{
		{"1", "2", "115cc0f5e7d690413df64c6b9662e9cf2a3617f2743245519e19607a4417189a"},
		{"0", "0", "2098f5fb9e239eab3ceac3f27b81e481dc3124d55ffed523a839ee8446b64864"},
		{largest, largest, "2c6bd813a6338781378d8706cb82fd4216ab52b752ccd41564d7b98756a6e0fb"},
		{largest, "1", "241af30a65318c4636803d8133f87ce755ed485f10695563caff5ed186bccf7d"},
		{"0", largest, "28b2de3348b15076cbe645321cd2abbd0d2812669574ed4d5f978fe4e7de98bc"},
		{
			"183227397098d014dc2822db40c0ac2e9419f4243cdcb848a1f0fac9f8000000", "80000000000000000000000000000000",
			"133dd40b5544461a69127945c6ccf71593aa75214dae86da1118e9a9459c15a3",
		},
	} {
		a, _ := new(big.Int).SetString(tt.a, 16)
		b, _ := new(big.Int).SetString(tt.b, 16)
		if got := poseidon(a, b); hex.EncodeToString(got[:]) != tt.want {
			t.Errorf("poseidon(%s, %s): got %x, want %s", tt.a, tt.b, got, tt.want)
		}
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

// BenchmarkNewNote is the larger part of a shield quote.
func BenchmarkNewNote(b *testing.B) {
	to := mustParse(b, knownAnswers[0].address)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewNote(to); err != nil {
			b.Fatal(err)
		}
	}
}
