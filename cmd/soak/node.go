package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Integrators carry what the registry says of them in their address: the first
// byte is their standing, the last their fee.
const (
	active       = 0xa1
	inactive     = 0xb1
	unregistered = 0xc1
)

func randomIntegrator(rng *rand.Rand, standing byte) common.Address {
	var a common.Address
	for i := range a {
		a[i] = byte(rng.Uint32())
	}
	a[0] = standing
	return a
}

func feeBPS(integrator common.Address) int64 { return 1 + int64(integrator[len(integrator)-1]) }

// mode is how a node answers.
type mode int

const (
	working      mode = iota // the truth
	hung                     // nothing, until the mode changes
	failing                  // HTTP 500
	sendingHTML              // a page of HTML
	onWrongChain             // as a node of another chain
	truncating               // half an answer
	lying                    // another wallet, and a fee beyond reason
	refusing                 // a JSON-RPC error that names a secret
	hangingUp                // the connection ends instead of an answer
)

var badModes = []mode{hung, failing, sendingHTML, onWrongChain, truncating, lying, refusing, hangingUp}

func (m mode) String() string {
	return [...]string{
		"working", "hung", "failing", "sending HTML", "on the wrong chain", "truncating answers", "lying", "refusing",
		"hanging up",
	}[m]
}

// node is a JSON-RPC node of a chain. It is not a real one, since a real one
// cannot be made to fail in all these ways.
type node struct {
	chain  uint64
	addr   string
	server *http.Server // closed while it refuses connections
	asked  sync.Map     // of common.Address: integrators somebody was kept waiting for

	mu      sync.Mutex
	mode    mode
	changed chan struct{} // closed when the mode changes
}

// secret is in what nodes say, and must never be in an answer or in the log of
// the gateway.
const secret = "hunter2"

func startNode(chain uint64) (*node, error) {
	n := &node{chain: chain, addr: "127.0.0.1:0", changed: make(chan struct{})}
	return n, n.listen()
}

func (n *node) url() string { return "http://" + n.addr + "/" + secret }

// listen accepts connections, also again, at the same address.
func (n *node) listen() error {
	listener, err := net.Listen("tcp", n.addr)
	if err != nil {
		return err
	}
	n.addr = listener.Addr().String()
	// Connections that nobody uses, or has used yet, end soon, so that what is
	// left of them at the end is a leak.
	server := &http.Server{Handler: n, IdleTimeout: 500 * time.Millisecond, ReadHeaderTimeout: 2 * time.Second}
	n.server = server
	go func() { _ = server.Serve(listener) }() // until it is closed
	return nil
}

func (n *node) close() {
	n.set(working)
	n.server.Close()
}

func (n *node) set(m mode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mode = m
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *node) now() (mode, chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mode, n.changed
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway has given up
	}
	batch := bytes.HasPrefix(body, []byte("["))
	if !batch {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var calls []call
	if err := json.Unmarshal(body, &calls); err != nil || len(calls) == 0 {
		http.Error(w, "not JSON-RPC", http.StatusBadRequest)
		return
	}
	m, changed := n.now()
	for m == hung {
		if wallet, ok := integratorIn(calls[0].Params); ok {
			n.asked.Store(wallet, nil)
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		m, changed = n.now()
	}
	n.answer(w, calls, batch, m)
}

// call is a question in JSON-RPC.
type call struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

// balanceOf is how a call of balanceOf(address) begins.
const balanceOf = "0x70a08231"

// integratorIn is whom a call of getIntegrator(bytes32) asks about.
func integratorIn(params []json.RawMessage) (wallet common.Address, ok bool) {
	var call struct{ Data, Input string }
	if len(params) == 0 || json.Unmarshal(params[0], &call) != nil {
		return wallet, false
	}
	data := cmp.Or(call.Data, call.Input)
	if len(data) != 2+8+64 || strings.HasPrefix(data, balanceOf) {
		return wallet, false
	}
	return common.HexToAddress(data[10:]), true
}

func (n *node) answer(w http.ResponseWriter, calls []call, batch bool, m mode) {
	switch m {
	case failing:
		http.Error(w, secret, http.StatusInternalServerError)
		return
	case sendingHTML:
		io.WriteString(w, "<html>"+secret+"</html>")
		return
	case hangingUp:
		panic(http.ErrAbortHandler) // which net/http takes for that
	}
	var answers []string
	for _, c := range calls {
		answers = append(answers, n.answerOne(c, m))
	}
	text := strings.Join(answers, ",")
	if batch {
		text = "[" + text + "]"
	}
	w.Header().Set("Content-Type", "application/json")
	if m == truncating {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		io.WriteString(w, text[:len(text)/2])
		return // net/http notices, and closes the connection
	}
	io.WriteString(w, text)
}

func (n *node) answerOne(c call, m mode) string {
	result := n.result(c, m)
	if m == refusing || result == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`, c.ID, secret)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result)
}

// accountHas is what every account has of the coin, as the node says it and as a
// quote shows it.
const accountHas, accountHasShown = "0xde0b6b3a7640000", "1000000000000000000"

// results are those that depend on nothing. The node knows no transaction, and cannot simulate.
var results = map[string]string{
	"eth_getBalance":            `"` + accountHas + `"`,
	"eth_blockNumber":           `"0x64"`,
	"eth_getTransactionReceipt": "null",
	"eth_getTransactionByHash":  "null",
	"eth_getLogs":               "[]",
	"eth_estimateGas":           `"0x5208"`,
	"eth_gasPrice":              `"0x5208"`,
	"eth_getCode":               `"0x60"`,
}

// result is what the node knows, empty if that is nothing.
func (n *node) result(c call, m mode) string {
	switch c.Method {
	case "eth_chainId":
		if m == onWrongChain {
			return `"0x38"`
		}
		return fmt.Sprintf(`"%#x"`, n.chain)
	case "eth_call":
		if wallet, ok := integratorIn(c.Params); ok {
			return registryAnswer(wallet, m == lying)
		}
		return fmt.Sprintf(`"0x%064x"`, new(big.Int).Lsh(big.NewInt(1), 200)) // enough of every token
	case "eth_getBlockByNumber":
		return fmt.Sprintf(`{"number":"0x64","hash":"0x%064x","timestamp":"%#x"}`, 100, time.Now().Unix())
	}
	return results[c.Method]
}

// registryAnswer is what getIntegrator(bytes32) returns.
func registryAnswer(wallet common.Address, lie bool) string {
	words := func(owner common.Address, bps, active int64) string {
		return fmt.Sprintf(`"0x%064x%064x%064x"`, owner.Big(), bps, active)
	}
	switch {
	case lie && wallet[1]%2 == 0:
		return words(common.Address{0x66}, 1, 1)
	case lie:
		return words(wallet, 9999, 1)
	case wallet[0] == active:
		return words(wallet, feeBPS(wallet), 1)
	case wallet[0] == inactive:
		return words(wallet, feeBPS(wallet), 0)
	}
	return words(common.Address{}, 0, 0)
}
