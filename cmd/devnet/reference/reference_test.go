package reference

import (
	"context"
	"errors"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// TestNet starts the chains once, for everything that is wanted of them.
func TestNet(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it starts every chain; make test-all runs it")
	}
	// One port is taken, so that its chain must find another.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	first := taken.Addr().(*net.TCPAddr).Port
	n, err := Start(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Run("everything stands", func(t *testing.T) { wantEverything(t, n, first) })
	t.Run("who is not paid", func(t *testing.T) { wantNotPaid(t, n) })
	t.Run("issuer", func(t *testing.T) { wantIssuer(t, n) })
	t.Run("operate", func(t *testing.T) { wantOperated(t, n) })
}

func TestStartGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, 0); err == nil {
		t.Error("it started all the same")
	}
}

// wantEverything wants every contract that a quote can name, on a chain that says it is the one, and some of the chains
// at the ports that were asked for.
func wantEverything(t *testing.T, n *Net, first int) {
	d := chain.Reference()
	contractsOn := map[chain.ID][]common.Address{d.Settlement.ChainID: {d.Settlement.Receiver.Address}}
	for _, row := range d.Routers() {
		network := row.ChainID.Network()
		contractsOn[network] = append(contractsOn[network], row.Router.Address)
	}
	fixed := 0
	for i, network := range chain.Networks() {
		all := contractsOn[network.ID]
		if slices.Contains(chain.PoolChains, network.ID) {
			all = append(all, d.Registry(network.ID).Address)
		} else {
			all = append(all, network.CCTP.Transmitter.Address)
		}
		for _, token := range network.Tokens {
			if !token.Native() {
				all = append(all, token.Address.Address)
			}
			balance, err := n.Balance(t.Context(), token, User.Address, nil)
			if err != nil || balance.Cmp(units(plenty, token.Decimals)) != 0 {
				t.Errorf("the user has %s %s on %s (%v)", balance, token.Symbol, network.Name, err)
			}
		}
		address := n.Chain(network.ID).URL()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if u.Port() == strconv.Itoa(first+i) {
			fixed++
		}
		client, err := ethclient.DialContext(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if id, err := client.ChainID(t.Context()); err != nil || id.Uint64() != uint64(network.ID) {
			t.Errorf("the chain of %s says that it is %s (%v)", network.Name, id, err)
		}
		for _, address := range all {
			if code, err := client.CodeAt(t.Context(), address, nil); err != nil || len(code) == 0 {
				t.Errorf("nothing stands at %s on %s (%v)", address, network.Name, err)
			}
		}
	}
	if fixed == 0 {
		t.Errorf("no chain is where it was asked to be, from port %d on", first)
	}
}

func send(t *testing.T, n *Net, on chain.ID, to common.Address, data []byte) *types.Receipt {
	t.Helper()
	receipt, err := n.Chain(on).Send(t.Context(), User.Key, to, nil, data)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// swap pays a pool on the hub 100 USDC for the treasury, and tells it what the caller says.
func swap(t *testing.T, n *Net, dst int64, dstToken common.Address, integrator common.Address) (common.Hash, Order) {
	t.Helper()
	usdc := *usdcOn(chain.Hub)
	pool := n.Deployment.Target(&chain.Pair{Src: chain.Hub, SrcToken: usdc}).Address
	amount := units(100, usdc.Decimals)
	send(t, n, chain.Hub, usdc.Address.Address, call(contracts.TokenABI, "approve", pool, amount))
	receipt := send(t, n, chain.Hub, pool, call(contracts.PoolABI, "swap",
		big.NewInt(dst), amount, Treasury[:], uint8(0), dstToken, contracts.IntegratorID(integrator)))
	order, err := orderOf(t, n, chain.Hub, receipt)
	if err != nil {
		t.Fatal(err)
	}
	return receipt.TxHash, *order
}

// orderOf is the first order of a transaction, or why it cannot be read.
func orderOf(t *testing.T, n *Net, on chain.ID, receipt *types.Receipt) (*Order, error) {
	t.Helper()
	for _, log := range receipt.Logs {
		if order, err := n.Order(t.Context(), on, log); order != nil || err != nil {
			return order, err
		}
	}
	return nil, errors.New("there is no order")
}

// wantNotPaid wants nobody to be paid twice, nor for an integrator that is not active.
func wantNotPaid(t *testing.T, n *Net) {
	usdc := usdcOn(8453).Address.Address
	_, order := swap(t, n, 8453, usdc, common.Address{})
	if _, err := n.Settle(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	_, err := n.Settle(t.Context(), order)
	wantError(t, err, "already settled")
	for _, integrator := range []common.Address{Inactive.Wallet, User.Address} {
		_, order := swap(t, n, 8453, usdc, integrator)
		_, err := n.Settle(t.Context(), order)
		wantError(t, err, "is not active")
	}
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}

// wantOperated wants the operator to settle what it can, and to say what it cannot, without being asked.
func wantOperated(t *testing.T, n *Net) {
	reports := make(chan Report, 2)
	stopped, err := n.Operate(t.Context(), func(r Report) { reports <- r })
	if err != nil {
		t.Fatal(err)
	}
	defer stopped()
	lost, _ := swap(t, n, 370, common.Address{1}, common.Address{})
	r := <-reports
	if r.Tx != lost || r.Network != chain.Hub {
		t.Errorf("got %+v, want a report on %s", r, lost)
	}
	wantError(t, r.Err, "no pool pays")
	for range 4 {
		if err := n.Chain(chain.Hub).Seal(0); err != nil { // its clock is ahead of the others now
			t.Fatal(err)
		}
	}
	optimism := *usdcOn(10)
	paid, _ := swap(t, n, 10, optimism.Address.Address, common.Address{})
	r = <-reports
	if r.Tx != paid || r.Err != nil || r.Payout.Mint == nil {
		t.Fatalf("got %+v, want a payout on chain 10", r)
	}
	var times []uint64
	for _, step := range []struct {
		on    chain.ID
		block *big.Int
	}{{chain.Hub, new(big.Int).SetUint64(r.Payout.Block)}, {8453, r.Payout.Receipt.BlockNumber}, {10, r.Payout.Mint.BlockNumber}} {
		header, err := n.Chain(step.on).Client().HeaderByNumber(t.Context(), step.block)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, header.Time)
	}
	if !slices.IsSorted(times) {
		t.Errorf("source, settlement and mint are at %v, want one after the other", times)
	}
	if got, err := n.Balance(t.Context(), optimism, Treasury, nil); err != nil || got.Int64() != 99_500_000 {
		t.Errorf("the recipient has %s (%v), want 99500000", got, err)
	}
}
