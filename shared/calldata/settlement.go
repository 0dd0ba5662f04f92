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

const (
	settledSelector    = "\xd9\x45\xaf\x1d" // settled(bytes32)
	usedNoncesSelector = "\xfe\xb6\x17\x24" // usedNonces(bytes32)
	errorSelector      = "\x08\xc3\x79\xa0" // Error(string)
	panicSelector      = "\x4e\x48\x7b\x71" // Panic(uint256)
)

// IsSettled asks a pool whether it has settled a swap: settled(bytes32 id).
func IsSettled(id common.Hash) []byte { return append([]byte(settledSelector), id[:]...) }

// IsUsed asks the issuer's transmitter whether it has taken a message:
// usedNonces(bytes32 nonce), which is 1 then.
func IsUsed(nonce common.Hash) []byte { return append([]byte(usedNoncesSelector), nonce[:]...) }

// SwapID names the settlement of a swap that went through a pool. network is the
// chain of the pool, never a virtual routing ID.
func SwapID(network uint64, pool common.Address, nonce *uint256.Int) common.Hash {
	b := appendUint64(make([]byte, 0, 3*word), network)
	return hash(appendUint(appendAddress(b, pool), nonce))
}

// BurnID names the settlement of a burn, by the domain and the nonce of its
// attested message.
func BurnID(domain uint32, nonce common.Hash) common.Hash {
	return hash(appendUint64(make([]byte, 0, 2*word), uint64(domain)), nonce[:])
}

// SwapOfHook is the swap that a burn of an amount asks for with its hook.
func SwapOfHook(amount *uint256.Int, hookData []byte) (*Swap, error) {
	fields, err := DecodeHook(hookData)
	if err != nil {
		return nil, err
	}
	c := Call{Arguments: append(fields, Argument{Name: "amount", Data: amount.Bytes()})}
	s := swapOf(&c)
	return &s, nil
}

// DecodeOrder reads what a transaction asks for: a swap through a pool, or a burn
// that is minted for receiver.
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
	FeeExecuted       uint256.Int // what the issuer keeps of the amount
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
	m.BurnToken, m.MintRecipient, m.Depositor = common.Hash(at(0)), common.Hash(at(1)), common.Hash(at(3))
	m.Amount.SetBytes(at(2))
	m.MaxFee.SetBytes(at(4))
	m.FeeExecuted.SetBytes(at(5))
	m.HookData = body[fixed:]
	return nil
}

// Matches tells whether a message is about a burn.
func (b *Burnt) Matches(m *Message) bool {
	return m.DestinationDomain == b.DestinationDomain && m.MintRecipient == b.MintRecipient && m.Amount == b.Amount &&
		m.BurnToken == common.BytesToHash(b.Token[:]) && m.Depositor == common.BytesToHash(b.Depositor[:]) && bytes.Equal(m.HookData, b.HookData)
}

// Delivers tells whether a message that was received is the one that was attested.
// The issuer may have signed it several times, with another fee.
func (m *Message) Delivers(attested *Message) bool {
	return m.SourceDomain == attested.SourceDomain && m.Nonce == attested.Nonce && m.Sender == attested.Sender && m.BurnToken == attested.BurnToken &&
		m.MintRecipient == attested.MintRecipient && m.Amount == attested.Amount && m.Depositor == attested.Depositor &&
		m.MaxFee == attested.MaxFee && bytes.Equal(m.HookData, attested.HookData)
}

// RevertReason is the text with which a contract reverted, empty if the output
// has none. It is cut to what a person reads, and holds printable characters only.
func RevertReason(output []byte) string {
	const most = 200
	switch {
	case len(output) < 4+word:
	case string(output[:4]) == panicSelector:
		return "panic " + new(uint256.Int).SetBytes(output[4:4+word]).Hex()
	case string(output[:4]) == errorSelector:
		if offset, ok := smallUint(output[4 : 4+word]); !ok || offset != word {
			return ""
		}
		text, _, ok := cutBytes(output[4+word:])
		if !ok {
			return ""
		}
		clean := strings.Map(func(r rune) rune {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, string(text))
		if runes := []rune(clean); len(runes) > most {
			clean = string(runes[:most]) + "…"
		}
		return clean
	}
	if len(output) >= 4 && len(output)%word == 4 && string(output[:4]) != errorSelector {
		return "custom error 0x" + common.Bytes2Hex(output[:4])
	}
	return ""
}
