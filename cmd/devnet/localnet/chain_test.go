package localnet

import (
	"crypto/ecdsa"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// startHTTP runs a chain where three people have an ether each.
func startHTTP(t *testing.T, id uint64) *Chain {
	t.Helper()
	chain, err := Start(Spec{ID: id, Alloc: types.GenesisAlloc{
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

// transfer is a signed transfer of 5 wei.
func transfer(t *testing.T, chainID int64, nonce uint64) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(userKey, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID:   big.NewInt(chainID),
		Nonce:     nonce,
		To:        &recipient,
		Value:     big.NewInt(5),
		Gas:       params.TxGas,
		GasTipCap: big.NewInt(1),
		GasFeeCap: big.NewInt(10 * params.GWei),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}

// TestTransactions wants a receipt as soon as a transaction is answered, and every transaction in its turn.
func TestTransactions(t *testing.T) {
	chain := startHTTP(t, 369)
	client := dial(t, chain)
	first, second, third := transfer(t, 369, 0), transfer(t, 369, 1), transfer(t, 369, 2)
	for _, tx := range []*types.Transaction{first, third, second} {
		if err := client.SendTransaction(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	last := uint64(0)
	for _, tx := range []*types.Transaction{first, second, third} {
		receipt, err := client.TransactionReceipt(t.Context(), tx.Hash())
		if err != nil {
			t.Fatalf("nonce %d: %v", tx.Nonce(), err)
		}
		if receipt.Status != types.ReceiptStatusSuccessful || receipt.BlockNumber.Uint64() < last {
			t.Errorf("nonce %d: got status %d in block %s", tx.Nonce(), receipt.Status, receipt.BlockNumber)
		}
		last = receipt.BlockNumber.Uint64()
	}
	wantError(t, client.SendTransaction(t.Context(), transfer(t, 1, 3)), "invalid sender")
	wantError(t, client.SendTransaction(t.Context(), first), "nonce too low")
	_, err := chain.Send(t.Context(), userKey, recipient, ether(2), nil)
	wantError(t, err, "insufficient funds")
	if head, err := client.BlockNumber(t.Context()); err != nil || head != last {
		t.Errorf("head: got %d, %v, want %d", head, err, last)
	}
}

// TestMethodsServed asks as a page of another origin does: wallets in browsers may ask.
func TestMethodsServed(t *testing.T) {
	chain := startHTTP(t, 369)
	chain.Unlock(userKey)
	send := func(from common.Address, more string) string {
		return fmt.Sprintf(`"eth_sendTransaction", "params": [{"from": "%s", "to": "%s", "value": "0x5"%s}]`, from, recipient, more)
	}
	for method, want := range map[string]string{
		send(user, ""):                                 `"result":"0x`,
		send(user, `, "chainId": "0x171"`):             `"result":"0x`,
		send(user, `, "chainId": "0x38"`):              "is for chain 56",
		send(operator, ""):                             "has no key of",
		`"eth_chainId", "params": []`:                  `"result":"0x171"`,
		`"net_version", "params": []`:                  `"result":"369"`,
		`"eth_sendRawTransaction", "params": ["0x02"]`: "typed transaction too short",
		`"admin_nodeInfo", "params": []`:               "does not exist",
		`"debug_setHead", "params": ["0x0"]`:           "does not exist",
	} {
		question := strings.NewReader(fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": %s}`, method))
		req, err := http.NewRequest(http.MethodPost, chain.URL(), question)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", "https://wallet.example")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(body), want) || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: got %s (%v) with %v, want %s", method, body, err, res.Header, want)
		}
	}
}

// TestSendAtOnce: Send finds the nonce itself, so that it may be called from anywhere.
func TestSendAtOnce(t *testing.T) {
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

// TestClose wants nothing to be left of chains that are closed.
func TestClose(t *testing.T) {
	use := func(chain *Chain) {
		t.Helper()
		if _, err := chain.Send(t.Context(), userKey, recipient, big.NewInt(1), nil); err != nil {
			t.Fatal(err)
		}
	}
	closeAll := func(chains ...*Chain) {
		t.Helper()
		for _, chain := range chains {
			if err := chain.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	warm := startHTTP(t, 1) // starts what the node's packages keep for the life of the process
	use(warm)
	closeAll(warm)
	before := runtime.NumGoroutine()
	first, second := startHTTP(t, 1), startHTTP(t, 2)
	use(first)
	use(second)
	address := strings.TrimPrefix(first.URL(), "http://")
	closeAll(first, second)
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("a closed chain still answers")
	}
	if _, err := first.Send(t.Context(), userKey, recipient, big.NewInt(1), nil); err == nil {
		t.Error("a closed chain took a transaction")
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		stack := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, stack[:runtime.Stack(stack, true)])
	}
}
