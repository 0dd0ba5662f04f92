package calldata_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
)

// show writes arguments down, numbers in decimal.
func show(arguments []calldata.Argument) string {
	var b strings.Builder
	for _, a := range arguments {
		if strings.HasPrefix(string(a.Type), "uint") {
			fmt.Fprintf(&b, "%s %s\n", a.Name, new(uint256.Int).SetBytes(a.Data).Dec())
		} else {
			fmt.Fprintf(&b, "%s %x\n", a.Name, a.Data)
		}
	}
	return b.String()
}

// TestDecodeVectors reads what other libraries have encoded.
func TestDecodeVectors(t *testing.T) {
	v := readVectors(t)
	decode := func(name string, data []byte, function, want string) calldata.Call {
		t.Helper()
		call, err := calldata.Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := show(call.Arguments); call.Function != function || got != want {
			t.Errorf("%s: got %s\n%swant %s\n%s", name, call.Function, got, function, want)
		}
		return call
	}
	for _, s := range v.Swaps {
		decode(s.Name, s.Calldata, "swap(uint256,uint256,bytes,uint8,address,bytes32)", fmt.Sprintf(
			"dstChainId %d\namount %s\nrecipient %x\nrecipientType %d\ndstToken %x\nintegratorId %x\n",
			s.DstChainID, s.Amount, []byte(s.Recipient), s.RecipientType, s.DstToken, s.IntegratorID))
	}
	for _, a := range v.Approvals {
		decode(a.Name, a.Calldata, "approve(address,uint256)", fmt.Sprintf("spender %x\namount %s\n", a.Spender, a.Amount))
	}
	for _, b := range v.Burns {
		receiver := common.BytesToHash(b.Receiver[:])
		call, err := calldata.Decode(b.Calldata)
		if err != nil {
			t.Fatalf("%s: %v", b.Name, err)
		}
		hook := call.Argument("hookData")
		decode(b.Name, b.Calldata, "depositForBurnWithHook(uint256,uint32,bytes32,address,bytes32,uint256,uint32,bytes)", fmt.Sprintf(
			"amount %s\ndestinationDomain %d\nmintRecipient %x\nburnToken %x\ndestinationCaller %x\nmaxFee %s\nminFinalityThreshold 1000\nhookData %x\n",
			b.Amount, b.DestinationDomain, receiver, b.BurnToken, receiver, b.MaxFee, hook))
		fields, err := calldata.DecodeHook(hook)
		if err != nil {
			t.Fatalf("%s: %v", b.Name, err)
		}
		h := b.Hook
		want := fmt.Sprintf("dstChainId %d\ndstToken %x\nintegratorId %x\nrecipientType %d\nrecipient %x\n", h.DstChainID, h.DstToken, h.IntegratorID, h.RecipientType, []byte(h.Recipient))
		if got := show(fields); got != want {
			t.Errorf("%s: got the hook\n%swant\n%s", b.Name, got, want)
		}
	}
	if len(v.Swaps) == 0 || len(v.Approvals) == 0 || len(v.Burns) == 0 {
		t.Error("there are no vectors")
	}
}

// TestDecodeRefusesOtherEncodings: a byte too many or too few, an offset or a
// padding that is not canonical, a number that does not fit its type.
func TestDecodeRefusesOtherEncodings(t *testing.T) {
	swap := calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(5), Recipient: make([]byte, 20)}
	good := swap.Encode()
	const word = 32
	at := func(argument, offset int, value byte) []byte {
		data := slices.Clone(good)
		data[4+argument*word+offset] = value
		return data
	}
	for name, data := range map[string][]byte{
		"nothing":                     nil,
		"another function":            append([]byte{1, 2, 3, 4}, good[4:]...),
		"only the selector":           good[:4],
		"cut off":                     good[:len(good)-1],
		"a byte too many":             append(slices.Clone(good), 0),
		"a type above 255":            at(3, 30, 1),
		"an address of 21 bytes":      at(4, 11, 1),
		"a recipient elsewhere":       at(2, 31, 0xe0),
		"a recipient very far away":   at(2, 0, 1),
		"a recipient of 2^24 bytes":   at(6, 28, 1),
		"a recipient of 19 bytes":     at(6, 31, 19)[:4+8*word-1],
		"padding that is not zero":    at(7, 31, 1),
		"a length beyond the padding": at(6, 31, 33),
	} {
		if call, err := calldata.Decode(data); err == nil {
			t.Errorf("%s: read as %s", name, call.Function)
		}
	}
	if _, err := calldata.DecodeHook(make([]byte, 84)); err == nil {
		t.Error("a hook without its recipient type was read")
	}
}

// TestDecodeReadsAnEmptyRecipient: a length of zero without content is canonical.
func TestDecodeReadsAnEmptyRecipient(t *testing.T) {
	swap := calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(5)}
	call, err := calldata.Decode(swap.Encode())
	if err != nil || call.Argument("recipient") == nil || len(call.Argument("recipient")) != 0 {
		t.Errorf("got %+v and %v, want a recipient of no bytes", call, err)
	}
}
