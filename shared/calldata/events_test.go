package calldata_test

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
)

var (
	somebody = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	someHash = common.HexToHash("0x1111111111111111111111111111111111111111111111111111111111111112")
)

// emit encodes an event of a compiled contract with go-ethereum's encoder.
func emit(t *testing.T, of abi.ABI, name string, indexed []common.Hash, args ...any) ([]common.Hash, []byte) {
	t.Helper()
	event := of.Events[name]
	data, err := event.Inputs.NonIndexed().Pack(args...)
	if err != nil {
		t.Fatal(err)
	}
	return append([]common.Hash{event.ID}, indexed...), data
}

func number(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// TestEmittedSwap compares the event of a pool with the call: the sender and every argument.
func TestEmittedSwap(t *testing.T) {
	swap := calldata.Swap{
		DstChainID: 369, Amount: *uint256.NewInt(1000), Recipient: somebody[:], DstToken: common.Address{8},
		IntegratorID: calldata.IntegratorID{9},
	}
	call, err := calldata.Decode(swap.Encode())
	if err != nil {
		t.Fatal(err)
	}
	sender := common.Address{0xaa}
	var topics []common.Hash
	var data []byte
	emitted := func(from common.Address, dst, amount int64, recipient []byte, kind uint8, token common.Address, id byte) bool {
		topics, data = emit(t, contracts.PoolABI, "Swap", []common.Hash{number(7), common.BytesToHash(from[:])},
			big.NewInt(dst), big.NewInt(amount), recipient, kind, token, [32]byte{id})
		return call.Emitted(sender, calldata.Log{Topics: topics, Data: data})
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
	if !emitted(sender, 369, 1000, somebody[:], 0, common.Address{8}, 9) {
		t.Error("the event of the call is not recognised")
	}
	if call.Emitted(sender, calldata.Log{Topics: topics[:2], Data: data}) ||
		call.Emitted(sender, calldata.Log{Topics: topics, Data: data[:len(data)-1]}) {
		t.Error("half an event passes")
	}
}

func TestDecodeEvents(t *testing.T) {
	topics, data := emit(t, contracts.PoolABI, "Swap", []common.Hash{number(7), common.BytesToHash(somebody[:])},
		big.NewInt(69696969), big.NewInt(1000), bytes.Repeat([]byte{5}, 160), uint8(2), somebody, someHash)
	s, swapNonce, err := calldata.DecodeSwapped(topics, data)
	if err != nil {
		t.Fatal(err)
	}
	if swapNonce != number(7) || s.DstChainID != 69696969 || s.Amount.Uint64() != 1000 || !bytes.Equal(s.Recipient, bytes.Repeat([]byte{5}, 160)) ||
		s.RecipientType != 2 || s.DstToken != somebody || common.Hash(s.IntegratorID) != someHash {
		t.Errorf("got %+v", s)
	}

	settlement := contracts.Settlement{
		Source: big.NewInt(1), SrcPool: common.Address{1}, Nonce: big.NewInt(2), Token: common.Address{3}, Amount: big.NewInt(997), Recipient: somebody[:],
		ProtocolFee: big.NewInt(3), Integrator: common.Address{4}, IntegratorFee: big.NewInt(5),
	}
	topics, data = emit(t, contracts.PoolABI, "Settled", []common.Hash{someHash}, settlement)
	if topics[0] != calldata.SettledTopic {
		t.Errorf("the topic of Settled is %s, want %s", calldata.SettledTopic, topics[0])
	}
	settled, err := calldata.DecodeSettled(topics, data)
	if err != nil {
		t.Fatal(err)
	}
	if settled.Source.ToBig().Cmp(settlement.Source) != 0 || settled.SrcPool != settlement.SrcPool || settled.Nonce.Big().Cmp(settlement.Nonce) != 0 || settled.Token != settlement.Token {
		t.Errorf("got the source %+v", settled)
	}
	if settled.ID != someHash || settled.Amount.Uint64() != 997 || common.BytesToAddress(settled.Recipient) != somebody || settled.RecipientType != 0 {
		t.Errorf("got %+v", settled)
	}

	topics, data = emit(t, contracts.TokenMessengerABI, "DepositForBurn", []common.Hash{number(1), common.BytesToHash(somebody[:]), number(1000)},
		big.NewInt(55), someHash, uint32(6), common.Hash{2}, common.Hash{3}, big.NewInt(9), []byte("hook"))
	burnt, err := calldata.DecodeBurnt(topics, data)
	if err != nil {
		t.Fatal(err)
	}
	if b := burnt; b.BurnToken != number(1) || b.Depositor != common.BytesToHash(somebody[:]) || b.Amount.Uint64() != 55 || b.MintRecipient != someHash || b.DestinationDomain != 6 || string(b.HookData) != "hook" {
		t.Errorf("got %+v", b)
	}

	body := slices.Concat([]byte{0, 0, 0, 1}, make([]byte, 7*32), []byte("hook"))
	body[4+31], body[4+2*32+31+32], body[4+5*32+31] = 7, 8, 9
	topics, data = emit(t, contracts.TransmitterABI, "MessageReceived", []common.Hash{number(1), someHash, number(1000)}, uint32(6), common.Hash{2}, body)
	m, err := calldata.DecodeReceived(topics, data)
	if err != nil || m.SourceDomain != 6 || m.Nonce != someHash || m.Sender != (common.Hash{2}) || m.BurnToken != number(7) || m.Depositor != number(8) ||
		m.FeeExecuted.Uint64() != 9 || string(m.HookData) != "hook" || topics[0] != calldata.ReceivedTopic {
		t.Errorf("got %+v, %v", m, err)
	}
	again := *m
	again.FeeExecuted.SetUint64(3) // signed once more, at another fee
	if !again.Delivers(m) {
		t.Error("a message that is signed again is the same")
	}
	for name, change := range map[string]func(*calldata.Message){
		"source": func(m *calldata.Message) { m.SourceDomain++ }, "nonce": func(m *calldata.Message) { m.Nonce[0]++ }, "sender": func(m *calldata.Message) { m.Sender[0]++ },
		"token": func(m *calldata.Message) { m.BurnToken[0]++ }, "recipient": func(m *calldata.Message) { m.MintRecipient[0]++ }, "amount": func(m *calldata.Message) { m.Amount.SetOne() },
		"depositor": func(m *calldata.Message) { m.Depositor[0]++ }, "highest fee": func(m *calldata.Message) { m.MaxFee.SetOne() }, "hook": func(m *calldata.Message) { m.HookData = nil },
	} {
		other := *m
		if change(&other); other.Delivers(m) {
			t.Errorf("a message with another %s is the same", name)
		}
	}
	for name, bad := range map[string]struct {
		topics []common.Hash
		data   []byte
	}{"a topic missing": {topics[:3], data}, "no topic": {nil, data}, "cut off": {topics, data[:len(data)-1]}} {
		if _, err := calldata.DecodeReceived(bad.topics, bad.data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := calldata.DecodeBurnt(topics, data); err == nil {
		t.Error("another event was accepted")
	}
	topics, data = emit(t, contracts.PoolABI, "Settled", []common.Hash{someHash}, settlement)
	data[31] = 0x40
	if _, err := calldata.DecodeSettled(topics, data); err == nil {
		t.Error("a struct that starts elsewhere was accepted")
	}
}

// TestDecodeShield: the first two notes are of other kinds of tokens.
func TestDecodeShield(t *testing.T) {
	note := func(npk common.Hash, kind uint8, subID, value int64) contracts.ShieldNote {
		token := contracts.ShieldToken{TokenType: kind, TokenAddress: somebody, TokenSubID: big.NewInt(subID)}
		return contracts.ShieldNote{Npk: npk, Token: token, Value: big.NewInt(value)}
	}
	notes := []contracts.ShieldNote{
		note(someHash, 1, 0, 1), note(someHash, 0, 7, 1), note(someHash, 1, 0, 1), note(someHash, 1, 0, 1),
		note(number(3), 0, 0, 2000),
	}
	none := new(big.Int)
	topics, data := emit(t, contracts.RailgunABI, "Shield", nil, big.NewInt(1), big.NewInt(2), notes,
		make([]contracts.ShieldCiphertext, 5), []*big.Int{big.NewInt(5), none, none, none, big.NewInt(6)})
	got, ok := calldata.DecodeShield(topics, data)
	last := calldata.Shielded{NPK: number(3), Token: somebody, Value: *uint256.NewInt(2000), Fee: *uint256.NewInt(6)}
	if !ok || !slices.Equal(got, []calldata.Shielded{{}, {}, {}, {}, last}) {
		t.Fatalf("got %v, %v", got, ok)
	}
	for _, at := range []int{2, 3, 4, 5, 31, 52} { // where the lists begin, and their lengths
		for _, changed := range []int{0, 31} {
			other := bytes.Clone(data)
			other[32*at+changed] ^= 1
			if _, ok := calldata.DecodeShield(topics, other); ok {
				t.Errorf("another byte %d of word %d was accepted", changed, at)
			}
		}
	}
	for _, cut := range [][]byte{nil, data[:8*32], data[:len(data)-32], data[:len(data)-1]} {
		if _, ok := calldata.DecodeShield(topics, cut); ok {
			t.Errorf("%d bytes were accepted", len(cut))
		}
	}
	for _, others := range [][]common.Hash{nil, {someHash}, {topics[0], someHash}} {
		if _, ok := calldata.DecodeShield(others, data); ok {
			t.Errorf("the topics %v were accepted", others)
		}
	}
}

// Transfers are read only from complete logs.
func TestDecodeTransfer(t *testing.T) {
	indexed := []common.Hash{{1}, common.BytesToHash(somebody[:])}
	topics, data := emit(t, contracts.TokenABI, "Transfer", indexed, big.NewInt(55))
	if to, amount, ok := calldata.DecodeTransfer(topics, data); !ok || to != somebody || amount.Uint64() != 55 {
		t.Errorf("got %s to %s, %t", amount.Dec(), to, ok)
	}
	for name, bad := range map[string]struct {
		topics []common.Hash
		data   []byte
	}{
		"no topic":        {nil, data},
		"a topic missing": {topics[:2], data},
		"another event":   {[]common.Hash{{1}, {1}, {1}}, data},
		"cut off":         {topics, data[:31]},
		"too long":        {topics, append(slices.Clone(data), 0)},
	} {
		if _, _, ok := calldata.DecodeTransfer(bad.topics, bad.data); ok {
			t.Errorf("transfer, %s: accepted", name)
		}
	}
}

// The IDs are those that the compiled pool computes: see docs/contracts.md for the same
// vectors from an independent encoder.
func TestSettlementIDs(t *testing.T) {
	word := func(hex string) abi.Type {
		kind, err := abi.NewType(hex, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return kind
	}
	pack := func(types []string, values ...any) common.Hash {
		var args abi.Arguments
		for _, kind := range types {
			args = append(args, abi.Argument{Type: word(kind)})
		}
		data, err := args.Pack(values...)
		if err != nil {
			t.Fatal(err)
		}
		return crypto.Keccak256Hash(data)
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 255)
	nonce := common.BigToHash(huge)
	if got, want := calldata.SwapID(369, somebody, nonce), pack([]string{"uint256", "address", "uint256"}, big.NewInt(369), somebody, huge); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := calldata.BurnID(11, someHash), pack([]string{"uint256", "bytes32"}, big.NewInt(11), [32]byte(someHash)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []struct {
		got    []byte
		of     abi.ABI
		method string
	}{{calldata.SettledIn(someHash), contracts.PoolABI, "settled"}, {calldata.IsUsed(someHash), contracts.TransmitterABI, "usedNonces"}} {
		want, err := c.of.Pack(c.method, someHash)
		if err != nil || !bytes.Equal(c.got, want) {
			t.Errorf("%s: got %x, want %x (%v)", c.method, c.got, want, err)
		}
	}
}

func TestRevertReason(t *testing.T) {
	kind, _ := abi.NewType("string", "", nil)
	text := func(s string) []byte {
		data, err := abi.Arguments{{Type: kind}}.Pack(s)
		if err != nil {
			t.Fatal(err)
		}
		return append(common.FromHex("08c379a0"), data...)
	}
	panicked := append(common.FromHex("4e487b71"), number(17).Bytes()...)
	longest := strings.Repeat("ä", 200)
	for want, output := range map[string][]byte{
		"":                        nil,
		"already settled":         text("already settled"),
		"no bells":                text("no\x07\u202e\xff bells\n"),
		longest:                   text(longest),
		longest + "…":             text(longest + "ä"),
		"panic 0x11":              panicked,
		"custom error 0x12345678": common.FromHex("12345678"),
		"custom error 0xaaaaaaaa": append(common.FromHex("aaaaaaaa"), someHash[:]...),
		"custom error 0x4e487b71": panicked[:4],
	} {
		if got := calldata.RevertReason(output); got != want {
			t.Errorf("%x: got %q, want %q", output, got, want)
		}
	}
	cut := text("already settled")
	elsewhere := text("already settled")
	elsewhere[4+31]++ // where the text starts
	dirty := text("already settled")
	dirty[len(dirty)-1] = 1 // in the padding
	for _, output := range [][]byte{
		cut[:5], cut[:40], cut[:len(cut)-1], {1, 2, 3}, append(slices.Clone(cut[:4]), someHash[:]...), elsewhere, dirty,
		text(""), panicked[:5], panicked[:35],
	} {
		if got := calldata.RevertReason(output); got != "" {
			t.Errorf("%x: got %q of what is no reason", output, got)
		}
	}
}

func TestDecodeOrder(t *testing.T) {
	swap := calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(5), Recipient: somebody[:], DstToken: common.Address{8}, IntegratorID: calldata.IntegratorID{9}}
	if got, err := calldata.DecodeOrder(swap.Encode(), common.Address{}); err != nil || got.DstChainID != 369 || got.Amount.Uint64() != 5 || got.IntegratorID != swap.IntegratorID || got.DstToken != swap.DstToken {
		t.Errorf("got %+v, %v", got, err)
	}
	burn := calldata.Burn{Receiver: somebody, Swap: calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(5), DstToken: common.Address{8}, Recipient: somebody[:]}}
	if got, err := calldata.DecodeOrder(burn.Encode(), somebody); err != nil || got.DstChainID != 369 || got.Amount.Uint64() != 5 || common.BytesToAddress(got.Recipient) != somebody {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, data := range map[string][]byte{"burn for others": burn.Encode(), "approval": calldata.Approve(somebody, uint256.NewInt(1)), "nothing": nil} {
		if got, err := calldata.DecodeOrder(data, common.Address{7}); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestDecodeMessage(t *testing.T) {
	hook := []byte("hook")
	message := slices.Concat(number(1).Bytes()[28:], number(2).Bytes()[28:], number(6).Bytes()[28:], someHash[:], make([]byte, 96), make([]byte, 8),
		number(1).Bytes()[28:], number(10).Bytes(), number(11).Bytes(), number(12).Bytes(), number(13).Bytes(), number(14).Bytes(), number(3).Bytes(), number(16).Bytes(), hook)
	m, err := calldata.DecodeMessage(message)
	if err != nil {
		t.Fatal(err)
	}
	if m.SourceDomain != 2 || m.DestinationDomain != 6 || m.Nonce != someHash || m.MintRecipient != number(11) || m.Amount.Uint64() != 12 ||
		m.Depositor != number(13) || m.FeeExecuted.Uint64() != 3 || string(m.HookData) != "hook" {
		t.Errorf("got %+v", m)
	}
	burnt := &calldata.Message{SourceDomain: 2, BurnToken: number(10), Depositor: number(13), Amount: *uint256.NewInt(12), MintRecipient: number(11), DestinationDomain: 6, HookData: hook}
	if !m.Matches(burnt) {
		t.Error("the message of a burn does not match it")
	}
	for name, change := range map[string]func(*calldata.Message){
		"token": func(b *calldata.Message) { b.BurnToken[0]++ }, "depositor": func(b *calldata.Message) { b.Depositor[0]++ }, "amount": func(b *calldata.Message) { b.Amount.SetUint64(11) },
		"recipient": func(b *calldata.Message) { b.MintRecipient[0]++ }, "domain": func(b *calldata.Message) { b.DestinationDomain++ }, "source": func(b *calldata.Message) { b.SourceDomain++ },
		"hook": func(b *calldata.Message) { b.HookData = []byte("hooks") },
	} {
		other := *burnt
		if change(&other); m.Matches(&other) {
			t.Errorf("another %s matches", name)
		}
	}
	if m, err := calldata.DecodeMessage(message[:376]); err != nil || len(m.HookData) != 0 {
		t.Errorf("got %+v and %v for a burn without hook data", m, err)
	}
	for _, bad := range [][]byte{
		nil, message[:147], message[:148], message[:149], message[:375], append([]byte{1}, message[1:]...),
	} {
		if _, err := calldata.DecodeMessage(bad); err == nil {
			t.Errorf("%x was accepted", bad)
		}
	}
	message[151] = 2
	if _, err := calldata.DecodeMessage(message); err == nil {
		t.Error("a body of another version was accepted")
	}
}

// Whatever a node or the issuer sends is decoded or rejected.
func FuzzDecodeEvents(f *testing.F) {
	for _, topic := range []common.Hash{
		contracts.PoolABI.Events["Swap"].ID, calldata.SettledTopic, contracts.RailgunABI.Events["Shield"].ID,
		contracts.TokenMessengerABI.Events["DepositForBurn"].ID, calldata.ReceivedTopic,
	} {
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
		if notes, ok := calldata.DecodeShield(topics, data); ok && 32*len(notes) > len(data) {
			t.Error("there are more notes than data")
		}
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
