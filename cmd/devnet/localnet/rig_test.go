package localnet

import (
	"crypto/ecdsa"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// The people of these tests. Those with a key have ether; the others have nothing.
var (
	operatorKey, operator = person("operator")
	userKey, user         = person("user")
	attesterKey, attester = person("attester")

	treasury   = common.HexToAddress("0x7EA5000000000000000000000000000000000001")
	recipient  = common.HexToAddress("0x4EC1000000000000000000000000000000000002")
	integrator = common.HexToAddress("0x17E6000000000000000000000000000000000003")

	shieldTreasury = common.HexToAddress("0x7EA5000000000000000000000000000000000004")
)

// The domains of the issuer: burns come from the source, are settled in the middle, and go on to the remote one. One
// chain stands for all of them.
const (
	sourceDomain     = 0
	settlementDomain = 6
	remoteDomain     = 7
)

// Where the contracts stand.
var (
	registry       = contract{contracts.RegistryABI, common.HexToAddress("0x1000")}
	usdc           = contract{contracts.TokenABI, common.HexToAddress("0x2000")}
	usdt           = contract{contracts.TetherLikeTokenABI, common.HexToAddress("0x2001")}
	settlementUSDC = contract{contracts.TokenABI, common.HexToAddress("0x2006")}
	remoteUSDC     = contract{contracts.TokenABI, common.HexToAddress("0x2007")}
	railgun        = contract{contracts.RailgunABI, common.HexToAddress("0x3000")}
	usdcPool       = contract{contracts.PoolABI, common.HexToAddress("0x4000")}
	ethPool        = contract{contracts.PoolABI, common.HexToAddress("0x4002")}
	settlementPool = contract{contracts.PoolABI, common.HexToAddress("0x4006")}
	messenger      = contract{contracts.TokenMessengerABI, common.HexToAddress("0x5000")}
	homeMessenger  = contract{contracts.TokenMessengerABI, common.HexToAddress("0x5006")}
	receiver       = contract{contracts.ReceiverABI, common.HexToAddress("0x6000")}
	transmitter    = contract{contracts.TransmitterABI, common.HexToAddress("0x7000")}

	dstToken = common.HexToAddress("0xd57d57d57d57d57d57d57d57d57d57d57d57d57d")
)

// Two integrators are in the registry from the start.
var (
	listed = contracts.Integrator{
		Wallet: common.HexToAddress("0xabcd00000000000000000000000000000000ef01"),
		FeeBPS: 258,
		Active: true,
	}
	resting = contracts.Integrator{
		Wallet: common.HexToAddress("0xabcd00000000000000000000000000000000ef02"),
		FeeBPS: 30,
	}
)

func person(name string) (*ecdsa.PrivateKey, common.Address) {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return key, crypto.PubkeyToAddress(key.PublicKey)
}

// A contract is where a reference contract stands in a test.
type contract struct {
	abi.ABI
	at common.Address
}

func (c contract) call(t *testing.T, method string, args ...any) []byte {
	t.Helper()
	data, err := c.Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A testChain is a chain that ends its test when something unexpected happens on it.
type testChain struct {
	*Chain
	t *testing.T
}

// start runs a chain with every contract, and what else the test needs.
func start(t *testing.T, more types.GenesisAlloc) testChain {
	t.Helper()
	alloc := types.GenesisAlloc{
		registry.at:       contracts.Registry(operator, listed, resting),
		usdc.at:           contracts.Token(operator, "USDC", 6),
		usdt.at:           contracts.TetherLikeToken(operator, "USDT", 6),
		settlementUSDC.at: contracts.Token(operator, "USDC", 6, receiver.at),
		remoteUSDC.at:     contracts.Token(operator, "USDC", 6, transmitter.at),
		railgun.at:        contracts.Railgun(shieldTreasury),
		usdcPool.at:       contracts.Pool(operator, usdc.at, treasury, railgun.at),
		ethPool.at:        contracts.Pool(operator, contracts.Native, treasury, common.Address{}),
		settlementPool.at: contracts.SettlementPool(operator, usdc.at, treasury, railgun.at, homeMessenger.at),
		messenger.at:      contracts.TokenMessenger(sourceDomain, usdc.at, settlementDomain),
		homeMessenger.at:  contracts.TokenMessenger(settlementDomain, usdc.at, remoteDomain),
		receiver.at:       contracts.Receiver(attester, settlementUSDC.at, settlementDomain),
		transmitter.at:    contracts.Transmitter(attester, remoteUSDC.at, remoteDomain),
	}
	for _, rich := range []common.Address{operator, user, attester} {
		alloc[rich] = types.Account{Balance: ether(1000)}
	}
	maps.Copy(alloc, more)
	chain, err := Start(Spec{ID: 1337, Alloc: alloc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chain.Close(); err != nil {
			t.Error(err)
		}
	})
	return testChain{chain, t}
}

func (c testChain) do(key *ecdsa.PrivateKey, to contract, method string, args ...any) *types.Receipt {
	c.t.Helper()
	receipt, err := c.Send(c.t.Context(), key, to.at, nil, to.call(c.t, method, args...))
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return receipt
}

// refuses wants a call to revert for the given reason.
func (c testChain) refuses(reason string, key *ecdsa.PrivateKey, to contract, method string, args ...any) {
	c.t.Helper()
	c.refusesCall(reason, key, nil, to, to.call(c.t, method, args...))
}

func (c testChain) refusesCall(reason string, key *ecdsa.PrivateKey, value *big.Int, to contract, data []byte) {
	c.t.Helper()
	_, err := c.Send(c.t.Context(), key, to.at, value, data)
	if err == nil || !strings.HasSuffix(err.Error(), "execution reverted: "+reason) {
		c.t.Errorf("got %v, want execution reverted: %s", err, reason)
	}
}

// read gives the one value, or the list of values, that a view returns.
func (c testChain) read(from contract, method string, args ...any) any {
	c.t.Helper()
	question := ethereum.CallMsg{To: &from.at, Data: from.call(c.t, method, args...)}
	answer, err := c.Client().CallContract(c.t.Context(), question, nil)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	values, err := from.Unpack(method, answer)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// balances wants each holder to have so much of the token.
func (c testChain) balances(token contract, want map[common.Address]int64) {
	c.t.Helper()
	for holder, amount := range want {
		got := c.read(token, "balanceOf", holder).(*big.Int)
		if got.Cmp(big.NewInt(amount)) != 0 {
			c.t.Errorf("balance of %s: got %s, want %d", holder, got, amount)
		}
	}
}

// event gives the fields, by name, of the one event of that name that the contract emitted.
func event(t *testing.T, receipt *types.Receipt, from contract, name string) map[string]any {
	t.Helper()
	description := from.Events[name]
	var found []map[string]any
	for _, log := range receipt.Logs {
		if log.Address != from.at || log.Topics[0] != description.ID {
			continue
		}
		fields := make(map[string]any)
		if err := from.UnpackIntoMap(fields, name, log.Data); err != nil {
			t.Fatal(err)
		}
		var indexed abi.Arguments
		for _, input := range description.Inputs {
			if input.Indexed {
				indexed = append(indexed, input)
			}
		}
		if err := abi.ParseTopicsIntoMap(fields, indexed, log.Topics[1:]); err != nil {
			t.Fatal(err)
		}
		found = append(found, fields)
	}
	if len(found) != 1 {
		t.Fatalf("got %d events %s, want one", len(found), name)
	}
	return found[0]
}

// same compares what a contract said with what it should have said, field by field, as they print: equal numbers may
// have different types.
func same(t *testing.T, got, want map[string]any) {
	t.Helper()
	for name := range want {
		if got, want := fmt.Sprint(got[name]), fmt.Sprint(want[name]); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d fields, want %d: %v", len(got), len(want), got)
	}
}

func ether(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }
