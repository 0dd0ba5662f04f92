package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
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
)

var badModes = []mode{hung, failing, sendingHTML, onWrongChain, truncating, lying, refusing}

func (m mode) String() string {
	return [...]string{"working", "hung", "failing", "sending HTML", "on the wrong chain", "truncating answers", "lying", "refusing"}[m]
}

// node is a JSON-RPC node of the hub. It is not a real one, since a real one
// cannot be made to fail in all these ways.
type node struct {
	url     string
	server  *http.Server
	mode    atomic.Int32
	changed atomic.Pointer[chan struct{}] // closed when the mode changes
	asked   sync.Map                      // of common.Address: integrators asked about
}

// secret is in what nodes say, and must never be in an answer or in the log of
// the gateway.
const secret = "hunter2"

func startNode() (*node, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &node{url: "http://" + listener.Addr().String() + "/" + secret}
	changed := make(chan struct{})
	n.changed.Store(&changed)
	// Connections that nobody uses, or has used yet, end soon, so that what is
	// left of them at the end is a leak.
	n.server = &http.Server{Handler: n, IdleTimeout: 500 * time.Millisecond, ReadHeaderTimeout: 2 * time.Second}
	go func() { _ = n.server.Serve(listener) }() // until it is closed
	return n, nil
}

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
	var call struct {
		ID     json.RawMessage
		Method string
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wallet, isCall := integratorIn(call.Params)
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
	n.answer(w, call.ID, call.Method, wallet)
}

// keptWaiting tells whether somebody was kept waiting for word of an integrator.
func (n *node) keptWaiting(integrator common.Address) bool {
	_, ok := n.asked.Load(integrator)
	return ok
}

// integratorIn is whom a call of getIntegrator(bytes32) asks about.
func integratorIn(params []json.RawMessage) (wallet common.Address, ok bool) {
	var call struct{ Data string }
	if len(params) == 0 || json.Unmarshal(params[0], &call) != nil || len(call.Data) != 2+8+64 {
		return wallet, false
	}
	return common.HexToAddress(call.Data[10:]), true
}

func (n *node) answer(w http.ResponseWriter, id json.RawMessage, method string, wallet common.Address) {
	m := mode(n.mode.Load())
	result := "0x171"
	switch {
	case m == failing:
		http.Error(w, secret, http.StatusInternalServerError)
		return
	case m == sendingHTML:
		io.WriteString(w, "<html>"+secret+"</html>")
		return
	case m == refusing:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`, id, secret)
		return
	case m == onWrongChain:
		result = "0x1"
	case method == "eth_call":
		result = registryAnswer(wallet, m == lying)
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, id, result)
	w.Header().Set("Content-Type", "application/json")
	if m == truncating {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		io.WriteString(w, text[:len(text)/2])
		return // net/http notices, and closes the connection
	}
	io.WriteString(w, text)
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
