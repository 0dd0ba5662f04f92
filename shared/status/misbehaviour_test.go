package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

type call struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// change lets a front change the answers of its node, in batches and out of them.
// alter returns the new result, or an error object, or neither to keep the answer.
func change(front *node.Front, behind http.Handler, alter func(c call, result json.RawMessage) (json.RawMessage, string)) {
	one := func(c call) reply {
		body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.ID, "method": c.Method, "params": c.Params})
		request := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		behind.ServeHTTP(w, request)
		var answer reply
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
		if result, problem := alter(c, answer.Result); problem != "" {
			answer.Result, answer.Error = nil, json.RawMessage(problem)
		} else if result != nil {
			answer.Result, answer.Error = result, nil
		}
		return answer
	}
	front.Instead(node.Batch, func(w http.ResponseWriter, r *http.Request) {
		var calls []call
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &calls)
		answers := make([]reply, len(calls))
		for i, c := range calls {
			answers[i] = one(c)
		}
		text, _ := json.Marshal(answers)
		node.Says(string(text))(w, r)
	})
	for _, method := range []string{"eth_getBlockByNumber", "eth_call", "eth_getLogs"} {
		front.Instead(method, func(w http.ResponseWriter, r *http.Request) {
			var c call
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &c)
			text, _ := json.Marshal(one(c))
			node.Says(string(text))(w, r)
		})
	}
}

// rpcError answers every request with a JSON-RPC error.
func rpcError(object string) http.HandlerFunc {
	return node.Says(`{"jsonrpc":"2.0","id":1,"error":` + object + `}`)
}

// fields replaces fields of an object.
func fields(object json.RawMessage, with map[string]any) json.RawMessage {
	all := map[string]any{}
	_ = json.Unmarshal(object, &all)
	maps.Copy(all, with)
	text, _ := json.Marshal(all)
	return text
}

func isLatest(c call) bool {
	return c.Method == "eth_getBlockByNumber" && string(c.Params[0]) == `"latest"`
}

// receiptWith replaces fields of the receipt.
func receiptWith(with map[string]any) func(call, json.RawMessage) (json.RawMessage, string) {
	return func(c call, result json.RawMessage) (json.RawMessage, string) {
		if c.Method == "eth_getTransactionReceipt" {
			return fields(result, with), ""
		}
		return nil, ""
	}
}

// eventsWith replaces a hash in the events of the receipt.
func eventsWith(field string, hash common.Hash) func(call, json.RawMessage) (json.RawMessage, string) {
	return func(c call, result json.RawMessage) (json.RawMessage, string) {
		if c.Method != "eth_getTransactionReceipt" {
			return nil, ""
		}
		var all struct{ Logs []map[string]any }
		_ = json.Unmarshal(result, &all)
		for _, log := range all.Logs {
			log[strings.Trim(field, `":`)] = hash
		}
		return fields(result, map[string]any{"logs": all.Logs}), ""
	}
}

// An endpoint that does not know a transaction, or has it in no block, is not the
// last to be asked.
func wantLag(t *testing.T, w *world) {
	receipt := w.swapEther(100)
	for name, null := range map[string][]string{
		"knows nothing":    {"eth_getTransactionReceipt", "eth_getTransactionByHash"},
		"knows no receipt": {"eth_getTransactionReceipt"},
	} {
		g := w.newRig(t, map[chain.ID]int{robinhood: 2, hub: 1})
		alter := func(c call, _ json.RawMessage) (json.RawMessage, string) {
			for _, method := range null {
				if c.Method == method {
					return json.RawMessage("null"), ""
				}
			}
			return nil, ""
		}
		change(g.fronts[robinhood][0], w.chains[robinhood], alter)
		g.want(robinhood, receipt.TxHash, Settling, false)
		g = w.newRig(t, map[chain.ID]int{robinhood: 2, hub: 1})
		for _, front := range g.fronts[robinhood] {
			change(front, w.chains[robinhood], alter)
		}
		want := map[string]State{"knows nothing": NotFound, "knows no receipt": Pending}[name]
		g.want(robinhood, receipt.TxHash, want, false)
		for _, id := range []chain.ID{robinhood, hub} {
			if h := g.Tracker.chains.Health(id, rpc.Tracking); h.Resting != 0 {
				t.Errorf("%s: an endpoint rests for it: %+v", name, h)
			}
		}
	}
}

// What does not fit together is not believed, and the next endpoint is asked.
func wantLies(t *testing.T, w *world) {
	receipt := w.swapEther(100)
	w.settleEther(w.nonceOf(receipt, 0), 100, 99)
	other := fmt.Sprintf(`"%s"`, common.Hash{9})
	lies := map[string]func(c call, result json.RawMessage) (json.RawMessage, string){
		"receipt of another transaction": func(c call, result json.RawMessage) (json.RawMessage, string) {
			if c.Method == "eth_getTransactionReceipt" {
				return fields(result, map[string]any{"transactionHash": common.Hash{9}}), ""
			}
			return nil, ""
		},
		"another transaction": func(c call, result json.RawMessage) (json.RawMessage, string) {
			if c.Method == "eth_getTransactionByHash" {
				return fields(result, map[string]any{"hash": common.Hash{9}}), ""
			}
			return nil, ""
		},
		"head below the receipt": func(c call, _ json.RawMessage) (json.RawMessage, string) {
			if isLatest(c) {
				return json.RawMessage(`{"number":"0x0","hash":` + other + `,"timestamp":"0xffffffff"}`), ""
			}
			return nil, ""
		},
		"no status":               receiptWith(map[string]any{"status": nil}),
		"a status of 2":           receiptWith(map[string]any{"status": "0x2"}),
		"no list of events":       receiptWith(map[string]any{"logs": nil}),
		"failed, with events":     receiptWith(map[string]any{"status": "0x0"}),
		"events of another one":   eventsWith(`"transactionHash":`, common.Hash{9}),
		"events of another block": eventsWith(`"blockHash":`, common.Hash{9}),
		"events that were removed": func(c call, result json.RawMessage) (json.RawMessage, string) {
			if c.Method == "eth_getTransactionReceipt" {
				return bytes.ReplaceAll(result, []byte(`"removed":false`), []byte(`"removed":true`)), ""
			}
			return nil, ""
		},
		"another block": func(c call, result json.RawMessage) (json.RawMessage, string) {
			if c.Method == "eth_getBlockByNumber" {
				return fields(result, map[string]any{"hash": common.Hash{9}}), ""
			}
			return nil, ""
		},
		"a block without a time": func(c call, result json.RawMessage) (json.RawMessage, string) {
			if c.Method == "eth_getBlockByNumber" {
				return fields(result, map[string]any{"timestamp": "0xffffffffffffffff"}), ""
			}
			return nil, ""
		},
		"a receipt that is text": func(c call, _ json.RawMessage) (json.RawMessage, string) {
			if c.Method == "eth_getTransactionReceipt" {
				return json.RawMessage(other), ""
			}
			return nil, ""
		},
	}
	for name, lie := range lies {
		g := w.newRig(t, map[chain.ID]int{robinhood: 3, hub: 1})
		change(g.fronts[robinhood][0], w.chains[robinhood], lie)
		if s := g.want(robinhood, receipt.TxHash, Settled, true); s.Swaps[0].Settlement.Amount.Uint64() != 99 {
			t.Errorf("%s: got %+v", name, s)
		}
		alone := w.newRig(t, map[chain.ID]int{robinhood: 1, hub: 1})
		change(alone.fronts[robinhood][0], w.chains[robinhood], lie)
		if name == "head below the receipt" || name == "another block" { // as behind a load balancer
			if s := alone.want(robinhood, receipt.TxHash, Pending, false); s.Reason != seenBefore {
				t.Errorf("%s: got %q", name, s.Reason)
			}
			continue
		}
		alone.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 4663, of the transaction, did not answer just now")
	}

	wrong := w.newRig(t, everyChain)
	wrong.fronts[hub][0].Instead("eth_chainId", node.Results(`"0x1"`))
	wrong.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 369, on which the swap is paid out, did not answer")

	// The destination says that it is settled and shows the settlement of another.
	for range headsApart {
		w.chains[hub].Commit()
	}
	shows := w.newRig(t, everyChain)
	change(shows.fronts[hub][0], w.chains[hub], func(c call, result json.RawMessage) (json.RawMessage, string) {
		if c.Method != "eth_getLogs" {
			return nil, ""
		}
		var logs []map[string]any
		_ = json.Unmarshal(result, &logs)
		for _, log := range logs {
			log["topics"].([]any)[1] = common.Hash{9}.Hex()
		}
		text, _ := json.Marshal(logs)
		return text, ""
	})
	s := shows.want(robinhood, receipt.TxHash, Settling, false)
	if p := s.Swaps[0]; p.Settlement != nil || !strings.Contains(p.Reason, "and no node here shows that event in that block") {
		t.Errorf("got %+v, want that it is not there", p)
	}

	garbage := w.newRig(t, everyChain)
	change(garbage.fronts[hub][0], w.chains[hub], func(c call, _ json.RawMessage) (json.RawMessage, string) {
		if c.Method == "eth_call" {
			return json.RawMessage(`"0x02"`), ""
		}
		return nil, ""
	})
	garbage.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "has a contract there that does not answer as the deployment says")
}

// Endpoints that fail are 503 with the chain, and the next one is asked first.
func wantRefusals(t *testing.T, w *world) {
	receipt := w.swapEther(100)
	for name, instead := range map[string]http.HandlerFunc{
		"status 500":   node.Status(500),
		"over quota":   node.Limited("7"),
		"drops":        node.Drops,
		"breaks off":   node.Aborts,
		"endless":      node.Pours,
		"no JSON":      node.Says("<html>"),
		"pruned, null": node.Says("null"),
	} {
		g := w.newRig(t, map[chain.ID]int{robinhood: 2, hub: 1})
		for _, method := range []string{node.Batch, "eth_getTransactionReceipt"} {
			g.fronts[robinhood][0].Instead(method, instead)
		}
		g.want(robinhood, receipt.TxHash, Settling, false)
		alone := w.newRig(t, map[chain.ID]int{robinhood: 1, hub: 1})
		for _, method := range []string{node.Batch, "eth_getTransactionReceipt"} {
			alone.fronts[robinhood][0].Instead(method, instead)
		}
		f := alone.wantFault(robinhood, receipt.TxHash, map[bool]fault.Code{true: fault.StatusUnavailable, false: fault.ChainUnavailable}[name == "endless"], "chain 4663")
		if name != "endless" && f.RetryAfter < time.Second {
			t.Errorf("%s: retry after %v", name, f.RetryAfter)
		}
	}
	// A node that has pruned the transaction says so; it is not blamed.
	pruned := w.newRig(t, map[chain.ID]int{robinhood: 1, hub: 1})
	change(pruned.fronts[robinhood][0], w.chains[robinhood], func(c call, _ json.RawMessage) (json.RawMessage, string) {
		if c.Method == "eth_getTransactionReceipt" {
			return nil, `{"code":4444,"message":"pruned history unavailable"}`
		}
		return nil, ""
	})
	pruned.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 4663")
	if h := pruned.Tracker.chains.Health(robinhood, rpc.Tracking); h.Resting != 0 {
		t.Errorf("got %+v, want no endpoint to rest", h)
	}

	slow := w.newRig(t, everyChain)
	client, err := rpc.New(rpc.Config{robinhood: {rpc.SecretURL(slow.fronts[robinhood][0].SecretURL())}}, rpc.Options{
		Limits: map[rpc.Lane]rpc.Limits{rpc.Sightings: {Try: 50 * time.Millisecond, Total: time.Minute, Calls: 1, Waiting: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	slow.use(New(w.deployment, client, slow.issuer, Options{}))
	slow.fronts[robinhood][0].Instead(node.Batch, node.Hangs)
	slow.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 4663")
}

// A receipt of thousands of events is read, and one beyond the bound is refused,
// once a minute and without blame.
func wantLongReceipt(t *testing.T, w *world) {
	receipt := w.swapEther(100)
	pad := func(size int) func(call, json.RawMessage) (json.RawMessage, string) {
		return func(c call, result json.RawMessage) (json.RawMessage, string) {
			if c.Method != "eth_getTransactionReceipt" {
				return nil, ""
			}
			foreign := fmt.Sprintf(`{"address":"%s","topics":["%s"],"data":"0x%s","transactionHash":"%s","blockHash":"%s","blockNumber":"0x%x"},`,
				common.Address{1}, common.Hash{2}, strings.Repeat("00", 400), receipt.TxHash, receipt.BlockHash, receipt.BlockNumber)
			return bytes.Replace(result, []byte(`"logs":[`), []byte(`"logs":[`+strings.Repeat(foreign, size)), 1), ""
		}
	}
	g := w.newRig(t, everyChain)
	front := g.fronts[robinhood][0]
	change(front, w.chains[robinhood], pad(1500))
	g.want(robinhood, receipt.TxHash, Settling, false)
	g = w.newRig(t, everyChain)
	front = g.fronts[robinhood][0]
	change(front, w.chains[robinhood], pad(5000))
	for range 2 {
		if _, err := g.Status(t.Context(), robinhood, receipt.TxHash); fault.From(err).Code != fault.StatusUnavailable || front.Count(node.Batch) != 1 {
			t.Errorf("got %v, and the receipt was asked for %d times", err, front.Count(node.Batch))
		}
	}
	g.wantFault(robinhood, receipt.TxHash, fault.StatusUnavailable, "What a node of chain 4663 answers about the transaction is longer than this service reads")
	if h := g.Tracker.chains.Health(robinhood, rpc.Tracking); h.Resting != 0 {
		t.Errorf("got %+v, want no endpoint to rest", h)
	}
}

// Whatever the issuer says, a burn is settled only once the pool says so.
func wantIssuerStates(t *testing.T, w *world) {
	burnt := w.burn(5)
	messages, _ := w.attest(burnt)
	short := messages[0][:200]
	for name, test := range map[string]struct {
		messages []cctp.Message
		err      error
		state    cctp.Attestation
		reason   string
	}{
		"unseen":               {nil, nil, cctp.Unseen, ""},
		"pending":              {[]cctp.Message{{State: cctp.Waiting}}, nil, cctp.Waiting, ""},
		"insufficient fee":     {[]cctp.Message{{State: cctp.Waiting, Delay: "insufficient_fee"}}, nil, cctp.Waiting, "insufficient_fee"},
		"pending with content": {[]cctp.Message{{State: cctp.Waiting, Message: messages[0], Delay: "amount_above_max"}}, nil, cctp.Waiting, "amount_above_max"},
		"complete":             {[]cctp.Message{{State: cctp.Complete, Message: messages[0]}}, nil, cctp.Complete, ""},
		"too short":            {[]cctp.Message{{State: cctp.Complete, Message: short}}, nil, cctp.Unseen, ""},
		"gone":                 {nil, fmt.Errorf("status 500"), cctp.Unknown, "The issuer's view is unknown: status 500"},
	} {
		g := w.newRig(t, everyChain)
		g.issuer.answers[burnt.TxHash], g.issuer.err = test.messages, test.err
		s := g.want(optimism, burnt.TxHash, Settling, false)
		if b := s.Swaps[0].Burn; b.State != test.state || b.Reason != test.reason || (b.Nonce != common.Hash{}) != (test.state == cctp.Complete) {
			t.Errorf("%s: got %+v", name, b)
		}
		if g.issuer.asked != 1 {
			t.Errorf("%s: the issuer was asked %d times", name, g.issuer.asked)
		}
	}
}
