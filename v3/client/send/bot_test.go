package send_test

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// bot makes one swap. Its state is in a file: after a crash or an error, run it again.
func bot(ctx context.Context, c *client.Client, node *ethclient.Client, key *ecdsa.PrivateKey, file string) error {
	sender := send.Sender{
		Client: c, Backend: node, Account: send.Key(key),
		Save: func(swap *send.Swap) error {
			data, err := json.Marshal(swap)
			if err == nil {
				err = os.WriteFile(file+".new", data, 0o600)
			}
			if err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
	}
	swap := &send.Swap{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, swap)
	} else if errors.Is(err, fs.ErrNotExist) {
		swap, err = ask(ctx, c)
	}
	if err != nil {
		return err
	}
	sender.MaxGas, _ = send.MaxGas(swap.ChainID)
	receipt, err := sender.Send(ctx, swap)
	var e *send.Error
	if errors.As(err, &e) && !e.Resume() {
		return errors.Join(err, os.RemoveAll(file)) // start with a new quote
	}
	if err != nil {
		return err
	}
	for status, err := range c.Follow(ctx, client.Sent{Hash: receipt.TxHash, Quote: swap.Quote}) {
		if err != nil {
			return err
		}
		log.Println(status)
	}
	return os.Remove(file)
}

func ask(ctx context.Context, c *client.Client) (*send.Swap, error) {
	checked, err := c.Quote(ctx, client.Request{
		SrcChain: 1, SrcToken: "USDC", DstChain: 369, DstToken: "USDC",
		Amount: big.NewInt(100_000_000), Recipient: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	})
	if err != nil {
		return nil, err
	}
	return send.New(checked)
}

// TestBot runs the bot of docs/integrate.md until its context ends before the swap is settled, then again to the end.
// After the restart it still knows what it signed: it refuses a status of another swap.
func TestBot(t *testing.T) {
	ctx, crash := context.WithCancel(t.Context())
	defer crash()
	state := `"PENDING","final":false`
	asked := map[string]bool{}
	mux := http.NewServeMux()
	mux.Handle("/", golden.Gateway(t))
	mux.HandleFunc("/v3/swap/status", func(w http.ResponseWriter, r *http.Request) {
		hash := r.URL.Query().Get("txHash")
		asked[hash] = true
		fmt.Fprintf(w, `{"state":%s,"srcChain":"1","txHash":%q,"nextCheckSeconds":0}`, state, hash)
		crash()
	})
	gateway := httptest.NewServer(mux)
	t.Cleanup(gateway.Close)
	c, err := client.New(gateway.URL)
	if err != nil {
		t.Fatal(err)
	}
	key, node := startNode(t)
	file := filepath.Join(t.TempDir(), "swap.json")
	if err := bot(ctx, c, node, key, file); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was stopped", err)
	}
	send.Forget() // as a new process
	settled := `"SETTLED","final":true,"source":{"blockNumber":9,"confirmations":9,"timestamp":"2026-11-15T12:00:00Z"},` +
		`"swap":{"dstChain":"369","dstToken":"0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07",` +
		`"recipient":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","recipientType":0,"amount":"100000000"},` +
		`"settlement":{"chainId":369,"amount":"99700000","arrived":"99700000"}`
	state = strings.Replace(settled, `"amount":"100000000"`, `"amount":"10000000"`, 1)
	var refusal *client.Error
	if err := bot(t.Context(), c, node, key, file); !errors.As(err, &refusal) || refusal.Code != client.Unverified {
		t.Errorf("got %v for another swap, want %s", err, client.Unverified)
	}
	send.Forget()
	state = settled
	if err := bot(t.Context(), c, node, key, file); err != nil {
		t.Error(err)
	}
	nonce, err := node.NonceAt(t.Context(), crypto.PubkeyToAddress(key.PublicKey), nil)
	if err != nil || nonce != 3 || len(asked) != 1 {
		t.Errorf("got nonce %d, %v and %d hashes, want mint, approval and one swap", nonce, err, len(asked))
	}
}

// startNode serves a chain 1 on which a key has USDC.
func startNode(t *testing.T) (*ecdsa.PrivateKey, *ethclient.Client) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	me := crypto.PubkeyToAddress(key.PublicKey)
	q := getQuote(t, "USDC")
	token := q.Pair.SrcToken.Address
	chain, err := localnet.Start(localnet.Spec{ID: 1, Alloc: types.GenesisAlloc{
		me:        {Balance: big.NewInt(1e18)},
		token:     contracts.Token(me, "USDC", 6),
		q.Main.To: contracts.Pool(me, token, me, me),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chain.Close() })
	mint, err := contracts.TokenABI.Pack("mint", me, q.Request.Amount)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chain.Send(t.Context(), key, token, nil, mint); err != nil {
		t.Fatal(err)
	}
	node, err := ethclient.DialContext(t.Context(), chain.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return key, node
}
