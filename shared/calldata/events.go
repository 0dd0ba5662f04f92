package calldata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Topics of the logs of swaps, settlements and deliveries.
var (
	SwappedTopic  = swapEvent.hash
	SettledTopic  = settledEvent.hash
	ReceivedTopic = receivedEvent.hash
)

func (c *Call) number(name string) (n uint256.Int) {
	n.SetBytes(c.Argument(name))
	return n
}

// DecodeSwapped reads the log of a pool's event Swap. The nonce is the pool's own.
func DecodeSwapped(topics []common.Hash, data []byte) (swap Swap, nonce common.Hash, err error) {
	c, err := swapEvent.decodeLog(topics, data)
	if err != nil {
		return swap, nonce, err
	}
	return swapOf(c), topics[1], nil
}

func swapOf(c *Call) Swap {
	s := Swap{
		Amount:        c.number("amount"),
		Recipient:     c.Argument("recipient"),
		RecipientType: c.Argument("recipientType")[0],
		DstToken:      common.BytesToAddress(c.Argument("dstToken")),
		IntegratorID:  IntegratorID(c.Argument("integratorId")),
	}
	if dst := c.number("dstChainId"); dst.IsUint64() {
		s.DstChainID = dst.Uint64()
	} else {
		s.DstTooLarge = &dst
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
	ProtocolFee   uint256.Int
	IntegratorFee uint256.Int
}

// DecodeSettled reads the log of a pool.
func DecodeSettled(topics []common.Hash, data []byte) (*Settled, error) {
	c, err := settledEvent.decodeLog(topics, data)
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
		ProtocolFee:   c.number("protocolFee"),
		IntegratorFee: c.number("integratorFee"),
	}, nil
}

// transferTopic is of ERC-20's Transfer(address indexed from, address indexed to, uint256 value).
var transferTopic = Hash([]byte("Transfer(address,address,uint256)"))

// DecodeTransfer reads the log of a token.
func DecodeTransfer(topics []common.Hash, data []byte) (to common.Address, amount uint256.Int, ok bool) {
	if len(topics) != 3 || topics[0] != transferTopic || len(data) != word {
		return to, amount, false
	}
	amount.SetBytes(data)
	return common.BytesToAddress(topics[2][:]), amount, true
}

// shieldTopic is of RAILGUN's event Shield; see DecodeShield.
var shieldTopic = Hash([]byte("Shield(uint256,uint256,(bytes32,(uint8,address,uint256),uint120)[]," +
	"(bytes32[3],bytes32)[],uint256[])"))

// Shielded is a note of an ERC-20 that RAILGUN has accepted.
type Shielded struct {
	NPK   common.Hash
	Token common.Address
	Value uint256.Int // what the note is worth
	Fee   uint256.Int // what RAILGUN has deducted
}

// DecodeShield reads the notes of a log of RAILGUN, in their order. A note that is not of
// an ERC-20 is left as the zero value. Only canonical encoding is accepted: two numbers, where
// the lists begin, and the lists, each behind its length. RAILGUN emits as many ciphertexts
// and fees as notes.
func DecodeShield(topics []common.Hash, data []byte) ([]Shielded, bool) {
	const noteWords, ciphertextWords = 5, 4 // npk, token type, token, token's sub-ID, value
	count := max(0, len(data)/word-8) / (noteWords + ciphertextWords + 1)
	notes := 5
	ciphertexts := notes + 1 + count*noteWords
	fees := ciphertexts + 1 + count*ciphertextWords
	if len(topics) != 1 || topics[0] != shieldTopic || len(data) != word*(fees+1+count) {
		return nil, false
	}
	at := func(i int) []byte { return data[i*word : (i+1)*word] }
	for i, list := range []int{notes, ciphertexts, fees} {
		begin, okBegin := smallUint(at(2 + i))
		length, okLength := smallUint(at(list))
		if !okBegin || !okLength || begin != list*word || length != count {
			return nil, false
		}
	}
	shielded := make([]Shielded, count)
	for i := range shielded {
		note := notes + 1 + i*noteWords
		if !IsZero(at(note+1)) || !IsZero(at(note+3)) {
			continue
		}
		shielded[i].NPK = common.Hash(at(note))
		shielded[i].Token = common.BytesToAddress(at(note + 2))
		shielded[i].Value.SetBytes(at(note + 4))
		shielded[i].Fee.SetBytes(at(fees + 1 + i))
	}
	return shielded, true
}

// DecodeBurnt reads the log of a messenger's event DepositForBurn. It has the fields of the
// burn's message except the source domain, the nonce, the sender and the fee.
func DecodeBurnt(topics []common.Hash, data []byte) (*Message, error) {
	c, err := burnEvent.decodeLog(topics, data)
	if err != nil {
		return nil, err
	}
	return &Message{
		DestinationDomain: binary.BigEndian.Uint32(c.Argument("destinationDomain")),
		BurnToken:         topics[1],
		MintRecipient:     common.Hash(c.Argument("mintRecipient")),
		Amount:            c.number("amount"),
		Depositor:         topics[2],
		MaxFee:            c.number("maxFee"),
		HookData:          c.Argument("hookData"),
	}, nil
}

// DecodeReceived reads the message in a transmitter's event MessageReceived. The event has no
// destination domain.
func DecodeReceived(topics []common.Hash, data []byte) (*Message, error) {
	c, err := receivedEvent.decodeLog(topics, data)
	if err != nil {
		return nil, err
	}
	m := &Message{
		SourceDomain: binary.BigEndian.Uint32(c.Argument("sourceDomain")),
		Nonce:        topics[2],
		Sender:       common.Hash(c.Argument("sender")),
	}
	return m, m.readBody(c.Argument("messageBody"))
}

// SwapID names the settlement of a swap that went through a pool. network is the
// chain of the pool, never a virtual routing ID.
func SwapID(network uint64, pool common.Address, nonce common.Hash) common.Hash {
	return Hash(appendAddress(appendUint64(make([]byte, 0, 2*word), network), pool), nonce[:])
}

// BurnID names the settlement of a burn, by the domain and the nonce of its
// attested message.
func BurnID(domain uint32, nonce common.Hash) common.Hash {
	return Hash(appendUint64(make([]byte, 0, 2*word), uint64(domain)), nonce[:])
}

// SwapOfHook is the swap that the hook of a burn requests.
func SwapOfHook(amount *uint256.Int, hookData []byte) (*Swap, error) {
	fields, err := DecodeHook(hookData)
	if err != nil {
		return nil, err
	}
	c := Call{Arguments: append(fields, Argument{Name: "amount", Data: amount.Bytes()})}
	s := swapOf(&c)
	return &s, nil
}

// DecodeOrder reads the swap that a transaction requests: a call of a pool, or a burn that is
// minted for receiver.
func DecodeOrder(data []byte, receiver common.Address) (*Swap, error) {
	c, err := Decode(data)
	if err != nil {
		return nil, err
	}
	switch string(data[:4]) {
	case swapSelector:
		s := swapOf(&c)
		return &s, nil
	case burnSelector:
		if common.Hash(c.Argument("mintRecipient")) == common.BytesToHash(receiver[:]) {
			amount := c.number("amount")
			return SwapOfHook(&amount, c.Argument("hookData"))
		}
	}
	return nil, errors.New("the call is no swap")
}

// Message is a burn as the issuer attests it.
type Message struct {
	SourceDomain      uint32
	DestinationDomain uint32
	Nonce             common.Hash
	Sender            common.Hash // the messenger
	BurnToken         common.Hash
	MintRecipient     common.Hash
	Amount            uint256.Int
	Depositor         common.Hash
	FeeExecuted       uint256.Int // what the issuer deducts from the amount
	MaxFee            uint256.Int
	HookData          []byte
}

// DecodeMessage reads a burn message of CCTP V2: a header of 148 bytes, then the
// body.
func DecodeMessage(data []byte) (*Message, error) {
	const header = 148
	if len(data) < header {
		return nil, errShort
	}
	if binary.BigEndian.Uint32(data) != messageVersion {
		return nil, errVersion
	}
	m := &Message{
		SourceDomain:      binary.BigEndian.Uint32(data[4:]),
		DestinationDomain: binary.BigEndian.Uint32(data[8:]),
		Nonce:             common.Hash(data[12:44]),
		Sender:            common.Hash(data[44:76]),
	}
	return m, m.readBody(data[header:])
}

const messageVersion = 1 // of header and body

var (
	errShort   = errors.New("the message is too short for a burn")
	errVersion = errors.New("the message is of another version")
)

func (m *Message) readBody(body []byte) error {
	const fixed = 4 + 7*word
	if len(body) < fixed {
		return errShort
	}
	if binary.BigEndian.Uint32(body) != messageVersion {
		return errVersion
	}
	at := func(field int) []byte { return body[4+field*word : 4+(field+1)*word] }
	m.BurnToken = common.Hash(at(0))
	m.MintRecipient = common.Hash(at(1))
	m.Amount.SetBytes(at(2))
	m.Depositor = common.Hash(at(3))
	m.MaxFee.SetBytes(at(4))
	m.FeeExecuted.SetBytes(at(5))
	m.HookData = body[fixed:]
	return nil
}

// Matches reports whether a message is that of a burn.
func (m *Message) Matches(burn *Message) bool {
	return m.DestinationDomain == burn.DestinationDomain && m.sameBurn(burn)
}

func (m *Message) sameBurn(other *Message) bool {
	return m.SourceDomain == other.SourceDomain && m.Depositor == other.Depositor &&
		m.BurnToken == other.BurnToken && m.Amount == other.Amount &&
		m.MintRecipient == other.MintRecipient && bytes.Equal(m.HookData, other.HookData)
}

// Delivers reports whether a message that was received is the one that was attested.
// The issuer may have signed it several times, with another fee.
func (m *Message) Delivers(attested *Message) bool {
	return m.sameBurn(attested) &&
		m.Nonce == attested.Nonce && m.Sender == attested.Sender && m.MaxFee == attested.MaxFee
}

// A Revert is what a contract reverted with.
type Revert struct {
	Kind  [4]byte      // which error it is
	Text  string       // of Error(string): truncated and printable
	Panic *uint256.Int // of Panic(uint256)
}

// ReadRevert reads the output of a call that reverted. It is false if the output names no
// error. An invalid text is empty, and a truncated number is nil.
func ReadRevert(output []byte) (r Revert, ok bool) {
	if len(output) < 4 {
		return r, false
	}
	r.Kind = [4]byte(output)
	data := output[4:]
	switch string(r.Kind[:]) {
	case errorSelector:
		data, starts := bytes.CutPrefix(data, appendUint64(nil, word)) // where the text must start
		if text, _, ok := cutBytes(data); ok && starts {
			r.Text = printable(string(text))
		}
	case panicSelector:
		if len(data) >= word {
			r.Panic = new(uint256.Int).SetBytes(data[:word])
		}
	}
	return r, true
}

// RevertReason is the reason in the output of a call that reverted, empty if it has none.
func RevertReason(output []byte) string {
	r, ok := ReadRevert(output)
	switch {
	case !ok:
		return ""
	case r.Panic != nil:
		return "panic " + r.Panic.Hex()
	case string(r.Kind[:]) == errorSelector:
		return r.Text
	case len(output)%word == 4:
		return "custom error 0x" + common.Bytes2Hex(r.Kind[:])
	}
	return ""
}

// printable makes an untrusted text fit to show: truncated, and without unprintable characters.
func printable(text string) string {
	const most = 200
	clean := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return clean
}
