package calldata_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
)

// FuzzDecode: what can be read is canonical, so only those bytes mean it.
func FuzzDecode(f *testing.F) {
	swap := calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(5), Recipient: make([]byte, 20)}
	burn := calldata.Burn{Swap: swap}
	f.Add(swap.Encode())
	f.Add(burn.Encode())
	f.Add(calldata.Approve(common.Address{1}, uint256.NewInt(7)))
	f.Fuzz(func(t *testing.T, data []byte) {
		call, err := calldata.Decode(data)
		if err != nil || !strings.HasPrefix(call.Function, "swap(") {
			return
		}
		chainID := new(uint256.Int).SetBytes(call.Argument("dstChainId"))
		if !chainID.IsUint64() {
			return
		}
		again := calldata.Swap{
			DstChainID: chainID.Uint64(), Amount: *new(uint256.Int).SetBytes(call.Argument("amount")),
			Recipient: call.Argument("recipient"), RecipientType: call.Argument("recipientType")[0],
			DstToken: common.BytesToAddress(call.Argument("dstToken")), IntegratorID: [32]byte(call.Argument("integratorId")),
		}
		if got := again.Encode(); !bytes.Equal(got, data) {
			t.Errorf("%x was read as %x", data, got)
		}
	})
}

// Whatever a node or the issuer sends, it is read or refused.
func FuzzDecodeEvents(f *testing.F) {
	for _, topic := range []common.Hash{contracts.PoolABI.Events["Swap"].ID, calldata.SettledTopic, contracts.TokenMessengerABI.Events["DepositForBurn"].ID, calldata.ReceivedTopic} {
		for topics := range byte(5) {
			f.Add(topic[:], topics, bytes.Repeat([]byte{0, 32}, 300))
		}
	}
	f.Fuzz(func(t *testing.T, topic []byte, more byte, data []byte) {
		topics := make([]common.Hash, 1+more%5)
		topics[0] = common.BytesToHash(topic)
		if s, _, err := calldata.DecodeSwapped(topics, data); err == nil && len(s.Recipient) > len(data) {
			t.Error("a recipient is longer than the data")
		}
		if s, err := calldata.DecodeSettled(topics, data); err == nil && len(s.Recipient) > len(data) {
			t.Error("a recipient is longer than the data")
		}
		if b, err := calldata.DecodeBurnt(topics, data); err == nil && len(b.HookData) > len(data) {
			t.Error("a hook is longer than the data")
		}
		_, _ = calldata.DecodeReceived(topics, data)
		_, _ = calldata.DecodeOrder(data, somebody)
		_, _ = calldata.SwapOfHook(uint256.NewInt(1), data)
		if m, err := calldata.DecodeMessage(data); err == nil && len(m.HookData)+376 != len(data) {
			t.Error("a message was read that has another length")
		}
		for _, selector := range []string{"08c379a0", "4e487b71", ""} {
			if reason := calldata.RevertReason(append(common.FromHex(selector), data...)); len([]rune(reason)) > 201 {
				t.Errorf("a reason has %d characters", len([]rune(reason)))
			}
		}
	})
}
