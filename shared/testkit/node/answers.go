package node

import (
	"encoding/json"
	"io"
	"net/http"
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
