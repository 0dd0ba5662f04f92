package account

import (
	"math/big"
	"strings"
	"testing"

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
		"nothing":                {nil, "The contract reverted without a reason"},
		"less than a selector":   {[]byte{1, 2, 3}, "The contract reverted without a reason"},
		"a text":                 {text("ERC20: transfer amount exceeds balance"), "The contract says: ERC20: transfer amount exceeds balance"},
		"a text of the terminal": {text("a\x1b[31mb\u009bc\u202ed\xff"), "The contract says: a[31mbcd"},
		"a long text":            {text(strings.Repeat("x", 5000)), "The contract says: " + strings.Repeat("x", 200) + "…"},
		"an empty text":          {text(""), "The contract reverted with error 0x08c379a0"},
		"a text cut off":         {text("balance too low")[:70], "The contract reverted with error 0x08c379a0"},
		"overflow":               {panicked(0x11), "The contract stops: arithmetic overflow or underflow"},
		"an unknown panic":       {panicked(0x99), "The contract reverted with error 0x4e487b71"},
		"a panic cut off":        {panicked(0x11)[:4], "The contract reverted with error 0x4e487b71"},
		"too little allowed":     {common.FromHex("fb8f41b2" + strings.Repeat("0", 192)), "The account's token allowance is lower than the transferred amount"},
		"too little":             {common.FromHex("e450d38c" + strings.Repeat("0", 192)), "The account's token balance is lower than the transferred amount"},
		"paused":                 {common.FromHex("d93c0665"), "The contract is paused"},
		"an unknown error":       {common.FromHex("deadbeef00"), "The contract reverted with error 0xdeadbeef"},
	} {
		if got := explainRevert(tt.output); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
