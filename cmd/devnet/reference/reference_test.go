package reference

import (
	"context"
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
	t.Run("ports", func(t *testing.T) { wantPorts(t, n, first) })
	t.Run("everything stands", func(t *testing.T) { wantEverything(t, n) })
	t.Run("nobody is paid twice", func(t *testing.T) { wantPaidOnce(t, n) })
	t.Run("issuer", func(t *testing.T) { wantIssuer(t, n) })
	t.Run("operate", func(t *testing.T) { wantOperated(t, n) })
}

// wantPorts wants the chains where they were asked to be, as far as there was room.
func wantPorts(t *testing.T, n *Net, first int) {
	fixed := 0
	for i, network := range chain.Networks() {
		u, err := url.Parse(n.Chain(network.ID).URL())
		if err != nil {
			t.Fatal(err)
		}
		if u.Port() == strconv.Itoa(first+i) {
			fixed++
		}
	}
	if fixed == 0 {
		t.Errorf("no chain is where it was asked to be, from port %d on", first)
	}
}

// wantEverything wants every contract that a quote can name to be there, on a chain that says it is the one.
func wantEverything(t *testing.T, n *Net) {
	d := chain.Reference()
	stands := map[chain.ID][]common.Address{d.Settlement.ChainID: {d.Settlement.Receiver.Address}}
	for _, row := range d.Routers() {
		stands[row.ChainID.Network()] = append(stands[row.ChainID.Network()], row.Router.Address)
	}
	for _, id := range chain.PoolChains {
		stands[id] = append(stands[id], d.Registry(id).Address)
	}
	for _, network := range chain.Networks() {
		if !pooled(network.ID) {
			stands[network.ID] = append(stands[network.ID], Transmitter)
		}
	}
	for _, network := range chain.Networks() {
		for _, token := range network.Tokens {
			if !token.Native() {
				stands[network.ID] = append(stands[network.ID], token.Address.Address)
			}
			if balance, err := n.Balance(t.Context(), token, User.Address, nil); err != nil || balance.Cmp(units(plenty, token.Decimals)) != 0 {
				t.Errorf("the user has %s %s on %s (%v)", balance, token.Symbol, network.Name, err)
			}
		}
		client, err := ethclient.DialContext(t.Context(), n.Chain(network.ID).URL())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if id, err := client.ChainID(t.Context()); err != nil || id.Uint64() != uint64(network.ID) {
			t.Errorf("the chain of %s says that it is %s (%v)", network.Name, id, err)
		}
		for _, address := range stands[network.ID] {
			if code, err := client.CodeAt(t.Context(), address, nil); err != nil || len(code) == 0 {
				t.Errorf("nothing stands at %s on %s (%v)", address, network.Name, err)
			}
		}
	}
}

func TestStartGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, 0); err == nil {
		t.Error("it started all the same")
	}
}

// swap pays a pool on the hub 100 USDC, and tells it what the caller says.
func swap(t *testing.T, n *Net, dst int64, dstToken common.Address) (common.Hash, []Order) {
	t.Helper()
	hub, _ := chain.FindNetwork(chain.Hub)
	usdc := tokenOf(hub, chain.USDC)
	pool := n.Deployment.Target(&chain.Pair{Src: chain.Hub, SrcToken: usdc}).Address
	amount := units(100, usdc.Decimals)
	if _, err := n.Chain(chain.Hub).Send(t.Context(), User.Key, usdc.Address.Address, nil, call(contracts.TokenABI, "approve", pool, amount)); err != nil {
		t.Fatal(err)
	}
	receipt, err := n.Chain(chain.Hub).Send(t.Context(), User.Key, pool, nil,
		call(contracts.PoolABI, "swap", big.NewInt(dst), amount, Treasury[:], uint8(0), dstToken, [32]byte{}))
	if err != nil {
		t.Fatal(err)
	}
	orders, err := n.Orders(t.Context(), chain.Hub, receipt)
	if err != nil || len(orders) != 1 {
		t.Fatalf("got %d orders and %v, want one", len(orders), err)
	}
	return receipt.TxHash, orders
}

func wantPaidOnce(t *testing.T, n *Net) {
	base, _ := chain.FindNetwork(8453)
	_, orders := swap(t, n, 8453, tokenOf(base, chain.USDC).Address.Address)
	if _, err := n.Settle(t.Context(), orders[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Settle(t.Context(), orders[0]); err == nil || !strings.Contains(err.Error(), "already settled") {
		t.Errorf("got %v, want that it is settled already", err)
	}
}

// wantOperated wants the operator to settle what it can, and to say what it cannot, without being asked.
func wantOperated(t *testing.T, n *Net) {
	reports := make(chan Report, 2)
	stopped, err := n.Operate(t.Context(), func(r Report) { reports <- r })
	if err != nil {
		t.Fatal(err)
	}
	lost, _ := swap(t, n, 370, common.Address{1})
	if r := <-reports; r.Tx != lost || r.Network != chain.Hub || r.Err == nil || !strings.Contains(r.Err.Error(), "no pool pays") {
		t.Errorf("got %+v, want that nobody pays on chain 370", r)
	}
	for range 4 {
		if err := n.Chain(chain.Hub).Tick(); err != nil { // its clock is ahead of the others now
			t.Fatal(err)
		}
	}
	optimism, _ := chain.FindNetwork(10)
	paid, _ := swap(t, n, 10, tokenOf(optimism, chain.USDC).Address.Address)
	r := <-reports
	if r.Tx != paid || r.Err != nil || r.Payout.Mint == nil {
		t.Fatalf("got %+v, want a payout on chain 10", r)
	}
	times := []uint64{blockTime(t, n, chain.Hub, paid), blockTime(t, n, 8453, r.Payout.Receipt.TxHash), blockTime(t, n, 10, r.Payout.Mint.TxHash)}
	if !slices.IsSorted(times) {
		t.Errorf("source, settlement and mint are at %v, want one after the other", times)
	}
	if got, err := n.Balance(t.Context(), tokenOf(optimism, chain.USDC), Treasury, nil); err != nil || got.Int64() != 99_500_000 {
		t.Errorf("the recipient has %s (%v), want 99500000", got, err)
	}
	stopped()
}

func blockTime(t *testing.T, n *Net, on chain.ID, tx common.Hash) uint64 {
	t.Helper()
	receipt, err := n.Chain(on).Client().TransactionReceipt(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	header, err := n.Chain(on).Client().HeaderByNumber(t.Context(), receipt.BlockNumber)
	if err != nil {
		t.Fatal(err)
	}
	return header.Time
}

func TestAttestRefuses(t *testing.T) {
	sent := contracts.TokenMessengerABI.Events["MessageSent"]
	log := func(topic common.Hash, message []byte) *types.Log {
		data, err := sent.Inputs.Pack(message)
		if err != nil {
			t.Fatal(err)
		}
		return &types.Log{Topics: []common.Hash{topic}, Data: data}
	}
	base, _ := chain.FindNetwork(8453)
	for name, log := range map[string]*types.Log{
		"nothing":        log(sent.ID, nil),
		"no whole burn":  log(sent.ID, make([]byte, burnSize-1)),
		"another event":  log(contracts.PoolABI.Events["Swap"].ID, make([]byte, burnSize)),
		"no message":     {Topics: []common.Hash{sent.ID}, Data: []byte{1}},
		"without topics": {Data: make([]byte, burnSize)},
	} {
		if _, err := attest(base.CCTP, log); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
	if _, err := attest(base.CCTP, log(sent.ID, make([]byte, burnSize))); err != nil {
		t.Error(err)
	}
}
