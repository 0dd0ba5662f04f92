package calldata_test

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
)

// TestEmittedSwap holds the event of a pool to the call: the sender and every argument count.
func TestEmittedSwap(t *testing.T) {
	swap := calldata.Swap{
		DstChainID: 369, Amount: *uint256.NewInt(1000), Recipient: somebody[:], DstToken: common.Address{8},
		IntegratorID: [32]byte{9},
	}
	call, err := calldata.Decode(swap.Encode())
	if err != nil {
		t.Fatal(err)
	}
	sender := common.Address{0xaa}
	emitted := func(from common.Address, dst, amount int64, recipient []byte, kind uint8, token common.Address, id byte) bool {
		topics, data := emit(t, contracts.PoolABI, "Swap", []common.Hash{number(7), common.BytesToHash(from[:])},
			big.NewInt(dst), big.NewInt(amount), recipient, kind, token, [32]byte{id})
		return call.Emitted(sender, topics, data)
	}
	if !emitted(sender, 369, 1000, somebody[:], 0, common.Address{8}, 9) {
		t.Error("the event of the call is not recognised")
	}
	for name, got := range map[string]bool{
		"sender":     emitted(somebody, 369, 1000, somebody[:], 0, common.Address{8}, 9),
		"chain":      emitted(sender, 370, 1000, somebody[:], 0, common.Address{8}, 9),
		"amount":     emitted(sender, 369, 1001, somebody[:], 0, common.Address{8}, 9),
		"recipient":  emitted(sender, 369, 1000, sender[:], 0, common.Address{8}, 9),
		"type":       emitted(sender, 369, 1000, somebody[:], 2, common.Address{8}, 9),
		"token":      emitted(sender, 369, 1000, somebody[:], 0, common.Address{7}, 9),
		"integrator": emitted(sender, 369, 1000, somebody[:], 0, common.Address{8}, 8),
	} {
		if got {
			t.Errorf("an event with another %s passes for that of the call", name)
		}
	}
	topics, data := emit(t, contracts.PoolABI, "Swap", []common.Hash{number(7), common.BytesToHash(sender[:])},
		big.NewInt(369), big.NewInt(1000), somebody[:], uint8(0), common.Address{8}, [32]byte{9})
	if call.Emitted(sender, topics[:2], data) || call.Emitted(sender, topics, data[:len(data)-1]) {
		t.Error("half an event passes")
	}
}

// TestMessagesOfTheLeastLength: a burn without hook data is whole, and one byte less is not.
func TestMessagesOfTheLeastLength(t *testing.T) {
	version := number(1).Bytes()[28:]
	body := slices.Concat(version, make([]byte, 7*32))
	message := slices.Concat(version, make([]byte, 144), body)
	if m, err := calldata.DecodeMessage(message); err != nil || len(m.HookData) != 0 {
		t.Errorf("got %+v and %v for a burn without hook data", m, err)
	}
	for _, size := range []int{len(message) - 1, 149, 148, 147, 0} {
		if m, err := calldata.DecodeMessage(message[:size]); err == nil {
			t.Errorf("%d bytes are read as %+v", size, m)
		}
	}
}

// TestRevertReasonAtItsBounds: a text of the greatest length is not cut, an empty one is read, and a panic needs its whole
// number.
func TestRevertReasonAtItsBounds(t *testing.T) {
	kind, err := abi.NewType("string", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) []byte {
		data, err := abi.Arguments{{Type: kind}}.Pack(s)
		if err != nil {
			t.Fatal(err)
		}
		return append(common.FromHex("08c379a0"), data...)
	}
	longest := strings.Repeat("ä", 200)
	if got := calldata.RevertReason(text(longest)); got != longest {
		t.Errorf("got %q of the longest text", got)
	}
	if got := calldata.RevertReason(text("")); got != "" {
		t.Errorf("got %q of an empty text", got)
	}
	panicked := append(common.FromHex("4e487b71"), number(17).Bytes()...)
	for _, size := range []int{4, 5, 35} {
		if got := calldata.RevertReason(panicked[:size]); strings.HasPrefix(got, "panic") {
			t.Errorf("%d bytes of a panic are read as %q", size, got)
		}
	}
	// The text is whole, but starts elsewhere.
	elsewhere := text("already settled")
	elsewhere[4+31]++
	if got := calldata.RevertReason(elsewhere); got != "" {
		t.Errorf("got %q of a text that starts elsewhere", got)
	}
}

// TestLengthsHaveABound: a recipient of 65,535 bytes is decoded, and one of 65,536 is refused.
func TestLengthsHaveABound(t *testing.T) {
	for size, readable := range map[int]bool{1<<16 - 1: true, 1 << 16: false} {
		swap := calldata.Swap{DstChainID: 369, Recipient: bytes.Repeat([]byte{1}, size)}
		call, err := calldata.Decode(swap.Encode())
		if (err == nil) != readable || readable && len(call.Argument("recipient")) != size {
			t.Errorf("a recipient of %d bytes: got %d bytes and %v", size, len(call.Argument("recipient")), err)
		}
	}
}
