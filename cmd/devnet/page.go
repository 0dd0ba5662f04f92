package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/shared/chain"
)

//go:embed page_wallet.js
var testWallet []byte

// A pageProxy serves the gateway, a test wallet for its page and the chains' JSON-RPC on one origin, as the page's
// policy demands.
type pageProxy struct {
	chains  *reference.Net
	user    reference.Account // who signs
	server  *http.Server
	address string
}

// servePage puts the proxy in front of a gateway until it is closed. Another port is taken if the wanted one is not
// free.
func servePage(wanted, gateway string, chains *reference.Net, user reference.Account) (*pageProxy, error) {
	target, err := url.Parse(gateway)
	if err != nil {
		return nil, err
	}
	addr, err := child.FreeAddress(wanted)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &pageProxy{chains: chains, user: user, address: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if r.In.URL.Path == "/" { // addWallet changes the response, so that it must be complete and not compressed
			r.Out.Header.Set("Accept-Encoding", "identity")
			r.Out.Header.Del("If-None-Match")
		}
	}, ModifyResponse: addWallet})
	mux.HandleFunc("GET /devnet/wallet.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(testWallet)
	})
	mux.HandleFunc("POST /devnet/rpc/{chain}", p.rpc)
	// Pages of other origins must not use the wallet.
	p.server = &http.Server{Handler: http.NewCrossOriginProtection().Handler(mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // until it is closed
	return p, nil
}

// addWallet adds the script of the wallet to the page. The page's policy allows scripts of its own origin.
func addWallet(res *http.Response) error {
	if res.Request.URL.Path != "/" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	_ = res.Body.Close() // it has been read
	body = bytes.Replace(body, []byte("</head>"), []byte(`<script src="/devnet/wallet.js" defer></script></head>`), 1)
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))
	res.Header.Set("Cache-Control", "no-store")
	res.Header.Del("Etag")
	return nil
}

// rpc is the JSON-RPC of a wallet: it signs transactions as the user, and passes all else on to the chain.
func (p *pageProxy) rpc(w http.ResponseWriter, r *http.Request) {
	id, err := chain.ParseID(r.PathValue("chain"))
	if err != nil || id.Private() {
		http.Error(w, "there is no such chain", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(body, &call) != nil || call.Method != "eth_sendTransaction" {
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward(p.chains.Chain(id).URL()).ServeHTTP(w, r)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": call.ID}
	if hash, err := p.sign(r.Context(), id, call.Params); err != nil {
		answer["error"] = map[string]any{"code": -32000, "message": err.Error()}
	} else {
		answer["result"] = hash
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // an error here means that the browser has left
}

// forward passes a request on to a node, whatever its path.
func forward(node string) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme = "http"
		r.Out.URL.Host = strings.TrimPrefix(node, "http://")
		r.Out.URL.Path = "/"
		r.Out.Host = ""
	}}
}

// sign sends a transaction as the user.
func (p *pageProxy) sign(ctx context.Context, id chain.ID, params json.RawMessage) (common.Hash, error) {
	var one [1]struct {
		From, To common.Address
		Data     hexutil.Bytes
		Value    *hexutil.Big
		ChainID  *hexutil.Big
	}
	if err := json.Unmarshal(params, &one); err != nil {
		return common.Hash{}, err
	}
	tx := one[0]
	if tx.From != p.user.Address {
		return common.Hash{}, fmt.Errorf("this wallet has no key of %s", tx.From)
	}
	if tx.ChainID != nil && tx.ChainID.ToInt().Cmp(new(big.Int).SetUint64(uint64(id))) != 0 {
		return common.Hash{}, fmt.Errorf("the transaction is for chain %s, and this is %s", tx.ChainID.ToInt(), id)
	}
	receipt, err := p.chains.Chain(id).Send(ctx, p.user.Key, tx.To, (*big.Int)(tx.Value), tx.Data)
	if err != nil {
		return common.Hash{}, err
	}
	return receipt.TxHash, nil
}
