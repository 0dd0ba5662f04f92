package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

// reverts is a contract that reverts with its input, or emits it as a log with the
// topic 7 if it was sent a value.
var reverts = common.FromHex("3660006000373415" + "601257" + "6007366000a100" + "5b366000fd")

// track makes reads on chain 369 in the lane of status look-ups.
func (g *rig) track(reads ...Read) error {
	g.t.Helper()
	_, err := g.use(context.Background(), Tracking, func(ctx context.Context, e *Endpoint) ([]byte, error) {
		return nil, e.Batch(ctx, reads)
	})
	for _, r := range reads {
		if r.Err != nil {
			g.hush("the error of a read", r.Err.Error())
			if err == nil {
				err = r.Err
			}
		}
	}
	return err
}

// A real node understands the reads.
func TestTrackOnEVM(t *testing.T) {
	t.Parallel()
	chain := node.NewEVM(t, 369, func(common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{target: {Balance: new(big.Int), Code: reverts}}
	})
	front := node.NewFront(t, chain)
	g := newRig(t, front)
	hash := chain.Submit(target, big.NewInt(5), []byte("hello"))

	var (
		receipt *Receipt
		tx      *Transaction
		head    *Block
		block   *Block
		logs    []Log
	)
	if err := g.track(ReadReceipt(hash, &receipt), ReadTransaction(hash, &tx), ReadLatest(&head), ReadBlock(2, &block)); err != nil {
		t.Fatal(err)
	}
	if receipt != nil || block != nil || tx == nil || tx.Hash != hash || tx.From != chain.Operator || *tx.To != target || (*uint256.Int)(tx.Value).Uint64() != 5 || string(tx.Input) != "hello" {
		t.Errorf("got %+v, %+v and %+v of a transaction in no block", receipt, block, tx)
	}
	chain.Commit()
	seven := common.BigToHash(big.NewInt(7))
	if err := g.track(ReadReceipt(hash, &receipt), ReadLatest(&head), ReadBlock(2, &block), Filter{[]common.Address{target}, []*common.Hash{&seven}}.Between(0, 2, &logs)); err != nil {
		t.Fatal(err)
	}
	seconds, number := chain.Block(receipt.BlockHash)
	if receipt.TxHash != hash || *receipt.Status != 1 || receipt.BlockNumber != 2 || head.Number != 2 || number != 2 || uint64(block.Time) != seconds || block.Hash != receipt.BlockHash {
		t.Errorf("got %+v, %+v at %d", receipt, block, head)
	}
	if len(logs) != 1 || len(receipt.Logs) != 1 || string(logs[0].Data) != "hello" || logs[0].TxHash != hash || logs[0].Topics[0] != seven || logs[0].BlockNumber != 2 {
		t.Errorf("got the logs %+v, of the receipt %+v", logs, receipt.Logs)
	}
	for name, read := range map[string]Read{
		"by hash":   Filter{[]common.Address{target}, []*common.Hash{&seven}}.In(receipt.BlockHash, &logs),
		"any topic": Filter{[]common.Address{target}, []*common.Hash{nil}}.Between(2, 2, &logs),
	} {
		if err := g.track(read); err != nil || len(logs) != 1 || logs[0].BlockHash != receipt.BlockHash || logs[0].Time == nil {
			t.Errorf("%s: got %+v, %v", name, logs, err)
		}
	}
	if err := g.track(Filter{[]common.Address{target}, []*common.Hash{{}}}.Between(0, 1, &logs)); err != nil || logs == nil || len(logs) != 0 {
		t.Errorf("got %+v, %v for another topic", logs, err)
	}
	var output hexutil.Bytes
	if err := g.track(ReadContractAt(target, nil, 1, &output)); err == nil || !strings.Contains(err.Error(), "reverted") {
		t.Errorf("got %v of a call at an old block", err)
	}

	failed := chain.Submit(target, nil, []byte("no"))
	chain.Commit()
	if err := g.track(ReadReceipt(failed, &receipt), ReadTransaction(failed, &tx)); err != nil || *receipt.Status != 0 {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	replay := func(tx *Transaction) string {
		output, err := g.use(context.Background(), Tracking, func(ctx context.Context, e *Endpoint) ([]byte, error) {
			output, err := e.Replay(ctx, tx, uint64(receipt.BlockNumber))
			return output, err
		})
		if err != nil {
			t.Error(err)
		}
		return string(output)
	}
	if got := replay(tx); got != "no" {
		t.Errorf("got %q of a replay, want what it reverts with", got)
	}
	tx.Value = (*hexutil.U256)(uint256.NewInt(1))
	if got := replay(tx); got != "" {
		t.Errorf("got %q of a replay that does not revert", got)
	}
	tx.Value = nil
	front.Instead("eth_call", node.Says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32015,"message":"VM execution error","data":"Reverted 0x6e6f"}}`))
	if got := replay(tx); got != "no" {
		t.Errorf("got %q from a node that writes a word in front", got)
	}
	for _, data := range []string{`"` + node.Secret + `"`, `{"a":1}`, `null`} {
		front.Instead("eth_call", node.Says(`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"reverted","data":`+data+`}}`))
		if got := replay(tx); got != "" {
			t.Errorf("got %q of %s", got, data)
		}
	}
}

// Who does not answer one question of a status look-up is not skipped for it, so
// that nobody can disable an endpoint with such a question.
func TestDeclinedRestsNothing(t *testing.T) {
	t.Parallel()
	var logs []Log
	var receipt *Receipt
	for name, test := range map[string]struct {
		method  string
		instead http.HandlerFunc
		read    Read
		reason  Reason
	}{
		"range too wide":      {getLogs, node.RPCError(-32602), Filter{}.Between(1, 2, &logs), Declined},
		"range, as a status":  {getLogs, node.Status(400), Filter{}.Between(1, 2, &logs), Declined},
		"range, with 403":     {getLogs, node.Status(403), Filter{}.Between(1, 2, &logs), Declined},
		"range, with 413":     {getLogs, node.Status(413), Filter{}.Between(1, 2, &logs), Declined},
		"receipt, with 403":   {"eth_getTransactionReceipt", node.Status(403), ReadReceipt(common.Hash{}, &receipt), Refused},
		"logs over quota":     {getLogs, node.RPCError(-32005), Filter{}.Between(1, 2, &logs), Limited},
		"endless logs":        {getLogs, node.Pours, Filter{}.Between(1, 2, &logs), Declined},
		"pruned":              {"eth_getTransactionReceipt", node.RPCError(4444), ReadReceipt(common.Hash{}, &receipt), Declined},
		"a long receipt":      {"eth_getTransactionReceipt", node.Says(strings.Repeat(" ", maxLongAnswer+1)), ReadReceipt(common.Hash{}, &receipt), Declined},
		"over quota":          {"eth_getTransactionReceipt", node.RPCError(-32005), ReadReceipt(common.Hash{}, &receipt), Limited},
		"over quota, logs":    {getLogs, node.Limited(""), Filter{}.Between(1, 2, &logs), Limited},
		"a receipt of no use": {"eth_getTransactionReceipt", node.Results(`"0x1"`), ReadReceipt(common.Hash{}, &receipt), Undecodable},
		"broken":              {"eth_getTransactionReceipt", node.Status(502), ReadReceipt(common.Hash{}, &receipt), Refused},
	} {
		t.Run(name, func(t *testing.T) {
			front := node.NewFront(t, simple)
			front.Instead(test.method, test.instead)
			g := newRig(t, front)
			err := g.track(test.read)
			var f *Failure
			if !errors.As(err, &f) || f.Reason != test.reason {
				t.Fatalf("got %v, want %s", err, test.reason)
			}
			if got := g.Health(369, Tracking).Resting; (got == 0) != (test.reason == Declined) {
				t.Errorf("%d endpoints rest after %v", got, err)
			}
			if test.reason != Limited {
				g.wantAnswer(Wallets)
				g.wantAnswer(Unverified)
			}
			g.wantAnswer(Partners)
		})
	}
}

// Only the answers of a status look-up may be long.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	log := fmt.Sprintf(`{"address":"%s","topics":[],"data":"0x%s"}`, target, strings.Repeat("00", 2000))
	receiptOf := func(logs int) http.HandlerFunc {
		return node.Results(fmt.Sprintf(`{"transactionHash":"%s","blockHash":"%s","blockNumber":"0x1","status":"0x1","logs":[%s]}`,
			common.Hash{}, common.Hash{}, strings.TrimSuffix(strings.Repeat(log+",", logs), ",")))
	}
	front.Instead("eth_getTransactionReceipt", receiptOf(400)) // 1.6 MB
	g := newRig(t, front)
	var receipt *Receipt
	if err := g.track(ReadReceipt(common.Hash{}, &receipt)); err != nil || len(receipt.Logs) != 400 {
		t.Fatalf("got %v", err)
	}
	front.Instead("eth_getTransactionReceipt", receiptOf(600))
	if err := g.track(ReadReceipt(common.Hash{}, &receipt)); !errors.Is(err, error(ErrTooLong)) && !strings.Contains(fmt.Sprint(err), "too long") {
		t.Errorf("got %v, want that it is too long", err)
	}
	front.Instead("eth_call", node.Results(`"0x`+strings.Repeat("00", maxAnswer)+`"`))
	g.wantFailure(Wallets, Undecodable)
}
