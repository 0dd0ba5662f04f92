package account

import (
	"math/big"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
)

func TestExplainRevert(t *testing.T) {
	text := func(s string) []byte {
		data := append(common.FromHex("08c379a0"), math.U256Bytes(big.NewInt(32))...)
		data = append(data, math.U256Bytes(big.NewInt(int64(len(s))))...)
		return append(data, common.RightPadBytes([]byte(s), (len(s)+31)/32*32)...)
	}
	panicked := func(n int64) []byte { return append(common.FromHex("4e487b71"), math.U256Bytes(big.NewInt(n))...) }
	for name, tt := range map[string]struct {
		output []byte
		want   string
	}{
		"nothing":            {nil, "The contract reverted without a reason"},
		"a text":             {text("balance too low"), "The contract says: balance too low"},
		"an empty text":      {text(""), "The contract reverted with error 0x08c379a0"},
		"overflow":           {panicked(0x11), "The contract stops: panic code 0x11"},
		"a panic cut off":    {panicked(0x11)[:4], "The contract reverted with error 0x4e487b71"},
		"too little allowed": {common.FromHex("fb8f41b2" + strings.Repeat("0", 192)), "The account's token allowance is lower than the transferred amount"},
		"paused":             {common.FromHex("d93c0665"), "The contract is paused"},
		"an unknown error":   {common.FromHex("deadbeef00"), "The contract reverted with error 0xdeadbeef"},
	} {
		if got := explainRevert(tt.output); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

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

// TestGasFor: a limit covers what a refund has hidden, at most a fifth of the gas (EIP-3529), and what contracts keep.
func TestGasFor(t *testing.T) {
	for name, test := range map[string]struct{ used, before, want uint64 }{
		"nothing is told":           {0, 0, 0},
		"before refunds":            {80_000, 100_000, 100_000 + 12_500 + 2300},
		"after the largest refund":  {80_000, 0, 100_000 + 12_500 + 2300},
		"rounded up":                {80_001, 0, 100_002 + 12_500 + 2300},
		"less before than after it": {100_000, 80_000, 100_000 + 12_500 + 2300},
	} {
		if got := gasFor(test.used, test.before); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
	if got := withMargin(100_000); got != 125_000 {
		t.Errorf("with margin: got %d, want 125000", got)
	}
}
