package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	testnode "github.com/quotegate/quotegate/shared/testkit/node"
)

// randomAddress is an integrator or any other account. Every integrator is registered, with a fee that its last byte
// says.
func randomAddress(rng *rand.Rand) (a common.Address) {
	for i := range a {
		a[i] = byte(rng.Uint32())
	}
	return a
}

func feeBPS(integrator common.Address) int64 { return 1 + int64(integrator[len(integrator)-1]) }

// The ways in which a node answers.
const (
	working      = "working"
	unreachable  = "unreachable" // refuses connections
	hung         = "hung"        // no answer until that changes
	failing      = "failing"
	sendingHTML  = "sending HTML"
	onWrongChain = "on the wrong chain"
	truncating   = "truncating answers"
	lying        = "lying" // another wallet, or a fee above the cap
	refusing     = "refusing"
	hangingUp    = "hanging up"
)

var faults = []string{
	unreachable, hung, failing, sendingHTML, onWrongChain, truncating, lying, refusing, hangingUp,
}

// secret is in what nodes say, and must never be in an answer or in the log of the gateway.
const secret = testnode.Secret

// instead is what some nodes send instead of an answer.
var instead = map[string]http.Handler{
	failing:     testnode.Status(http.StatusInternalServerError), // which tells the URL, and so the secret
	sendingHTML: testnode.Says("<html>" + secret + "</html>"),
	hangingUp:   http.HandlerFunc(testnode.Drops),
	truncating:  http.HandlerFunc(testnode.Aborts),
}

// node is a JSON-RPC node of a chain. A real one cannot be made to fail in all these ways.
type node struct {
	chain  uint64
	addr   string
	server *http.Server
	mode   atomic.Value // a string
	held   *sync.Map    // of common.Address: integrators that a hung node was asked about
}

func startNode(chain uint64, held *sync.Map) (*node, error) {
	n := &node{chain: chain, addr: "127.0.0.1:0", held: held}
	n.mode.Store(unreachable)
	return n, n.set(working)
}

func (n *node) url() string { return "http://" + n.addr + "/" + secret }

// set changes how the node answers. One that was unreachable listens at the same address again.
func (n *node) set(mode string) error {
	before := n.mode.Swap(mode)
	if mode == unreachable {
		return n.server.Close()
	}
	if before != unreachable {
		return nil
	}
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

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := instead[n.mode.Load().(string)]
	if answer == nil {
		answer = testnode.Answers(func(c testnode.Call) any { return n.result(r.Context(), c) })
	}
	answer.ServeHTTP(w, r)
}

// coinBalance is what every account has of the coin, as a quote shows it.
const coinBalance = "1000000000000000000"

// known is what every node says. It knows no transaction, and cannot simulate.
var known = map[string]any{
	"eth_getBalance":            "0xde0b6b3a7640000", // coinBalance
	"eth_call":                  common.MaxHash,      // enough of every token
	"eth_getTransactionReceipt": nil,
	"eth_getTransactionByHash":  nil,
	"eth_getLogs":               []any{},
	"eth_blockNumber":           "0x64",
	"eth_estimateGas":           "0x64",
	"eth_gasPrice":              "0x64",
	"eth_getCode":               "0x64",
}

func (n *node) result(ctx context.Context, c testnode.Call) any {
	integrator, isLookup := integratorIn(c)
	for n.mode.Load() == hung {
		if isLookup {
			n.held.Store(integrator, nil)
		}
		if ctx.Err() != nil {
			panic(http.ErrAbortHandler) // the gateway has given up
		}
		pause(ctx, 20*time.Millisecond)
	}
	mode := n.mode.Load()
	result, isKnown := known[c.Method]
	switch {
	case c.Method == "eth_chainId" && mode == onWrongChain:
		return "0x38"
	case c.Method == "eth_chainId" && mode != refusing:
		return hexutil.EncodeUint64(n.chain)
	case mode == refusing || !isKnown && c.Method != "eth_getBlockByNumber":
		return testnode.Error{Code: -32000, Message: secret}
	case c.Method == "eth_getBlockByNumber":
		return map[string]any{
			"number": "0x64", "hash": common.Hash{1}, "timestamp": hexutil.EncodeUint64(uint64(time.Now().Unix())),
		}
	case isLookup:
		return registryAnswer(integrator, mode == lying)
	}
	return result
}

// integratorIn is whom a call of getIntegrator(bytes32) asks about.
func integratorIn(c testnode.Call) (wallet common.Address, ok bool) {
	const balanceOf = "0x70a08231"
	var call struct{ Data, Input string }
	if c.Method != "eth_call" || json.Unmarshal(c.Params[0], &call) != nil {
		return wallet, false
	}
	data := cmp.Or(call.Data, call.Input)
	if len(data) != 2+8+64 || strings.HasPrefix(data, balanceOf) {
		return wallet, false
	}
	return common.HexToAddress(data[10:]), true
}

// registryAnswer is what getIntegrator(bytes32) returns. It lies about the wallet or about the fee.
func registryAnswer(wallet common.Address, lie bool) string {
	owner := wallet
	bps := feeBPS(wallet)
	if lie && !liesAboutFee(wallet) {
		owner = common.Address{0x66}
	}
	if lie && liesAboutFee(wallet) {
		bps = 9999
	}
	return fmt.Sprintf("0x%064x%064x%064x", owner.Big(), bps, 1)
}

func liesAboutFee(wallet common.Address) bool { return wallet[1]%2 != 0 }

// issuer is the fee service of the issuer of USDC. Every other answer is a lie.
type issuer struct {
	*httptest.Server
	asked  atomic.Int64
	absurd sync.Map // of uint32: domains for which it has stated an absurd fee
}

// honestBPS is the fee it tells the truth about: unlike any built-in one or that of another domain, and above a quarter
// of each built-in one.
func honestBPS(domain uint32) *big.Rat { return big.NewRat(425+int64(domain), 100) }

// absurdLies are the first of the lies: fees above the cap.
const absurdLies = 2

// lies are what it says otherwise. Believing one costs the user money or the gateway its health.
var lies = []http.HandlerFunc{
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":5000}]`),
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":"1e4"}]`),
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":-1}]`),
	testnode.Says(`[{"finalityThreshold":3000,"minimumFee":77}]`),
	testnode.Says(`<html>` + secret + `</html>`),
	testnode.Pours,
	testnode.Hangs,
	http.RedirectHandler("http://127.0.0.1:9/"+secret, http.StatusFound).ServeHTTP,
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var domain, hub uint32
	if _, err := fmt.Sscanf(r.URL.Path, "/v2/burn/USDC/fees/%d/%d", &domain, &hub); err != nil {
		http.NotFound(w, r)
		return
	}
	n := int(i.asked.Add(1))
	if n%2 == 0 { // the row that counts is the higher of 1000 and 2000, and not the first
		fmt.Fprintf(w, `[{"finalityThreshold":3000,"minimumFee":77},{"finalityThreshold":2000,"minimumFee":1},`+
			`{"finalityThreshold":1000,"minimumFee":%s}]`, honestBPS(domain).FloatString(2))
		return
	}
	lie := n / 2 % len(lies)
	if lie < absurdLies {
		i.absurd.Store(domain, true)
	}
	lies[lie](w, r)
}
