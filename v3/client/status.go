package client

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client/internal/known"
)

// The states of a swap.
const (
	NotFound = "NOT_FOUND"  // no node of the gateway knows the transaction
	Pending  = "PENDING"    // it is not deep enough in the chain
	Failed   = "FAILED"     // it reverted, and swapped nothing
	NotASwap = "NOT_A_SWAP" // it swapped nothing through the contracts of this gateway
	Settling = "SETTLING"   // it is paid for and not paid out
	Settled  = "SETTLED"    // it is paid out
)

var states = []string{NotFound, Pending, Failed, NotASwap, Settling, Settled}

// Sent is a transaction to ask about.
type Sent struct {
	Hash  common.Hash
	Quote *Checked // what was signed: an answer about another swap is then refused; nil if it is not at hand

	SrcChain uint64 // where it was sent; may be left out with Quote
	Since    uint64 // the newest block before it was sent: an answer about an older one is refused; 0 if not known

	// OnRetry is told by Follow when the gateway cannot answer now, and in how long it is asked again; nil for nobody.
	OnRetry func(err error, wait time.Duration)
}

// network is the chain that the transaction is on.
func (s Sent) network() uint64 {
	if s.SrcChain == 0 && s.Quote != nil {
		return s.Quote.Pair.SrcToken.ChainID
	}
	return known.Network(s.SrcChain)
}

// A Progress is how far one swap is.
type Progress struct {
	State           string            `json:"state"`
	Final           bool              `json:"final"`
	Reason          string            `json:"reason,omitempty"` // why it failed, or cannot be told
	Swap            *StatusSwap       `json:"swap,omitempty"`
	Burn            *StatusBurn       `json:"burn,omitempty"`
	Settlement      *StatusSettlement `json:"settlement,omitempty"`
	ExpectedSeconds uint64            `json:"expectedSeconds,omitzero"`
}

// A Status is what a gateway says of a transaction. It is about the transaction that was asked about and, with
// Sent.Quote, about the swap that was signed; nothing else in it can be checked.
type Status struct {
	Raw json.RawMessage `json:"-"` // as it came

	Progress

	SrcChain string        `json:"srcChain"`
	TxHash   Hash          `json:"txHash"`
	Source   *StatusSource `json:"source,omitempty"`

	Swaps        []Progress `json:"swaps,omitempty"` // all, if there are several; Progress is of the least advanced
	OmittedSwaps uint64     `json:"omittedSwaps,omitzero"`

	NextCheckSeconds uint64 `json:"nextCheckSeconds"`
	Contact          string `json:"contact,omitempty"` // whom to ask when it takes too long
}

// StatusSwap is what was swapped, as the gateway read it on the chain.
type StatusSwap struct {
	DstChain      string `json:"dstChain"`
	DstToken      string `json:"dstToken"`
	Recipient     string `json:"recipient"` // an address, or the first word of a note
	RecipientType uint64 `json:"recipientType"`
	Amount        Amount `json:"amount"`
	IntegratorID  Hash   `json:"integratorId,omitempty"`
}

// StatusSource is how deep the transaction is.
type StatusSource struct {
	BlockNumber   uint64 `json:"blockNumber"`
	Confirmations uint64 `json:"confirmations"`
	Timestamp     Time   `json:"timestamp"`
}

// StatusBurn is how far the issuer is.
type StatusBurn struct {
	Domain           uint32 `json:"domain"`
	Nonce            Hash   `json:"nonce,omitempty"`
	Attested         bool   `json:"attested"`
	AttestationState string `json:"attestationState"`
	Reason           string `json:"reason,omitempty"`
}

// StatusSettlement is where the swap was paid out.
type StatusSettlement struct {
	ChainID   uint64 `json:"chainId"`
	TxHash    Hash   `json:"txHash,omitempty"` // of what the issuer minted, it may not be known
	Amount    Amount `json:"amount"`
	Arrived   Amount `json:"arrived"` // what the recipient got, where others took a part
	Timestamp Time   `json:"timestamp,omitempty"`
	Note      Hash   `json:"note,omitempty"`

	Short *StatusShort `json:"short,omitempty"`
}

// StatusShort is a payout that, with its fees, is not what was swapped. It is not final then.
type StatusShort struct {
	Swapped Amount `json:"swapped"`
	Paid    Amount `json:"paid"` // with the fees
}

func statusPath(srcChain uint64, hash common.Hash) string {
	query := url.Values{"srcChain": {decimal(known.Network(srcChain))}, "txHash": {hash.Hex()}}
	return "/v3/swap/status?" + query.Encode()
}

// Status asks once what became of a transaction. An answer about another one is an error with the code Unverified.
func (c *Client) Status(ctx context.Context, sent Sent) (*Status, error) {
	if sent.network() == 0 {
		return nil, &Error{Code: InvalidRequest, Message: "the chain of the transaction must be named"}
	}
	a, err := c.get(ctx, statusPath(sent.network(), sent.Hash), nil)
	if err != nil {
		return nil, err
	}
	if !a.isObject() {
		return nil, a.refusal()
	}
	const refused = "do not trust the gateway's answer"
	s := &Status{Raw: a.body}
	if err := decodeBody(a.body, s); err != nil {
		return nil, a.note(unverified(refused, err))
	}
	if problems := s.check(sent); problems != nil {
		return nil, a.note(unverified(refused, problems...))
	}
	return s, nil
}

// check says what is wrong with an answer about a transaction.
func (s *Status) check(sent Sent) (problems []error) {
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !strings.EqualFold(string(s.TxHash), sent.Hash.Hex()) {
		refuse("it is about transaction %s, and not %s", s.TxHash, sent.Hash)
	}
	if s.SrcChain != decimal(sent.network()) {
		refuse("it is about a transaction on chain %.30q, and not %d", s.SrcChain, sent.network())
	}
	s.Progress.check(refuse)
	for _, p := range s.Swaps {
		p.check(refuse)
		if s.Ended() && p.State != s.State || s.Final && !p.Final {
			refuse("it is %s, and one of its swaps is %s", s.State, p.State)
		}
	}
	switch {
	case s.Source == nil && s.State != NotFound && s.State != Pending:
		refuse("it is %s, and does not say in which block", s.State)
	case s.Source != nil && sent.Since > 0 && s.Source.BlockNumber <= sent.Since:
		refuse("it is in block %d, and was sent after block %d", s.Source.BlockNumber, sent.Since)
	}
	if sent.Quote != nil {
		_, differences := s.own(sent.Quote)
		problems = append(problems, differences...)
	}
	return problems
}

// check refuses a state that contradicts what stands beside it.
func (p Progress) check(refuse func(format string, args ...any)) {
	isPaid := p.Settlement != nil
	switch {
	case !slices.Contains(states, p.State):
		refuse("its state %.30q is unknown", p.State)
	case p.Final && !p.Ended():
		refuse("it is %s, which cannot be final", p.State)
	case isPaid != (p.State == Settled):
		refuse("it is %s; a settlement must be there for %s, and only then", p.State, Settled)
	case isPaid && p.Settlement.Short != nil && p.Final:
		refuse("it is final, and was not paid in full")
	}
}

// own finds the swap that was signed, or says what the answer has in its place. A swap of a transaction with too many
// of them may be one that is left out.
func (s *Status) own(q *Checked) (own *Progress, problems []error) {
	if len(s.Swaps) == 0 {
		return &s.Progress, s.Progress.differs(q)
	}
	for i := range s.Swaps {
		if s.Swaps[i].Swap != nil && s.Swaps[i].differs(q) == nil {
			return &s.Swaps[i], nil
		}
	}
	if s.OmittedSwaps > 0 && !s.Ended() {
		return &s.Progress, nil
	}
	return nil, []error{errors.New("none of its swaps is the one that was signed")}
}

func (p Progress) differs(q *Checked) (problems []error) {
	compare := func(what, got, want string) {
		if !strings.EqualFold(got, want) {
			problems = append(problems, fmt.Errorf("%s: got %.100q, signed %s", what, got, want))
		}
	}
	if p.Settlement != nil {
		compare("settlement.chainId", decimal(p.Settlement.ChainID), decimal(q.Pair.DstToken.ChainID))
	}
	if p.Swap == nil {
		if p.State == Settling || p.State == Settled {
			problems = append(problems, fmt.Errorf("it is %s, and does not say what was swapped", p.State))
		}
		return problems
	}
	recipient, kind := q.paid()
	compare("swap.dstChain", p.Swap.DstChain, decimal(q.Pair.DstChain))
	compare("swap.dstToken", p.Swap.DstToken, q.Pair.DstToken.Address.Hex())
	compare("swap.amount", string(p.Swap.Amount), q.Request.Amount.String())
	compare("swap.recipient", p.Swap.Recipient, recipient)
	compare("swap.recipientType", decimal(p.Swap.RecipientType), decimal(kind))
	compare("swap.integratorId", string(p.Swap.IntegratorID), integratorText(q.Request))
	return problems
}

// paid is whom a quote pays, as a status names them: an address, or the first word of a note; and which of the two.
func (q *Checked) paid() (recipient string, kind uint64) {
	if note := q.Note(); note != nil {
		return "0x" + hex.EncodeToString(note[:32]), toPrivate
	}
	return q.Request.Recipient, toAddress
}

// Ended tells whether the state is one that a swap stays in, once it is final.
func (p Progress) Ended() bool { return p.State == Settled || p.State == Failed || p.State == NotASwap }

// Took is the time from the block of the swap to that of the payout; false if the answer does not say.
func (s *Status) Took() (time.Duration, bool) {
	if s.Source == nil || s.Settlement == nil {
		return 0, false
	}
	return s.Settlement.Timestamp.At().Sub(s.Source.Timestamp.At()), s.Settlement.Timestamp != ""
}

// Short is by how much less than the quote said was paid out for its swap; nil for none, or if the answer does not say.
func (s *Status) Short(q *Checked) *big.Int {
	own, problems := s.own(q)
	if problems != nil || own.Settlement == nil {
		return nil
	}
	amount := own.Settlement.Amount.Int()
	if amount.Cmp(q.Dest) >= 0 {
		return nil
	}
	return new(big.Int).Sub(q.Dest, amount)
}

// String says for a person how far a swap is. It changes only when that changes.
func (s *Status) String() string {
	text := s.State + ": " + s.words()
	if s.Ended() && !s.Final {
		text += "; not final yet"
	}
	return text
}

var sentences = map[string]string{
	NotFound: "no node of the gateway knows the transaction yet",
	Pending:  "not in a block yet",
	Failed:   "the transaction reverted, and swapped nothing",
	NotASwap: "the transaction swapped nothing through the contracts of this gateway",
	Settling: "paid for, not paid out yet",
	Settled:  "paid out",
}

func (s *Status) words() string {
	text := sentences[s.State]
	switch {
	case s.State == Pending && s.Source != nil && s.Source.BlockNumber > 0:
		text = fmt.Sprintf("in block %d, waiting for more blocks on top", s.Source.BlockNumber)
	case s.State == Failed && s.Reason != "":
		text += fmt.Sprintf(": %.200q", s.Reason)
	case s.State == Settled && s.Settlement != nil && s.Settlement.TxHash != "":
		text += fmt.Sprintf(" with %s on chain %d", s.Settlement.TxHash, s.Settlement.ChainID)
	case s.State == Settling:
		text += s.Burn.words()
		if s.Reason != "" {
			text += fmt.Sprintf("; the gateway says: %.200q", s.Reason)
		}
	}
	return text
}

func (b *StatusBurn) words() string {
	switch {
	case b == nil:
		return ""
	case b.Attested:
		return "; the issuer has attested the burn"
	case b.Reason != "":
		return fmt.Sprintf("; the issuer has not attested the burn: %.60q, %.200q", b.AttestationState, b.Reason)
	}
	return fmt.Sprintf("; the issuer has not attested the burn: %.60q", b.AttestationState)
}
