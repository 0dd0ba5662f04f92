package selfcheck

import (
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	testcontracts "github.com/quotegate/quotegate/testdata/contracts"
	"github.com/quotegate/quotegate/testdata/node"
)

// The tests of chain 8453.
const (
	first, second = "chain 8453, endpoint 1", "chain 8453, endpoint 2"
	ethRouter     = "chain 8453, router of ETH"
	usdcRouter    = "chain 8453, router of USDC"
	registry      = "chain 8453, registry"
	receiver      = "chain 8453, receiver"
)

func TestAllIsRight(t *testing.T) {
	onBase, onOptimism := newEVM(t, base, nil), newEVM(t, optimism, nil)
	g := newRig(t, map[chain.ID][]*node.Front{
		base:     {node.NewFront(t, onBase), node.NewFront(t, onBase)},
		optimism: {node.NewFront(t, onOptimism)},
	})
	got := g.results(deployment)
	g.want(got, nil)
	for _, name := range []string{first, second, ethRouter, usdcRouter, registry, receiver, "chain 10, endpoint 1", "chain 10, messenger"} {
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
	if got := g.results(nil); len(got) != 3 {
		t.Errorf("without a deployment: got %v, want the three endpoints", got)
	}
}

// An endpoint that stands still fails, and what it says of contracts does not count.
func TestEndpointStandsStill(t *testing.T) {
	onBase := newEVM(t, base, nil)
	still := node.NewFront(t, onBase)
	still.Instead("eth_getBlockByNumber", node.Results(fmt.Sprintf(`{"number":"0x1","hash":"%s","timestamp":"0x%x"}`, common.Hash{}, time.Now().Add(-3*time.Hour).Unix())))
	g := newRig(t, map[chain.ID][]*node.Front{base: {still, node.NewFront(t, onBase)}})
	g.want(g.results(deployment), map[string]string{first: "failed: it stands still: its latest block is 3 hours old"})
	still.Instead("eth_getBlockByNumber", node.Results("null"))
	g.want(g.results(deployment), map[string]string{first: "failed: it has no latest block"})
}

// Who looks at the results sees on which chains nobody can follow a swap.
func TestChainsWithoutStatus(t *testing.T) {
	g := newRig(t, map[chain.ID][]*node.Front{base: {node.NewFront(t, newEVM(t, base, nil))}})
	missing := func(d *chain.Deployment) (names []string) {
		for _, r := range OnChain(t.Context(), d, g.Client, g.logger()) {
			if r.What == Status {
				names = append(names, r.String())
			}
		}
		return names
	}
	const want = "Chain 1, status of swaps: no endpoint for chain 1: nobody can tell what became of a swap from or to it"
	if got := missing(deployment); len(got) != len(chain.Networks())-1 || got[0] != want {
		t.Errorf("got %d results, the first is %q", len(got), got[0])
	}
	if got := missing(nil); got != nil {
		t.Errorf("got %q without a deployment", got)
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

func TestWrongContracts(t *testing.T) {
	anyone := common.Address{9}
	evm := newEVM(t, base, types.GenesisAlloc{
		find(t, base, "router of ETH"):  testcontracts.Pool(anyone, common.HexToAddress("0xbeef"), anyone, common.Address{}),
		find(t, base, "router of USDC"): {Balance: big.NewInt(1)},
		find(t, base, "registry"):       testcontracts.Pool(anyone, testcontracts.Native, anyone, common.Address{}),
		find(t, base, "receiver"):       delegated(),
	})
	g := newRig(t, map[chain.ID][]*node.Front{base: {node.NewFront(t, evm), node.NewFront(t, evm)}})
	g.want(g.results(deployment), map[string]string{
		ethRouter:  "failed: this pool takes the token 0x000000000000000000000000000000000000bEEF, and not ETH, which is 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
		usdcRouter: "failed: there is no contract at this address",
		registry:   "failed: this contract does not answer as a registry: the contract reverted",
		receiver:   "failed: this is a plain account that borrows the code of a contract",
	})
}

// A pool need not have token(), and what stands where a registry should must
// answer as one.
func TestContractsOfAnotherKind(t *testing.T) {
	contract := func(code string) types.Account { return types.Account{Code: []byte(code)} }
	for _, c := range []struct {
		name     string
		account  types.Account
		registry string
	}{
		{"reverts", contract("\x60\x00\x60\x00\xfd"), "the contract reverted"},
		{"answers nothing", contract("\x00"), "it answers nothing"},
		{"answers two words", contract("\x60\x40\x60\x00\xf3"), "the registry's answer has another length"},
		{"answers no address", contract("\x60\x00\x19\x60\x00\x52\x60\x20\x60\x00\xf3"), "the registry's answer has another length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			instead := types.GenesisAlloc{find(t, base, "router of USDC"): c.account, find(t, base, "registry"): c.account}
			g := newRig(t, map[chain.ID][]*node.Front{base: {node.NewFront(t, newEVM(t, base, instead))}})
			g.want(g.results(deployment), map[string]string{registry: "failed: this contract does not answer as a registry: " + c.registry})
		})
	}
}

// notTested is what becomes of the contracts when no endpoint works.
func notTested(endpoint string) map[string]string {
	const why = "not tested: no endpoint of chain 8453 works"
	return map[string]string{first: endpoint, ethRouter: why, usdcRouter: why, registry: why, receiver: why}
}

// An endpoint that does not work is named. The contracts are tested through the
// others, if there are others.
func TestWrongEndpoints(t *testing.T) {
	evm := newEVM(t, base, nil)
	for _, c := range []struct {
		name, method string
		answer       http.HandlerFunc
		want         string
	}{
		{"another chain", "eth_chainId", node.Results(`"0x89"`), "failed: it serves chain 137"},
		{"no chain", "eth_chainId", node.Results(`"Base"`), "failed: the answer is not a JSON-RPC result"},
		{"a page", "eth_chainId", node.Says("<html>"), "failed: the answer is not a JSON-RPC result"},
		{"a status", "eth_chainId", node.Status(http.StatusUnauthorized), "failed: HTTP status 401"},
		{"an error", "eth_chainId", node.RPCError(-32000), "failed: JSON-RPC error -32000"},
		{"no code", "eth_getCode", node.Results(`null`), "failed: the answer is not a JSON-RPC result"},
		{"odd code", "eth_getCode", node.Results(`"0x123"`), "failed: the answer is not a JSON-RPC result"},
		{"endless code", "eth_getCode", node.Pours, "failed: the answer is too long"},
		{"half an answer", "eth_getCode", node.Aborts, "failed: "},
		{"a broken batch", node.Batch, node.Drops, "failed: no connection, or a broken one"},
		{"a batch in one answer", node.Batch, node.Results(`"0x"`), ""}, // asked one by one
		{"over its quota", node.Batch, node.Limited("1"), "failed: HTTP status 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := node.NewFront(t, evm)
			bad.Instead(c.method, c.answer)
			alone := newRig(t, map[chain.ID][]*node.Front{base: {bad}})
			if c.want == "" {
				alone.want(alone.results(deployment), nil)
				return
			}
			alone.want(alone.results(deployment), notTested(c.want))
			withAnother := newRig(t, map[chain.ID][]*node.Front{base: {bad, node.NewFront(t, evm)}})
			withAnother.want(withAnother.results(deployment), map[string]string{first: c.want})
		})
	}
}

func TestEndpointThatIsDown(t *testing.T) {
	down := node.NewFront(t, http.NotFoundHandler())
	down.Close()
	g := newRig(t, map[chain.ID][]*node.Front{base: {down}})
	g.want(g.results(deployment), notTested("failed: connection refused"))
}

func TestEndpointThatHangs(t *testing.T) {
	hung := node.NewFront(t, http.NotFoundHandler())
	hung.Instead("eth_chainId", node.Hangs)
	g := newRigWith(t, rpc.Limits{Try: 50 * time.Millisecond, Total: time.Minute, Calls: 4, Waiting: 12}, map[chain.ID][]*node.Front{base: {hung}})
	g.want(g.results(deployment), notTested("failed: no answer in time"))
}

// An endpoint that knows no contracts, such as one that is far behind, is named
// where another one knows them.
func TestEndpointsThatDisagree(t *testing.T) {
	evm := newEVM(t, base, nil)
	behind := node.NewFront(t, evm)
	behind.Instead("eth_getCode", node.Results(`"0x"`))
	g := newRig(t, map[chain.ID][]*node.Front{base: {node.NewFront(t, evm), behind}})
	const want = "failed: there is no contract at this address, says endpoint 2"
	g.want(g.results(deployment), map[string]string{ethRouter: want, usdcRouter: want, registry: want, receiver: want})
}

// What is wrong with the tests themselves is not blamed on an endpoint's contracts.
func TestJudge(t *testing.T) {
	all := contracts(deployment, optimism)
	for _, c := range []struct {
		name string
		err  error
		want Result
	}{
		{"its turn did not come", &rpc.Failure{Reason: rpc.Busy, Text: "busy"}, Result{Outcome: NotTested, Detail: "busy"}},
		{"it panicked", errBug, Result{Outcome: Failed, Detail: errBug.Error()}},
	} {
		got := judge(optimism, false, all, []answer{{err: c.err}})
		c.want.Name, c.want.What, c.want.Chain = "chain 10, endpoint 1", Endpoint, optimism
		if len(got) != 2 || got[0] != c.want || got[1].Outcome != NotTested {
			t.Errorf("%s: got %+v, want %+v and a messenger that is not tested", c.name, got, c.want)
		}
	}
}
