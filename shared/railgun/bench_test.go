package railgun

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"testing"

	"filippo.io/edwards25519"
)

func BenchmarkShield(b *testing.B) {
	text := knownAnswers[0].address
	b.ReportAllocs()
	for b.Loop() {
		to, err := ParseAddress(text)
		if err != nil {
			b.Fatal(err)
		}
		note, err := NewNote(to)
		if err != nil {
			b.Fatal(err)
		}
		if len(note.Recipient()) != recipientSize {
			b.Fatal("short recipient")
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
}

func BenchmarkNewNote(b *testing.B) {
	to, err := ParseAddress(knownAnswers[0].address)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewNote(to); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkShieldKey compares two ways to check the shield key with the note
// that it is part of.
func BenchmarkShieldKey(b *testing.B) {
	to, err := ParseAddress(knownAnswers[0].address)
	if err != nil {
		b.Fatal(err)
	}
	var private [32]byte
	rand.Read(private[:])
	public := new(edwards25519.Point).ScalarBaseMult(privateScalar(private))
	encoded := public.Bytes()
	b.Run("note", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewNote(to); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if p, err := new(edwards25519.Point).SetBytes(encoded); err != nil || p.Equal(public) != 1 {
				b.Fatal("not the same point")
			}
		}
	})
	b.Run("derive", func(b *testing.B) {
		for b.Loop() {
			if !bytes.Equal(ed25519.NewKeyFromSeed(private[:])[32:], encoded) {
				b.Fatal("not the same key")
			}
		}
	})
}

func BenchmarkParseAddress(b *testing.B) {
	text := knownAnswers[0].address
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseAddress(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPoseidon(b *testing.B) {
	x := [32]byte{1}
	b.Run("answer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			poseidon(x, x)
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := poseidonAgain(x, x); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSelfTest(b *testing.B) {
	for b.Loop() {
		if err := SelfTest(); err != nil {
			b.Fatal(err)
		}
	}
}
