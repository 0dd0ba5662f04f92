package integrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// hub is the chain of most tests. cmd/devnet looks up integrators on real chains.
const hub chain.ID = 369

var deployment = chain.Reference()

// wallet numbers wallets, and so integrators, for tests.
func wallet(n uint64) common.Address {
	return common.BigToAddress(new(big.Int).SetUint64(0xa11ce<<32 | n))
}

func partner(n uint64, fee uint16) contracts.Integrator {
	return contracts.Integrator{Wallet: wallet(n), FeeBPS: fee, Active: true}
}

// registry is a node with a registry contract.
type registry struct {
	*node.Front
	meter   *node.Meter
	network chain.ID

	mu     sync.Mutex
	listed map[common.Address]contracts.Integrator
	age    time.Duration // of its latest block
	now    func() time.Time
	output string // of the contract, instead of what is listed; or "reverts"
}

func newRegistry(t testing.TB, network chain.ID, now func() time.Time) *registry {
	n := &registry{network: network, now: now, listed: make(map[common.Address]contracts.Integrator)}
	n.meter = &node.Meter{Node: node.Answers(n.answer)}
	n.Front = node.NewFront(t, n.meter)
	return n
}

// list changes the integrators that the contract knows.
func (n *registry) list(integrators ...contracts.Integrator) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range integrators {
		n.listed[i.Wallet] = i
	}
}

func (n *registry) answer(c node.Call) any {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch c.Method {
	case "eth_chainId":
		return hexutil.Uint64(n.network)
	case "eth_getBlockByNumber":
		at := n.now().Add(-n.age).Unix()
		return map[string]any{"number": "0x7", "hash": common.Hash{7}, "timestamp": hexutil.Uint64(at)}
	case "eth_call":
		var message struct {
			To   common.Address
			Data hexutil.Bytes
		}
		_ = json.Unmarshal(c.Params[0], &message)
		method := contracts.RegistryABI.Methods["getIntegrator"]
		question, err := method.Inputs.Unpack(message.Data[4:])
		if err != nil || [4]byte(message.Data) != [4]byte(method.ID) || message.To != deployment.Registry(n.network).Address {
			return node.Error{Code: 3, Message: "execution reverted"}
		}
		switch n.output {
		case "reverts":
			return node.Error{Code: 3, Message: "execution reverted"}
		case "":
		default:
			return n.output
		}
		id := question[0].([32]byte)
		i := n.listed[common.BytesToAddress(id[:])]
		output, _ := method.Outputs.Pack(i.Wallet, i.FeeBPS, i.Active)
		return hexutil.Bytes(output)
	}
	return node.Error{Code: -32601, Message: "no such method"}
}

// rig is a Registry with a clock that the test moves. It records all that the registry logs and
// returns; a secret in any of that fails the test.
type rig struct {
	*Registry
	*clock.Clock
	t     testing.TB
	nodes []*registry // of the hub, with integrator 1 at 25 basis points
	log   journal.Journal

	mu     sync.Mutex
	counts map[string]int // of hooks, and of failures by their reason
}

// patient has deadlines that even a slow machine does not reach.
var patient = rpc.Limits{Try: time.Minute, Total: time.Minute, Calls: 16, Waiting: 128}

const validity = time.Minute

var config = Config{CacheSize: 64, CacheTTL: 30 * time.Second}

// newRig reads the registry of the hub through this many endpoints.
func newRig(t testing.TB, endpoints int) *rig { return newRigWith(t, endpoints, config, patient, nil) }

// newRigWith also reads the registries of other chains.
func newRigWith(t testing.TB, endpoints int, cfg Config, limits rpc.Limits, others rpc.Config) *rig {
	t.Helper()
	g := &rig{t: t, Clock: clock.At(time.Unix(1_800_000_000, 0)), counts: make(map[string]int)}
	chains := maps.Clone(others)
	if chains == nil {
		chains = make(rpc.Config)
	}
	for range endpoints {
		n := newRegistry(t, hub, g.Now)
		n.list(partner(1, 25))
		g.nodes = append(g.nodes, n)
		chains[hub] = append(chains[hub], rpc.SecretURL(n.SecretURL()))
	}
	log := slog.New(slog.NewJSONHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := rpc.New(chains, rpc.Options{
		Log: log, Now: g.Now, Limits: map[rpc.Queue]rpc.Limits{rpc.Partners: limits, rpc.Unverified: limits},
	})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Now: g.Now, Validity: validity, Log: log, Hooks: g.hooks()}
	if g.Registry, err = New(cfg, deployment, client, opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		g.hush("the log", g.log.String())
		g.hush("the health report", fmt.Sprintf("%+v", g.Health()))
	})
	return g
}

func (g *rig) hooks() Hooks {
	counts := func(what string) func(chain.ID) { return func(chain.ID) { g.add(what) } }
	return Hooks{
		Hit: counts("hit"), Miss: counts("miss"), Differ: counts("differ"),
		Failure: func(_ chain.ID, reason rpc.Reason) { g.add(string(reason)) },
		Latency: func(chain.ID, time.Duration) { g.add("asked") },
	}
}

func (g *rig) add(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[what]++
}

func (g *rig) count(what string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counts[what]
}

// calls is how many lookups the first node has received.
func (g *rig) calls() int { return g.nodes[0].Count("eth_call") }

// hush fails the test if text reveals an endpoint.
func (g *rig) hush(where, text string) {
	g.t.Helper()
	for _, secret := range []string{node.Secret, "127.0.0.1"} {
		if strings.Contains(text, secret) {
			g.t.Errorf("%s tells %q: %s", where, secret, text)
		}
	}
}

// lookup looks up a wallet on the hub.
func (g *rig) lookup(n uint64) (quote.Partner, error) { return g.lookupIn(context.Background(), n) }

func (g *rig) lookupIn(ctx context.Context, n uint64) (quote.Partner, error) {
	g.t.Helper()
	p, err := g.Lookup(ctx, netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(n)))
	for e := err; e != nil; e = errors.Unwrap(e) {
		g.hush("the error", e.Error())
	}
	// What the core does with it: with a shared fault, a data race.
	if err != nil && fault.From(fault.About(fault.Integrator, err)).Role != fault.Integrator {
		g.t.Errorf("%v is not a fault that can name its role", err)
	}
	return p, err
}

// wantFee looks up a wallet and wants it active with that fee.
func (g *rig) wantFee(n uint64, fee uint16) {
	g.t.Helper()
	got, err := g.lookup(n)
	if err != nil {
		g.t.Fatalf("integrator %d: %v", n, err)
	}
	now := g.Now()
	isFresh := !got.CheckedAt.After(now) && got.CheckedAt.Add(g.ttl).After(now)
	if !isFresh || got.GoodUntil.Sub(got.CheckedAt) != g.ttl+validity/2 {
		g.t.Fatalf("integrator %d: checked at %v and good until %v; it is %v", n, got.CheckedAt, got.GoodUntil, now)
	}
	if got.ID != calldata.IntegratorIDOf(wallet(n)) || got.Wallet.Address != wallet(n) || got.FeeBPS != fee {
		g.t.Fatalf("integrator %d: got %+v, want a fee of %d", n, got, fee)
	}
}

// wantFault looks up a wallet and wants it refused.
func (g *rig) wantFault(n uint64, code fault.Code) *fault.Error {
	g.t.Helper()
	got, err := g.lookup(n)
	if err == nil || fault.From(err).Code != code || got != (quote.Partner{}) {
		g.t.Fatalf("integrator %d: got %+v, %v, want %s", n, got, err, code)
	}
	e := fault.From(err)
	if code == fault.IntegratorUnverified && e.RetryAfter < time.Second {
		g.t.Errorf("integrator %d: retry after %v, want at least a second", n, e.RetryAfter)
	}
	return e
}

// wantUnverified wants a lookup to fail for that reason.
func (g *rig) wantUnverified(n uint64, reason rpc.Reason) *fault.Error {
	g.t.Helper()
	before := g.count(string(reason))
	e := g.wantFault(n, fault.IntegratorUnverified)
	var f *rpc.Failure
	if !errors.As(e, &f) || f.Reason != reason {
		g.t.Fatalf("integrator %d: got %v, want the reason %s", n, e, reason)
	}
	if after := g.count(string(reason)); after != before+1 {
		g.t.Errorf("integrator %d: %d failures for %s reported, want 1", n, after-before, reason)
	}
	return e
}
