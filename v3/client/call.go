package client

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// An abiType says how an argument is written: a number, or so many bytes, or bytes of any length.
type abiType uint8

const (
	abiUint abiType = iota
	abiAddress
	abiBytes32
	abiBytes
)

type abiInput struct {
	name string
	kind abiType
	bits int // of a number
}

// A function is one that a quote may call, as its contract declares it. At most one argument is of type bytes.
type function struct {
	signature string
	selector  [4]byte
	inputs    []abiInput
}

var (
	approveCall = &function{"approve(address,uint256)", [4]byte{0x09, 0x5e, 0xa7, 0xb3}, []abiInput{
		{"spender", abiAddress, 0}, {"amount", abiUint, 256},
	}}
	swapCall = &function{
		"swap(uint256,uint256,bytes,uint8,address,bytes32)",
		[4]byte{0x09, 0x5f, 0xf2, 0x2d},
		[]abiInput{
			{"dstChainId", abiUint, 256}, {"amount", abiUint, 256}, {"recipient", abiBytes, 0},
			{"recipientType", abiUint, 8}, {"dstToken", abiAddress, 0}, {"integratorId", abiBytes32, 0},
		},
	}
	burnCall = &function{
		"depositForBurnWithHook(uint256,uint32,bytes32,address,bytes32,uint256,uint32,bytes)",
		[4]byte{0x77, 0x9b, 0x43, 0x2d},
		[]abiInput{
			{"amount", abiUint, 256}, {"destinationDomain", abiUint, 32}, {"mintRecipient", abiBytes32, 0},
			{"burnToken", abiAddress, 0}, {"destinationCaller", abiBytes32, 0}, {"maxFee", abiUint, 256},
			{"minFinalityThreshold", abiUint, 32}, {"hookData", abiBytes, 0},
		},
	}
)

func (f *function) name() string { return f.signature[:strings.IndexByte(f.signature, '(')] }

// encode is the one canonical encoding of a call. An argument is given by its bytes, the shortest that hold it.
func (f *function) encode(args ...[]byte) []byte {
	data := slices.Clone(f.selector[:])
	var tail []byte
	for i, input := range f.inputs {
		if input.kind != abiBytes {
			data = append(data, common.LeftPadBytes(args[i], 32)...)
			continue
		}
		data = append(data, word(uint64(32*len(f.inputs)))...)
		tail = append(word(uint64(len(args[i]))), common.RightPadBytes(args[i], (len(args[i])+31)/32*32)...)
	}
	return append(data, tail...)
}

func word(n uint64) []byte { return common.BigToHash(new(big.Int).SetUint64(n)).Bytes() }

var (
	errShortCall = errors.New("it is shorter than its arguments")
	errEncoding  = errors.New("its arguments are not encoded as the contract's interface says")
)

// decode reads the arguments of a call in its canonical encoding.
func (f *function) decode(data []byte) ([][]byte, error) {
	if !bytes.HasPrefix(data, f.selector[:]) {
		return nil, errors.New("it calls another function than " + f.name())
	}
	words := data[4:]
	if len(words) < 32*len(f.inputs) {
		return nil, errShortCall
	}
	args := make([][]byte, len(f.inputs))
	for i, input := range f.inputs {
		at := words[32*i : 32*i+32]
		switch input.kind {
		case abiUint:
			args[i] = at[32-input.bits/8:]
		case abiAddress:
			args[i] = at[12:]
		case abiBytes32:
			args[i] = at
		case abiBytes:
			rest := words[32*len(f.inputs):]
			if len(rest) < 32 {
				return nil, errShortCall
			}
			size := new(big.Int).SetBytes(rest[:32])
			if !size.IsInt64() || size.Int64() > int64(len(rest)-32) {
				return nil, errShortCall
			}
			args[i] = rest[32 : 32+size.Int64()]
		}
	}
	if !bytes.Equal(f.encode(args...), data) {
		return nil, errEncoding
	}
	return args, nil
}

// show writes an argument as the details do: numbers in decimal, all else as 0x and digits.
func (input abiInput) show(value []byte) string {
	switch input.kind {
	case abiUint:
		return new(big.Int).SetBytes(value).String()
	case abiAddress:
		return common.BytesToAddress(value).Hex()
	}
	return "0x" + hex.EncodeToString(value)
}

// explain says what a call of ours does.
func (f *function) explain(data []byte) DecodedCall {
	call := DecodedCall{Function: f.signature, Arguments: map[string]string{}}
	args, err := f.decode(data)
	if err != nil {
		return call
	}
	for i, input := range f.inputs {
		call.Arguments[input.name] = input.show(args[i])
	}
	if f == burnCall {
		call.Hook = map[string]string{}
		for _, part := range hookParts(args[len(args)-1]) {
			call.Hook[part.name] = part.show(part.value)
		}
	}
	return call
}

// difference names the arguments in which a call differs from the one that was asked for.
func (f *function) difference(got, want []byte) string {
	gotArgs, err := f.decode(got)
	if err != nil {
		return ": " + err.Error()
	}
	wantArgs, err := f.decode(want)
	if err != nil {
		return ": " + err.Error()
	}
	var parts []string
	for i, input := range f.inputs {
		if g, w := input.show(gotArgs[i]), input.show(wantArgs[i]); g != w {
			parts = append(parts, fmt.Sprintf("%s is %s, want %s", input.name, cut(g, 200), w))
		}
	}
	return ": " + strings.Join(parts, ", ")
}

const (
	toAddress    = 0
	toPrivate    = 2
	fastFinality = 1000

	noteSize = 160
	noteAt   = 4 + 7*32 // in a swap: six words, then the length of the bytes
)

// swapData is a pool's call for this swap, which pays a recipient so encoded.
func (c *check) swapData(recipient []byte, kind byte) []byte {
	id := c.request.integratorID()
	return swapCall.encode(
		word(c.pair.DstChain), c.request.Amount.Bytes(), recipient,
		[]byte{kind}, c.pair.DstToken.Address[:], id[:],
	)
}

// checkSwap builds a pool's call again, and gives the call to sign. A note is the answer's: nobody else can make it,
// and nobody but its owner can open it.
func (c *check) checkSwap(data []byte) []byte {
	recipient, kind := c.recipient, byte(toAddress)
	if c.pair.Shields {
		if len(data) != noteAt+noteSize {
			c.problem("calldata: %d bytes, where shielding takes %d", len(data), noteAt+noteSize)
			return nil
		}
		recipient, kind = data[noteAt:], toPrivate
	}
	want := c.swapData(recipient, kind)
	if !bytes.Equal(data, want) {
		c.problem("calldata: not the call that was asked for%s", swapCall.difference(data, want))
	}
	return want
}

// checkBurn builds the issuer's burn again. Of the answer it takes the maxFee, within its bound.
func (c *check) checkBurn(data []byte) []byte {
	args, err := burnCall.decode(data)
	if err != nil {
		c.problem("calldata: %w", err)
		return nil
	}
	fee, limit := new(big.Int).SetBytes(args[5]), maxFee(c.request.Amount)
	if fee.Cmp(limit) > 0 {
		c.problem("burn maxFee: %s is more than 1.2 %% of the amount, %s", fee, limit)
		fee = limit
	}
	c.result.MaxFee = fee
	id := c.request.integratorID()
	hook := slices.Concat(word(c.pair.DstChain), c.pair.DstToken.Address[:], id[:], []byte{toAddress}, c.recipient)
	want := burnCall.encode(c.request.Amount.Bytes(), word(uint64(c.domain)), c.receiver[:], c.pair.SrcToken.Address[:],
		c.receiver[:], fee.Bytes(), word(fastFinality), hook)
	wantArgs, err := burnCall.decode(want)
	if err != nil {
		c.problem("calldata: %w", err)
		return nil
	}
	for i, input := range burnCall.inputs[:7] {
		c.compare("burn "+input.name, input.show(args[i]), input.show(wantArgs[i]))
	}
	c.compareHook(args[7], hook)
	return want
}

// maxFee is the most that a burn may cost: the highest fee that is taken for one, 1 %, and a fifth of that; both
// round up.
func maxFee(amount *big.Int) *big.Int {
	fee := new(big.Int).Add(amount, big.NewInt(99))
	fee.Quo(fee, big.NewInt(100))
	fee.Add(fee.Mul(fee, big.NewInt(6)), big.NewInt(4))
	return fee.Quo(fee, big.NewInt(5))
}

type hookPart struct {
	abiInput
	value []byte
}

// hookSize is that of a hook with an EVM recipient.
const hookSize = 32 + 20 + 32 + 1 + 20

// hookParts are the fields of a hook, which are packed without padding.
func hookParts(hook []byte) []hookPart {
	if len(hook) != hookSize {
		return nil
	}
	return []hookPart{
		{abiInput{"dstChainId", abiUint, 256}, hook[:32]},
		{abiInput{"dstToken", abiAddress, 0}, hook[32:52]},
		{abiInput{"integratorId", abiBytes32, 0}, hook[52:84]},
		{abiInput{"recipientType", abiUint, 8}, hook[84:85]},
		{abiInput{"recipient", abiBytes, 0}, hook[85:]},
	}
}

// compareHook says which field of a hook is wrong.
func (c *check) compareHook(got, want []byte) {
	if len(got) != len(want) {
		c.problem("hook: %d bytes, want %d", len(got), len(want))
		return
	}
	wanted := hookParts(want)
	for i, part := range hookParts(got) {
		c.compare("hook "+part.name, part.show(part.value), part.show(wanted[i].value))
	}
}

func parseHex(text string) ([]byte, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return nil, errors.New("does not start with 0x")
	}
	return hex.DecodeString(digits)
}
