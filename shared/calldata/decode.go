package calldata

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Call is a call as its bytes tell it.
type Call struct {
	Function  string // such as approve(address,uint256)
	Arguments []Argument
}

// Argument is one argument of a call, or one field of a hook.
type Argument struct {
	Name string
	Type Type
	Data []byte // big-endian for a number; shared with the calldata
}

// Type is the Solidity type of an argument.
type Type string

const (
	Uint256 Type = "uint256"
	Uint32  Type = "uint32"
	Uint8   Type = "uint8"
	Address Type = "address"
	Bytes32 Type = "bytes32"
	Bytes   Type = "bytes"
)

// size is how many bytes a value of the type has, 0 for any number.
func (t Type) size() int {
	switch t {
	case Uint256, Bytes32:
		return word
	case Uint32:
		return 4
	case Uint8:
		return 1
	case Address:
		return common.AddressLength
	}
	return 0
}

// function is one that a wallet is asked to sign.
type function struct {
	selector string
	text     string
	params   []Argument // without Data
}

// functions are written as their contracts declare them, and not derived from
// the encoders: a mistake in an encoder shows here.
var functions = []function{
	parseFunction(swapSelector, "swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId)"),
	parseFunction(burnSelector, "depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)"),
	parseFunction(approveSelector, "approve(address spender, uint256 amount)"),
}

func parseFunction(selector, declaration string) function {
	e := parseEvent(declaration)
	return function{selector, e.signature, e.data.params}
}

// Decode reads a call. It accepts only canonical encoding, of which there is one
// for each call.
func Decode(data []byte) (Call, error) {
	for _, f := range functions {
		if arguments, ok := bytes.CutPrefix(data, []byte(f.selector)); ok {
			return f.decode(arguments)
		}
	}
	return Call{}, errors.New("the calldata calls no function of ours")
}

func (f *function) decode(data []byte) (Call, error) {
	call := Call{f.text, slices.Clone(f.params)}
	head := len(f.params) * word
	if len(data) < head {
		return Call{}, fmt.Errorf("%s: the calldata is too short", f.text)
	}
	tail := data[head:]
	for i := range call.Arguments {
		a := &call.Arguments[i]
		slot := data[i*word : (i+1)*word]
		switch size := a.Type.size(); {
		case a.Type == Bytes:
			if n, ok := smallUint(slot); !ok || n != len(data)-len(tail) {
				return Call{}, fmt.Errorf("%s: %s does not start where it must", f.text, a.Name)
			}
			var ok bool
			if a.Data, tail, ok = cutBytes(tail); !ok {
				return Call{}, fmt.Errorf("%s: %s is cut off or not padded with zeros", f.text, a.Name)
			}
		case !isZero(slot[:word-size]):
			return Call{}, fmt.Errorf("%s: %s is no %s", f.text, a.Name, a.Type)
		default:
			a.Data = slot[word-size:]
		}
	}
	if len(tail) != 0 {
		return Call{}, fmt.Errorf("%s: %d bytes follow the arguments", f.text, len(tail))
	}
	return call, nil
}

// Argument gives an argument by its name, nil if there is none.
func (c *Call) Argument(name string) []byte {
	for i := range c.Arguments {
		if c.Arguments[i].Name == name {
			return c.Arguments[i].Data
		}
	}
	return nil
}

// DecodeHook reads the fields that a burn carries to the receiver.
func DecodeHook(data []byte) ([]Argument, error) {
	fields := []Argument{
		{Name: "dstChainId", Type: Uint256}, {Name: "dstToken", Type: Address}, {Name: "integratorId", Type: Bytes32},
		{Name: "recipientType", Type: Uint8}, {Name: "recipient", Type: Bytes},
	}
	for i := range fields {
		size := fields[i].Type.size()
		if fields[i].Type == Bytes {
			size = len(data) // the rest
		}
		if len(data) < size {
			return nil, errors.New("the hook is too short")
		}
		fields[i].Data, data = data[:size], data[size:]
	}
	return fields, nil
}

// cutBytes cuts a dynamic argument off its length, content and padding.
func cutBytes(data []byte) (content, rest []byte, ok bool) {
	if len(data) < word {
		return nil, nil, false
	}
	n, ok := smallUint(data[:word])
	if !ok || len(data) < bytesSize(n) {
		return nil, nil, false
	}
	end := word + n
	return data[word:end], data[bytesSize(n):], isZero(data[end:bytesSize(n)])
}

// smallUint reads a number that can be a length or a place in calldata.
func smallUint(slot []byte) (n int, ok bool) {
	const most = 1 << 16
	n = int(slot[word-3])<<16 | int(slot[word-2])<<8 | int(slot[word-1])
	return n, isZero(slot[:word-3]) && n < most
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
