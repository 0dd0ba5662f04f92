package calldata_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
)

// vectors were encoded by two other libraries: see testdata/calldata/generate.mjs.
type vectors struct {
	Swaps []struct {
		Name         string
		DstChainID   uint64
		Amount       string
		Recipient    hexutil.Bytes
		DstToken     common.Address
		IntegratorID common.Hash
		Calldata     hexutil.Bytes

		RecipientType uint8
	}
	Approvals []struct {
		Name     string
		Spender  common.Address
		Amount   string
		Calldata hexutil.Bytes
	}
	Burns []struct {
		Name              string
		Amount            string
		DestinationDomain uint32
		Receiver          common.Address
		BurnToken         common.Address
		MaxFee            string
		Hook              struct {
			DstChainID    uint64
			DstToken      common.Address
			IntegratorID  common.Hash
			RecipientType uint8
			Recipient     hexutil.Bytes
		}
		Calldata hexutil.Bytes
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("../../testdata/calldata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Swaps) < 8 || len(v.Approvals) < 3 || len(v.Burns) < 4 {
		t.Fatalf("only %d swaps, %d approvals and %d burns", len(v.Swaps), len(v.Approvals), len(v.Burns))
	}
	return v
}

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

// TestVectors: other libraries encode the same bytes, and what they encode is decoded.
func TestVectors(t *testing.T) {
	v := readVectors(t)
	check := func(name string, got, want []byte, function, arguments string) *calldata.Call {
		t.Helper()
		if !bytes.Equal(got, want) || len(got) != cap(got) {
			t.Errorf("%s: got  %x (capacity %d)\nwant %x", name, got, cap(got), want)
		}
		call, err := calldata.Decode(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := show(call.Arguments); call.Function != function || got != arguments {
			t.Errorf("%s: got %s\n%swant %s\n%s", name, call.Function, got, function, arguments)
		}
		return &call
	}
	for _, s := range v.Swaps {
		swap := calldata.Swap{
			DstChainID: s.DstChainID, Amount: *uint256.MustFromDecimal(s.Amount), Recipient: s.Recipient,
			RecipientType: s.RecipientType, DstToken: s.DstToken, IntegratorID: calldata.IntegratorID(s.IntegratorID),
		}
		check(s.Name, swap.Encode(), s.Calldata, "swap(uint256,uint256,bytes,uint8,address,bytes32)", fmt.Sprintf(
			"dstChainId %d\namount %s\nrecipient %x\nrecipientType %d\ndstToken %x\nintegratorId %x\n",
			s.DstChainID, s.Amount, []byte(s.Recipient), s.RecipientType, s.DstToken, s.IntegratorID))
	}
	for _, a := range v.Approvals {
		check(a.Name, calldata.Approve(a.Spender, uint256.MustFromDecimal(a.Amount)), a.Calldata,
			"approve(address,uint256)", fmt.Sprintf("spender %x\namount %s\n", a.Spender, a.Amount))
	}
	for _, b := range v.Burns {
		h := b.Hook
		burn := calldata.Burn{
			DestinationDomain: b.DestinationDomain, Receiver: b.Receiver, BurnToken: b.BurnToken,
			MaxFee: *uint256.MustFromDecimal(b.MaxFee),
			Swap: calldata.Swap{
				Amount: *uint256.MustFromDecimal(b.Amount), DstChainID: h.DstChainID, DstToken: h.DstToken,
				IntegratorID: calldata.IntegratorID(h.IntegratorID), RecipientType: h.RecipientType, Recipient: h.Recipient,
			},
		}
		receiver := common.BytesToHash(b.Receiver[:])
		hook := slices.Concat(common.BigToHash(new(big.Int).SetUint64(h.DstChainID)).Bytes(), h.DstToken[:],
			h.IntegratorID[:], []byte{h.RecipientType}, []byte(h.Recipient))
		call := check(b.Name, burn.Encode(), b.Calldata,
			"depositForBurnWithHook(uint256,uint32,bytes32,address,bytes32,uint256,uint32,bytes)", fmt.Sprintf(
				"amount %s\ndestinationDomain %d\nmintRecipient %x\nburnToken %x\ndestinationCaller %x\nmaxFee %s\n"+
					"minFinalityThreshold 1000\nhookData %x\n",
				b.Amount, b.DestinationDomain, receiver, b.BurnToken, receiver, b.MaxFee, []byte(hook)))
		fields, err := calldata.DecodeHook(call.Argument("hookData"))
		want := fmt.Sprintf("dstChainId %d\ndstToken %x\nintegratorId %x\nrecipientType %d\nrecipient %x\n",
			h.DstChainID, h.DstToken, h.IntegratorID, h.RecipientType, []byte(h.Recipient))
		if got := show(fields); err != nil || got != want {
			t.Errorf("%s: got the hook\n%s(%v) want\n%s", b.Name, got, err, want)
		}
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

// TestLengths: a recipient of no bytes is canonical, and one of 65,536 is refused.
func TestLengths(t *testing.T) {
	for size, readable := range map[int]bool{0: true, 1<<16 - 1: true, 1 << 16: false} {
		swap := calldata.Swap{DstChainID: 369, Recipient: bytes.Repeat([]byte{1}, size)}
		call, err := calldata.Decode(swap.Encode())
		got := call.Argument("recipient")
		if (err == nil) != readable || readable && (got == nil || len(got) != size) {
			t.Errorf("a recipient of %d bytes: got %d bytes and %v", size, len(got), err)
		}
	}
}

// The selector is that of the compiled pool: see testdata/contracts/Pool.sol.
func TestToken(t *testing.T) {
	if got, want := hex.EncodeToString(calldata.Token()), "fc0c546a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzDecode: everything that decodes is canonical, so its bytes are unique.
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
