package calldata

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"
)

// Call is a decoded call.
type Call struct {
	Function  string // such as approve(address,uint256)
	Arguments []Argument
}

// Argument is one argument of a call, or one field of a hook.
type Argument struct {
	Name string
	Type Type
	Data []byte // big-endian for a number; shared with the calldata
	size int    // of that type; 0 for Bytes
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

// sizes are the sizes of the types in bytes. Bytes has no fixed size.
var sizes = map[Type]int{Uint256: word, Uint32: 4, Uint8: 1, Address: common.AddressLength, Bytes32: word}

// declaration is the declaration of a function that a wallet signs, or of an event that a
// contract emits.
type declaration struct {
	signature string
	hash      common.Hash // the first topic of an event; selects a function by its first four bytes
	indexed   []string    // the arguments that are topics
	params    []Argument  // the others, without Data
	tuple     bool        // they are the fields of one struct
}

// declare parses a declaration, in which the fields of a struct are in double parentheses.
func declare(text string) declaration {
	name, params, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	d := declaration{tuple: strings.Contains(params, "(")}
	var types []string
	for param := range strings.SplitSeq(params, ", ") {
		words := strings.Fields(strings.Trim(param, "()"))
		if words[1] == "indexed" {
			d.indexed = append(d.indexed, words[2])
		} else {
			d.params = append(d.params, Argument{Name: words[1], Type: Type(words[0]), size: sizes[Type(words[0])]})
		}
		// The type keeps the parentheses of a struct.
		types = append(types, strings.Fields(param)[0]+param[len(strings.TrimRight(param, ")")):])
	}
	d.signature = name + "(" + strings.Join(types, ",") + ")"
	d.hash = Hash([]byte(d.signature))
	return d
}

// Hash is Keccak-256 of all data.
func Hash(data ...[]byte) (h common.Hash) {
	hasher := keccak.NewLegacyKeccak256()
	for _, d := range data {
		hasher.Write(d)
	}
	hasher.Sum(h[:0])
	return h
}

// The functions and events are written as their contracts declare them, independently of the
// encoders, so that decoding detects a mistake in an encoder.
var (
	approveCall = declare("approve(address spender, uint256 amount)")
	swapCall    = declare("swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, " +
		"address dstToken, bytes32 integratorId)")
	burnCall = declare("depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, " +
		"address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)")

	swapEvent = declare("Swap(uint256 indexed nonce, address indexed sender, uint256 dstChainId, uint256 amount, " +
		"bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId)")
	settledEvent = declare("Settled(bytes32 indexed id, (uint256 source, address srcPool, uint256 nonce, " +
		"address token, uint256 amount, bytes recipient, uint8 recipientType, uint256 protocolFee, " +
		"address integrator, uint256 integratorFee))")
	burnEvent = declare("DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, " +
		"bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, " +
		"bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData)")
	receivedEvent = declare("MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, " +
		"bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)")

	hookFields = declare("hook(uint256 dstChainId, address dstToken, bytes32 integratorId, uint8 recipientType, " +
		"bytes recipient)").params
)

// Decode decodes a call. It accepts only the canonical encoding, which is unique.
func Decode(data []byte) (Call, error) {
	for _, d := range []*declaration{&swapCall, &burnCall, &approveCall} {
		if arguments, ok := bytes.CutPrefix(data, d.hash[:4]); ok {
			return d.decode(arguments)
		}
	}
	return Call{}, errors.New("the calldata calls no function of ours")
}

// decode reads the arguments that are not topics.
func (d *declaration) decode(data []byte) (Call, error) {
	call := Call{d.signature, slices.Clone(d.params)}
	head := len(d.params) * word
	if len(data) < head {
		return Call{}, fmt.Errorf("%s: the calldata is too short", d.signature)
	}
	tail := data[head:]
	for i := range call.Arguments {
		a := &call.Arguments[i]
		slot := data[i*word : (i+1)*word]
		switch {
		case a.Type == Bytes:
			if n, ok := smallUint(slot); !ok || n != len(data)-len(tail) {
				return Call{}, fmt.Errorf("%s: %s does not start where it must", d.signature, a.Name)
			}
			var ok bool
			if a.Data, tail, ok = cutBytes(tail); !ok {
				return Call{}, fmt.Errorf("%s: %s is cut off or not padded with zeros", d.signature, a.Name)
			}
		case !IsZero(slot[:word-a.size]):
			return Call{}, fmt.Errorf("%s: %s is no %s", d.signature, a.Name, a.Type)
		default:
			a.Data = slot[word-a.size:]
		}
	}
	if len(tail) != 0 {
		return Call{}, fmt.Errorf("%s: %d bytes follow the arguments", d.signature, len(tail))
	}
	return call, nil
}

var errOtherEvent = errors.New("another event")

// decodeLog reads a log like a call: only canonical encoding is accepted.
func (d *declaration) decodeLog(topics []common.Hash, data []byte) (*Call, error) {
	if len(topics) != 1+len(d.indexed) || topics[0] != d.hash {
		return nil, errOtherEvent
	}
	if d.tuple {
		var ok bool
		if data, ok = bytes.CutPrefix(data, appendUint64(nil, word)); !ok {
			return nil, fmt.Errorf("%s: the struct does not start where it must", d.signature)
		}
	}
	c, err := d.decode(data)
	return &c, err
}

// Log is an event as a contract emits it.
type Log struct {
	Address common.Address // of the contract
	Topics  []common.Hash
	Data    []byte
}

// Emitted reports whether a log is the event that this call emits: it names the sender, and
// all arguments that it shares with the call are equal.
func (c *Call) Emitted(sender common.Address, log Log) bool {
	e := &swapEvent
	if c.Function == burnCall.signature {
		e = &burnEvent
	}
	got, err := e.decodeLog(log.Topics, log.Data)
	if err != nil {
		return false
	}
	for i, name := range e.indexed {
		want := c.Argument(name)
		if name == "sender" || name == "depositor" {
			want = sender[:]
		}
		if want != nil && log.Topics[i+1] != common.BytesToHash(want) {
			return false
		}
	}
	for _, a := range got.Arguments {
		if want := c.Argument(a.Name); want != nil && !bytes.Equal(a.Data, want) {
			return false
		}
	}
	return true
}

// Argument returns an argument by its name, nil if there is none.
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
	fields := slices.Clone(hookFields)
	for i := range fields {
		size := fields[i].size
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

// cutBytes splits off a dynamic argument: its length, content and padding.
func cutBytes(data []byte) (content, rest []byte, ok bool) {
	if len(data) < word {
		return nil, nil, false
	}
	n, ok := smallUint(data[:word])
	if !ok || len(data) < bytesSize(n) {
		return nil, nil, false
	}
	end := word + n
	return data[word:end], data[bytesSize(n):], IsZero(data[end:bytesSize(n)])
}

// smallUint reads a number that can be a length or an offset in calldata.
func smallUint(slot []byte) (n int, ok bool) {
	const most = 1 << 16
	n = int(slot[word-3])<<16 | int(slot[word-2])<<8 | int(slot[word-1])
	return n, IsZero(slot[:word-3]) && n < most
}

// IsZero reports whether all bytes are zero.
func IsZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
