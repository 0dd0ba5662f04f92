package rpc

import (
	"context"
	"fmt"
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

// read makes reads on chain 369 in one batch. It returns the reasons of those that failed.
func (g *rig) read(queue Queue, reads ...Read) (reasons []Reason, err error) {
	g.t.Helper()
	err = g.use(context.Background(), queue, func(ctx context.Context, e *Endpoint) error { return e.Batch(ctx, reads) })
	for _, r := range reads {
		reason := Reason("")
		if r.Err != nil {
			reason = r.Err.Reason
			g.hush("the error of a read", r.Err.Error())
		}
		reasons = append(reasons, reason)
	}
	return reasons, err
}

// batch reads a balance and a contract twice. Reads without a reason have their answer.
func (g *rig) batch() (reasons [3]Reason, err error) {
	g.t.Helper()
	var balance hexutil.U256
	var first, second hexutil.Bytes
	all, err := g.read(Wallets,
		ReadBalance(target, &balance), ReadContract(target, []byte{1}, &first), ReadContract(target, []byte{2}, &second))
	reasons = [3]Reason(all)
	got := []string{(*uint256.Int)(&balance).Hex(), first.String(), second.String()}
	for i, want := range []string{"0x7", "0x2a", "0x2a"} {
		if err == nil && (got[i] == want) != (reasons[i] == "") {
			g.t.Errorf("read %d: got %s with the reason %q", i+1, got[i], reasons[i])
		}
	}
	return reasons, err
}

// answering answers a batch with what arrange makes of the right answers.
func answering(arrange func(ids, right []string) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var ids, right []string
		calls, _ := node.ReadCalls(r.Body)
		for _, c := range calls {
			ids = append(ids, string(c.ID))
			right = append(right, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%q}`, c.ID, simple(c)))
		}
		node.Says("["+strings.Join(arrange(ids, right), ",")+"]")(w, r)
	}
}

func refusal(id string, code int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no, %s"}}`, id, code, node.Secret)
}

// lastOf answers two reads of a batch, and the last one otherwise.
func lastOf(last func(id string) string) http.HandlerFunc {
	return answering(func(ids, right []string) []string { return append(right[:2], last(ids[2])) })
}

// refusesAll refuses each read of a batch with a code.
func refusesAll(code int) http.HandlerFunc {
	return answering(func(ids, _ []string) (answers []string) {
		for _, id := range ids {
			answers = append(answers, refusal(id, code))
		}
		return answers
	})
}

// part answers some reads of a batch.
func part(from, to int) http.HandlerFunc {
	return answering(func(_, right []string) []string { return right[from:to] })
}

// TestBatch: three reads take one round trip. An endpoint that refuses batches, or answers only
// some reads, gets single calls.
func TestBatch(t *testing.T) {
	t.Parallel()
	none := [3]Reason{}
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		reasons [3]Reason
		plain   int // calls of a contract outside of the batch
	}{
		"in order": {nil, none, 0},
		"out of order": {answering(func(_, right []string) []string {
			slices.Reverse(right)
			return right
		}), none, 0},
		"extra answers": {answering(func(ids, right []string) []string {
			return append(right, `null`, `{}`, refusal("999999", 1), refusal(ids[0], 429))
		}), none, 0},
		"one in error":     {lastOf(func(id string) string { return refusal(id, -32000) }), [3]Reason{2: Refused}, 0},
		"one reverts":      {lastOf(func(id string) string { return refusal(id, 3) }), [3]Reason{2: Reverted}, 0},
		"all revert":       {refusesAll(3), [3]Reason{Reverted, Reverted, Reverted}, 0},
		"one is no answer": {lastOf(func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `}` }), [3]Reason{2: Undecodable}, 0},
		"one of another type": {lastOf(func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":[1]}`
		}), [3]Reason{2: Undecodable}, 0},

		"bad request":      {node.Status(400), none, 2},
		"forbidden":        {node.Status(403), none, 2},
		"too large":        {node.Status(413), none, 2},
		"internal error":   {node.Status(500), none, 2},
		"one error":        {node.RPCError(-32600), none, 2},
		"one result":       {node.Results(`"0x"`), none, 2},
		"text":             {node.Says("no batches"), none, 2},
		"a number":         {node.Says("1"), none, 2},
		"null":             {node.Says("null"), none, 2},
		"empty":            {node.Says("[]"), none, 2},
		"no objects":       {node.Says("[1,2,3]"), none, 2},
		"error without ID": {node.Says("[" + refusal("null", -32600) + "]"), none, 2},
		"error for each":   {refusesAll(1), none, 2},
		"error for one":    {answering(func(ids, _ []string) []string { return []string{refusal(ids[0], -32600)} }), none, 2},
		"one missing":      {part(0, 2), none, 2},
		"two missing":      {part(1, 2), none, 2},
		"only a third":     {part(0, 1), none, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 1)
			front := g.fronts[0]
			front.Instead(node.Batch, test.instead)
			if reasons, err := g.batch(); err != nil || reasons != test.reasons {
				t.Fatalf("got %v, %v, want %v", reasons, err, test.reasons)
			}
			if got := front.Count(node.Batch); got != 1 || g.calls(0) != test.plain {
				t.Errorf("%d batches and %d plain calls, want 1 and %d", got, g.calls(0), test.plain)
			}
			g.wantHealth(Working, 0)
		})
	}
	// An answer that is missing a second time is a failure.
	g := newRig(t, 1)
	g.fronts[0].Instead(node.Batch, part(0, 1))
	g.fronts[0].Instead("eth_call", node.RPCError(-32000))
	if reasons, err := g.batch(); err != nil || reasons != [3]Reason{1: Refused, 2: Refused} {
		t.Errorf("got %v, %v", reasons, err)
	}
	// One read needs no batch, and none needs no call.
	g = newRig(t, 1)
	for range 2 {
		if _, err := g.read(Wallets, ReadContract(target, nil, new(hexutil.Bytes))); err != nil {
			t.Error(err)
		}
		if _, err := g.read(Wallets); err != nil {
			t.Error(err)
		}
	}
	if got := g.fronts[0].Count(node.Batch); got != 0 || g.calls(0) != 2 {
		t.Errorf("%d batches and %d calls, want none and 2", got, g.calls(0))
	}
}

// Single calls also distinguish the failure of a read from that of the endpoint.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	for name, m := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 1)
			g.fronts[0].Instead(node.Batch, node.Status(405))
			g.fronts[0].Instead("eth_call", m.instead)
			reasons, err := g.batch()
			if !m.ofRead {
				g.wantReason(err, m.reason)
				return
			}
			if want := [3]Reason{"", m.reason, m.reason}; err != nil || reasons != want {
				t.Errorf("got %v, %v, want %v", reasons, err, want)
			}
		})
	}
}

func TestBatchFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		reason  Reason
		retry   time.Duration
	}{
		"over the quota":       {node.Limited("4"), Limited, 4 * time.Second},
		"one over the quota":   {lastOf(func(id string) string { return refusal(id, -32005) }), Limited, time.Second},
		"bad gateway":          {node.Status(502), Refused, time.Second},
		"too long":             {node.Says("[" + strings.Repeat(" ", maxAnswer) + "]"), Undecodable, time.Second},
		"breaks off":           {node.Aborts, Undecodable, time.Second},
		"drops the connection": {node.Drops, Unreachable, time.Second},
		"endless":              {node.Pours, Undecodable, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, 1)
			g.fronts[0].Instead(node.Batch, test.instead)
			_, err := g.batch()
			if got := g.wantReason(err, test.reason).RetryAfter; got != test.retry || g.calls(0) != 0 {
				t.Errorf("retry after %v and %d plain calls, want %v and none", got, g.calls(0), test.retry)
			}
		})
	}
}

// An endpoint that refuses one read of a status lookup is not skipped for it, so that no one
// can disable an endpoint with such a read. Only answers to these may be long.
func TestDeclinedRestsNothing(t *testing.T) {
	t.Parallel()
	const getReceipt = "eth_getTransactionReceipt"
	long := func(bytes int) http.HandlerFunc {
		return node.Says(strings.Repeat(" ", bytes-len(nullAnswer)) + nullAnswer)
	}
	for name, test := range map[string]struct {
		method  string
		instead http.HandlerFunc
		reason  Reason // empty for an answer
	}{
		"range too wide":      {getLogs, node.RPCError(-32602), Declined},
		"range, as a status":  {getLogs, node.Status(400), Declined},
		"range, with 403":     {getLogs, node.Status(403), Declined},
		"range, with 413":     {getLogs, node.Status(413), Declined},
		"receipt, with 403":   {getReceipt, node.Status(403), Refused},
		"logs over quota":     {getLogs, node.RPCError(-32005), Limited},
		"over quota, logs":    {getLogs, node.Limited(""), Limited},
		"endless logs":        {getLogs, node.Pours, Declined},
		"pruned":              {getReceipt, node.RPCError(4444), Declined},
		"a long receipt":      {getReceipt, long(maxLongAnswer), ""},
		"a longer receipt":    {getReceipt, long(maxLongAnswer + 1), Declined},
		"over quota":          {getReceipt, node.RPCError(-32005), Limited},
		"a receipt of no use": {getReceipt, node.Results(`"0x1"`), Undecodable},
		"broken":              {getReceipt, node.Status(502), Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 1)
			g.fronts[0].Instead(test.method, test.instead)
			read := ReadReceipt(common.Hash{}, new(*Receipt))
			if test.method == getLogs {
				read = ReadLogs(nil, nil, 1, 2, new([]Log))
			}
			err := g.use(t.Context(), Tracking, func(ctx context.Context, e *Endpoint) error { return e.ReadAll(ctx, read) })
			if test.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			g.wantReason(err, test.reason)
			rests := g.Health(369, Tracking).Resting > 0
			if rests != (test.reason != Declined) {
				t.Errorf("the endpoint rests: %v, after %v", rests, err)
			}
			if test.reason != Limited {
				g.wantAnswer(Wallets, Unverified)
			}
			g.wantAnswer(Partners)
		})
	}
}

const nullAnswer = `{"jsonrpc":"2.0","id":1,"result":null}`

// reverts is a contract that reverts with its input, or emits it as a log with the
// topic 7 if it was sent a value.
var reverts = common.FromHex("3660006000373415" + "601257" + "6007366000a100" + "5b366000fd")

// TestOnEVM runs the reads against a real node.
func TestOnEVM(t *testing.T) {
	t.Parallel()
	chain := node.NewEVM(t, 369, func(common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{target: {Balance: new(big.Int), Code: reverts}}
	})
	g := newRigOf(t, nil, node.NewFront(t, chain))
	read := func(reads ...Read) {
		t.Helper()
		err := g.use(t.Context(), Tracking, func(ctx context.Context, e *Endpoint) error { return e.ReadAll(ctx, reads...) })
		if err != nil {
			t.Fatal(err)
		}
	}
	var receipt *Receipt
	var tx *Transaction
	var head Block
	var block *Block
	var logs []Log
	hash := chain.Submit(target, big.NewInt(5), []byte("hello"))
	read(ReadReceipt(hash, &receipt), ReadTransaction(hash, &tx), ReadLatest(&head), ReadBlock(2, &block))
	if receipt != nil || block != nil || tx == nil || tx.Hash != hash || tx.From != chain.Operator ||
		*tx.To != target || (*uint256.Int)(tx.Value).Uint64() != 5 || string(tx.Input) != "hello" {
		t.Errorf("got %+v, %+v and %+v of a transaction in no block", receipt, block, tx)
	}
	chain.Commit()
	read(ReadReceipt(hash, &receipt), ReadLatest(&head), ReadBlock(2, &block))
	seconds, _ := chain.Block(receipt.BlockHash)
	if receipt.TxHash != hash || *receipt.Status != 1 || receipt.BlockNumber != 2 || len(receipt.Logs) != 1 ||
		head.Number != 2 || uint64(block.Time) != seconds || block.Hash != receipt.BlockHash {
		t.Errorf("got %+v, %+v at %+v", receipt, block, head)
	}
	seven := common.Hash{31: 7}
	for name, test := range map[string]struct {
		topic *common.Hash
		first uint64
		want  int
	}{"between": {&seven, 0, 1}, "any topic": {nil, 2, 1}, "another topic": {&common.Hash{}, 0, 0}} {
		logs = nil
		read(ReadLogs([]common.Address{target}, []*common.Hash{test.topic}, test.first, 2, &logs))
		if logs == nil || len(logs) != test.want {
			t.Fatalf("%s: got %+v", name, logs)
		}
		if test.want == 1 && (string(logs[0].Data) != "hello" || logs[0].TxHash != hash || logs[0].Topics[0] != seven ||
			logs[0].BlockNumber != 2 || logs[0].BlockHash != receipt.BlockHash || logs[0].Time == nil) {
			t.Errorf("%s: got %+v", name, logs)
		}
	}
	if got, err := g.read(Tracking, ReadContractAt(target, nil, 1, new(hexutil.Bytes))); err != nil || got[0] != Reverted {
		t.Errorf("got %v, %v of a call at an old block", got, err)
	}

	failed := chain.Submit(target, nil, []byte("no"))
	chain.Commit()
	read(ReadReceipt(failed, &receipt), ReadTransaction(failed, &tx))
	wantReplay := func(want string) {
		t.Helper()
		reads := []Read{ReadReplay(tx, uint64(receipt.BlockNumber))}
		_, err := g.read(Tracking, reads...)
		got := ""
		if f := reads[0].Err; f != nil {
			got = string(f.Output)
		}
		if err != nil || got != want || *receipt.Status != 0 {
			t.Errorf("got %q of a replay, %v, want %q", got, err, want)
		}
	}
	wantReplay("no")
	tx.Value = (*hexutil.U256)(uint256.NewInt(1))
	wantReplay("") // it does not revert
	for data, want := range map[string]string{
		`"Reverted 0x6e6f"`: "no", `"` + node.Secret + `"`: "", `{"a":1}`: "", `null`: "",
	} {
		const format = `{"jsonrpc":"2.0","id":1,"error":{"code":-32015,"message":"VM execution error","data":%s}}`
		g.fronts[0].Instead("eth_call", node.Says(fmt.Sprintf(format, data)))
		wantReplay(want)
	}
}
