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
	"strings"
	"sync"
	"sync/atomic"
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
type mode int32

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
	chain   uint64
	addr    string
	url     string
	server  *http.Server // nil while it refuses connections
	mode    atomic.Int32
	changed atomic.Pointer[chan struct{}] // closed when the mode changes
	asked   sync.Map                      // of common.Address: integrators asked about
}

// secret is in what nodes say, and must never be in an answer or in the log of
// the gateway.
const secret = "hunter2"

func startNode(chain uint64) (*node, error) {
	n := &node{chain: chain, addr: "127.0.0.1:0"}
	changed := make(chan struct{})
	n.changed.Store(&changed)
	return n, n.listen()
}

// listen accepts connections, also again, at the same address.
func (n *node) listen() error {
	listener, err := net.Listen("tcp", n.addr)
	if err != nil {
		return err
	}
	n.addr = listener.Addr().String()
	n.url = "http://" + n.addr + "/" + secret
	// Connections that nobody uses, or has used yet, end soon, so that what is
	// left of them at the end is a leak.
	server := &http.Server{Handler: n, IdleTimeout: 500 * time.Millisecond, ReadHeaderTimeout: 2 * time.Second}
	n.server = server
	go func() { _ = server.Serve(listener) }() // until it is closed
	return nil
}

// refuse ends all connections, and accepts none until listen.
func (n *node) refuse() { n.server.Close() }

func (n *node) close() {
	n.set(working)
	n.server.Close()
}

func (n *node) set(m mode) {
	n.mode.Store(int32(m))
	changed := make(chan struct{})
	close(*n.changed.Swap(&changed))
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway has given up
	}
	calls, batch, err := parseCalls(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wallet, isCall := integratorIn(calls[0].Params)
	changed := *n.changed.Load()
	for mode(n.mode.Load()) == hung {
		if isCall {
			n.asked.Store(wallet, nil)
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		changed = *n.changed.Load()
	}
	n.answer(w, calls, batch)
}

// parseCalls reads one call, or a batch of them.
func parseCalls(body []byte) (calls []call, batch bool, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = json.Unmarshal(body, &calls)
		return calls, true, err
	}
	calls = make([]call, 1)
	err = json.Unmarshal(body, &calls[0])
	return calls, false, err
}

// call is a question in JSON-RPC.
type call struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

// keptWaiting tells whether somebody was kept waiting for word of an integrator.
func (n *node) keptWaiting(integrator common.Address) bool {
	_, ok := n.asked.Load(integrator)
	return ok
}

// integratorIn is whom a call of getIntegrator(bytes32) asks about.
func integratorIn(params []json.RawMessage) (wallet common.Address, ok bool) {
	data := dataIn(params)
	if len(data) != 2+8+64 || strings.HasPrefix(data, balanceOf) {
		return wallet, false
	}
	return common.HexToAddress(data[10:]), true
}

// balanceOf is how a call of balanceOf(address) begins.
const balanceOf = "0x70a08231"

// dataIn is the calldata of eth_call.
func dataIn(params []json.RawMessage) string {
	var call struct{ Data, Input string }
	if len(params) == 0 || json.Unmarshal(params[0], &call) != nil {
		return ""
	}
	return cmp.Or(call.Data, call.Input)
}

func (n *node) answer(w http.ResponseWriter, calls []call, batch bool) {
	m := mode(n.mode.Load())
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

// result is what the node knows. It knows no transaction, and cannot simulate.
func (n *node) result(c call, m mode) string {
	quoted := func(text string) string { return `"` + text + `"` }
	switch c.Method {
	case "eth_chainId":
		if m == onWrongChain {
			return quoted("0x38")
		}
		return quoted(fmt.Sprintf("%#x", n.chain))
	case "eth_call":
		if wallet, ok := integratorIn(c.Params); ok {
			return quoted(registryAnswer(wallet, m == lying))
		}
		return quoted(fmt.Sprintf("0x%064x", new(big.Int).Lsh(big.NewInt(1), 200))) // enough of every token
	case "eth_getBalance":
		return quoted(accountHas)
	case "eth_blockNumber":
		return quoted("0x64")
	case "eth_getBlockByNumber":
		return fmt.Sprintf(`{"number":"0x64","hash":"0x%064x","timestamp":"%#x"}`, 100, time.Now().Unix())
	case "eth_getTransactionReceipt", "eth_getTransactionByHash":
		return "null"
	case "eth_getLogs":
		return "[]"
	case "eth_estimateGas", "eth_gasPrice":
		return quoted("0x5208")
	case "eth_getCode":
		return quoted("0x60")
	}
	return ""
}

// registryAnswer is what getIntegrator(bytes32) returns.
func registryAnswer(wallet common.Address, lie bool) string {
	words := func(owner common.Address, bps, active int64) string {
		return fmt.Sprintf("0x%064x%064x%064x", owner.Big(), bps, active)
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
