// Package calldata encodes the input of the transactions in canonical ABI encoding,
// and reads it back. It also reads the events that tell what became of a swap.
//
// The calls are few and fixed, so each is encoded word by word: no reflection,
// no parsing, one allocation of the exact size.
package calldata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"
	"github.com/holiman/uint256"
)

const word = 32

const (
	swapSelector       = "\x09\x5f\xf2\x2d"
	burnSelector       = "\x77\x9b\x43\x2d"
	approveSelector    = "\x09\x5e\xa7\xb3"
	balanceOfSelector  = "\x70\xa0\x82\x31"
	allowanceSelector  = "\xdd\x62\xed\x3e"
	tokenSelector      = "\xfc\x0c\x54\x6a" // token()
	settledSelector    = "\xd9\x45\xaf\x1d" // settled(bytes32)
	usedNoncesSelector = "\xfe\xb6\x17\x24" // usedNonces(bytes32)
	errorSelector      = "\x08\xc3\x79\xa0" // Error(string)
	panicSelector      = "\x4e\x48\x7b\x71" // Panic(uint256)
)

func appendUint(b []byte, v *uint256.Int) []byte {
	w := v.Bytes32()
	return append(b, w[:]...)
}

// appendUint64 appends any unsigned integer of at most 64 bits as a word.
func appendUint64(b []byte, v uint64) []byte {
	b = append(b, zeros[:word-8]...)
	return binary.BigEndian.AppendUint64(b, v)
}

// appendAddress appends an address as a word.
func appendAddress(b []byte, a common.Address) []byte {
	b = append(b, zeros[:word-common.AddressLength]...)
	return append(b, a[:]...)
}

// bytesSize is how many bytes the tail of a dynamic argument of n bytes takes.
func bytesSize(n int) int { return word + n + padding(n) }

func padding(n int) int { return (word - n%word) % word }

var zeros [word]byte

// Recipient types of a swap.
const (
	RecipientEVM     = 0 // the 20 bytes of an address
	RecipientPrivate = 2 // an encoded shield note
)

// Swap is the pool's
//
//	swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType,
//		address dstToken, bytes32 integratorId)
type Swap struct {
	DstChainID    uint64 // a routing ID: the virtual one for shielding
	Amount        uint256.Int
	Recipient     []byte // not padded
	RecipientType uint8
	DstToken      common.Address
	IntegratorID  [32]byte // zero when there is none

	DstTooLarge *uint256.Int // read from a chain: a destination beyond any routing ID; DstChainID is 0 then
}

// Token asks a pool for the token that it takes: token(), which not every pool has.
func Token() []byte { return []byte(tokenSelector) }

// Encode returns the calldata.
func (s *Swap) Encode() []byte {
	const head = 6 * word
	b := make([]byte, 0, len(swapSelector)+head+bytesSize(len(s.Recipient)))
	b = append(b, swapSelector...)
	b = appendUint64(b, s.DstChainID)
	b = appendUint(b, &s.Amount)
	b = appendUint64(b, head) // where the recipient starts
	b = appendUint64(b, uint64(s.RecipientType))
	b = appendAddress(b, s.DstToken)
	b = append(b, s.IntegratorID[:]...)
	b = appendUint64(b, uint64(len(s.Recipient)))
	b = append(b, s.Recipient...)
	return append(b, zeros[:padding(len(s.Recipient))]...)
}

// FastFinality asks the issuer to attest a burn before it is final.
const FastFinality = 1000

// Burn is the issuer's TokenMessengerV2
//
//	depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken,
//	    bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)
//
// in fast mode. The receiver is both mintRecipient and destinationCaller, so
// that only the receiver can deliver the message. What it has to do with the
// minted USDC is in the hook, the fields of the swap without padding:
//
//	uint256 dstChainId ‖ address dstToken ‖ bytes32 integratorId ‖ uint8 recipientType ‖ recipient
//
// The issuer attests the hook with the burn, so no relayer can change it.
type Burn struct {
	Swap
	DestinationDomain uint32
	Receiver          common.Address
	BurnToken         common.Address
	MaxFee            uint256.Int
}

// Encode returns the calldata.
func (c *Burn) Encode() []byte {
	const head = 8 * word
	hook := word + common.AddressLength + word + 1 + len(c.Recipient)
	b := make([]byte, 0, len(burnSelector)+head+bytesSize(hook))
	b = append(b, burnSelector...)
	b = appendUint(b, &c.Amount)
	b = appendUint64(b, uint64(c.DestinationDomain))
	b = appendAddress(b, c.Receiver)
	b = appendAddress(b, c.BurnToken)
	b = appendAddress(b, c.Receiver)
	b = appendUint(b, &c.MaxFee)
	b = appendUint64(b, FastFinality)
	b = appendUint64(b, head) // where the hook starts

	b = appendUint64(b, uint64(hook))
	b = appendUint64(b, c.DstChainID)
	b = append(b, c.DstToken[:]...)
	b = append(b, c.IntegratorID[:]...)
	b = append(b, c.RecipientType)
	b = append(b, c.Recipient...)
	return append(b, zeros[:padding(hook)]...)
}

// Approve is ERC-20's approve(address spender, uint256 amount).
func Approve(spender common.Address, amount *uint256.Int) []byte {
	b := make([]byte, 0, len(approveSelector)+2*word)
	b = append(b, approveSelector...)
	b = appendAddress(b, spender)
	return appendUint(b, amount)
}

// BalanceOf is ERC-20's balanceOf(address owner).
func BalanceOf(owner common.Address) []byte {
	return appendAddress([]byte(balanceOfSelector), owner)
}

// Allowance is ERC-20's allowance(address owner, address spender).
func Allowance(owner, spender common.Address) []byte {
	return appendAddress(appendAddress([]byte(allowanceSelector), owner), spender)
}

// SettledIn asks a pool in which block it has settled a swap: settled(bytes32 id), which
// is 0 as long as it has not.
func SettledIn(id common.Hash) []byte { return append([]byte(settledSelector), id[:]...) }

// IsUsed asks the issuer's transmitter whether it has taken a message:
// usedNonces(bytes32 nonce), which is 1 then.
func IsUsed(nonce common.Hash) []byte { return append([]byte(usedNoncesSelector), nonce[:]...) }

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

// sizes are how many bytes the values of a type have. Bytes may be any number.
var sizes = map[Type]int{Uint256: word, Uint32: 4, Uint8: 1, Address: common.AddressLength, Bytes32: word}

// declaration is that of a function which a wallet is asked to sign, or of an event
// which a contract emits.
type declaration struct {
	signature string
	hash      common.Hash // the first topic of an event; selects a function by its first four bytes
	indexed   []string    // the arguments that are topics
	params    []Argument  // the others, without Data
	tuple     bool        // they are the fields of one struct
}

// declare reads a declaration, in which the fields of a struct are in double
// parentheses.
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

// The functions and events are written as their contracts declare them, and not
// derived from the encoders: a mistake in an encoder shows here.
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

// Decode reads a call. It accepts only canonical encoding, of which there is one
// for each call.
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
	return data[word:end], data[bytesSize(n):], IsZero(data[end:bytesSize(n)])
}

// smallUint reads a number that can be a length or a place in calldata.
func smallUint(slot []byte) (n int, ok bool) {
	const most = 1 << 16
	n = int(slot[word-3])<<16 | int(slot[word-2])<<8 | int(slot[word-1])
	return n, IsZero(slot[:word-3]) && n < most
}

// IsZero tells whether all bytes are zero.
func IsZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
