package client

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
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

var hashes = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// Sent is a transaction to ask about.
type Sent struct {
	Hash  common.Hash
	Quote *Checked // what was signed: an answer about another swap is then refused; nil if it is not at hand

	SrcChain uint64 // where it was sent; may be left out with Quote

	// OnRetry is told by Follow when the gateway cannot answer now, and in how long it is asked again; nil for nobody.
	OnRetry func(err error, wait time.Duration)
}

// network is the chain that the transaction is on.
func (s Sent) network() uint64 {
	if s.SrcChain == 0 && s.Quote != nil {
		return s.Quote.Pair.SrcToken.ChainID
	}
	return networkOf(s.SrcChain)
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
	TxHash   string        `json:"txHash"`
	Source   *StatusSource `json:"source,omitempty"`

	Swaps        []Progress `json:"swaps,omitempty"` // all, if there are several; Progress is of the least advanced
	OmittedSwaps uint64     `json:"omittedSwaps,omitzero"`

	NextCheckSeconds uint64 `json:"nextCheckSeconds"`
	Contact          string `json:"contact,omitempty"` // whom to ask when it takes too long
}

// StatusSwap is what was swapped, as the gateway read it on the chain.
type StatusSwap struct {
	DstChain      string  `json:"dstChain"`
	DstToken      string  `json:"dstToken"`
	Recipient     string  `json:"recipient"` // an address, or the first word of a note
	RecipientType *uint64 `json:"recipientType"`
	Amount        Amount  `json:"amount"`
	IntegratorID  string  `json:"integratorId,omitempty"`
}

// StatusSource is how deep the transaction is.
type StatusSource struct {
	BlockNumber   uint64 `json:"blockNumber"`
	Confirmations uint64 `json:"confirmations"`
	Timestamp     string `json:"timestamp"`
}

// StatusBurn is how far the issuer is.
type StatusBurn struct {
	Domain           uint32 `json:"domain"`
	Nonce            string `json:"nonce,omitempty"`
	Attested         bool   `json:"attested"`
	AttestationState string `json:"attestationState"`
	Reason           string `json:"reason,omitempty"`
}

// StatusSettlement is where the swap was paid out.
type StatusSettlement struct {
	ChainID   uint64 `json:"chainId"`
	TxHash    string `json:"txHash,omitempty"` // of what the issuer minted, it may not be known
	Amount    Amount `json:"amount,omitzero"`
	Arrived   Amount `json:"arrived,omitzero"` // what the recipient got, where others took a part
	Timestamp string `json:"timestamp,omitempty"`
	Note      string `json:"note,omitempty"`

	Short *StatusShort `json:"short,omitempty"`
}

// StatusShort is a payout that, with its fees, is not what was swapped. It is not final then.
type StatusShort struct {
	Swapped Amount `json:"swapped"`
	Paid    Amount `json:"paid"` // with the fees
}

func (s *StatusShort) isPartial() bool { return s != nil && (s.Swapped == "" || s.Paid == "") }

func statusPath(srcChain uint64, hash common.Hash) string {
	query := url.Values{"srcChain": {decimal(networkOf(srcChain))}, "txHash": {hash.Hex()}}
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
	if a.status != http.StatusOK {
		return nil, a.refusal()
	}
	s := &Status{Raw: a.body}
	if err := decodeBody(a.body, s); err != nil {
		return nil, &Error{
			Code: Unreadable, Status: a.status, RequestID: a.requestID(),
			Message: "the gateway's answer is not what it should be", cause: err,
		}
	}
	if problems := s.check(sent); problems != nil {
		return nil, a.unverified("do not believe the gateway's answer", problems...)
	}
	return s, nil
}

// check says what is wrong with an answer about a transaction.
func (s *Status) check(sent Sent) (problems []error) {
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !strings.EqualFold(s.TxHash, sent.Hash.Hex()) {
		refuse("it is about transaction %.80q, and not %s", s.TxHash, sent.Hash)
	}
	if s.SrcChain != decimal(sent.network()) {
		refuse("it is about a transaction on chain %.30q, and not %d", s.SrcChain, sent.network())
	}
	for _, p := range append(slices.Clone(s.Swaps), s.Progress) {
		if !slices.Contains(states, p.State) {
			refuse("its state is %.30q, which is none", p.State)
		}
		if p.Settlement != nil && p.Settlement.TxHash != "" && !hashes.MatchString(p.Settlement.TxHash) {
			refuse("the settlement's transaction is %.80q, which is none", p.Settlement.TxHash)
		}
		if p.Settlement != nil && p.Settlement.Short.isPartial() {
			refuse("settlement.short must say what was swapped and what was paid")
		}
	}
	if sent.Quote != nil {
		problems = append(problems, s.checkSwap(sent.Quote)...)
	}
	return problems
}

// checkSwap holds what the gateway says was swapped against what was signed. One of several swaps of a transaction must
// be it.
func (s *Status) checkSwap(q *Checked) []error {
	first := s.Progress.differs(q)
	if first == nil {
		return nil
	}
	for _, p := range s.Swaps {
		if p.differs(q) != nil {
			continue
		}
		if s.Ended() && p.State != s.State {
			return []error{fmt.Errorf("it is %s, and the swap that was signed is %s", s.State, p.State)}
		}
		return nil
	}
	return first
}

func (p Progress) differs(q *Checked) (problems []error) {
	if p.Swap == nil {
		if p.State == Settling || p.State == Settled {
			return []error{fmt.Errorf("it is %s, and does not say what was swapped", p.State)}
		}
		return nil
	}
	compare := func(what, got, want string) {
		if !strings.EqualFold(got, want) {
			problems = append(problems, fmt.Errorf("swap.%s: got %.100q, signed %s", what, got, want))
		}
	}
	recipient, kind := q.paid()
	compare("dstChain", p.Swap.DstChain, decimal(q.Pair.DstChain))
	compare("dstToken", p.Swap.DstToken, q.Pair.DstToken.Address.Hex())
	compare("amount", string(p.Swap.Amount), q.Request.Amount.String())
	compare("recipient", p.Swap.Recipient, recipient)
	if p.Swap.RecipientType == nil || *p.Swap.RecipientType != kind {
		problems = append(problems, fmt.Errorf("swap.recipientType: signed %d", kind))
	}
	compare("integratorId", p.Swap.IntegratorID, integratorText(q.Request))
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
	sent, err := time.Parse(time.RFC3339, s.Source.Timestamp)
	paid, other := time.Parse(time.RFC3339, s.Settlement.Timestamp)
	return paid.Sub(sent), errors.Join(err, other) == nil
}

// Short is by how much less than the quote said was paid out for its swap; nil for none, or if the answer does not say.
func (s *Status) Short(q *Checked) *big.Int {
	own := s.Progress
	for _, p := range s.Swaps {
		if p.differs(q) == nil {
			own = p
			break
		}
	}
	if own.State != Settled || own.Settlement == nil {
		return nil
	}
	amount := own.Settlement.Amount.Int()
	if amount == nil || amount.Cmp(q.Dest) >= 0 {
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

func (s *Status) words() string {
	switch s.State {
	case NotFound:
		return "no node of the gateway knows the transaction yet"
	case Pending:
		if s.Source != nil && s.Source.BlockNumber > 0 {
			return fmt.Sprintf("in block %d, waiting for more blocks on top", s.Source.BlockNumber)
		}
		return "not in a block yet"
	case Failed:
		if s.Reason != "" {
			return fmt.Sprintf("the transaction reverted, and swapped nothing: %.200q", s.Reason)
		}
		return "the transaction reverted, and swapped nothing"
	case NotASwap:
		return "the transaction swapped nothing through the contracts of this gateway"
	case Settled:
		if s.Settlement == nil || s.Settlement.TxHash == "" {
			return "paid out"
		}
		return fmt.Sprintf("paid out with %s on chain %d", s.Settlement.TxHash, s.Settlement.ChainID)
	}
	text := "paid for, not paid out yet" + s.Burn.words()
	if s.Reason != "" {
		text += fmt.Sprintf("; the gateway says: %.200q", s.Reason)
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
