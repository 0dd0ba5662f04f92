package rpc

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

// batch reads a balance and a contract twice on chain 369, in one batch. It
// returns the two outputs and the reasons of the failed reads.
func (g *rig) batch() (outputs [2]string, reasons [3]Reason, err error) {
	g.t.Helper()
	_, err = g.use(context.Background(), Wallets, func(ctx context.Context, e *Endpoint) ([]byte, error) {
		var balance hexutil.U256
		var first, second hexutil.Bytes
		reads := []Read{ReadBalance(target, &balance), ReadContract(target, []byte{1}, &first), ReadContract(target, []byte{2}, &second)}
		if err := e.Batch(ctx, reads); err != nil {
			return nil, err
		}
		outputs = [2]string{(*uint256.Int)(&balance).Hex(), first.String() + " " + second.String()}
		for i, r := range reads {
			if r.Err != nil {
				reasons[i] = r.Err.Reason
				g.hush("the error of a read", r.Err.Error())
			}
		}
		return nil, nil
	})
	return outputs, reasons, err
}

// answering answers a batch with what arrange makes of its questions.
func answering(arrange func(qs []question) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		node.Says("["+strings.Join(arrange(questions(body)), ",")+"]")(w, r)
	}
}

func answerAll(qs []question) (answers []string) {
	for _, q := range qs {
		answers = append(answers, q.answer())
	}
	return answers
}

func TestBatch(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		reasons [3]Reason
	}{
		"in order": {nil, [3]Reason{}},
		"out of order": {answering(func(qs []question) []string {
			answers := answerAll(qs)
			slices.Reverse(answers)
			return answers
		}), [3]Reason{}},
		"extra answers": {answering(func(qs []question) []string {
			return append(answerAll(qs), `null`, `{}`, question{ID: []byte("999999")}.refusal(1), qs[0].refusal(429))
		}), [3]Reason{}},
		"one in error": {answering(func(qs []question) []string { return append(answerAll(qs)[:2], qs[2].refusal(-32000)) }), [3]Reason{2: Refused}},
		"one reverts":  {answering(func(qs []question) []string { return append(answerAll(qs)[:2], qs[2].refusal(3)) }), [3]Reason{2: Reverted}},
		"all revert": {answering(func(qs []question) []string { return []string{qs[0].refusal(3), qs[1].refusal(3), qs[2].refusal(3)} }),
			[3]Reason{Reverted, Reverted, Reverted}},
		"one is no answer": {answering(func(qs []question) []string {
			return append(answerAll(qs)[:2], fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, qs[2].ID))
		}), [3]Reason{2: Undecodable}},
		"one of another type": {answering(func(qs []question) []string {
			return append(answerAll(qs)[:2], fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":[1]}`, qs[2].ID))
		}), [3]Reason{2: Undecodable}},
	} {
		t.Run(name, func(t *testing.T) {
			front.Instead(node.Batch, test.instead)
			g := newRig(t, front)
			batches, calls := front.Count(node.Batch), front.Count("eth_call")
			outputs, reasons, err := g.batch()
			if err != nil || reasons != test.reasons {
				t.Fatalf("got %v, %v, want %v", reasons, err, test.reasons)
			}
			want := [2]string{"0x7", "0x2a 0x2a"}
			if reasons[0] != "" {
				want[0] = "0x0"
			}
			if reasons[1] != "" {
				want[1] = "0x 0x"
			} else if reasons[2] != "" {
				want[1] = "0x2a 0x"
			}
			if outputs != want {
				t.Errorf("got %q, want %q", outputs, want)
			}
			if front.Count(node.Batch) != batches+1 || front.Count("eth_call") != calls {
				t.Error("the batch took more than one round trip")
			}
			g.wantHealth(Working, 0)
		})
	}
}

// An endpoint that refuses batches gets plain calls, for an hour without being
// sent another batch.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	for name, instead := range map[string]http.HandlerFunc{
		"bad request":       node.Status(400),
		"forbidden":         node.Status(403),
		"too large":         node.Status(413),
		"internal error":    node.Status(500),
		"one error":         node.RPCError(-32600),
		"one result":        node.Results(`"0x"`),
		"text":              node.Says("no batches"),
		"a number":          node.Says("1"),
		"null":              node.Says("null"),
		"empty":             node.Says("[]"),
		"no objects":        node.Says("[1,2,3]"),
		"error without ID":  node.Says(`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}]`),
		"error for each":    answering(func(qs []question) []string { return []string{qs[0].refusal(1), qs[1].refusal(1), qs[2].refusal(1)} }),
		"error for the 1st": answering(func(qs []question) []string { return []string{qs[0].refusal(-32600)} }),
	} {
		t.Run(name, func(t *testing.T) {
			front.Instead(node.Batch, instead)
			g := newRig(t, front)
			batches, calls := front.Count(node.Batch), front.Count("eth_call")
			for range 3 {
				if outputs, reasons, err := g.batch(); err != nil || reasons != [3]Reason{} || outputs != [2]string{"0x7", "0x2a 0x2a"} {
					t.Fatalf("got %q, %v, %v", outputs, reasons, err)
				}
			}
			if got := front.Count(node.Batch) - batches; got != 1 {
				t.Errorf("%d batches, want 1", got)
			}
			if got := front.Count("eth_call") - calls; got != 6 {
				t.Errorf("%d plain calls of a contract, want 6", got)
			}
			g.wantHealth(Working, 0)
			g.pass(time.Hour)
			if _, _, err := g.batch(); err != nil || front.Count(node.Batch) != batches+2 {
				t.Errorf("got %v and %d batches, want another one after an hour", err, front.Count(node.Batch)-batches)
			}
		})
	}
}

// An endpoint that answers a part of a batch gets the rest as plain calls, and no
// batch for an hour.
func TestBatchInPart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		calls   int // plain calls of a contract
	}{
		"one missing":  {answering(func(qs []question) []string { return answerAll(qs)[:2] }), 1},
		"two missing":  {answering(func(qs []question) []string { return answerAll(qs)[1:2] }), 1},
		"only a third": {answering(func(qs []question) []string { return answerAll(qs)[:1] }), 2},
	} {
		t.Run(name, func(t *testing.T) {
			front := node.NewFront(t, simple)
			front.Instead(node.Batch, test.instead)
			g := newRig(t, front)
			for _, want := range []int{test.calls, test.calls + 2} {
				if outputs, reasons, err := g.batch(); err != nil || reasons != [3]Reason{} || outputs != [2]string{"0x7", "0x2a 0x2a"} {
					t.Fatalf("got %q, %v, %v", outputs, reasons, err)
				}
				if batches, calls := front.Count(node.Batch), front.Count("eth_call"); batches != 1 || calls != want {
					t.Errorf("%d batches and %d plain calls, want 1 and %d", batches, calls, want)
				}
			}
		})
	}
	// What is missing a second time has failed.
	front := node.NewFront(t, simple)
	front.Instead(node.Batch, answering(func(qs []question) []string { return answerAll(qs)[:1] }))
	front.Instead("eth_call", node.RPCError(-32000))
	g := newRig(t, front)
	if _, reasons, err := g.batch(); err != nil || reasons != [3]Reason{1: Refused, 2: Refused} {
		t.Errorf("got %v, %v", reasons, err)
	}
}

// Plain calls tell the failure of a read from that of the endpoint as well.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	for _, m := range misbehaviours(t) {
		t.Run(m.name, func(t *testing.T) {
			front := node.NewFront(t, simple)
			front.Instead(node.Batch, node.Status(405))
			front.Instead("eth_call", m.instead)
			g := newRig(t, front)
			_, reasons, err := g.batch()
			switch m.name {
			case "JSON-RPC error", "revert with a reason", "revert without", "null", "an empty object", "no result", "a number", "an object", "no hex":
				if want := [3]Reason{"", m.reason, m.reason}; err != nil || reasons != want {
					t.Errorf("got %v, %v, want %v", reasons, err, want)
				}
			default:
				g.wantReason(Wallets, err, m.reason)
			}
		})
	}
}

func TestBatchFails(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		reason  Reason
		retry   time.Duration
	}{
		"over the quota":       {node.Limited("4"), Limited, 4 * time.Second},
		"one over the quota":   {answering(func(qs []question) []string { return append(answerAll(qs)[:2], qs[2].refusal(-32005)) }), Limited, time.Second},
		"internal error":       {node.Status(502), Refused, time.Second},
		"too long":             {node.Says("[" + strings.Repeat(" ", maxAnswer) + "]"), Undecodable, time.Second},
		"breaks off":           {node.Aborts, Undecodable, time.Second},
		"drops the connection": {node.Drops, Unreachable, time.Second},
		"endless":              {node.Pours, Undecodable, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			front.Instead(node.Batch, test.instead)
			g := newRig(t, front)
			calls := front.Count("eth_call")
			_, _, err := g.batch()
			if got := g.wantReason(Wallets, err, test.reason).RetryAfter; got != test.retry {
				t.Errorf("retry after %v, want %v", got, test.retry)
			}
			if got := front.Count("eth_call") - calls; got != 0 {
				t.Errorf("%d plain calls of an endpoint that fails, want 0", got)
			}
		})
	}
}

// One read needs no batch, and none needs no call.
func TestSmallBatches(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	_, err := g.use(context.Background(), Wallets, func(ctx context.Context, e *Endpoint) ([]byte, error) {
		if err := e.Batch(ctx, nil); err != nil {
			return nil, err
		}
		var output hexutil.Bytes
		return nil, e.Batch(ctx, []Read{ReadContract(target, nil, &output)})
	})
	if err != nil || front.Count(node.Batch) != 0 || front.Count("eth_call") != 1 {
		t.Errorf("got %v with %d batches and %d calls, want none and 1", err, front.Count(node.Batch), front.Count("eth_call"))
	}
}

// A real node understands the reads.
func TestBatchOnEVM(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, node.NewEVM(t, 369, func(common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{target: {Balance: big.NewInt(7), Code: common.FromHex("602a60005260016000f3")}} // returns 00
	}))
	g := newRig(t, front)
	outputs, reasons, err := g.batch()
	if want := [2]string{"0x7", "0x00 0x00"}; err != nil || reasons != [3]Reason{} || outputs != want {
		t.Errorf("got %q, %v, %v, want %q", outputs, reasons, err, want)
	}
	if got := front.Count(node.Batch); got != 1 {
		t.Errorf("%d batches, want 1", got)
	}
}
