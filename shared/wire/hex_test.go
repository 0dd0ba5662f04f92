package wire

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// FuzzHex compares with the standard library.
func FuzzHex(f *testing.F) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, seed := range [][]byte{nil, {0xff}, all, make([]byte, 39), append(make([]byte, 64), all[1:30]...)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := hex.AppendEncode([]byte("0x"), data)
		if got := appendHex([]byte("0x"), data); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func BenchmarkHex(b *testing.B) {
	data := make([]byte, 452) // as calldata: mostly zeros
	for at := 30; at < len(data); at += 64 {
		copy(data[at:], "\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78")
	}
	for name, encode := range map[string]func(b, data []byte) []byte{"ours": appendHex, "standard": hex.AppendEncode} {
		b.Run(name, func(b *testing.B) {
			buffer := make([]byte, 0, 1024)
			for b.Loop() {
				buffer = encode(buffer[:0], data)
			}
		})
	}
}
