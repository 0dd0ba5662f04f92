package status

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// The chains of the tests. Ether goes from robinhood to the hub and back; USDC is
// burnt on optimism for the hub, and goes from the hub over base to optimism.
const (
	hub       chain.ID = 369
	robinhood chain.ID = 4663
	base      chain.ID = 8453
	optimism  chain.ID = 10
)

var (
	recipient = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	treasury  = common.HexToAddress("0x7EA5000000000000000000000000000000000001")
	ether     = big.NewInt(params.Ether)
	plenty    = new(big.Int).Mul(big.NewInt(1_000_000), ether)
	hundred   = big.NewInt(100_000_000) // USDC
	attester  = mustKey()
)

func mustKey() *ecdsa.PrivateKey {
	key, err := crypto.GenerateKey()
	if err != nil {
		panic(err)
	}
	return key
}

// world is the reference deployment on four real chains. Tests share it: each
// makes transactions of its own.
type world struct {
	t          testing.TB
	deployment *chain.Deployment
	chains     map[chain.ID]*node.EVM
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, deployment: chain.Reference(), chains: map[chain.ID]*node.EVM{}}
	w.start(hub, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{
			w.token(hub, chain.WETH): contracts.Token(operator, chain.WETH, 18),
			w.token(hub, chain.USDC): contracts.Token(operator, chain.USDC, 6),
			w.pool(hub, chain.WETH):  contracts.Pool(operator, w.token(hub, chain.WETH), treasury, common.Address{}),
			w.pool(hub, chain.USDC):  contracts.Pool(operator, w.token(hub, chain.USDC), treasury, common.Address{}),
		}
	})
	w.start(robinhood, func(operator common.Address) types.GenesisAlloc {
		pool := contracts.Pool(operator, contracts.Native, treasury, common.Address{})
		pool.Balance = plenty
		return types.GenesisAlloc{
			w.pool(robinhood, chain.ETH): pool,
			manyAt:                       {Code: repeater(w.pool(robinhood, chain.ETH), MostSwaps+1), Balance: new(big.Int)},
		}
	})
	w.start(base, func(operator common.Address) types.GenesisAlloc {
		usdc, messenger := w.token(base, chain.USDC), cctpOf(base).Messenger.Address
		return types.GenesisAlloc{
			usdc:                     contracts.Token(operator, chain.USDC, 6),
			w.pool(base, chain.USDC): contracts.SettlementPool(operator, usdc, treasury, common.Address{}, messenger),
			messenger:                contracts.TokenMessenger(cctpOf(base).Domain, usdc, cctpOf(optimism).Domain),
		}
	})
	w.start(optimism, func(operator common.Address) types.GenesisAlloc {
		usdc, issuer := w.token(optimism, chain.USDC), cctpOf(optimism)
		return types.GenesisAlloc{
			usdc:                       contracts.Token(operator, chain.USDC, 6, issuer.Transmitter.Address),
			issuer.Messenger.Address:   contracts.TokenMessenger(issuer.Domain, usdc, cctpOf(base).Domain),
			issuer.Transmitter.Address: contracts.Transmitter(crypto.PubkeyToAddress(attester.PublicKey), usdc, issuer.Domain),
		}
	})
	w.mint(hub, chain.WETH, w.pool(hub, chain.WETH))
	w.mint(hub, chain.USDC, w.pool(hub, chain.USDC))
	w.mint(hub, chain.USDC, w.chains[hub].Operator)
	w.mint(base, chain.USDC, w.pool(base, chain.USDC))
	w.mint(optimism, chain.USDC, w.chains[optimism].Operator)
	w.send(hub, w.token(hub, chain.USDC), contracts.TokenABI, "approve", w.pool(hub, chain.USDC), plenty)
	w.send(optimism, w.token(optimism, chain.USDC), contracts.TokenABI, "approve", cctpOf(optimism).Messenger.Address, plenty)
	return w
}

func (w *world) start(id chain.ID, alloc func(common.Address) types.GenesisAlloc) {
	w.chains[id] = node.NewEVM(w.t, uint64(id), alloc)
}

func cctpOf(id chain.ID) *chain.CCTP {
	network, _ := chain.FindNetwork(id)
	return network.CCTP
}

func (w *world) token(id chain.ID, symbol string) common.Address {
	t, err := chain.FindToken(id, symbol)
	if err != nil {
		w.t.Fatal(err)
	}
	return t.Address.Address
}

func (w *world) pool(id chain.ID, symbol string) common.Address {
	for _, r := range w.deployment.Routers() {
		if r.ChainID == id && r.Token.Symbol == symbol {
			return r.Router.Address
		}
	}
	w.t.Fatalf("no pool of %s on %s", symbol, id)
	return common.Address{}
}

func (w *world) pack(of abi.ABI, method string, args ...any) []byte {
	w.t.Helper()
	data, err := of.Pack(method, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

func (w *world) send(id chain.ID, to common.Address, of abi.ABI, method string, args ...any) *types.Receipt {
	w.t.Helper()
	return w.chains[id].Send(to, w.pack(of, method, args...))
}

func (w *world) mint(id chain.ID, symbol string, to common.Address) {
	w.t.Helper()
	w.send(id, w.token(id, symbol), contracts.TokenABI, "mint", to, plenty)
}

// etherSwap is the call that swaps ether of robinhood for WETH on the hub.
func (w *world) etherSwap(amount int64) []byte {
	return w.pack(contracts.PoolABI, "swap", big.NewInt(int64(hub)), big.NewInt(amount), recipient[:], uint8(0), w.token(hub, chain.WETH), [32]byte{31: 7})
}

// swapEther swaps ether of robinhood for WETH on the hub.
func (w *world) swapEther(amount int64) *types.Receipt {
	w.t.Helper()
	hash := w.chains[robinhood].Submit(w.pool(robinhood, chain.ETH), big.NewInt(amount), w.etherSwap(amount))
	w.chains[robinhood].Commit()
	return w.chains[robinhood].Receipt(hash)
}

// nonceOf is the nonce of the n-th Swap event of a transaction.
func (w *world) nonceOf(receipt *types.Receipt, n int) *big.Int {
	w.t.Helper()
	for _, log := range receipt.Logs {
		if log.Topics[0] != contracts.PoolABI.Events["Swap"].ID {
			continue
		}
		if n--; n < 0 {
			return log.Topics[1].Big()
		}
	}
	w.t.Fatal("the transaction has fewer swaps")
	return nil
}

// settlement pays a swap of ether on robinhood out.
func (w *world) settlement(nonce *big.Int, swapped, amount int64, to common.Address) contracts.Settlement {
	return contracts.Settlement{
		Source: big.NewInt(int64(robinhood)), SrcPool: w.pool(robinhood, chain.ETH), Nonce: nonce, Token: w.token(hub, chain.WETH),
		Amount: big.NewInt(amount), Recipient: to[:], ProtocolFee: big.NewInt(swapped - amount), IntegratorFee: new(big.Int),
	}
}

func (w *world) settleEther(nonce *big.Int, swapped, amount int64) *types.Receipt {
	w.t.Helper()
	return w.send(hub, w.pool(hub, chain.WETH), contracts.PoolABI, "settle", w.settlement(nonce, swapped, amount, recipient))
}

// issuer is the issuer's service, answering from memory.
type issuer struct {
	mu      sync.Mutex
	answers map[common.Hash][]cctp.Message
	err     error
	asked   int
}

func (i *issuer) Configured() bool { return true }

func (i *issuer) Messages(_ context.Context, _ uint32, tx common.Hash) ([]cctp.Message, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	return i.answers[tx], i.err
}

func (i *issuer) say(tx common.Hash, messages ...cctp.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[tx] = messages
}

// attest signs the burns of a transaction as the issuer does, each with a nonce
// that ends in its number.
func (w *world) attest(receipt *types.Receipt) (messages [][]byte, signatures [][]byte) {
	w.t.Helper()
	for _, log := range receipt.Logs {
		if log.Topics[0] != contracts.TokenMessengerABI.Events["MessageSent"].ID {
			continue
		}
		fields, err := contracts.TokenMessengerABI.Unpack("MessageSent", log.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		message := bytes.Clone(fields[0].([]byte))
		copy(message[12:], crypto.Keccak256(log.TxHash[:], []byte{byte(log.Index)}))
		binary.BigEndian.PutUint32(message[144:], 1000)
		signature, err := crypto.Sign(crypto.Keccak256(message), attester)
		if err != nil {
			w.t.Fatal(err)
		}
		signature[64] += 27
		messages, signatures = append(messages, message), append(signatures, signature)
	}
	return messages, signatures
}

// rig is a tracker of the world through fronts. The test moves the clock of what it remembers.
type rig struct {
	*world
	*Tracker
	t      testing.TB
	issuer *issuer
	fronts map[chain.ID][]*node.Front

	mu   sync.Mutex
	skip time.Duration
}

// patient has no deadline that a slow machine could meet.
var patient = rpc.Limits{Try: time.Minute, Total: time.Minute, Calls: 8, Waiting: 64}

// newRig puts so many fronts before each chain. edit changes the deployment.
func (w *world) newRig(t testing.TB, fronts map[chain.ID]int, edit ...string) *rig {
	t.Helper()
	g := &rig{world: w, t: t, issuer: &issuer{answers: map[common.Hash][]cctp.Message{}}, fronts: map[chain.ID][]*node.Front{}}
	cfg := rpc.Config{}
	for id, n := range fronts {
		for range n {
			front := node.NewFront(t, w.chains[id])
			g.fronts[id] = append(g.fronts[id], front)
			cfg[id] = append(cfg[id], rpc.SecretURL(front.SecretURL()))
		}
	}
	client, err := rpc.New(cfg, rpc.Options{Limits: map[rpc.Lane]rpc.Limits{rpc.TxLookups: patient, rpc.Tracking: patient}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	g.use(New(editDeployment(t, edit...), client, g.issuer, Options{}))
	return g
}

// use replaces the tracker by another, which has as much time as a slow machine
// needs.
func (g *rig) use(t *Tracker) {
	t.patience = time.Minute
	t.answers = cache.New[entry](cacheSize, g.later, "looking a swap up", nil)
	g.Tracker = t
}

var everyChain = map[chain.ID]int{hub: 1, robinhood: 1, base: 1, optimism: 1}

// later is the clock of what is remembered. The chains have the real one.
func (g *rig) later() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Add(g.skip)
}

// pass lets what is kept for a while expire.
func (g *rig) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.skip += d
}

// look asks for the status, after everything that is not final has expired.
func (g *rig) look(src chain.ID, tx common.Hash) *Status {
	g.t.Helper()
	g.pass(10 * time.Minute)
	s, err := g.Status(context.Background(), src, tx)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *rig) want(src chain.ID, tx common.Hash, state State, final bool) *Status {
	g.t.Helper()
	s := g.look(src, tx)
	if s.State != state || s.Final != final {
		g.t.Fatalf("got %s, final %v, want %s, final %v: %+v", s.State, s.Final, state, final, s)
	}
	if (s.Next == 0) != final || s.Next > 0 && s.Next < shortestNext {
		g.t.Errorf("%s: ask again in %v", s.State, s.Next)
	}
	return s
}

// wantFault wants the status to be refused with a sentence that holds a text.
func (g *rig) wantFault(src chain.ID, tx common.Hash, code fault.Code, says string) *fault.Error {
	g.t.Helper()
	g.pass(10 * time.Minute)
	s, err := g.Status(context.Background(), src, tx)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || !strings.Contains(f.Message, says) {
		g.t.Fatalf("got %+v, %v, want %s saying %q", s, err, code, says)
	}
	if strings.Contains(f.Message, node.Secret) {
		g.t.Errorf("the sentence tells the address of an endpoint: %s", f.Message)
	}
	return f
}
