package reference

import (
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// plenty is what everyone starts with who starts with anything: ten million of a token, or of a chain's coin.
const plenty = 10_000_000

// genesis is a network at block zero: every contract of the deployment that stands there, configured.
func genesis(d *chain.Deployment, network chain.Network) types.GenesisAlloc {
	alloc := types.GenesisAlloc{}
	for _, rich := range []Account{User, Operator, Attester} {
		alloc[rich.Address] = types.Account{Balance: units(plenty, chain.CoinDecimals)}
	}
	for _, token := range network.Tokens {
		if !token.Native() {
			alloc[token.Address.Address] = ledger(d, network, token)
		}
	}
	var shield common.Address // RAILGUN's contract, where it really is
	if network.Railgun != nil {
		shield = network.Railgun.Proxy.Address
		alloc[shield] = contracts.Railgun(RailgunTreasury)
	}
	for _, row := range d.Routers() {
		if row.ChainID.Network() != network.ID {
			continue
		}
		token := row.Token.Address.Address
		if !pooled(network.ID) {
			issuer := network.CCTP
			alloc[row.Router.Address] = contracts.TokenMessenger(issuer.Domain, token, d.Settlement.Domain)
			alloc[issuer.Transmitter.Address] = contracts.Transmitter(Attester.Address, token, issuer.Domain)
			continue
		}
		pool := contracts.Pool(Operator.Address, token, Treasury, shield)
		if network.ID == d.Settlement.ChainID {
			messenger := network.CCTP.Messenger.Address
			pool = contracts.SettlementPool(Operator.Address, token, Treasury, shield, messenger)
		}
		if row.Token.Native() {
			pool.Balance = units(plenty, chain.CoinDecimals)
		} else {
			contracts.Give(alloc[token], row.Router.Address, units(plenty, row.Token.Decimals))
		}
		alloc[row.Router.Address] = pool
	}
	if pooled(network.ID) {
		alloc[d.Registry(network.ID).Address] = contracts.Registry(Operator.Address, Integrator, Inactive)
	}
	if network.ID == d.Settlement.ChainID {
		usdc := usdcOn(network.ID).Address.Address
		alloc[d.Settlement.Receiver.Address] = contracts.Receiver(Attester.Address, usdc, network.CCTP.Domain)
		var onward []uint32 // the domains of chains without pools
		for _, other := range chain.Networks() {
			if other.CCTP != nil && !pooled(other.ID) {
				onward = append(onward, other.CCTP.Domain)
			}
		}
		alloc[network.CCTP.Messenger.Address] = contracts.TokenMessenger(network.CCTP.Domain, usdc, onward...)
	}
	return alloc
}

// ledger is a token as its issuer made it, of which the user has plenty. USDC comes in from other chains through the
// receiver, or through the issuer's transmitter.
func ledger(d *chain.Deployment, network chain.Network, token chain.Token) types.Account {
	var minters []common.Address
	switch {
	case token.Symbol != chain.USDC:
	case token.ChainID == d.Settlement.ChainID:
		minters = append(minters, d.Settlement.Receiver.Address)
	case !pooled(token.ChainID):
		minters = append(minters, network.CCTP.Transmitter.Address)
	}
	account := contracts.Token(Operator.Address, token.Symbol, token.Decimals, minters...)
	if token.Symbol == chain.USDT && token.ChainID == 1 {
		account = contracts.TetherLikeToken(Operator.Address, token.Symbol, token.Decimals)
	}
	contracts.Give(account, User.Address, units(plenty, token.Decimals))
	return account
}

// pooled tells whether a network has pools; the others have the issuer's messenger.
func pooled(network chain.ID) bool { return slices.Contains(chain.PoolChains, network) }

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
