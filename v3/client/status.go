package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

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

	SrcChain uint64 // where it was sent; without it, the chain of Quote
	Since    uint64 // the newest block before it was sent: an answer about an older one is refused; 0 if not known

	// OnRetry is told by Follow when the gateway cannot answer now, and in how long it is asked again; nil for nobody.
	OnRetry func(err error, wait time.Duration)
}

// network is the chain that the transaction is on.
func (s Sent) network() (uint64, error) {
	given := known.Network(s.SrcChain)
	if s.Quote != nil {
		signed := s.Quote.Pair.SrcToken.ChainID
		if given != 0 && given != signed {
			text := fmt.Sprintf("SrcChain is %d, but Quote is sent on chain %d", s.SrcChain, signed)
			return 0, &Error{Code: InvalidRequest, Message: text}
		}
		return signed, nil
	}
	if given == 0 {
		return 0, &Error{Code: InvalidRequest, Message: "SrcChain is required without Quote"}
	}
	return given, nil
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
	network, err := sent.network()
	if err != nil {
		return nil, err
	}
	sent.SrcChain = network
	a, err := c.get(ctx, statusPath(network, sent.Hash), "")
	if err != nil {
		return nil, err
	}
	const refused = "do not trust the gateway's answer"
	s := &Status{Raw: a.body}
	if err := decodeBody(a.body, s); err != nil {
		return nil, a.note(unverified(refused, err))
	}
	if found := s.check(sent); found != nil {
		return nil, a.note(unverified(refused, found...))
	}
	return s, nil
}

// check says what is wrong with an answer about a transaction on the network SrcChain.
func (s *Status) check(sent Sent) (found problems) {
	for _, p := range append([]Progress{s.Progress}, s.Swaps...) {
		if !slices.Contains(states, p.State) {
			found.add("its state %s is unknown", quoted(p.State))
			return found
		}
	}
	if !strings.EqualFold(string(s.TxHash), sent.Hash.Hex()) {
		found.add("it is about transaction %s, not %s", s.TxHash, sent.Hash)
	}
	if s.SrcChain != decimal(sent.SrcChain) {
		found.add("it is about a transaction on chain %s, not %d", quoted(s.SrcChain), sent.SrcChain)
	}
	s.Progress.check(&found)
	for _, p := range s.Swaps {
		p.check(&found)
		if s.Ended() && p.State != s.State || s.Final && !p.Final {
			found.add("it is %s, but one of its swaps is %s", s.State, p.State)
		}
	}
	switch {
	case s.Source == nil && s.State != NotFound && s.State != Pending:
		found.add("it is %s, but does not say in which block", s.State)
	case s.Source != nil && sent.Since > 0 && s.Source.BlockNumber <= sent.Since:
		found.add("it is in block %d, but was sent after block %d", s.Source.BlockNumber, sent.Since)
	}
	if sent.Quote != nil {
		_, differences := s.own(sent.Quote)
		found = append(found, differences...)
	}
	return found
}

// check refuses a state that contradicts what stands beside it.
func (p Progress) check(found *problems) {
	isPaid := p.Settlement != nil
	switch {
	case p.Final && !p.Ended():
		found.add("it is %s, which cannot be final", p.State)
	case isPaid != (p.State == Settled):
		found.add("it is %s: a swap has a settlement if and only if it is %s", p.State, Settled)
	case isPaid && p.Settlement.Short != nil && p.Final:
		found.add("it is final, but was not paid in full")
	}
}

// own finds the swap that was signed, or says what the answer has in its place. A swap of a transaction with too many
// of them may be one that is left out.
func (s *Status) own(q *Checked) (own *Progress, found problems) {
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
	found.add("none of its swaps is the one that was signed")
	return nil, found
}

func (p Progress) differs(q *Checked) (found problems) {
	if p.Settlement != nil {
		found.compare("settlement.chainId", p.Settlement.ChainID, q.Pair.DstToken.ChainID)
	}
	if p.Swap != nil {
		got := *p.Swap
		got.DstToken = strings.ToLower(got.DstToken)
		got.Recipient = strings.ToLower(got.Recipient)
		found.compare("swap", got, q.inStatus())
	} else if p.State == Settling || p.State == Settled {
		found.add("it is %s, but does not say what was swapped", p.State)
	}
	return found
}

// inStatus is a quote's swap as a status has it.
func (q *Checked) inStatus() StatusSwap {
	swap := StatusSwap{
		DstChain:      decimal(q.Pair.DstChain),
		DstToken:      q.Pair.DstToken.Address.Hex(),
		Recipient:     q.Request.Recipient,
		RecipientType: toAddress,
		Amount:        amountOf(q.Request.Amount),
		IntegratorID:  Hash(q.Request.integratorText()),
	}
	if note := q.Note(); note != nil {
		swap.Recipient = hexutil.Encode(note[:32])
		swap.RecipientType = toPrivate
	}
	return swap
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
	own, found := s.own(q)
	if found != nil || own.Settlement == nil {
		return nil
	}
	amount := own.Settlement.Amount.Int()
	if amount.Cmp(q.Dest) >= 0 {
		return nil
	}
	return new(big.Int).Sub(q.Dest, amount)
}

var sentences = map[string]string{
	NotFound: "no node of the gateway knows the transaction yet",
	Pending:  "not in a block yet",
	Failed:   "the transaction reverted, and swapped nothing",
	NotASwap: "the transaction swapped nothing through the contracts of this gateway",
	Settling: "paid for, not paid out yet",
	Settled:  "paid out",
}

// String says for a person how far a swap is. It changes only when that changes.
func (s *Status) String() string {
	text := s.State + ": " + sentences[s.State]
	burn := valueOf(s.Burn)
	switch {
	case s.State == Pending && valueOf(s.Source).BlockNumber > 0:
		text = fmt.Sprintf("%s: in block %d, waiting for confirmations", s.State, s.Source.BlockNumber)
	case s.State == Settled && s.Settlement != nil && s.Settlement.TxHash != "":
		text += fmt.Sprintf(" with %s on chain %d", s.Settlement.TxHash, s.Settlement.ChainID)
	case s.State == Settling && burn.Attested:
		text += "; the issuer has attested the burn"
	case s.State == Settling && s.Burn != nil:
		text += "; the issuer has not attested the burn: " + quoted(burn.AttestationState)
	}
	if reason := cmp.Or(burn.Reason, s.Reason); reason != "" && (s.State == Failed || s.State == Settling) {
		text += "; reason: " + quoted(reason)
	}
	if s.Ended() && !s.Final {
		text += "; not final yet"
	}
	return text
}

// How soon a gateway is asked again, whatever it says.
const (
	soonest = time.Second
	latest  = time.Hour
)

// Follow gives each status of a transaction, and ends when one is final. It waits as long as the gateway asks for. A
// gateway that does not answer, or refuses for now, is asked again until ctx ends.
//
// An error is the last that it gives: ctx has ended, or the gateway says what must not be believed, or refuses for
// good. None of them says that the swap failed: do not send it again.
func (c *Client) Follow(ctx context.Context, sent Sent) iter.Seq2[*Status, error] {
	return c.follow(ctx, sent, pause)
}

func (c *Client) follow(
	ctx context.Context, sent Sent, pause func(context.Context, time.Duration) error,
) iter.Seq2[*Status, error] {
	return func(yield func(*Status, error) bool) {
		for failures := 0; ; {
			wait := time.Duration(0)
			var refusal *Error
			status, err := c.Status(ctx, sent)
			switch {
			case err == nil:
				failures = 0
				if !yield(status, nil) {
					return
				}
				if status.Ended() && status.Final {
					return
				}
				wait = status.nextCheck()
			case ctx.Err() != nil || !errors.As(err, &refusal) || !refusal.Temporary():
				yield(nil, err)
				return
			default:
				failures++
				wait = refusal.rest(failures)
				if sent.OnRetry != nil {
					sent.OnRetry(err, wait)
				}
			}
			if err := pause(ctx, wait); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

func (s *Status) nextCheck() time.Duration {
	return max(soonest, time.Duration(min(s.NextCheckSeconds, uint64(latest.Seconds())))*time.Second)
}

// rest is how long to leave a gateway alone that has not answered so many times in a row: as long as it says, or longer
// each time.
func (e *Error) rest(failures int) time.Duration {
	if e.RetryAfter > 0 {
		return max(soonest, min(e.RetryAfter, latest))
	}
	return soonest << min(failures, 5)
}

// pause waits, or gives an error once ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("the swap was not followed to its end: %w", context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}
