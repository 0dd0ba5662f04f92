package calldata

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"
	"github.com/holiman/uint256"
)

// event is one that a contract emits. Its arguments are read like those of a
// call: only canonical encoding is accepted.
type event struct {
	topic   common.Hash
	indexed []string // the arguments that are topics
	data    function
	tuple   bool // the data is one struct
}

// parseEvent reads a declaration, in which the fields of a struct are in double
// parentheses.
func parseEvent(declaration string) event {
	name, params, _ := strings.Cut(strings.TrimSuffix(declaration, ")"), "(")
	e := event{data: function{text: name}, tuple: strings.Contains(params, "(")}
	var types []string
	for param := range strings.SplitSeq(params, ", ") {
		open, close := strings.HasPrefix(param, "("), strings.HasSuffix(param, ")")
		words := strings.Fields(strings.Trim(param, "()"))
		kind := words[0]
		if words[1] == "indexed" {
			e.indexed = append(e.indexed, words[2])
		} else {
			e.data.params = append(e.data.params, Argument{Name: words[1], Type: Type(kind)})
		}
		if open {
			kind = "(" + kind
		}
		if close {
			kind += ")"
		}
		types = append(types, kind)
	}
	e.topic = hash([]byte(name + "(" + strings.Join(types, ",") + ")"))
	return e
}

func hash(data ...[]byte) (h common.Hash) {
	hasher := keccak.NewLegacyKeccak256()
	for _, d := range data {
		hasher.Write(d)
	}
	hasher.Sum(h[:0])
	return h
}

// The events, as their contracts declare them.
var (
	swapEvent     = parseEvent("Swap(uint256 indexed nonce, address indexed sender, uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId)")
	settledEvent  = parseEvent("Settled(bytes32 indexed id, (uint256 source, address srcPool, uint256 nonce, address token, uint256 amount, bytes recipient, uint8 recipientType, uint256 protocolFee, address integrator, uint256 integratorFee))")
	burnEvent     = parseEvent("DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData)")
	receivedEvent = parseEvent("MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)")
)

// Topics by which the logs of swaps, settlements and deliveries are found.
var (
	SwappedTopic  = swapEvent.topic
	SettledTopic  = settledEvent.topic
	ReceivedTopic = receivedEvent.topic
)

var errOtherEvent = errors.New("another event")

func (e *event) decode(topics []common.Hash, data []byte) (*Call, error) {
	if len(topics) != 1+len(e.indexed) || topics[0] != e.topic {
		return nil, errOtherEvent
	}
	if e.tuple {
		offset := make([]byte, word)
		offset[word-1] = word
		var ok bool
		if data, ok = bytes.CutPrefix(data, offset); !ok {
			return nil, fmt.Errorf("%s: the struct does not start where it must", e.data.text)
		}
	}
	c, err := e.data.decode(data)
	return &c, err
}

// Emitted tells whether a log is the event by which a contract tells of this call:
// it names the sender, and every argument of the call that it has is the same.
func (c *Call) Emitted(sender common.Address, topics []common.Hash, data []byte) bool {
	e := &swapEvent
	if strings.HasPrefix(c.Function, "depositForBurn") {
		e = &burnEvent
	}
	got, err := e.decode(topics, data)
	if err != nil {
		return false
	}
	for i, name := range e.indexed {
		want := c.Argument(name)
		if name == "sender" || name == "depositor" {
			want = sender[:]
		}
		if want != nil && topics[i+1] != common.BytesToHash(want) {
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

func (c *Call) number(name string) (n uint256.Int) {
	n.SetBytes(c.Argument(name))
	return n
}

// chainID is a routing ID, 0 for a number that cannot be one.
func chainID(data []byte) uint64 {
	var n uint256.Int
	if n.SetBytes(data); n.IsUint64() {
		return n.Uint64()
	}
	return 0
}

// Swapped is a pool's event Swap.
type Swapped struct {
	Nonce uint256.Int
	Swap
}

// DecodeSwapped reads the log of a pool.
func DecodeSwapped(topics []common.Hash, data []byte) (*Swapped, error) {
	c, err := swapEvent.decode(topics, data)
	if err != nil {
		return nil, err
	}
	s := &Swapped{Swap: swapOf(c)}
	s.Nonce.SetBytes(topics[1][:])
	return s, nil
}

func swapOf(c *Call) Swap {
	s := Swap{
		DstChainID:    chainID(c.Argument("dstChainId")),
		Amount:        c.number("amount"),
		Recipient:     c.Argument("recipient"),
		RecipientType: c.Argument("recipientType")[0],
		DstToken:      common.BytesToAddress(c.Argument("dstToken")),
		IntegratorID:  [32]byte(c.Argument("integratorId")),
	}
	if n := c.number("dstChainId"); !n.IsUint64() {
		s.DstTooLarge = &n
	}
	return s
}

// Settled is a pool's event Settled.
type Settled struct {
	ID            common.Hash
	Source        uint256.Int // the chain of the pool, or the domain of a burn
	SrcPool       common.Address
	Nonce         common.Hash
	Token         common.Address
	Amount        uint256.Int // without the fees
	Recipient     []byte
	RecipientType uint8
}

// DecodeSettled reads the log of a pool.
func DecodeSettled(topics []common.Hash, data []byte) (*Settled, error) {
	c, err := settledEvent.decode(topics, data)
	if err != nil {
		return nil, err
	}
	return &Settled{
		ID:            topics[1],
		Source:        c.number("source"),
		SrcPool:       common.BytesToAddress(c.Argument("srcPool")),
		Nonce:         common.BytesToHash(c.Argument("nonce")),
		Token:         common.BytesToAddress(c.Argument("token")),
		Amount:        c.number("amount"),
		Recipient:     c.Argument("recipient"),
		RecipientType: c.Argument("recipientType")[0],
	}, nil
}

// Burnt is the messenger's event DepositForBurn.
type Burnt struct {
	Token             common.Address
	Depositor         common.Address
	Amount            uint256.Int
	MintRecipient     common.Hash
	DestinationDomain uint32
	HookData          []byte
}

// DecodeBurnt reads the log of a messenger.
func DecodeBurnt(topics []common.Hash, data []byte) (*Burnt, error) {
	c, err := burnEvent.decode(topics, data)
	if err != nil {
		return nil, err
	}
	return &Burnt{
		Token:             common.BytesToAddress(topics[1][:]),
		Depositor:         common.BytesToAddress(topics[2][:]),
		Amount:            c.number("amount"),
		MintRecipient:     common.Hash(c.Argument("mintRecipient")),
		DestinationDomain: uint32(chainID(c.Argument("destinationDomain"))),
		HookData:          c.Argument("hookData"),
	}, nil
}

// DecodeReceived reads the message that a transmitter's event MessageReceived is
// about. The event does not tell where the message was sent to.
func DecodeReceived(topics []common.Hash, data []byte) (*Message, error) {
	c, err := receivedEvent.decode(topics, data)
	if err != nil {
		return nil, err
	}
	m := &Message{SourceDomain: uint32(chainID(c.Argument("sourceDomain"))), Nonce: topics[2], Sender: common.Hash(c.Argument("sender"))}
	return m, m.readBody(c.Argument("messageBody"))
}
