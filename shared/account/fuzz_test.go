package account

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"
)

func FuzzExplainRevert(f *testing.F) {
	f.Add(common.FromHex("08c379a0" + strings.Repeat("0", 62) + "20" + strings.Repeat("f", 64)))
	f.Add(common.FromHex("4e487b71"))
	f.Fuzz(func(t *testing.T, output []byte) {
		got := explainRevert(output)
		if len(got) > 1000 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%x: got %q", output, got)
		}
	})
}
