package reference

import (
	"crypto/ecdsa"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// An Account can sign. Its key is made from a published phrase, so whatever it holds on a real chain belongs to anyone.
type Account struct {
	Key     *ecdsa.PrivateKey
	Address common.Address
}

func account(name string) Account {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("reference deployment: " + name)))
	if err != nil {
		panic("the key of the " + name + ": " + err.Error())
	}
	return Account{key, crypto.PubkeyToAddress(key.PublicKey)}
}

// Those who sign.
var (
	User     = account("user")     // swaps; has every token there is
	Operator = account("operator") // settles, delivers burns, and issues every token
	Attester = account("attester") // the issuer of USDC, who signs burns and sends nothing
)

// Those who are only paid.
var (
	Treasury        = common.HexToAddress("0x7EA5000000000000000000000000000000000001") // the protocol's fees
	RailgunTreasury = common.HexToAddress("0x7EA5000000000000000000000000000000000002") // RAILGUN's shielding fees
)

// Integrator is registered and active on every chain that has a registry.
var Integrator = contracts.Integrator{
	Wallet: common.HexToAddress("0x17E6000000000000000000000000000000000003"),
	FeeBPS: 25,
	Active: true,
}

// Inactive is registered on every chain that has a registry, and not active on any.
var Inactive = contracts.Integrator{
	Wallet: common.HexToAddress("0x17E6000000000000000000000000000000000004"),
	FeeBPS: 25,
}

// A private recipient to shield to, and the key that opens what it is sent.
const PrivateRecipient = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s" +
	"860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"

var PrivateViewingKey = [32]byte(common.FromHex("0x1ca1e63cc45ca8fd705fd7438b6a8869b9aaa7b2e333756f2768482f6b90ea10"))

// plenty is what everyone starts with who starts with anything: ten million of a token, or of a chain's coin.
const plenty = 10_000_000

// genesis is a network at block zero: every contract of the deployment that stands there, configured.
func genesis(d *chain.Deployment, network chain.Network) types.GenesisAlloc {
	alloc := types.GenesisAlloc{}
	for _, rich := range []Account{User, Operator} {
		alloc[rich.Address] = types.Account{Balance: units(plenty, chain.CoinDecimals)}
	}
	minters := []common.Address{d.Settlement.Receiver.Address}
	var messenger common.Address // of the issuer, where it really is; zero for none
	if issuer := network.CCTP; issuer != nil {
		usdc := usdcOn(network.ID).Address.Address
		messenger = issuer.Messenger.Address
		alloc[messenger] = contracts.TokenMessenger(issuer.Domain, usdc, otherDomains(issuer.Domain)...)
		alloc[issuer.Transmitter.Address] = contracts.Transmitter(Attester.Address, usdc, issuer.Domain)
		minters = append(minters, issuer.Transmitter.Address)
	}
	var shield common.Address // RAILGUN's contract, the same
	if network.Railgun != nil {
		shield = network.Railgun.Proxy.Address
		alloc[shield] = contracts.Railgun(RailgunTreasury)
	}
	for _, token := range network.Tokens {
		if token.Native() {
			continue
		}
		ledger := contracts.Token(Operator.Address, token.Symbol, token.Decimals, minters...)
		if token.ResetsAllowance() {
			ledger = contracts.TetherLikeToken(Operator.Address, token.Symbol, token.Decimals)
		}
		contracts.Give(ledger, User.Address, units(plenty, token.Decimals))
		alloc[token.Address.Address] = ledger
	}
	if network.ID == d.Settlement.ChainID {
		usdc := usdcOn(network.ID).Address.Address
		alloc[d.Settlement.Receiver.Address] = contracts.Receiver(Attester.Address, usdc, network.CCTP.Domain)
	}
	if !slices.Contains(chain.PoolChains, network.ID) {
		return alloc // its router is the issuer's messenger
	}
	alloc[d.Registry(network.ID).Address] = contracts.Registry(Operator.Address, Integrator, Inactive)
	for _, row := range d.Routers() {
		if row.ChainID.Network() != network.ID {
			continue
		}
		token := row.Token.Address.Address
		pool := contracts.SettlementPool(Operator.Address, token, Treasury, shield, messenger)
		if row.Token.Native() {
			pool.Balance = units(plenty, chain.CoinDecimals)
		} else {
			contracts.Give(alloc[token], row.Router.Address, units(plenty, row.Token.Decimals))
		}
		alloc[row.Router.Address] = pool
	}
	return alloc
}

// otherDomains are those that the issuer can mint in what is burnt in one.
func otherDomains(own uint32) (others []uint32) {
	for _, network := range chain.Networks() {
		if network.CCTP != nil && network.CCTP.Domain != own {
			others = append(others, network.CCTP.Domain)
		}
	}
	return others
}

// usdcOn is USDC on a network of the issuer, or on the hub.
func usdcOn(network chain.ID) *chain.Token {
	token, err := chain.FindToken(network, chain.USDC)
	if err != nil {
		panic(err)
	}
	return token
}

// units is so many whole tokens in their smallest unit.
func units(n int64, decimals uint8) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return unit.Mul(unit, big.NewInt(n))
}
