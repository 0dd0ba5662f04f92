package railgun

import "testing"

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
			poseidonAgain(x, x)
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
