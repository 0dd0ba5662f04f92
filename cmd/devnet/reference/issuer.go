package reference

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// startIssuer answers over HTTP as the issuer of USDC does, as far as a gateway reads it: what the issuer takes for a
// burn, and what became of the burns of a transaction. All of it follows from the chains.
func (n *Net) startIssuer() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("the issuer's service: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/messages/{domain}", n.tellMessages)
	mux.HandleFunc("GET /v2/burn/USDC/fees/{source}/{destination}", n.tellFees)
	n.IssuerURL = "http://" + listener.Addr().String()
	n.issuer.Handler = mux
	n.issuer.ReadHeaderTimeout = 5 * time.Second
	go func() { _ = n.issuer.Serve(listener) }() // until it is closed
	return nil
}

// issuedOn finds the network of a domain, as a path names it.
func issuedOn(domain string) (chain.Network, bool) {
	for _, network := range chain.Networks() {
		if network.CCTP != nil && strconv.FormatUint(uint64(network.CCTP.Domain), 10) == domain {
			return network, true
		}
	}
	return chain.Network{}, false
}

// tellFees gives what the issuer takes for a fast transfer, in basis points, and for one that waits until it is final.
func (n *Net) tellFees(w http.ResponseWriter, r *http.Request) {
	source, ok := issuedOn(r.PathValue("source"))
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
	receipt := &types.Receipt{} // of a transaction that is not there
	network, ok := issuedOn(r.PathValue("domain"))
	if ok {
		hash := common.HexToHash(r.URL.Query().Get("transactionHash"))
		if there, err := n.Chain(network.ID).Client().TransactionReceipt(r.Context(), hash); err == nil {
			receipt = there
		}
	}
	var found []message
	for _, log := range receipt.Logs {
		if !burnt(network.CCTP, log) {
			continue
		}
		m := message{Attestation: "PENDING", Status: "pending_confirmations"}
		if attested, signature, err := attest(network.CCTP, log); err != nil {
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
	burnSize      = 148 + 228 // without the hook, which follows
)

// fast is the finality of a transfer that the issuer takes a fee for.
const fast = 1000

// errFee is why a burn is not attested that does not allow the fee of a fast transfer. The real issuer attests it once
// it is final, which nothing on a simulated chain becomes.
var errFee = errors.New("insufficient_fee")

// burnt tells whether a log on a chain of the issuer tells of a burn.
func burnt(on *chain.CCTP, log *types.Log) bool {
	sent := contracts.TokenMessengerABI.Events["MessageSent"].ID
	return log.Address == on.Messenger.Address && len(log.Topics) > 0 && log.Topics[0] == sent
}

// attest does what the issuer does with the burn that a log on a chain tells of: it gives the message a nonce,
// takes its fee, and signs. It gives the same for the same log whenever it is asked.
func attest(on *chain.CCTP, log *types.Log) (message, signature []byte, err error) {
	var sent struct{ Message []byte }
	if err := unpack(contracts.TokenMessengerABI, "MessageSent", log, &sent); err != nil {
		return nil, nil, err
	}
	if len(sent.Message) < burnSize {
		return nil, nil, fmt.Errorf("a burn message has at least %d bytes, not %d", burnSize, len(sent.Message))
	}
	message = bytes.Clone(sent.Message) // which is part of the log
	word := func(at int) *big.Int { return new(big.Int).SetBytes(message[at : at+32]) }
	fee := new(big.Int)
	if binary.BigEndian.Uint32(message[minFinalityAt:]) <= fast {
		fee = fastFee(word(amountAt), on.FastFeeMilliBPS)
	}
	if fee.Cmp(word(maxFeeAt)) > 0 {
		return nil, nil, errFee
	}
	// Unique to a log among all chains: transactions sign their chain.
	nonce := crypto.Keccak256(log.TxHash[:], new(big.Int).SetUint64(uint64(log.Index)).Bytes())
	copy(message[nonceAt:], nonce)
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
