package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

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

// alter has a node change what it says to a method.
func (n *scripted) alter(method string, change func(map[string]any)) {
	n.altered = func(c call, result any) any {
		object, ok := result.(map[string]any)
		if c.Method != method || !ok {
			return result
		}
		object = maps.Clone(object)
		change(object)
		return object
	}
}

// TestLies: what does not fit together is not believed, and the next endpoint is asked.
func TestLies(t *testing.T) {
	const receipt, block = "eth_getTransactionReceipt", "eth_getBlockByNumber"
	other := common.Hash{9}
	with := func(field string, value any) func(map[string]any) {
		return func(object map[string]any) { object[field] = value }
	}
	eventsWith := func(field string, value any) func(map[string]any) {
		return func(receipt map[string]any) {
			var logs []map[string]any
			for _, log := range receipt["logs"].([]map[string]any) {
				log = maps.Clone(log)
				log[field] = value
				logs = append(logs, log)
			}
			receipt["logs"] = logs
		}
	}
	for name, lie := range map[string]struct {
		method string
		change func(map[string]any)
	}{
		"receipt of another transaction": {receipt, with("transactionHash", other)},
		"another transaction":            {"eth_getTransactionByHash", with("hash", other)},
		"head below the receipt": {block, func(b map[string]any) {
			if b["number"] == hexutil.Uint64(topBlock) {
				b["number"] = hexutil.Uint64(0)
			}
		}},
		"no status":                {receipt, with("status", nil)},
		"a status of 2":            {receipt, with("status", "0x2")},
		"no list of events":        {receipt, with("logs", nil)},
		"failed, with events":      {receipt, with("status", "0x0")},
		"events of another one":    {receipt, eventsWith("transactionHash", other)},
		"events of another block":  {receipt, eventsWith("blockHash", other)},
		"events that were removed": {receipt, eventsWith("removed", true)},
		"another block":            {block, with("hash", other)},
		"a block without a time":   {block, with("timestamp", "0xffffffffffffffff")},
		"a receipt of no use":      {receipt, with("blockNumber", "soon")},
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, toHub, 3)
			s.source().alter(lie.method, lie.change)
			s.start()
			if got := s.want(s.src, s.tx, Settled, true); got.Swaps[0].Settlement.Amount.Uint64() != 99 {
				t.Errorf("got %+v", got)
			}
			alone := paidSwap(t, toHub, 1)
			alone.source().alter(lie.method, lie.change)
			alone.start()
			if name == "head below the receipt" || name == "another block" { // as behind a load balancer
				alone.wantReason(Pending, false, seenBefore)
				return
			}
			alone.wantFault(alone.src, alone.tx, fault.ChainUnavailable, "chain 4663, of the transaction, did not answer")
		})
	}
	for method, test := range map[string]struct{ result, says string }{
		"eth_chainId": {`"0x1"`, "chain 369, on which the swap is paid out, did not answer"},
		"eth_call":    {`"0x02"`, "has a contract that does not match the deployment"},
	} {
		s := paidSwap(t, toHub, 1)
		s.destination().instead[method] = test.result
		s.start()
		s.wantFault(s.src, s.tx, fault.ChainUnavailable, test.says)
	}
}

// TestRefusals: endpoints that fail are 503 with the chain, and the next one is asked first.
func TestRefusals(t *testing.T) {
	refusing := func(endpoints int, handler http.HandlerFunc) *script {
		s := newScript(t, toHub)
		s.swap(10 * time.Minute)
		s.multiply(endpoints)
		s.source().handler = handler
		s.start()
		return s
	}
	for name, handler := range map[string]http.HandlerFunc{
		"status 500": node.Status(500),
		"over quota": node.Limited("7"),
		"endless":    node.Pours,
		"null":       node.Says("null"),
	} {
		s := refusing(2, handler)
		s.want(s.src, s.tx, Settling, false)
		alone := refusing(1, handler)
		code := fault.ChainUnavailable
		if name == "endless" {
			code = fault.StatusUnavailable
		}
		f := alone.wantFault(alone.src, alone.tx, code, "chain 4663")
		if name != "endless" && f.RetryAfter < time.Second {
			t.Errorf("%s: retry after %v", name, f.RetryAfter)
		}
	}
	// A node that has pruned the transaction says so; it is not blamed.
	pruned := refusing(1, nil)
	pruned.source().refuses = map[string]int{"eth_getTransactionReceipt": 4444}
	pruned.wantFault(pruned.src, pruned.tx, fault.ChainUnavailable, "chain 4663")
	if h := pruned.Tracker.chains.Health(robinhood, rpc.Tracking); h.Resting != 0 {
		t.Errorf("got %+v, want no endpoint to rest", h)
	}

	slow := refusing(1, node.Hangs)
	client, err := rpc.New(rpc.Config{robinhood: {rpc.SecretURL(slow.source().URL)}}, rpc.Options{
		Limits: map[rpc.Lane]rpc.Limits{rpc.TxLookups: {Try: 50 * time.Millisecond, Total: time.Minute, Calls: 1, Waiting: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	slow.use(New(chain.Reference(), client, slow.issuer, Options{}))
	slow.wantFault(slow.src, slow.tx, fault.ChainUnavailable, "chain 4663")
}

// TestLongReceipt: a receipt of a megabyte is read, and one beyond the bound is refused, once a minute and without blame.
func TestLongReceipt(t *testing.T) {
	padded := func(events int) *script {
		s := newScript(t, toHub)
		s.swap(10 * time.Minute)
		s.source().alter("eth_getTransactionReceipt", func(receipt map[string]any) {
			logs := receipt["logs"].([]map[string]any)
			foreign := maps.Clone(logs[0])
			foreign["address"] = common.Address{1}
			foreign["data"] = "0x" + strings.Repeat("00", 4000)
			receipt["logs"] = append(slices.Repeat([]map[string]any{foreign}, events), logs...)
		})
		s.start()
		return s
	}
	s := padded(150)
	s.want(s.src, s.tx, Settling, false)
	s = padded(500)
	for range 2 {
		if _, err := s.Status(t.Context(), s.src, s.tx); fault.From(err).Code != fault.StatusUnavailable {
			t.Errorf("got %v", err)
		}
	}
	if got := s.source().counted(); got != 1 {
		t.Errorf("the receipt was asked for %d times", got)
	}
	s.wantFault(s.src, s.tx, fault.StatusUnavailable, "The response about this transaction on chain 4663 exceeds the size limit")
	if h := s.Tracker.chains.Health(robinhood, rpc.Tracking); h.Resting != 0 {
		t.Errorf("got %+v, want no endpoint to rest", h)
	}
}

// TestOnwardEvidence: an onward swap is final only with both of its legs, and the delivery is that of the attested
// message.
func TestOnwardEvidence(t *testing.T) {
	s := paidSwap(t, onOnward, 1)
	s.start(`"8453": 12`, `"8453": 400`) // more than eight minutes
	s.issuer.say(s.paid, s.attested())
	s.want(s.src, s.tx, Settled, false)
	for name, place := range map[string]int{"source domain": 31, "sender": 63, "token": 132 + 31, "recipient": 132 + 63, "amount": 132 + 95, "hook": 132 + 7*32 + 31} {
		s := paidSwap(t, onOnward, 1)
		log := s.nodes[optimism][0].receipts[common.Hash{3}]["logs"].([]map[string]any)[0]
		log["data"].(hexutil.Bytes)[place]++
		s.start()
		s.issuer.say(s.paid, s.attested())
		got := s.want(s.src, s.tx, Settled, true) // the nonce is used
		if p := got.Swaps[0].Settlement; p.TxHash != (common.Hash{}) || !p.Time.IsZero() || p.Arrived.Uint64() != 97 {
			t.Errorf("a delivery with another %s: got %+v", name, p)
		}
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
