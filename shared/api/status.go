package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/version"
)

// Status reports the status of a transaction.
func (s Service) Status(w http.ResponseWriter, r *version.Request) error {
	query := QueryOf(r, statusParams)
	query.warn(w.Header())
	src, hash, err := decodeStatus(query)
	if err != nil {
		return err
	}
	found, err := s.Tracker.Status(r.Context(), status.Request{
		Chain: src, Tx: hash, Caller: r.Caller, Admit: r.AdmitRead,
	})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", cacheControl(found))
	return version.JSON(w, http.StatusOK, mapStatus(src, hash, found, s.Deployment.Contact))
}

var statusParams = []string{"srcChain", "txHash"}

func decodeStatus(query Query) (src chain.ID, hash common.Hash, err error) {
	if err = query.require(statusParams...); err != nil {
		return src, hash, err
	}
	if src, err = read(query, "srcChain", chain.ParseID); err != nil {
		return src, hash, err
	}
	hash, err = read(query, "txHash", parseHash)
	return src, hash, err
}

func parseHash(text string) (hash common.Hash, err error) {
	digits, prefixed := strings.CutPrefix(text, "0x")
	hint := ""
	switch {
	case prefixed && hash.UnmarshalText([]byte(text)) == nil:
		return hash, nil
	case prefixed && len(digits) == 2*common.AddressLength:
		hint = "; this looks like an address"
	case !prefixed && len(digits) == 2*len(hash):
		hint = "; put 0x in front"
	}
	return common.Hash{}, fault.New(fault.InvalidParameter,
		"The transaction hash must be 0x followed by 64 hexadecimal digits%s", hint)
}

// cacheControl lets caches keep an answer while it is valid. A transaction that is not found
// may appear at any moment, and an answer repeated because of a caller's rate limit is for
// that caller alone.
func cacheControl(s *status.Status) string {
	if s.State == status.NotFound || s.Repeated {
		return "no-store"
	}
	age := 24 * time.Hour // of a final answer
	if s.Next > 0 {
		age = s.Next / 2 // so that a client that waits nextCheckSeconds gets a new answer
	}
	return "public, max-age=" + strconv.Itoa(int(max(age, time.Second)/time.Second))
}

// statusBody is the status of a transaction. Chains are routing IDs as strings,
// as in a request; settlement.chainId is a network, as in a token.
type statusBody struct {
	State    status.State `json:"state"`
	Final    bool         `json:"final"`
	SrcChain string       `json:"srcChain"`
	TxHash   common.Hash  `json:"txHash"`
	Reason   string       `json:"reason,omitempty"`

	// These four describe the least advanced swap, if there are several.
	Swap       *swapBody          `json:"swap,omitempty"`
	Source     *status.Source     `json:"source,omitempty"`
	Burn       *burnBody          `json:"burn,omitempty"`
	Settlement *status.Settlement `json:"settlement,omitempty"`

	Swaps       []swapState `json:"swaps,omitempty"`
	Omitted     int         `json:"omittedSwaps,omitempty"`
	Expected    uint32      `json:"expectedSeconds,omitempty"`
	Contact     string      `json:"contact,omitempty"`
	NextSeconds int         `json:"nextCheckSeconds"`
}

type swapState struct {
	State      status.State       `json:"state"`
	Final      bool               `json:"final"`
	Reason     string             `json:"reason,omitempty"`
	Swap       *swapBody          `json:"swap,omitempty"`
	Burn       *burnBody          `json:"burn,omitempty"`
	Settlement *status.Settlement `json:"settlement,omitempty"`
	Expected   uint32             `json:"expectedSeconds,omitempty"`
}

type swapBody struct {
	DstChain      string       `json:"dstChain"`
	DstToken      string       `json:"dstToken"`
	Recipient     string       `json:"recipient"`
	RecipientType uint8        `json:"recipientType"`
	Amount        *uint256.Int `json:"amount"`
	IntegratorID  common.Hash  `json:"integratorId,omitzero"`
}

type burnBody struct {
	Domain   uint32           `json:"domain"`
	Nonce    common.Hash      `json:"nonce,omitzero"`
	Attested bool             `json:"attested"`
	State    cctp.Attestation `json:"attestationState"`
	Reason   string           `json:"reason,omitempty"`
}

func mapStatus(src chain.ID, hash common.Hash, s *status.Status, contact string) statusBody {
	body := statusBody{
		State:       s.State,
		Final:       s.Final,
		SrcChain:    src.String(),
		TxHash:      hash,
		Reason:      s.Reason,
		Source:      s.Source,
		Omitted:     s.Omitted,
		Contact:     contact,
		NextSeconds: int((s.Next + time.Second - 1) / time.Second),
	}
	for i := range s.Swaps {
		body.Swaps = append(body.Swaps, mapSwap(&s.Swaps[i]))
	}
	if len(body.Swaps) > 0 {
		byRank := func(a, b swapState) int { return cmp.Compare(a.rank(), b.rank()) }
		least := slices.MinFunc(body.Swaps, byRank)
		body.Swap = least.Swap
		body.Burn = least.Burn
		if least.State == s.State { // it differs if an omitted swap may be less advanced
			body.Settlement = least.Settlement
		}
		body.Expected = least.Expected
		body.Reason = cmp.Or(body.Reason, least.Reason)
	}
	if len(body.Swaps) == 1 {
		body.Swaps = nil // it would repeat the answer
	}
	return body
}

// rank orders swaps by how far they are. Of two in the same state, the final one is further.
func (s swapState) rank() int {
	rank := 2 * slices.Index(status.States(), s.State)
	if s.Final {
		rank++
	}
	return rank
}

func mapSwap(s *status.Swap) swapState {
	body := swapState{
		State:      s.State,
		Final:      s.Final,
		Reason:     s.Reason,
		Settlement: s.Settlement,
		Expected:   s.Seconds,
	}
	if !s.Unread {
		body.Swap = mapOrder(&s.Swap)
	}
	if b := s.Burn; b != nil && b.State != "" {
		body.Burn = &burnBody{
			Domain:   b.Domain,
			Nonce:    b.Nonce,
			Attested: b.State == cctp.Complete,
			State:    b.State,
			Reason:   b.Reason,
		}
	}
	return body
}

func mapOrder(s *calldata.Swap) *swapBody {
	body := &swapBody{
		DstChain:      chain.ID(s.DstChainID).String(),
		DstToken:      s.DstToken.Hex(),
		Recipient:     mapRecipient(s),
		RecipientType: s.RecipientType,
		Amount:        &s.Amount,
		IntegratorID:  common.Hash(s.IntegratorID),
	}
	if s.DstTooLarge != nil {
		body.DstChain = s.DstTooLarge.Dec()
	}
	return body
}

// mapRecipient is an address with its checksum, or the npk of a shield note, which is the
// first word of the recipient in the calldata. Anything else is written as raw bytes.
func mapRecipient(s *calldata.Swap) string {
	switch {
	case s.RecipientType == calldata.RecipientPrivate && len(s.Recipient) >= common.HashLength:
		return common.Hash(s.Recipient[:common.HashLength]).Hex()
	case s.RecipientType == calldata.RecipientEVM && len(s.Recipient) == common.AddressLength:
		return common.BytesToAddress(s.Recipient).Hex()
	}
	return hexutil.Encode(s.Recipient)
}
