package selfcheck

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	testcontracts "github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

var (
	deployment = chain.Reference()
	base       = chain.ID(8453) // has routers, a registry and the receiver
	optimism   = chain.ID(10)   // has the issuer's messenger
)

// newEVM is a real chain with the contracts of the reference deployment, except
// where instead has others.
func newEVM(t *testing.T, network chain.ID, instead types.GenesisAlloc) *node.EVM {
	t.Helper()
	return node.NewEVM(t, uint64(network), func(operator common.Address) types.GenesisAlloc {
		alloc := types.GenesisAlloc{}
		for _, c := range contracts(deployment, network) {
			var account types.Account
			switch c.what {
			case Router:
				account = testcontracts.Pool(operator, c.token.Address.Address, operator, common.Address{})
			case Messenger:
				account = testcontracts.TokenMessenger(2, common.Address{1}, 6)
			case Registry:
				account = testcontracts.Registry(operator)
			case Receiver:
				account = testcontracts.Receiver(operator, common.Address{1}, 6)
			case Token:
				account = testcontracts.Token(operator, "USDC", 6)
			}
			alloc[c.address.Address] = account
		}
		for address, account := range instead {
			alloc[address] = account
		}
		return alloc
	})
}

// find is the address of a contract by its role.
func find(t *testing.T, network chain.ID, role string) common.Address {
	t.Helper()
	for _, c := range contracts(deployment, network) {
		if c.role == role {
			return c.address.Address
		}
	}
	t.Fatalf("chain %s has no %s", network, role)
	return common.Address{}
}

// rig is a client for these endpoints. It records all results and log lines; a secret in any of
// them fails the test.
type rig struct {
	*rpc.Client
	clock   *skew.Clock
	t       *testing.T
	log     journal.Journal
	secrets []string
}

// patient has deadlines that even a slow machine does not reach.
var patient = rpc.Limits{Try: time.Minute, Total: time.Minute, Calls: 4, Waiting: 12}

func newRig(t *testing.T, endpoints map[chain.ID][]*node.Front) *rig {
	t.Helper()
	return newRigWith(t, patient, endpoints)
}

func newRigWith(t *testing.T, limits rpc.Limits, endpoints map[chain.ID][]*node.Front) *rig {
	t.Helper()
	g := &rig{t: t, clock: skew.New(skew.Options{}), secrets: []string{node.Secret}}
	cfg := rpc.Config{}
	for network, fronts := range endpoints {
		for _, f := range fronts {
			cfg[network] = append(cfg[network], rpc.SecretURL(f.SecretURL()))
			g.secrets = append(g.secrets, strings.TrimPrefix(f.URL, "http://"))
		}
	}
	client, err := rpc.New(cfg, rpc.Options{
		Log: g.logger(), Clock: g.clock, Limits: map[rpc.Queue]rpc.Limits{rpc.Checks: limits},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Client = client
	t.Cleanup(func() {
		client.Close()
		g.hush(g.log.String())
	})
	return g
}

func (g *rig) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&g.log, nil)) }

// hush fails the test if text reveals an endpoint.
func (g *rig) hush(text string) {
	g.t.Helper()
	for _, s := range g.secrets {
		if strings.Contains(text, s) {
			g.t.Errorf("%q is told in %s", s, text)
		}
	}
}

// results tests everything, and returns the results that are about a chain with
// endpoints, without the addresses of contracts in their names.
func (g *rig) results(d *chain.Deployment) map[string]Result {
	g.t.Helper()
	asked := map[chain.ID]bool{}
	for _, n := range chain.Networks() {
		asked[n.ID] = g.Endpoints(n.ID) > 0
	}
	found := map[string]Result{}
	for _, r := range OnChain(g.t.Context(), d, g.Client, g.logger()) {
		g.hush(fmt.Sprintf("%+v %s", r, r))
		if !asked[r.Chain] {
			if want := "no endpoint for chain " + r.Chain.String(); r.Outcome != NotTested || !strings.HasPrefix(r.Detail, want) {
				g.t.Errorf("got %+v, want it not tested: %s", r, want)
			}
			continue
		}
		name, _, _ := strings.Cut(r.Name, " 0x")
		if _, twice := found[name]; twice {
			g.t.Errorf("%s was tested twice", name)
		}
		found[name] = r
	}
	return found
}

// want compares the results with those that are not OK.
func (g *rig) want(got map[string]Result, wrong map[string]string) {
	g.t.Helper()
	for name, r := range got {
		want, ok := wrong[name]
		text := strings.TrimSuffix(string(r.Outcome)+": "+r.Detail, ": ")
		switch {
		case !ok && r.Outcome != OK:
			g.t.Errorf("%s is %s, want it ok", name, text)
		case ok && !strings.HasPrefix(text, want):
			g.t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
	for name := range wrong {
		if _, ok := got[name]; !ok {
			g.t.Errorf("%s was not tested", name)
		}
	}
}

// delegated is a plain account that runs the code of a contract (EIP-7702).
func delegated() types.Account {
	return types.Account{Code: append([]byte{0xef, 0x01, 0x00}, bytes.Repeat([]byte{7}, 20)...)}
}
