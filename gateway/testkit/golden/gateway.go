package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Integrators of the tests: one in good standing, one switched off, one that is
// not registered. The registry of all others cannot be reached.
var (
	partner      = common.HexToAddress("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
	inactive     = common.HexToAddress("0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB")
	unregistered = common.HexToAddress("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb")
)

// PartnerBPS is the fee of the one in good standing.
const PartnerBPS = 25

// registry answers from memory. The real one is tested on a real chain in its
// own package.
type registry struct{}

func (registry) Lookup(
	_ context.Context, _ netip.Prefix, network chain.ID, id calldata.IntegratorID,
) (quote.Partner, error) {
	switch wallet := common.BytesToAddress(id[:]); wallet {
	case partner:
		return quote.Partner{
			ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: PartnerBPS,
			CheckedAt: noon.Add(-10 * time.Second), GoodUntil: noon.Add(20 * time.Second),
		}, nil
	case inactive:
		return quote.Partner{}, fault.New(fault.IntegratorInactive,
			"The integrator is registered on chain %s but not active", network)
	case unregistered:
		return quote.Partner{}, fault.New(fault.IntegratorUnregistered,
			"The integrator is not registered on chain %s", network)
	}
	e := fault.New(fault.IntegratorUnverified, "The integrator cannot be verified on chain %s now", network)
	e.RetryAfter = 5 * time.Second
	return quote.Partner{}, e
}

// noon is when all goldens happen.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// accounts answers from memory for two senders, who have everything: one that
// has allowed the router less than it needs, one that has allowed enough. No
// endpoint answers for others. The real one is tested on a real chain in its
// own package.
type accounts struct{}

var (
	allowedLittle = common.HexToAddress("0x00000000000000000000000000000000000A11ce")
	everything    = uint256.MustFromDecimal("123456789012345678901234567890")
	allowedEnough = common.HexToAddress("0x0000000000000000000000000000000000000B0B")
)

func (accounts) Read(
	_ context.Context, _ netip.Prefix, token *chain.Token, owner, _ common.Address,
) (quote.Holding, error) {
	h := quote.Holding{Native: *everything, Balance: *everything, CheckedAt: noon}
	switch owner {
	case allowedLittle:
		h.Allowance.SetUint64(1)
	case allowedEnough:
		h.Allowance = *everything
	default:
		return h, errors.New(noEndpoint(uint64(token.ChainID)))
	}
	return h, nil
}

// HasCode answers on Ethereum and PulseChain, for a recipient that is a contract on
// Ethereum alone.
func (accounts) HasCode(_ context.Context, _ netip.Prefix, network chain.ID, _ common.Address) (bool, error) {
	if network == 1 || network == chain.Hub {
		return network == 1, nil
	}
	return false, errors.New(noEndpoint(uint64(network)))
}

// Simulate answers as a node would. The sender that has allowed little has no coins for
// gas, and fails for a reason with quotes in it. Of a token, it can only estimate the gas.
func (accounts) Simulate(
	_ context.Context, _ netip.Prefix, network chain.ID, from common.Address,
	_ *quote.Holding, calls []quote.Transaction,
) (*quote.Simulation, error) {
	s := &quote.Simulation{BlockNumber: 123, GasPrice: *uint256.NewInt(1_000_000_000), Native: *everything}
	for range calls {
		s.Calls = append(s.Calls, quote.CallResult{GasUsed: 46_000, GasLimit: 67_250})
	}
	switch from {
	case allowedLittle:
		s.Native.Clear()
		s.HasLogs = true
		s.Calls[len(calls)-1].Error = `The contract says: "balance" too low`
	case allowedEnough:
		if main := calls[0]; !main.Value.IsZero() {
			s.HasLogs = true
			topics := []common.Hash{calldata.SwappedTopic, {}, common.BytesToHash(from[:])}
			s.Calls[0].Logs = []calldata.Log{{Address: main.To.Address, Topics: topics, Data: main.Data[4:]}}
		}
	default:
		const text = "Simulation needs an RPC endpoint, and none is configured for chain %s"
		return nil, sentence(fmt.Sprintf(text, network))
	}
	return s, nil
}

func noEndpoint(network uint64) string {
	const text = "Balance and allowance are not checked: no RPC endpoint is configured for chain %d"
	return fmt.Sprintf(text, network)
}

// Deployment is that of the goldens: the reference contracts, under a name whose quotes may be signed.
func Deployment() *chain.Deployment {
	d, err := chain.ParseDeployment(chain.ReferenceAs("example"))
	if err != nil {
		panic(err) // the embedded file is valid
	}
	return d
}

// Core is the real core of Deployment, with the issuer's built-in fees and a registry that answers from memory.
func Core() api.Service { return CoreOf(Deployment()) }

// CoreOf is Core of another deployment.
func CoreOf(deployment *chain.Deployment) api.Service {
	issuer, err := cctp.New(cctp.Config{}, deployment.Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		panic(err) // an empty configuration is valid
	}
	return api.Service{
		Deployment: deployment,
		Engine: quote.NewEngine(quote.Parts{
			Deployment: deployment, IssuerFees: issuer, Integrators: registry{}, Accounts: accounts{},
			TTL: time.Minute, Now: func() time.Time { return noon },
		}),
		Tracker: tracker{},
		Registries: func() []rpc.Health {
			return []rpc.Health{{Network: 1, State: rpc.NoEndpoint}, {Network: 369, State: rpc.Working}}
		},
		IssuerFees: issuer.State,
		Problems: func() []string {
			return []string{"Chain 369, registry " + deployment.Registry(369).String() +
				": this contract does not answer as a registry: the contract reverted"}
		},
	}
}

// Gateway serves all versions over Core, without a limit, a plan or a log. It has given
// out one API key.
func Gateway(t testing.TB) http.Handler {
	t.Helper()
	return GatewayOf(t, Deployment())
}

// GatewayOf is Gateway of another deployment.
func GatewayOf(t testing.TB, deployment *chain.Deployment) http.Handler {
	t.Helper()
	g, err := newGateway(t.Context(), CoreOf(deployment), someClients(t))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// New is Gateway for callers without a test, such as examples.
func New(ctx context.Context, clients *caller.Clients) (http.Handler, error) {
	return newGateway(ctx, Core(), clients)
}

func newGateway(ctx context.Context, service api.Service, clients *caller.Clients) (http.Handler, error) {
	log := slog.New(slog.DiscardHandler)
	limiter, err := limit.New(ctx, limit.Config{}, log, time.Now)
	if err != nil {
		return nil, err
	}
	modules := gateway.Modules(service)
	life, err := lifecycle.New(lifecycle.Options{Versions: gateway.Names(modules), Now: time.Now, Log: log})
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{LegacyHosts: []string{"legacy.example"}}, gateway.Parts{
		Modules: modules, RetiredVersions: gateway.RetiredVersions,
		Lifecycle: life, Limiter: limiter, Clients: clients, Names: unused{}, Usage: unused{}, Log: log,
	}), nil
}

// Nodes are the public nodes that Partial states for PulseChain.
var Nodes = []string{"https://rpc.example.org/pulse", "http://localhost:8545"}

// Partial is Deployment without the privacy pools, DAI, the settlement
// chain's USDC and the receiver: 13 pairs on five chains. It states Nodes.
func Partial(t testing.TB) *chain.Deployment {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(chain.ReferenceAs("partial"), &file); err != nil {
		t.Fatal(err)
	}
	file["settlement"] = map[string]any{"chainId": 8453}
	file["rpcUrls"] = map[string]any{"369": Nodes}
	file["pools"] = slices.DeleteFunc(file["pools"].([]any), func(row any) bool {
		pool := row.(map[string]any)
		id, token := chain.ID(pool["chainId"].(float64)), pool["token"]
		return id.Private() || token == chain.DAI || id == 8453 && token == chain.USDC
	})
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := chain.ParseDeployment(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// someClients has one client with a key, so that an unknown key is refused.
func someClients(t testing.TB) *caller.Clients {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clients.json")
	_, hash := caller.NewKey()
	if err := os.WriteFile(file, []byte(`{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	clients, err := caller.NewClients(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// unused counts no calls.
type unused struct{}

func (unused) Name(who caller.Identity) string { return who.String() }
func (unused) Own(context.Context, string, string, []lifecycle.Standing) (usage.Own, error) {
	return usage.Own{}, nil
}

// sentence is an error for the client to read, as those of accounts are.
type sentence string

func (s sentence) Error() string { return string(s) }
