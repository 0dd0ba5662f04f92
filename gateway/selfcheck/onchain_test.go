package selfcheck

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	testcontracts "github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// The tests of chain 8453.
const (
	first, second = "chain 8453, endpoint 1", "chain 8453, endpoint 2"
	ethRouter     = "chain 8453, router of ETH"
	usdcRouter    = "chain 8453, router of USDC"
	registry      = "chain 8453, registry"
	receiver      = "chain 8453, receiver"
	usdcToken     = "chain 8453, token USDC"
)

func TestAllIsRight(t *testing.T) {
	onBase, onOptimism := newEVM(t, base, nil), newEVM(t, optimism, nil)
	g := newRig(t, map[chain.ID][]*node.Front{
		base:     {node.NewFront(t, onBase), node.NewFront(t, onBase)},
		optimism: {node.NewFront(t, onOptimism)},
	})
	got := g.results(deployment)
	g.want(got, nil)
	for _, name := range []string{
		first, second, ethRouter, usdcRouter, registry, receiver, usdcToken,
		"chain 10, endpoint 1", "chain 10, messenger", "chain 10, token USDC",
	} {
		if got[name].Outcome != OK {
			t.Errorf("%s: got %+v", name, got[name])
		}
	}
	if r := got[ethRouter]; r.What != Router || r.Chain != base {
		t.Errorf("got %+v", r)
	}
	if got := g.log.String(); got != "" {
		t.Errorf("the log says %s", got)
	}
	if alone := got["chain 10, endpoint 1"].Detail; got[first].Detail != "" || !strings.HasPrefix(alone, "the only endpoint") {
		t.Errorf("got %q of one of two endpoints, and %q of a single one", got[first].Detail, alone)
	}
}

// Every contract that a quote can name is tested.
func TestContractsOfTheDeployment(t *testing.T) {
	count := map[What]int{}
	named := map[string]bool{}
	for _, n := range chain.Networks() {
		for _, c := range contracts(deployment, n.ID) {
			count[c.what]++
			if c.address == (chain.Address{}) {
				t.Errorf("chain %s: the %s has no address", n.ID, c.role)
			}
			name := n.ID.String() + c.name()
			if named[name] {
				t.Errorf("two contracts are called %s", name)
			}
			named[name] = true
		}
	}
	if public, private := find(t, 1, "router of USDC"), find(t, 1, "router of USDC for 69696969"); public == private {
		t.Errorf("the privacy pool has the router %s of its chain", public)
	}
	routers, messengers := len(deployment.Routers()), len(chain.Networks())-len(chain.PoolChains)
	if count[Router]+count[Messenger] != routers || count[Messenger] != messengers {
		t.Errorf("got %v, want %d routers, %d of them messengers", count, routers, messengers)
	}
	if count[Registry] != len(chain.PoolChains) || count[Receiver] != 1 {
		t.Errorf("got %v, want %d registries and one receiver", count, len(chain.PoolChains))
	}
}

// Only the contracts of a partial deployment are tested, on the chains that it needs, including
// a pool that only pays out, as that of USDC here. Without an endpoint, no swap can be tracked.
func TestPartialDeployment(t *testing.T) {
	d, err := chain.ParseDeployment([]byte(`{"name": "small", "tracking": "reference",
		"pools": [{"chainId": 1, "token": "DAI", "router": "0x79466917C8c6e9eF03fdCF8b791C2304EDF2c29e"},
			{"chainId": 369, "token": "USDC", "router": "0x8888ECFa4E2FF77E6b77835459D9C9c53bDc6Fe3"}],
		"registries": {"369": "0xa9d074a8E98A4941A39ebbEe854649Ced6a8A285"}}`))
	if err != nil {
		t.Fatal(err)
	}
	g := newRig(t, nil)
	var got []string
	results := OnChain(t.Context(), d, g.Client, g.logger())
	for _, r := range results {
		got = append(got, r.Name)
	}
	const status = "Chain 1, status of swaps: no endpoint for chain 1: swaps from and to it cannot be tracked"
	if first := results[0]; first.String() != status || first.What != Status {
		t.Errorf("got %q", first)
	}
	want := []string{
		"chain 1, status of swaps",
		"chain 1, router of DAI 0x79466917C8c6e9eF03fdCF8b791C2304EDF2c29e",
		"chain 1, token DAI 0x6B175474E89094C44Da98b954EedeAC495271d0F",
		"chain 369, status of swaps",
		"chain 369, router of USDC 0x8888ECFa4E2FF77E6b77835459D9C9c53bDc6Fe3",
		"chain 369, token USDC 0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07",
		"chain 369, registry 0xa9d074a8E98A4941A39ebbEe854649Ced6a8A285",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The contract at the address of a pool, a registry or the receiver must answer as one.
func TestContractsOfEveryKind(t *testing.T) {
	code := func(code string) types.Account { return types.Account{Code: []byte(code)} }
	anyone := common.Address{9}
	usdc, err := chain.FindToken(base, "USDC")
	if err != nil {
		t.Fatal(err)
	}
	const (
		reverts   = "the contract reverted"
		nothing   = "it returns no data"
		nobody    = "there is no contract at this address"
		delegates = "this is an account that delegates to a contract (EIP-7702)"
		badLength = "the registry's answer has another length"
		noAddress = "token() is not an address"
		isUsed    = "usedNonces(1) is not 0"
	)
	for _, c := range []struct {
		name                     string
		account                  types.Account
		pool, registry, receiver string // what is wrong with it in this role
	}{
		{"an ERC-20", testcontracts.Token(anyone, "USDC", 6), reverts, reverts, reverts},
		{"a plain account", types.Account{Balance: big.NewInt(1)}, nobody, nobody, nobody},
		{"an EIP-7702 account", delegated(), delegates, delegates, delegates},
		{"the pool", testcontracts.Pool(anyone, usdc.Address.Address, anyone, common.Address{}), "", reverts, reverts},
		{"a pool of coins", testcontracts.Pool(anyone, testcontracts.Native, anyone, common.Address{}),
			"its token is 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE, and not " + usdc.Address.String(), reverts, reverts},
		{"a registry", testcontracts.Registry(anyone), reverts, "", reverts},
		{"a receiver", testcontracts.Receiver(anyone, common.Address{1}, 6),
			"its token is 0x0100000000000000000000000000000000000000, and not " + usdc.Address.String(), reverts, ""},
		{"returns no data", code("\x00"), nothing, nothing, nothing},
		{"answers two words", code("\x60\x40\x60\x00\xf3"), noAddress, badLength, isUsed},
		{"answers ones", code("\x60\x00\x19\x60\x00\x52\x60\x20\x60\x00\xf3"), noAddress, badLength, isUsed},
	} {
		t.Run(c.name, func(t *testing.T) {
			instead, wrong := types.GenesisAlloc{}, map[string]string{}
			put := func(role, kind, problem string) {
				instead[find(t, base, role)] = c.account
				switch problem {
				case "":
				case nobody, delegates:
					wrong["chain 8453, "+role] = "failed: " + problem
				default:
					wrong["chain 8453, "+role] = "failed: this contract does not answer as a " + kind + ": " + problem
				}
			}
			put("router of USDC", "pool", c.pool)
			put("registry", "registry", c.registry)
			put("receiver", "receiver", c.receiver)
			g := newRig(t, map[chain.ID][]*node.Front{base: {node.NewFront(t, newEVM(t, base, instead))}})
			g.want(g.results(deployment), wrong)
		})
	}
}

// An endpoint that does not work is named. The contracts are tested through the
// others, if there are others.
func TestWrongEndpoints(t *testing.T) {
	const notTested = "not tested: no endpoint of chain 8453 works"
	evm := newEVM(t, base, nil)
	hasty := patient
	hasty.Try = 50 * time.Millisecond
	for _, c := range []struct {
		name, method string
		answer       http.HandlerFunc
		want         string
	}{
		{"another chain", "eth_chainId", node.Results(`"0x89"`), "failed: it serves chain 137"},
		{"a page", "eth_chainId", node.Says("<html>"), "failed: the answer is not a JSON-RPC result"},
		{"a status", "eth_chainId", node.Status(http.StatusUnauthorized), "failed: HTTP status 401"},
		{"hangs", "eth_chainId", node.Hangs, "failed: timed out"},
		{"stalled", "eth_getBlockByNumber", latest(3 * time.Hour), "failed: it has stalled: its latest block is 3 hours old"},
		{"no block", "eth_getBlockByNumber", node.Results("null"), "failed: it returned no latest block"},
		{"no code", "eth_getCode", node.Results(`null`), "failed: the answer is not a JSON-RPC result"},
		{"endless code", "eth_getCode", node.Pours, "failed: the answer is too long"},
		{"half an answer", "eth_getCode", node.Aborts, "failed: "},
		{"no call", "eth_call", node.Drops, "failed: connection failed"},
		{"a call without a result", "eth_call", node.Results(`null`), "failed: the answer is not a JSON-RPC result"},
		{"over its quota", "eth_call", node.Limited("1"), "failed: HTTP status 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := node.NewFront(t, evm)
			bad.Instead(c.method, c.answer)
			limits := patient
			if c.name == "hangs" {
				limits = hasty
			}
			alone := newRigWith(t, limits, map[chain.ID][]*node.Front{base: {bad}})
			alone.want(alone.results(deployment), map[string]string{
				first: c.want, ethRouter: notTested, usdcRouter: notTested, registry: notTested, receiver: notTested,
				usdcToken: notTested,
			})
			if c.name != "hangs" { // a busy machine does not answer in time either
				withAnother := newRig(t, map[chain.ID][]*node.Front{base: {bad, node.NewFront(t, evm)}})
				withAnother.want(withAnother.results(deployment), map[string]string{first: c.want})
			}
		})
	}
}

// latest is a latest block of an age.
func latest(age time.Duration) http.HandlerFunc {
	return node.Results(fmt.Sprintf(`{"number":"0x1","hash":"%s","timestamp":"0x%x"}`, common.Hash{}, time.Now().Add(-age).Unix()))
}

// If most chains are late by the same time, and the database's clock is not ours, the text says so.
// The endpoints fail in any case.
func TestClockOfThisMachine(t *testing.T) {
	const ten = 10*time.Minute + 30*time.Second
	const stalled = "failed: it has stalled: its latest block is "
	is := func(verb string) string {
		return "failed: its latest block is 10 minutes old, but this machine's clock " + verb + " 10 minutes ahead: synchronise it by NTP"
	}
	evm := newEVM(t, base, nil)
	for name, test := range map[string]struct {
		database time.Duration // by which our clock is ahead; negative: it has no clock
		ages     [3]time.Duration
		want     [3]string
	}{
		"all are late":             {-1, [3]time.Duration{ten, ten, ten}, [3]string{is("seems"), is("seems"), is("seems")}},
		"the database confirms it": {ten, [3]time.Duration{ten, ten, ten}, [3]string{is("is"), is("is"), is("is")}},
		"the database denies it":   {0, [3]time.Duration{ten, ten, ten}, [3]string{stalled + "10", stalled + "10", stalled + "10"}},
		"one chain":                {-1, [3]time.Duration{0, ten, 0}, [3]string{"", stalled + "10", ""}},
		"one is later":             {ten, [3]time.Duration{3 * time.Hour, ten, ten}, [3]string{stalled + "3 hours", is("is"), is("is")}},
	} {
		t.Run(name, func(t *testing.T) {
			fronts := map[chain.ID][]*node.Front{}
			wrong := map[string]string{}
			for i, id := range []chain.ID{1, optimism, base} {
				front := node.NewFront(t, evm)
				front.Instead("eth_chainId", node.Results(fmt.Sprintf(`"0x%x"`, uint64(id))))
				front.Instead("eth_getBlockByNumber", latest(test.ages[i]))
				fronts[id] = []*node.Front{front}
				if test.want[i] != "" {
					wrong[fmt.Sprintf("chain %s, endpoint 1", id)] = test.want[i]
				}
			}
			g := newRig(t, fronts)
			if test.database >= 0 {
				g.clock.ReadDatabase(time.Now().Add(-test.database))
			}
			got := g.results(deployment)
			for name, r := range got {
				if r.What != Endpoint {
					delete(got, name)
				}
			}
			g.want(got, wrong)
		})
	}
}

// An endpoint that has no contracts, such as one that is far behind, is named if another
// one has them.
func TestEndpointsThatDisagree(t *testing.T) {
	evm := newEVM(t, base, nil)
	behind := node.NewFront(t, evm)
	behind.Instead("eth_getCode", node.Results(`"0x"`))
	g := newRig(t, map[chain.ID][]*node.Front{base: {node.NewFront(t, evm), behind}})
	const want = "failed: there is no contract at this address, according to endpoint 2"
	g.want(g.results(deployment), map[string]string{
		ethRouter: want, usdcRouter: want, registry: want, receiver: want, usdcToken: want,
	})
}

// A mistake in the tests themselves is not attributed to an endpoint's contracts.
func TestJudge(t *testing.T) {
	got := judge(optimism, false, contracts(deployment, optimism), []answer{{failure: bug}})
	if r := got[0]; r.Name != "chain 10, endpoint 1" || r.Outcome != Failed || r.Detail != bug {
		t.Errorf("got %+v, want a failure of the endpoint", r)
	}
	if len(got) != 3 || got[1].Outcome != NotTested || got[2].Outcome != NotTested {
		t.Errorf("got %+v, want a messenger and a token that are not tested", got)
	}
}
