package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/cmd/internal/child"
	testnode "github.com/quotegate/quotegate/shared/testkit/node"
)

// outage is one way in which something fails for a while.
type outage struct {
	name       string
	begin, end func()
}

func (w *world) outages() []outage {
	fail := w.tally.fail
	nodes := func(mode string) func() { return func() { w.setNodes(mode) } }
	redis := func(sig syscall.Signal) func() { return func() { fail(w.redis.Signal(sig)) } }
	all := []outage{
		{"one node hangs", func() { fail(w.nodes[0].set(hung)) }, nodes(working)},
		{"nobody reads the log", w.tally.log.Lock, w.tally.log.Unlock},
		{"Redis is dead", func() { w.redis.Kill() }, func() {
			redis, err := child.StartRedis(w.ctx, w.redis.Addr)
			fail(err)
			w.redis = cmp.Or(redis, w.redis)
		}},
		{"Redis is frozen", redis(syscall.SIGSTOP), redis(syscall.SIGCONT)},
		{"PostgreSQL is dead", w.postgres.Crash, func() { fail(w.postgres.Start(w.ctx)) }},
		{"PostgreSQL is frozen", func() { fail(w.postgres.Freeze()) }, func() { fail(w.postgres.Thaw()) }},
	}
	for _, mode := range append(slices.Sorted(maps.Keys(instead)), unreachable, hung, lying) {
		all = append(all, outage{"all nodes are " + mode, nodes(mode), nodes(working)})
	}
	if w.retiring != "v3" {
		all = append(all, outage{"the plan refuses " + w.retiring,
			func() { w.changePlan(fmt.Sprintf(brownout, w.retiring), http.StatusGone) },
			func() { w.changePlan(everythingActive, http.StatusOK) }})
	}
	return all
}

// breakThings goes through the outages, one at a time, for so long, and through each of them at least once.
func (w *world) breakThings(duration time.Duration) {
	outages := w.outages()
	length := min(duration/time.Duration(len(outages)), 5*time.Second)
	start := time.Now()
	for i := 0; w.ctx.Err() == nil && (i < len(outages) || time.Since(start) < duration); i++ {
		o := outages[i%len(outages)]
		w.tell("%s", o.name)
		o.begin()
		time.Sleep(length)
		o.end()
	}
}

func (w *world) setNodes(mode string) {
	for _, n := range w.nodes {
		w.tally.fail(n.set(mode))
	}
}

const everythingActive = `{"versions": {}}`

// brownout refuses everybody a version until its sunset.
const brownout = `{"versions": {%q: {"deprecated": "2026-01-01T00:00:00Z", "sunset": "2099-01-01T00:00:00Z",
	"successor": "/v3/swap/quote", "docs": "https://example.org/migrate", "immediate": true,
	"brownouts": [{"from": "2026-02-01T00:00:00Z", "to": "2099-01-01T00:00:00Z", "share": 1}]}}}`

// changePlan replaces the plan, and waits until the retiring version answers with a status.
func (w *world) changePlan(text string, status int) {
	w.refusing.Store(true)
	w.tally.fail(errors.Join(os.WriteFile(w.plan, []byte(text), 0o600), w.gateway.Signal(syscall.SIGHUP)))
	w.eventually(fmt.Sprintf("%s answers with %d", w.retiring, status), func() bool {
		answer, _ := w.askOnce(w.quoteQuestion(w.retiring, w.retiring, isPlain))
		return answer.Status == status
	})
	w.refusing.Store(status == http.StatusGone)
}

// secret is in what nodes say, and must never be in an answer or in the log of the gateway.
const secret = testnode.Secret

// The ways in which a node answers that are not in instead.
const (
	working     = "working"
	unreachable = "unreachable" // refuses connections
	hung        = "hung"        // until the gateway gives up
	lying       = "lying"       // about whose a registration is
)

// instead is what some nodes send instead of an answer.
var instead = map[string]http.Handler{
	"hanging up":         http.HandlerFunc(testnode.Drops),
	"truncating answers": http.HandlerFunc(testnode.Aborts),
	"failing":            testnode.Status(http.StatusInternalServerError), // which tells the URL, and so the secret
	"sending HTML":       testnode.Says("<html>" + secret + "</html>"),
	"on the wrong chain": testnode.Answers(func(testnode.Call) any { return "0x38" }),
	"refusing":           testnode.Answers(refuse),
}

func refuse(testnode.Call) any { return testnode.Error{Code: -32000, Message: secret} }

// node is a JSON-RPC node of a chain. A real one cannot be made to fail in all these ways.
type node struct {
	chain  uint64
	addr   string
	server *http.Server
	mode   atomic.Value // a string
	held   *sync.Map    // of common.Address: integrators that it was asked about while it was hung
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

// coinBalance is what every account has of the coin, as a quote shows it.
const coinBalance = "1000000000000000000"

// known is what every node says. It knows no transaction, and cannot simulate.
var known = map[string]any{
	"eth_getBalance":            "0xde0b6b3a7640000", // coinBalance
	"eth_call":                  common.MaxHash,      // enough of every token
	"eth_getTransactionReceipt": nil,
	"eth_getTransactionByHash":  nil,
	"eth_getLogs":               []any{},
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mode := n.mode.Load().(string)
	answer := instead[mode]
	if answer == nil {
		answer = testnode.Answers(func(c testnode.Call) any { return n.result(r.Context(), mode, c) })
	}
	answer.ServeHTTP(w, r)
}

func (n *node) result(ctx context.Context, mode string, c testnode.Call) any {
	integrator, isLookup := c.Integrator()
	if mode == hung {
		n.held.Store(integrator, nil)
		<-ctx.Done()
	}
	if mode == lying {
		integrator = common.Address{0x66}
	}
	result, isKnown := known[c.Method]
	switch {
	case isLookup:
		return testnode.Registered(integrator, feeBPS(integrator))
	case c.Method == "eth_chainId":
		return hexutil.EncodeUint64(n.chain)
	case c.Method == "eth_getBlockByNumber":
		return map[string]any{
			"number": "0x64", "hash": common.Hash{1}, "timestamp": hexutil.EncodeUint64(uint64(time.Now().Unix())),
		}
	case isKnown:
		return result
	}
	return refuse(c)
}

// feeBPS is the fee with which every account is registered as an integrator.
func feeBPS(integrator common.Address) int { return 1 + int(integrator[len(integrator)-1]) }

// issuer is the fee service of the issuer of USDC. Every other answer is a lie.
type issuer struct{ asked atomic.Int64 }

// honestBPS is the fee it tells the truth about: unlike any built-in one or that of another domain, and above a quarter
// of each built-in one.
func honestBPS(domain uint32) *big.Rat { return big.NewRat(425+int64(domain), 100) }

// lies are what it says otherwise. Believing one costs the user money or the gateway its health.
var lies = []http.HandlerFunc{
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":5000}]`),
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
	lies[n/2%len(lies)](w, r)
}
