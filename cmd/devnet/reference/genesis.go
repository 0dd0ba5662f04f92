package reference

import (
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// Transmitter is the issuer's MessageTransmitterV2 where it really is, on every chain that has no pools.
var Transmitter = common.HexToAddress("0x81D40F21F12A8F0E3252Bccb954D722d4c464B64")

// plenty is what everyone starts with who starts with anything: ten million of a token, or of a chain's coin.
const plenty = 10_000_000

// genesis is a network at block zero: every contract of the deployment that stands there, configured.
func genesis(d *chain.Deployment, network chain.Network) types.GenesisAlloc {
	alloc := types.GenesisAlloc{}
	for _, rich := range []Account{User, Operator, Attester} {
		alloc[rich.Address] = types.Account{Balance: units(plenty, 18)}
	}
	for _, token := range network.Tokens {
		if !token.Native() {
			alloc[token.Address.Address] = ledger(d, token)
		}
	}
	var shield common.Address // RAILGUN's contract, where it really is
	if network.Railgun != nil {
		shield = network.Railgun.Proxy.Address
		alloc[shield] = contracts.Railgun(RailgunTreasury)
	}
	for _, row := range routers(d, network.ID) {
		token := row.Token.Address.Address
		if !pooled(network.ID) {
			alloc[row.Router.Address] = contracts.TokenMessenger(network.CCTP.Domain, token, d.Settlement.Domain)
			alloc[Transmitter] = contracts.Transmitter(Attester.Address, token, network.CCTP.Domain)
			continue
		}
		pool := contracts.Pool(Operator.Address, token, Treasury, shield)
		if network.ID == d.Settlement.ChainID {
			messenger := network.CCTP.Messenger.Address
			pool = contracts.SettlementPool(Operator.Address, token, Treasury, shield, messenger)
		}
		if row.Token.Native() {
			pool.Balance = units(plenty, 18)
		}
		alloc[row.Router.Address] = pool
	}
	if pooled(network.ID) {
		alloc[d.Registry(network.ID).Address] = contracts.Registry(Operator.Address, Integrator, Inactive)
	}
	if network.ID == d.Settlement.ChainID {
		usdc := tokenOf(network, chain.USDC).Address.Address
		alloc[d.Settlement.Receiver.Address] = contracts.Receiver(Attester.Address, usdc, network.CCTP.Domain)
		alloc[network.CCTP.Messenger.Address] = contracts.TokenMessenger(network.CCTP.Domain, usdc, remoteDomains()...)
	}
	return alloc
}

// ledger is a token as its issuer made it. USDC comes in from other chains through the receiver, or through the
// issuer's transmitter.
func ledger(d *chain.Deployment, token chain.Token) types.Account {
	if token.Symbol == chain.USDT && token.ChainID == 1 {
		return contracts.TetherLikeToken(Operator.Address, token.Symbol, token.Decimals)
	}
	var minters []common.Address
	switch {
	case token.Symbol != chain.USDC:
	case token.ChainID == d.Settlement.ChainID:
		minters = append(minters, d.Settlement.Receiver.Address)
	case !pooled(token.ChainID):
		minters = append(minters, Transmitter)
	}
	return contracts.Token(Operator.Address, token.Symbol, token.Decimals, minters...)
}

// remoteDomains are those of the chains that USDC goes on to from the settlement chain.
func remoteDomains() (domains []uint32) {
	for _, n := range chain.Networks() {
		if n.CCTP != nil && !pooled(n.ID) {
			domains = append(domains, n.CCTP.Domain)
		}
	}
	return domains
}

// routers are the rows of the deployment whose contracts stand on a network.
func routers(d *chain.Deployment, network chain.ID) (rows []chain.Router) {
	for _, row := range d.Routers() {
		if row.ChainID.Network() == network {
			rows = append(rows, row)
		}
	}
	return rows
}

// pooled tells whether a network has pools; the others have the issuer's messenger.
func pooled(network chain.ID) bool { return slices.Contains(chain.PoolChains, network) }

func tokenOf(network chain.Network, symbol string) chain.Token {
	i := slices.IndexFunc(network.Tokens, func(t chain.Token) bool { return t.Symbol == symbol })
	if i < 0 {
		panic("the network table has no " + symbol + " on " + network.Name)
	}
	return network.Tokens[i]
}

// units is so many whole tokens in their smallest unit.
func units(n int64, decimals uint8) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return unit.Mul(unit, big.NewInt(n))
}
