package node

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Call is one JSON-RPC request.
type Call struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

// Text is a parameter that is a string.
func (c Call) Text(i int) (text string) {
	_ = json.Unmarshal(c.Params[i], &text)
	return text
}

// Integrator is whom a call of getIntegrator(bytes32) asks about. No other call has so many bytes, but balanceOf.
func (c Call) Integrator() (wallet common.Address, ok bool) {
	const balanceOf = "0x70a08231"
	var call struct{ Data string }
	if c.Method != "eth_call" || json.Unmarshal(c.Params[0], &call) != nil {
		return wallet, false
	}
	if len(call.Data) != 2+8+64 || strings.HasPrefix(call.Data, balanceOf) {
		return wallet, false
	}
	return common.HexToAddress(call.Data[10:]), true
}

// Registered is what getIntegrator returns of an active integrator.
func Registered(wallet common.Address, bps int) string {
	return fmt.Sprintf("0x%064x%064x%064x", wallet.Big(), bps, 1)
}

// Error is the error of a call.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitempty"`
}

// HTTPStatus is a status with which a whole request fails.
type HTTPStatus int

// Answers is a node that gives the result of each call, also in batches. Instead of a
// result it may give an Error or an HTTPStatus.
type Answers func(Call) any

func (a Answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	calls, isBatch := ReadCalls(r.Body)
	answers := make([]map[string]any, len(calls))
	for i, c := range calls {
		answers[i] = map[string]any{"jsonrpc": "2.0", "id": c.ID}
		switch result := a(c).(type) {
		case HTTPStatus:
			w.WriteHeader(int(result))
			return
		case Error:
			answers[i]["error"] = result
		default:
			answers[i]["result"] = result
		}
	}
	w.Header().Set("Content-Type", "application/json")
	var whole any = answers
	if !isBatch {
		whole = answers[0]
	}
	_ = json.NewEncoder(w).Encode(whole)
}

// ReadCalls reads the body of a request: a batch, or one call.
func ReadCalls(body io.Reader) (calls []Call, isBatch bool) {
	data, _ := io.ReadAll(body)
	if json.Unmarshal(data, &calls) == nil {
		return calls, true
	}
	var one Call
	_ = json.Unmarshal(data, &one)
	return []Call{one}, false
}
