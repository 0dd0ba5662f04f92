package golden

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
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

const partnerBPS = 25

// registry answers from memory. The real one is tested on a real chain in its
// own package.
type registry struct{}

func (registry) Lookup(_ context.Context, network chain.ID, id integrator.ID) (integrator.Partner, error) {
	switch wallet := common.BytesToAddress(id[:]); wallet {
	case partner:
		return integrator.Partner{ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: partnerBPS}, nil
	case inactive:
		return integrator.Partner{}, fault.New(fault.IntegratorInactive, "The integrator is registered on chain %s but not active", network)
	case unregistered:
		return integrator.Partner{}, fault.New(fault.IntegratorUnregistered, "The integrator is not registered on chain %s", network)
	}
	e := fault.New(fault.IntegratorUnverified, "The integrator cannot be verified on chain %s now", network)
	e.RetryAfter = 5 * time.Second
	return integrator.Partner{}, e
}

// Core is the real core of the reference deployment, with the issuer's built-in
// fees and a registry that answers from memory.
func Core() gateway.Core {
	deployment := chain.Reference()
	fees, err := cctp.New(cctp.Config{}, deployment.Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		panic(err) // an empty configuration is valid
	}
	return gateway.Core{
		Deployment: deployment,
		Engine:     quote.NewEngine(deployment, fees, registry{}),
		Registries: func() []integrator.Health {
			return []integrator.Health{{Network: 1, State: rpc.NoEndpoint}, {Network: 369, State: rpc.Working}}
		},
		IssuerFees: fees.State,
	}
}

// Gateway serves all versions over Core, without a limit, a plan or a log.
func Gateway(t testing.TB) *gateway.Gateway {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	limiter, err := limit.New(t.Context(), limit.Config{}, log, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	modules := gateway.Modules(Core())
	life, err := lifecycle.New(lifecycle.Options{Versions: gateway.Names(modules), Usage: unused{}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.New(gateway.Config{LegacyHosts: []string{"legacy.example"}}, gateway.Parts{
		Modules: modules, Lifecycle: life, Limiter: limiter, Names: unused{}, Log: log,
	})
}

// unused counts no calls.
type unused struct{}

func (unused) Name(who caller.Identity) string     { return who.String() }
func (unused) LastDay(string) (clients, calls int) { return 0, 0 }
func (unused) Since() time.Time                    { return time.Time{} }
