package railgun

import (
	"reflect"
	"strings"
	"testing"
)

// accepted checks the guarantees of ParseAddress for an address that it accepted.
func accepted(t *testing.T, text string, a Address) {
	t.Helper()
	if got, want := a.String(), strings.ToLower(text); got != want {
		t.Errorf("got %s, want the same address %s", got, want)
	}
	if text != strings.ToLower(text) && text != strings.ToUpper(text) {
		t.Errorf("accepted %s in mixed case", text)
	}
	if again := mustParse(t, a.String()); !reflect.DeepEqual(again, a) {
		t.Errorf("got %v, want %v again", again, a)
	}
	n, err := NewNote(a)
	if err != nil {
		t.Errorf("address is accepted but cannot be paid: %v", err)
	}
	if sent, err := ParseNote(n.Recipient()); err != nil || sent != n {
		t.Errorf("got %x, %v, want %x", sent, err, n)
	}
}

func FuzzParseAddress(f *testing.F) {
	v := loadVectors(f)
	for _, valid := range v.Valid {
		f.Add(valid.Address)
	}
	for _, invalid := range v.Invalid {
		f.Add(invalid.Address)
	}
	for _, edge := range v.Edge {
		f.Add(edge.Address)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			refusal(t, text, err)
			return
		}
		accepted(t, text, a)
	})
}

// FuzzPayload gets past the checksum, which FuzzParseAddress hardly ever does.
func FuzzPayload(f *testing.F) {
	v := loadVectors(f)
	for _, valid := range v.Valid {
		p, err := decodeText(valid.Address)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p[:])
	}
	for _, invalid := range v.Invalid {
		if p, err := decodeText(invalid.Address); err == nil {
			f.Add(p[:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p [payloadSize]byte
		copy(p[:], b)
		text := encodeText(p)
		if got, err := decodeText(text); err != nil || got != p {
			t.Fatalf("got %x, %v, want %x again", got, err, p)
		}
		a, err := ParseAddress(text)
		if err != nil {
			refusal(t, text, err)
			return
		}
		accepted(t, text, a)
	})
}

func FuzzOpen(f *testing.F) {
	for _, v := range loadVectors(f).Valid {
		f.Add([]byte(v.ViewingKey), v.note().Recipient())
	}
	f.Fuzz(func(t *testing.T, key, recipient []byte) {
		var viewingKey [32]byte
		copy(viewingKey[:], key)
		n, err := ParseNote(recipient)
		if err != nil {
			return
		}
		if string(n.Recipient()) != string(recipient) {
			t.Errorf("got %x, want %x again", n.Recipient(), recipient)
		}
		if _, err := Open(viewingKey, n); err != nil {
			return
		}
		n.EncryptedBundle[0][31] ^= 1
		if random, err := Open(viewingKey, n); err == nil {
			t.Errorf("got %x from a note with another tag, want an error", random)
		}
	})
}
