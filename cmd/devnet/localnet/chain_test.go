package localnet

import (
	"context"
	"crypto/ecdsa"
	"math/big"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// dial speaks to a chain over HTTP, and leaves no connection behind.
func dial(t *testing.T, chain *Chain) *ethclient.Client {
	t.Helper()
	transport := new(http.Transport)
	client, err := rpc.DialOptions(t.Context(), chain.URL(), rpc.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return ethclient.NewClient(client)
}

func startHTTP(t *testing.T, id uint64) *Chain {
	t.Helper()
	chain, err := Start(Spec{ID: id, Addr: "127.0.0.1:0", Alloc: types.GenesisAlloc{
		operator: {Balance: ether(1)},
		user:     {Balance: ether(1)},
		attester: {Balance: ether(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { chain.Close() })
	return chain
}

func transfer(t *testing.T, key *ecdsa.PrivateKey, chainID int64, nonce uint64) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, To: &recipient, Value: big.NewInt(5),
		Gas: params.TxGas, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(10 * params.GWei),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func TestTransactionOverHTTP(t *testing.T) {
	chain := startHTTP(t, 369)
	client := dial(t, chain)
	for name, read := range map[string]func(context.Context) (*big.Int, error){"chain": client.ChainID, "network": client.NetworkID} {
		if id, err := read(t.Context()); err != nil || id.Int64() != 369 {
			t.Errorf("%s ID: got %v, %v, want 369", name, id, err)
		}
	}

	tx := transfer(t, userKey, 369, 0)
	if err := client.SendTransaction(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	receipt, err := client.TransactionReceipt(t.Context(), tx.Hash())
	if err != nil {
		t.Fatalf("no receipt though the transaction was answered: %v", err)
	}
	if receipt.Status != types.ReceiptStatusSuccessful || receipt.BlockNumber.Int64() != 1 {
		t.Errorf("receipt: got status %d in block %s, want success in block 1", receipt.Status, receipt.BlockNumber)
	}

	for name, test := range map[string]struct {
		tx   *types.Transaction
		want string
	}{
		"of another chain": {transfer(t, userKey, 1, 1), "invalid sender"},
		"sent before":      {tx, "nonce too low"},
	} {
		if err := client.SendTransaction(t.Context(), test.tx); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("transaction %s: got %v, want %s", name, err, test.want)
		}
	}
	if head, err := client.BlockNumber(t.Context()); err != nil || head != 1 {
		t.Errorf("head: got %d, %v, want 1", head, err)
	}
}

func TestTransactionAheadOfItsNonce(t *testing.T) {
	chain := startHTTP(t, 1)
	late, early := transfer(t, userKey, 1, 1), transfer(t, userKey, 1, 0)
	for _, tx := range []*types.Transaction{late, early} {
		if err := chain.Client().SendTransaction(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	for _, tx := range []*types.Transaction{early, late} {
		if _, err := chain.Client().TransactionReceipt(t.Context(), tx.Hash()); err != nil {
			t.Errorf("nonce %d: %v", tx.Nonce(), err)
		}
	}
}

func TestMethodsServed(t *testing.T) {
	client := dial(t, startHTTP(t, 1)).Client()
	raw, err := transfer(t, userKey, 1, 0).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for method, test := range map[string]struct {
		args []any
		want string
	}{
		"eth_sendRawTransactionSync": {[]any{hexutil.Bytes(raw)}, "use eth_sendRawTransaction"},
		"eth_sendRawTransaction":     {[]any{"0x02"}, "typed transaction too short"},
		"admin_nodeInfo":             {nil, "does not exist"},
		"debug_setHead":              {[]any{"0x0"}, "does not exist"},
	} {
		if err := client.CallContext(t.Context(), nil, method, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", method, err, test.want)
		}
	}
}

// Send finds the nonce itself, so that it may be called from anywhere.
func TestSendAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it sends to a chain from many goroutines; make test-all runs it")
	}
	const each = 5
	chain := startHTTP(t, 1)
	var group sync.WaitGroup
	for i := range 3 * each {
		group.Go(func() {
			key := []*ecdsa.PrivateKey{operatorKey, userKey, attesterKey}[i%3]
			if _, err := chain.Send(t.Context(), key, recipient, big.NewInt(1), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, err := chain.Client().BalanceAt(t.Context(), recipient, nil); err != nil || got.Int64() != 3*each {
		t.Errorf("balance: got %s, %v, want %d", got, err, 3*each)
	}
}

func TestSendTooMuch(t *testing.T) {
	chain := startHTTP(t, 1)
	if _, err := chain.Send(t.Context(), userKey, recipient, ether(2), nil); err == nil || !strings.Contains(err.Error(), "insufficient funds") {
		t.Errorf("got %v, want insufficient funds", err)
	}
}

func TestStartRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, test := range map[string]struct {
		spec Spec
		want string
	}{
		"no ID":         {Spec{}, "ID above zero"},
		"no port":       {Spec{ID: 1, Addr: "127.0.0.1"}, "missing port"},
		"wrong port":    {Spec{ID: 1, Addr: "127.0.0.1:65536"}, "not a number up to 65535"},
		"every network": {Spec{ID: 1, Addr: ":0"}, "name the host"},
		"port in use":   {Spec{ID: 1, Addr: taken.Addr().String()}, "address already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			chain, err := Start(test.spec)
			if err == nil {
				chain.Close()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestManyChains(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it starts some chains; make test-all runs it")
	}
	const many = 5
	warm := startHTTP(t, 1) // starts what the node's packages keep for the life of the process
	if _, err := warm.Send(t.Context(), userKey, recipient, big.NewInt(1), nil); err != nil {
		t.Fatal(err)
	}
	if err := warm.Close(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()

	var chains []*Chain
	for id := range uint64(many) {
		chains = append(chains, startHTTP(t, id+1))
	}
	for i, chain := range chains {
		if _, err := chain.Send(t.Context(), userKey, recipient, big.NewInt(int64(i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, chain := range chains {
		client := dial(t, chain)
		id, err := client.ChainID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		balance, err := client.BalanceAt(t.Context(), recipient, nil)
		if err != nil {
			t.Fatal(err)
		}
		if id.Int64() != int64(i+1) || balance.Int64() != int64(i) {
			t.Errorf("got chain %s with %s, want chain %d with %d", id, balance, i+1, i)
		}
	}
	for _, chain := range chains {
		address := strings.TrimPrefix(chain.URL(), "http://")
		if err := chain.Close(); err != nil {
			t.Error(err)
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("%s still answers", address)
		}
		if _, err := chain.Send(t.Context(), userKey, recipient, big.NewInt(1), nil); err == nil {
			t.Error("a closed chain took a transaction")
		}
	}
	if after := settled(before); after > before {
		stack := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, stack[:runtime.Stack(stack, true)])
	}
}

// settled waits, for a minute at most, until no more than want goroutines are left, and says how many are.
func settled(want int) int {
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > want && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine()
}
