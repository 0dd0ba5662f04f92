package chain

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Network is a public chain.
type Network struct {
	ID   ID
	Name string
	// CCTP describes the chain in the issuer's burn-and-mint network, nil if it is not part of it.
	CCTP *CCTP
	// Tokens are the tokens of the supported pairs.
	Tokens []Token
}

// CCTP is what the issuer publishes about a chain.
type CCTP struct {
	Domain      uint32
	Messenger   Address // TokenMessengerV2
	Transmitter Address // MessageTransmitterV2, which takes the messages of other chains
	// FastFeeMilliBPS is the built-in fee for a fast transfer from there, in thousandths of a basis point.
	FastFeeMilliBPS uint32
}

// Token is one token on one network.
type Token struct {
	Symbol   string
	Address  Address
	Decimals uint8
	ChainID  ID // a network, never a virtual ID
}

// Native reports whether t is its chain's own coin, which needs no approval.
func (t Token) Native() bool { return t.Address == Native }

// ResetsAllowance reports whether t refuses to change an allowance that stands:
// it has to be set to zero first.
func (t Token) ResetsAllowance() bool { return t.Symbol == USDT && t.ChainID == 1 }

// The six tokens.
const (
	USDC = "USDC"
	USDT = "USDT"
	DAI  = "DAI"
	USD1 = "USD1"
	ETH  = "ETH"
	WETH = "WETH"
)

// networks are the 21 public chains.
var networks = []Network{
	{1, "Ethereum", cctp(0, 1_000), []Token{
		ether(1),
		token(1, WETH, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18),
		token(1, USDC, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6),
		token(1, USDT, "0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
		token(1, DAI, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18),
	}},
	{10, "OP Mainnet", cctp(2, 1_300), []Token{token(10, USDC, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6)}},
	{25, "Cronos", cctp(32, 0), []Token{token(25, USDC, "0x3D7F2C478aAfdB65542BCB44bCeeC05849999d2D", 6)}},
	{56, "BNB Smart Chain", nil, []Token{
		token(56, USDC, "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 18),
		token(56, USDT, "0x55d398326f99059fF775485246999027B3197955", 18),
		token(56, DAI, "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3", 18),
		token(56, USD1, "0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d", 18),
		token(56, WETH, "0x2170Ed0880ac9A755fd29B2688956BD959F933F8", 18),
	}},
	{130, "Unichain", cctp(10, 2_000), []Token{token(130, USDC, "0x078D782b760474a361dDA0AF3839290b0EF57AD6", 6)}},
	{137, "Polygon PoS", cctp(7, 0), []Token{token(137, USDC, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 6)}},
	{143, "Monad", cctp(15, 0), []Token{token(143, USDC, "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", 6)}},
	{146, "Sonic", cctp(13, 0), []Token{token(146, USDC, "0x29219dd400f2Bf60E5a23d13Be72B486D4038894", 6)}},
	{369, "PulseChain", nil, []Token{
		token(369, USDC, "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", 6),
		token(369, WETH, "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", 18),
	}},
	{480, "World Chain", cctp(14, 1_300), []Token{token(480, USDC, "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1", 6)}},
	{999, "HyperEVM", cctp(19, 0), []Token{token(999, USDC, "0xb88339CB7199b77E23DB6E890353E22632Ba630f", 6)}},
	{1329, "Sei", cctp(16, 0), []Token{token(1329, USDC, "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", 6)}},
	{1672, "Pharos", cctp(31, 0), []Token{token(1672, USDC, "0xC879C018dB60520F4355C26eD1a6D572cdAC1815", 6)}},
	{2818, "Morph", cctp(30, 4_000), []Token{token(2818, USDC, "0xCfb1186F4e93D60E60a8bDd997427D1F33bc372B", 6)}},
	{4663, "Robinhood Chain", nil, []Token{ether(4663)}},
	{8453, "Base", cctp(6, 1_300), []Token{
		ether(8453),
		token(8453, USDC, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6),
	}},
	{42161, "Arbitrum One", cctp(3, 1_400), []Token{token(42161, USDC, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", 6)}},
	{43114, "Avalanche C-Chain", cctp(1, 0), []Token{token(43114, USDC, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", 6)}},
	{57073, "Ink", cctp(21, 2_000), []Token{token(57073, USDC, "0x2D270e6886d130D724215A266106e6832161EAEd", 6)}},
	{59144, "Linea", cctp(11, 13_000), []Token{token(59144, USDC, "0x176211869cA2b568f2A7D4EE941E073a821EE1ff", 6)}},
	{98866, "Plume", cctp(22, 2_000), []Token{token(98866, USDC, "0x222365EF19F7947e5484218551B56bb3965Aa7aF", 6)}},
}

// PoolChains are the networks where the service has its own pools, and so an
// integrator registry, in the order of their IDs.
var PoolChains = []ID{1, 56, Hub, 4663, 8453}

// The issuer's TokenMessengerV2 and MessageTransmitterV2. Each has the same address
// on every chain.
var (
	messenger   = NewAddress(common.HexToAddress("0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"))
	transmitter = NewAddress(common.HexToAddress("0x81D40F21F12A8F0E3252Bccb954D722d4c464B64"))
)

func cctp(domain, fastFeeMilliBPS uint32) *CCTP {
	return &CCTP{Domain: domain, Messenger: messenger, Transmitter: transmitter, FastFeeMilliBPS: fastFeeMilliBPS}
}

func token(id ID, symbol, address string, decimals uint8) Token {
	return Token{symbol, NewAddress(common.HexToAddress(address)), decimals, id}
}

func ether(id ID) Token { return Token{ETH, Native, 18, id} }

// Networks lists the public chains in the order of their IDs.
func Networks() []Network { return slices.Clone(networks) }

// FindNetwork finds the network of id; for a virtual ID, that of its privacy pool.
func FindNetwork(id ID) (Network, bool) {
	for i := range networks {
		if networks[i].ID == id.Network() {
			return networks[i], true
		}
	}
	return Network{}, false
}
