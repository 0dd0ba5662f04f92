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

// Integrators carry what the registry says of them in their address: the first byte is their standing, the last their
// fee.
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

// The ways in which a node answers.
const (
	working      = "working"
	hung         = "hung" // no answer until that changes
	failing      = "failing"
	sendingHTML  = "sending HTML"
	onWrongChain = "on the wrong chain"
	truncating   = "truncating answers"
	lying        = "lying" // another wallet, or a fee above the cap
	refusing     = "refusing"
	hangingUp    = "hanging up"
)

var badModes = []string{hung, failing, sendingHTML, onWrongChain, truncating, lying, refusing, hangingUp}

// secret is in what nodes say, and must never be in an answer or in the log of the gateway.
const secret = "hunter2"

// node is a JSON-RPC node of a chain. A real one cannot be made to fail in all these ways.
type node struct {
	chain  uint64
	addr   string
	server *http.Server // closed while it refuses connections
	mode   atomic.Value // a string
	held   *sync.Map    // of common.Address: integrators that a hung node was asked about
}

func startNode(chain uint64, held *sync.Map) (*node, error) {
	n := &node{chain: chain, addr: "127.0.0.1:0", held: held}
	n.mode.Store(working)
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
	// Unused connections end soon, so that what is left of them at the end is a leak.
	n.server = &http.Server{Handler: n, IdleTimeout: 500 * time.Millisecond, ReadHeaderTimeout: 2 * time.Second}
	go n.server.Serve(listener)
	return nil
}

// call is a JSON-RPC request.
type call struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway has given up
	}
	batch := bytes.HasPrefix(body, []byte("["))
	calls := make([]call, 1)
	if batch {
		err = json.Unmarshal(body, &calls)
	} else {
		err = json.Unmarshal(body, &calls[0])
	}
	if err != nil || len(calls) == 0 {
		http.Error(w, "not JSON-RPC", http.StatusBadRequest)
		return
	}
	for n.mode.Load() == hung {
		if wallet, ok := integratorIn(calls[0].Params); ok {
			n.held.Store(wallet, nil)
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	mode := n.mode.Load().(string)
	var answers []string
	for _, c := range calls {
		answers = append(answers, n.answer(c, mode))
	}
	text := strings.Join(answers, ",")
	if batch {
		text = "[" + text + "]"
	}
	switch mode {
	case failing:
		http.Error(w, secret, http.StatusInternalServerError)
	case sendingHTML:
		io.WriteString(w, "<html>"+secret+"</html>")
	case hangingUp:
		panic(http.ErrAbortHandler)
	case truncating:
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		io.WriteString(w, text[:len(text)/2]) // net/http closes the connection then
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}
}

func (n *node) answer(c call, mode string) string {
	result := n.result(c, mode)
	if mode == refusing || result == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`, c.ID, secret)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result)
}

// accountHas is what every account has of the coin, as the node says it and as a quote shows it.
const accountHas, accountHasShown = "0xde0b6b3a7640000", "1000000000000000000"

// result is what the node knows, empty if that is nothing. It knows no transaction, and cannot simulate.
func (n *node) result(c call, mode string) string {
	switch c.Method {
	case "eth_chainId":
		if mode == onWrongChain {
			return `"0x38"`
		}
		return fmt.Sprintf(`"%#x"`, n.chain)
	case "eth_call":
		if wallet, ok := integratorIn(c.Params); ok {
			return registryAnswer(wallet, mode == lying)
		}
		return fmt.Sprintf(`"0x%064x"`, new(big.Int).Lsh(big.NewInt(1), 200)) // enough of every token
	case "eth_getBlockByNumber":
		return fmt.Sprintf(`{"number":"0x64","hash":"0x%064x","timestamp":"%#x"}`, 100, time.Now().Unix())
	case "eth_getBalance":
		return `"` + accountHas + `"`
	case "eth_getTransactionReceipt", "eth_getTransactionByHash":
		return "null"
	case "eth_getLogs":
		return "[]"
	case "eth_blockNumber", "eth_estimateGas", "eth_gasPrice", "eth_getCode":
		return `"0x64"`
	}
	return ""
}

// integratorIn is whom a call of getIntegrator(bytes32) asks about.
func integratorIn(params []json.RawMessage) (wallet common.Address, ok bool) {
	const balanceOf = "0x70a08231"
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

// registryAnswer is what getIntegrator(bytes32) returns.
func registryAnswer(wallet common.Address, lie bool) string {
	owner := wallet
	bps := feeBPS(wallet)
	registered := 1
	switch {
	case lie && wallet[1]%2 == 0:
		owner = common.Address{0x66}
	case lie:
		bps = 9999
	case wallet[0] == inactive:
		registered = 0
	case wallet[0] == unregistered:
		owner = common.Address{}
		bps = 0
		registered = 0
	}
	return fmt.Sprintf(`"0x%064x%064x%064x"`, owner.Big(), bps, registered)
}
