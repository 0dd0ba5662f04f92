package swap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/testdata/contracts"
)

// startChain runs chain 1 with the token and the pool of a quote, and somebody with coins and so much of the token.
// Each alter changes block zero.
func startChain(
	t *testing.T, q *Checked, balance *big.Int, alters ...func(alloc types.GenesisAlloc, me common.Address),
) (*localnet.Chain, Sender) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	me, token := crypto.PubkeyToAddress(key.PublicKey), q.Swap.SrcToken.Address.Address
	alloc := types.GenesisAlloc{
		me:        {Balance: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil)},
		token:     contracts.Token(me, "USDC", 6),
		q.Main.To: contracts.Pool(me, token, me, me),
	}
	for _, alter := range alters {
		alter(alloc, me)
	}
	c, err := localnet.Start(localnet.Spec{ID: 1, Addr: "127.0.0.1:0", Alloc: alloc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	mint, err := contracts.TokenABI.Pack("mint", me, balance)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), key, token, nil, mint); err != nil {
		t.Fatal(err)
	}
	return c, Sender{Node: dial(t, c.URL()), Key: key, Poll: time.Millisecond}
}

func dial(t *testing.T, url string) *ethclient.Client {
	t.Helper()
	client, err := ethclient.DialContext(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// slowNode stands before a node and changes its answers about receipts.
func slowNode(t *testing.T, node string, receipt func(answer []byte) []byte) string {
	t.Helper()
	return lyingNode(t, node, "eth_getTransactionReceipt", receipt)
}

// lyingNode stands before a node and changes its answers to one method.
func lyingNode(t *testing.T, node, method string, alter func(answer []byte) []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		res, err := http.Post(node, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"`+method+`"`)) {
			answer = alter(answer)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// withoutResult is an answer that there is nothing yet.
func withoutResult(answer []byte) []byte {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(answer, &fields)
	fields["result"] = json.RawMessage("null")
	answer, _ = json.Marshal(fields)
	return answer
}

func TestExecute(t *testing.T) {
	q := checkedQuote(t, "pair-usdc-1-to-usdc-369")
	c, sender := startChain(t, q, q.Swap.Amount)
	var told []string
	sender.Progress = func(what string) { told = append(told, what) }
	var asked atomic.Int64
	sender.Node = dial(t, slowNode(t, c.URL(), func(answer []byte) []byte {
		if asked.Add(1)%3 != 0 {
			return withoutResult(answer)
		}
		return answer
	}))
	receipt, err := sender.Execute(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if last := receipt.Logs[len(receipt.Logs)-1]; last.Address != q.Main.To || last.Topics[0] != contracts.PoolABI.Events["Swap"].ID {
		t.Errorf("the pool did not say that it swapped: %+v", last)
	}
	progress := strings.Join(told, "\n")
	for _, words := range []string{
		"approval: sending 0x", "approval: waiting for a block, asked 2 times", "approval: in block 2",
		"swap: sending " + receipt.TxHash.Hex(), "swap: waiting for a block, asked 2 times", "swap: in block 3",
	} {
		if !strings.Contains(progress, words) {
			t.Errorf("%q is missing from:\n%s", words, progress)
		}
	}
}

func TestExecuteRefuses(t *testing.T) {
	q := checkedQuote(t, "pair-usdc-1-to-usdc-369")
	t.Run("another chain", func(t *testing.T) {
		_, sender := startChain(t, q, q.Swap.Amount)
		elsewhere := checkedQuote(t, "pair-usdc-59144-to-usdc-369")
		_, err := sender.Execute(t.Context(), elsewhere)
		wantError(t, err, "the node serves chain 1, and the swap starts on chain 59144")
	})
	t.Run("too little", func(t *testing.T) {
		_, sender := startChain(t, q, new(big.Int).Sub(q.Swap.Amount, big.NewInt(1)))
		_, err := sender.Execute(t.Context(), q)
		wantError(t, err, "swap: it would fail: execution reverted: balance too low")
	})
	t.Run("nobody's coins", func(t *testing.T) {
		_, sender := startChain(t, q, q.Swap.Amount)
		sender.Key, _ = crypto.GenerateKey()
		_, err := sender.Execute(t.Context(), q)
		wantError(t, err, "insufficient funds")
	})
	t.Run("no node", func(t *testing.T) {
		_, sender := startChain(t, q, q.Swap.Amount)
		sender.Node = dial(t, "http://127.0.0.1:1")
		_, err := sender.Execute(t.Context(), q)
		wantError(t, err, "asking the node for its chain")
	})
}

// What was sent is named, whatever becomes of it.
func TestExecuteNamesWhatWasSent(t *testing.T) {
	q := checkedQuote(t, "pair-usdc-1-to-usdc-369")
	t.Run("reverted", func(t *testing.T) {
		c, sender := startChain(t, q, q.Swap.Amount)
		sender.Node = dial(t, slowNode(t, c.URL(), func(answer []byte) []byte {
			return bytes.Replace(answer, []byte(`"status":"0x1"`), []byte(`"status":"0x0"`), 1)
		}))
		_, err := sender.Execute(t.Context(), q)
		wantError(t, err, "approval: transaction 0x")
		wantError(t, err, "reverted in block 2")
	})
	t.Run("given up", func(t *testing.T) {
		c, sender := startChain(t, q, q.Swap.Amount)
		ctx, cancel := context.WithCancel(t.Context())
		sender.Node = dial(t, slowNode(t, c.URL(), withoutResult))
		sender.Progress = func(what string) {
			if strings.Contains(what, "waiting") {
				cancel()
			}
		}
		_, err := sender.Execute(ctx, q)
		wantError(t, err, "was sent, but")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was given up", err)
		}
	})
	t.Run("node gone", func(t *testing.T) {
		c, sender := startChain(t, q, q.Swap.Amount)
		sender.Node = dial(t, slowNode(t, c.URL(), func([]byte) []byte { return []byte("<html>") }))
		_, err := sender.Execute(t.Context(), q)
		wantError(t, err, "was sent, but its receipt cannot be had")
	})
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}

// TestExecuteUnknown wants to be told when the swap may be in a block though nobody said so: it must not be sent again. An
// approval may. Whatever the node says, the swap is given to it once at most.
func TestExecuteUnknown(t *testing.T) {
	q := checkedQuote(t, "pair-usdc-1-to-usdc-369")
	garbage := func([]byte) []byte { return []byte("<html>") }
	says := func(words string) func([]byte) []byte {
		return func(answer []byte) []byte {
			var fields map[string]json.RawMessage
			_ = json.Unmarshal(answer, &fields)
			delete(fields, "result")
			fields["error"] = json.RawMessage(`{"code":-32000,"message":"` + words + `"}`)
			answer, _ = json.Marshal(fields)
			return answer
		}
	}
	const send, receipt, find = "eth_sendRawTransaction", "eth_getTransactionReceipt", "eth_getTransactionByHash"
	type lies map[string]func([]byte) []byte
	for name, test := range map[string]struct {
		approved bool
		lies     lies
		want     string // sent, unknown or not sent
	}{
		"receipt of the swap lost":               {true, lies{receipt: garbage}, "unknown"},
		"answer to the swap lost":                {true, lies{send: garbage, find: garbage}, "unknown"},
		"answer lost, and found again":           {true, lies{send: garbage}, "sent"},
		"failed after sending":                   {true, lies{send: says("internal error"), find: withoutResult}, "unknown"},
		"failed after sending, and found again":  {true, lies{send: says("internal error")}, "sent"},
		"timed out after sending":                {true, lies{send: says("request timed out"), find: garbage}, "unknown"},
		"said to be known already, and is":       {true, lies{send: says("already known")}, "sent"},
		"said to be known already, and not seen": {true, lies{send: says("already known"), find: withoutResult}, "unknown"},
		"receipt of the approval lost":           {false, lies{receipt: garbage}, "not sent"},
		"swap reverted": {true, lies{receipt: func(answer []byte) []byte {
			return bytes.Replace(answer, []byte(`"status":"0x1"`), []byte(`"status":"0x0"`), 1)
		}}, "not sent"},
		"swap not taken":  {true, lies{send: says("nonce too low"), find: withoutResult}, "not sent"},
		"swap not signed": {true, lies{"eth_estimateGas": says("execution reverted")}, "not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			c, sender := startChain(t, q, q.Swap.Amount)
			if test.approved {
				if _, err := c.Send(t.Context(), sender.Key, q.Approval.To, nil, q.Approval.Data); err != nil {
					t.Fatal(err)
				}
			}
			node := c.URL()
			for method, alter := range test.lies {
				node = lyingNode(t, node, method, alter)
			}
			var given atomic.Int64
			sender.Node = dial(t, lyingNode(t, node, send, func(answer []byte) []byte {
				given.Add(1)
				return answer
			}))
			var told []string
			sender.OnSend = func(what string, hash common.Hash) { told = append(told, what+" "+hash.Hex()) }
			_, err := sender.Execute(t.Context(), q)
			got := "not sent"
			switch {
			case err == nil:
				got = "sent"
			case errors.Is(err, ErrUnknown):
				got = "unknown"
			}
			if got != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if given.Load() > 1 || int(given.Load()) != len(told) {
				t.Errorf("a transaction was given to the node %d times, and told of: %q", given.Load(), told)
			}
		})
	}
}
