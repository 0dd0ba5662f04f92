package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
)

// Integrators of the tests: one in good standing, one switched off, one whose
// registry cannot be reached. All others are unknown.
var (
	partner  = common.HexToAddress("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
	inactive = common.HexToAddress("0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB")
	unknown  = common.HexToAddress("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb")
)

// registry is a registry that answers from memory; the real one is tested on
// a real chain in its own package.
type registry struct{}

func (registry) Lookup(_ context.Context, network chain.ID, id integrator.ID) (integrator.Partner, error) {
	switch wallet := common.BytesToAddress(id[:]); wallet {
	case partner:
		return integrator.Partner{ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: 25}, nil
	case inactive:
		return integrator.Partner{}, fault.New(fault.IntegratorInactive, "The integrator is registered on chain %s but not active", network)
	case unknown:
		return integrator.Partner{}, fault.New(fault.IntegratorUnregistered, "The integrator is not registered on chain %s", network)
	}
	e := fault.New(fault.IntegratorUnverified, "The integrator cannot be verified on chain %s now", network)
	e.RetryAfter = 5e9
	return integrator.Partner{}, e
}

func modules() []web.Module {
	deployment := chain.Reference()
	fees, err := cctp.New(cctp.Config{}, deployment.Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		panic(err)
	}
	return gateway.Modules(gateway.Core{
		Deployment: deployment,
		Engine:     quote.NewEngine(deployment, fees, registry{}),
		Registries: func() []integrator.Health {
			return []integrator.Health{{Network: 1, State: integrator.NoEndpoint}, {Network: 369, State: integrator.Working}}
		},
		IssuerFees: fees.State,
	})
}

// newGateway serves the real versions without a limit.
func newGateway(t testing.TB) *gateway.Gateway {
	t.Helper()
	return mount(t, gateway.Config{LegacyHosts: []string{"legacy.example"}}, limit.Config{}, modules(), io.Discard)
}

// mount puts a gateway together.
func mount(t testing.TB, cfg gateway.Config, budget limit.Config, modules []web.Module, logs io.Writer) *gateway.Gateway {
	t.Helper()
	log := slog.New(slog.NewJSONHandler(logs, nil))
	limiter, err := limit.New(t.Context(), budget, log, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	return gateway.New(cfg, gateway.Parts{Modules: modules, Limiter: limiter, Log: log})
}
