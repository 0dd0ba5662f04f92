package reference

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// issuer answers over HTTP as the issuer of USDC does, as far as a gateway reads it: what the issuer takes for a burn,
// and what became of the burns of a transaction. All of it follows from the chains.
func (n *Net) issuer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/messages/{source}", n.tellMessages)
	mux.HandleFunc("GET /v2/burn/USDC/fees/{source}/{destination}", tellFees)
	return mux
}

// sourceOf finds the network of the domain that a path names.
func sourceOf(r *http.Request) (chain.Network, bool) {
	for _, network := range chain.Networks() {
		if network.CCTP != nil && strconv.FormatUint(uint64(network.CCTP.Domain), 10) == r.PathValue("source") {
			return network, true
		}
	}
	return chain.Network{}, false
}

// tellFees gives what the issuer takes for a fast transfer, in basis points, and for one that waits until it is final.
func tellFees(w http.ResponseWriter, r *http.Request) {
	source, ok := sourceOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	type row struct {
		FinalityThreshold int     `json:"finalityThreshold"`
		MinimumFee        float64 `json:"minimumFee"`
	}
	answer(w, []row{{fast, float64(source.CCTP.FastFeeMilliBPS) / 1000}, {2000, 0}})
}

// A message is a burn in the issuer's words.
type message struct {
	Message     hexutil.Bytes `json:"message,omitempty"` // as attested
	Attestation string        `json:"attestation"`
	Status      string        `json:"status"`
	DelayReason string        `json:"delayReason,omitempty"`
}

// tellMessages gives the burns of a transaction, in the order of its logs.
func (n *Net) tellMessages(w http.ResponseWriter, r *http.Request) {
	source, ok := sourceOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	hash := common.HexToHash(r.URL.Query().Get("transactionHash"))
	receipt, err := n.Chain(source.ID).Client().TransactionReceipt(r.Context(), hash)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	var found []message
	for _, log := range receipt.Logs {
		if log.Address != source.CCTP.Messenger.Address || !burnt(log) {
			continue
		}
		m := message{Attestation: "PENDING", Status: "pending_confirmations"}
		if attested, signature, err := attest(source.CCTP, log); err != nil {
			m.DelayReason = err.Error()
		} else {
			m = message{Message: attested, Attestation: hexutil.Encode(signature), Status: "complete"}
		}
		found = append(found, m)
	}
	if found == nil {
		http.NotFound(w, r)
		return
	}
	answer(w, map[string]any{"messages": found})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a caller who is gone is told nothing
}

// Offsets in a burn message of CCTP V2: a header of 148 bytes, then the body. The messenger leaves the nonce, the
// finality and the fee at zero; the issuer fills them in.
const (
	nonceAt       = 12
	minFinalityAt = 140 // as the sender asked for
	finalityAt    = 144
	amountAt      = 148 + 68
	maxFeeAt      = 148 + 132
	feeAt         = 148 + 164
)

// fast is the finality of a transfer that the issuer takes a fee for.
const fast = 1000

// burnt tells whether a log of the issuer's messenger is the message of a burn.
func burnt(log *types.Log) bool {
	return len(log.Topics) > 0 && log.Topics[0] == contracts.TokenMessengerABI.Events["MessageSent"].ID
}

// attest does what the issuer does with the burn that a log on a chain tells of: it gives the message a nonce,
// takes its fee, and signs. It gives the same for the same log whenever it is asked.
//
// It refuses a burn that does not allow the fee of a fast transfer. The real issuer attests it once it is final, which
// nothing on a simulated chain becomes.
func attest(on *chain.CCTP, log *types.Log) (message, signature []byte, err error) {
	sent, err := contracts.TokenMessengerABI.Unpack("MessageSent", log.Data)
	if err != nil {
		return nil, nil, err
	}
	message = bytes.Clone(sent[0].([]byte)) // which is part of the log
	word := func(at int) *big.Int { return new(big.Int).SetBytes(message[at : at+32]) }
	fee := new(big.Int)
	if binary.BigEndian.Uint32(message[minFinalityAt:]) <= fast {
		fee = fastFee(word(amountAt), on.FastFeeMilliBPS)
	}
	if fee.Cmp(word(maxFeeAt)) > 0 {
		return nil, nil, errors.New("insufficient_fee")
	}
	// Unique to a log among all chains: transactions sign their chain.
	copy(message[nonceAt:], crypto.Keccak256(log.TxHash[:], big.NewInt(int64(log.Index)).Bytes()))
	copy(message[finalityAt:], message[minFinalityAt:finalityAt])
	fee.FillBytes(message[feeAt : feeAt+32])
	signature, err = crypto.Sign(crypto.Keccak256(message), Attester.Key)
	if err != nil {
		return nil, nil, err
	}
	signature[64] += 27 // the recovery ID as ecrecover takes it
	return message, signature, nil
}

// fastFee is the issuer's fee for a fast transfer, rounded up.
func fastFee(amount *big.Int, milliBPS uint32) *big.Int {
	const whole = 10_000 * 1000
	fee := new(big.Int).Mul(amount, new(big.Int).SetUint64(uint64(milliBPS)))
	return fee.Add(fee, big.NewInt(whole-1)).Quo(fee, big.NewInt(whole))
}
