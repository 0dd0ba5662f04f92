package wallet

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// The states of a swap.
const (
	NotFound = "NOT_FOUND"
	Pending  = "PENDING"
	Failed   = "FAILED"
	NotASwap = "NOT_A_SWAP"
	Settling = "SETTLING"
	Settled  = "SETTLED"
)

var states = []string{NotFound, Pending, Failed, NotASwap, Settling, Settled}

var hashes = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// A Status is what a gateway says of a transaction. It is about the transaction that was asked about; nothing else in it
// has been checked.
type Status struct {
	Raw json.RawMessage `json:"-"`

	State  string `json:"state"`
	Final  bool   `json:"final"`
	Reason string `json:"reason"` // why it failed

	SrcChain number `json:"srcChain"`
	TxHash   string `json:"txHash"`

	Swap       *StatusSwap       `json:"swap"`
	Source     *StatusSource     `json:"source"`
	Burn       *StatusBurn       `json:"burn"`
	Settlement *StatusSettlement `json:"settlement"`
	Swaps      []json.RawMessage `json:"swaps"` // all of them, where there are several; the fields above are of the first

	NextCheckSeconds float64 `json:"nextCheckSeconds"`
}

// StatusSwap is what was swapped, as the gateway read it on the chain.
type StatusSwap struct {
	DstChain      number `json:"dstChain"`
	DstToken      string `json:"dstToken"`
	Recipient     string `json:"recipient"`
	RecipientType number `json:"recipientType"`
	Amount        number `json:"amount"`
	IntegratorID  string `json:"integratorId"`
}

// StatusSource is how deep the transaction is.
type StatusSource struct {
	BlockNumber   number `json:"blockNumber"`
	Confirmations number `json:"confirmations"`
	Timestamp     string `json:"timestamp"`
}

// StatusBurn is how far the issuer is.
type StatusBurn struct {
	Attested         bool   `json:"attested"`
	AttestationState string `json:"attestationState"`
	Reason           string `json:"reason"`
}

// StatusSettlement is where the swap was paid out.
type StatusSettlement struct {
	Timestamp string `json:"timestamp"`
	ChainID   number `json:"chainId"`
	TxHash    string `json:"txHash"`
	Amount    number `json:"amount"`
}

// A number is digits, with or without quotes; empty if it is not there.
type number string

func (n *number) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		text = ""
	}
	if len(text) > 78 || strings.Trim(text, "0123456789") != "" {
		return fmt.Errorf("%.100q is not a number", data)
	}
	*n = number(text)
	return nil
}

// StatusURL is where to ask what became of a transaction.
func (g Gateway) StatusURL(src chain.ID, tx common.Hash) string {
	query := url.Values{"srcChain": {src.Network().String()}, "txHash": {tx.Hex()}}
	return g.at("/v3/swap/status") + "?" + query.Encode()
}

// Status asks what became of a transaction. An answer about another one is an error.
func (g Gateway) Status(ctx context.Context, src chain.ID, tx common.Hash) (*Status, error) {
	s := &Status{}
	var err error
	if s.Raw, err = g.get(ctx, g.StatusURL(src, tx), s); err != nil {
		return nil, err
	}
	switch {
	case !strings.EqualFold(s.TxHash, tx.Hex()):
		err = fmt.Errorf("it is about transaction %.80q, and not %s", s.TxHash, tx)
	case string(s.SrcChain) != src.Network().String():
		err = fmt.Errorf("it is about a transaction on chain %.30q, and not %s", s.SrcChain, src.Network())
	case !slices.Contains(states, s.State):
		err = fmt.Errorf("its state is %.30q, which is none", s.State)
	case s.Settlement != nil && s.Settlement.TxHash != "" && !hashes.MatchString(s.Settlement.TxHash):
		err = fmt.Errorf("the settlement's transaction is %.80q, which is none", s.Settlement.TxHash)
	}
	if err != nil {
		return nil, &Untrue{err}
	}
	return s, nil
}

// Untrue is what is wrong with an answer that is not to be believed.
type Untrue struct{ cause error }

func (u *Untrue) Error() string {
	return fmt.Sprintf("do not believe the gateway's answer: %v", u.cause)
}
func (u *Untrue) Unwrap() error { return u.cause }

// Check holds what the gateway says was swapped against what was signed.
func (s *Status) Check(q *Checked) error {
	if s.Swap == nil {
		if s.State == Settling || s.State == Settled {
			return &Untrue{fmt.Errorf("it is %s, and does not say what was swapped", s.State)}
		}
		return nil
	}
	var problems []error
	compare := func(what, got, want string) {
		if !strings.EqualFold(got, want) {
			problems = append(problems, fmt.Errorf("swap.%s: got %.100q, signed %s", what, got, want))
		}
	}
	recipient, kind, err := q.paid()
	if err != nil {
		return err
	}
	compare("dstChain", string(s.Swap.DstChain), q.Swap.Dst.String())
	compare("dstToken", s.Swap.DstToken, q.Swap.DstToken.Address.String())
	compare("amount", string(s.Swap.Amount), q.Swap.Amount.String())
	compare("recipient", s.Swap.Recipient, recipient)
	compare("recipientType", string(s.Swap.RecipientType), kind)
	if q.Swap.Integrator != (common.Address{}) || s.Swap.IntegratorID != "" {
		id := q.Swap.integratorID()
		compare("integratorId", s.Swap.IntegratorID, "0x"+hex.EncodeToString(id[:]))
	}
	if problems != nil {
		return &Untrue{errors.Join(problems...)}
	}
	return nil
}

// paid is whom a quote pays, as a status names them: an address, or the npk of a note; and which of the two.
func (q *Checked) paid() (recipient, kind string, err error) {
	if !q.Swap.Dst.Private() {
		return q.Swap.Recipient, "0", nil
	}
	args, err := unpackArgs("swap", q.Main.Data)
	if err != nil {
		return "", "", err
	}
	note, ok := args[2].([]byte)
	if !ok || len(note) < 32 {
		return "", "", errors.New("the call has no note")
	}
	return "0x" + hex.EncodeToString(note[:32]), "2", nil
}

// Took is the time from the block of the swap to that of the payout; false if the answer does not say.
func (s *Status) Took() (time.Duration, bool) {
	if s.Source == nil || s.Settlement == nil {
		return 0, false
	}
	sent, err := time.Parse(time.RFC3339, s.Source.Timestamp)
	paid, other := time.Parse(time.RFC3339, s.Settlement.Timestamp)
	return paid.Sub(sent), err == nil && other == nil
}

// paidOut is what was paid out, nil if the answer does not say.
func (s *Status) paidOut() *big.Int {
	if s.Settlement == nil {
		return nil
	}
	amount, ok := new(big.Int).SetString(string(s.Settlement.Amount), 10)
	if !ok {
		return nil
	}
	return amount
}

// Short is by how much less than the quote said was paid out; nil for none, or if the answer does not say.
func (s *Status) Short(q *Checked) *big.Int {
	amount := s.paidOut()
	if s.State != Settled || amount == nil || amount.Cmp(q.Dest) >= 0 {
		return nil
	}
	return new(big.Int).Sub(q.Dest, amount)
}
