package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/chain"
)

// An issuer answers over HTTP as the issuer of USDC does: what became of the burns of a transaction, and what the
// issuer takes for one. It keeps nothing: all it says follows from the chains.
type issuer struct {
	net    *Net
	server *http.Server
	url    string
}

func startIssuer(n *Net) (*issuer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the issuer's service: %w", err)
	}
	i := &issuer{net: n, url: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/messages/{domain}", i.messages)
	mux.HandleFunc("GET /v2/burn/USDC/fees/{source}/{destination}", i.fees)
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = i.server.Serve(listener) }() // until it is closed
	return i, nil
}

// issuedOn finds the network of a domain, as a path names it.
func issuedOn(domain string) (chain.Network, bool) {
	number, err := strconv.ParseUint(domain, 10, 32)
	if err != nil {
		return chain.Network{}, false
	}
	for _, network := range chain.Networks() {
		if network.CCTP != nil && network.CCTP.Domain == uint32(number) {
			return network, true
		}
	}
	return chain.Network{}, false
}

// fees are what the issuer takes for a fast transfer, in basis points, and for one that waits until it is final.
func (i *issuer) fees(w http.ResponseWriter, r *http.Request) {
	source, ok := issuedOn(r.PathValue("source"))
	_, known := issuedOn(r.PathValue("destination"))
	if !ok || !known {
		answer(w, http.StatusNotFound, refusal{404, "Domain not found"})
		return
	}
	type row struct {
		FinalityThreshold int     `json:"finalityThreshold"`
		MinimumFee        float64 `json:"minimumFee"`
	}
	answer(w, http.StatusOK, []row{{fast, float64(source.CCTP.FastFeeMilliBPS) / 1000}, {2000, 0}})
}

var transactionHash = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)

// messages are the burns of a transaction, in the order of its logs.
func (i *issuer) messages(w http.ResponseWriter, r *http.Request) {
	hash := r.URL.Query().Get("transactionHash")
	network, ok := issuedOn(r.PathValue("domain"))
	switch {
	case !transactionHash.MatchString(hash):
		answer(w, http.StatusBadRequest, refusal{400, "transactionHash is not one"})
		return
	case !ok:
		answer(w, http.StatusNotFound, refusal{404, "Message not found"})
		return
	}
	receipt, err := i.net.Chain(network.ID).Client().TransactionReceipt(r.Context(), common.HexToHash(hash))
	if err != nil && !errors.Is(err, ethereum.NotFound) {
		answer(w, http.StatusInternalServerError, refusal{500, "Internal server error"})
		return
	}
	var found []map[string]any
	if receipt != nil {
		for _, log := range receipt.Logs {
			if !burnt(network.CCTP, log) {
				continue
			}
			if a, err := attest(network.CCTP, log); err == nil {
				found = append(found, newMessage(a))
			}
		}
	}
	if found == nil {
		answer(w, http.StatusNotFound, refusal{404, "Message not found"})
		return
	}
	answer(w, http.StatusOK, map[string]any{"messages": found})
}

// A refusal is how the issuer says no.
type refusal struct {
	Code  int    `json:"code"`
	Error string `json:"error"`
}

// newMessage is a burn in the issuer's words. Numbers are strings, and addresses have 20 bytes.
func newMessage(a attestation) map[string]any {
	if a.delay != "" {
		return map[string]any{
			"message":        nil,
			"eventNonce":     a.nonce,
			"attestation":    "PENDING",
			"decodedMessage": nil,
			"cctpVersion":    2,
			"status":         "pending_confirmations",
			"delayReason":    a.delay,
		}
	}
	return map[string]any{
		"message":        hexutil.Bytes(a.message),
		"eventNonce":     a.nonce,
		"attestation":    hexutil.Bytes(a.signature),
		"decodedMessage": decodeMessage(a.message),
		"cctpVersion":    2,
		"status":         "complete",
		"delayReason":    nil,
	}
}

// decodeMessage takes an attested message apart.
func decodeMessage(m []byte) map[string]any {
	number := func(at, size int) string { return common.BytesToHash(m[at : at+size]).Big().String() }
	address := func(at int) hexutil.Bytes { return m[at+12 : at+32] }
	const body = 148
	return map[string]any{
		"sourceDomain":              number(4, 4),
		"destinationDomain":         number(8, 4),
		"nonce":                     hexutil.Bytes(m[12:44]),
		"sender":                    address(44),
		"recipient":                 address(76),
		"destinationCaller":         address(108),
		"minFinalityThreshold":      number(140, 4),
		"finalityThresholdExecuted": number(144, 4),
		"messageBody":               hexutil.Bytes(m[body:]),
		"decodedMessageBody": map[string]any{
			"burnToken":       address(body + 4),
			"mintRecipient":   address(body + 36),
			"amount":          number(body+68, 32),
			"messageSender":   address(body + 100),
			"maxFee":          number(body+132, 32),
			"feeExecuted":     number(body+164, 32),
			"expirationBlock": number(body+196, 32),
			"hookData":        hexutil.Bytes(m[body+228:]),
		},
	}
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a caller who is gone is told nothing
}
