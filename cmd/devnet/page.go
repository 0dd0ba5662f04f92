package main

import (
	"bytes"
	_ "embed"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/shared/chain"
)

//go:embed page_wallet.js
var testWallet []byte

// servePage serves the gateway, a test wallet for its page and the chains' JSON-RPC on one origin, as the page's policy
// demands, until the server is closed. The chains sign for the wallet. Another port is taken if the wanted one is not
// free; the server's Addr says which.
func servePage(wanted, gateway string, chains *reference.Net) (*http.Server, error) {
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
	mux := http.NewServeMux()
	rewrite := func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("Accept-Encoding", "identity") // since addWallet reads the pages
	}
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: rewrite, ModifyResponse: addWallet})
	mux.HandleFunc("GET /devnet/wallet.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(testWallet)
	})
	mux.HandleFunc("POST /devnet/rpc/{chain}", func(w http.ResponseWriter, r *http.Request) {
		id, err := chain.ParseID(r.PathValue("chain"))
		if err != nil || id.Private() {
			http.Error(w, "there is no such chain", http.StatusNotFound)
			return
		}
		node, _ := url.Parse(chains.Chain(id).URL()) // of a listener
		r.URL.Path = "/"
		httputil.NewSingleHostReverseProxy(node).ServeHTTP(w, r)
	})
	server := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return server, nil
}

// addWallet adds the script of the wallet to a page. The policy of pages allows scripts of their own origin.
func addWallet(res *http.Response) error {
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	body = bytes.Replace(body, []byte("</head>"), []byte(`<script src="/devnet/wallet.js" defer></script></head>`), 1)
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.Header.Del("Content-Length")
	res.Header.Del("Etag")
	return nil
}
