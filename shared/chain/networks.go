package chain

import (
	"cmp"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Network is a public chain.
type Network struct {
	ID   ID
	Name string
	// Coin is the symbol of what pays for gas there, and CoinName its name. That of every network has CoinDecimals.
	Coin     string
	CoinName string
	// Explorer is where people look up transactions and addresses: an https address before /tx/ and /address/, without
	// a slash at its end.
	Explorer string
	// MostGas is the default bound on what our clients pay for the gas of one transaction, in coins. It is no estimate:
	// it is well above the usual cost of a swap, and stops a node that asks for an absurd price.
	MostGas string
	CCTP    *CCTP             // the chain in the issuer's burn-and-mint network, nil if it is not part of it
	Railgun *RailgunContracts // nil if it has none there
	// Block is the shortest time between two blocks that the network is known for. Preconfirmations are not blocks.
	Block time.Duration
	// Confirmations is after how many blocks a transaction counts as final where a deployment does not say otherwise.
	// Unless the table says more, that is half a minute of blocks, since nodes lag behind each other, and 12 at least.
	Confirmations uint64
	// Tokens are the tokens of the supported pairs.
	Tokens []Token
	// Wrapped is its coin as an ERC-20 token where that is none of Tokens. Nobody can be paid at its contract.
	Wrapped Token
}

// CoinDecimals are those of every network's own coin.
const CoinDecimals = 18

// CCTP is what the issuer publishes about a chain.
type CCTP struct {
	Domain      uint32
	Messenger   Address // TokenMessengerV2
	Transmitter Address // MessageTransmitterV2, which takes the messages of other chains
	// FastFeeMilliBPS is the built-in fee for a fast transfer from there, in thousandths of a basis point. It is 0
	// where there is no fast transfer.
	FastFeeMilliBPS uint32
}

// RailgunContracts are those that people use.
type RailgunContracts struct {
	Proxy      Address // RailgunSmartWallet, which shields and unshields
	RelayAdapt Address // wraps and unwraps the chain's coin on the way
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

// Symbols are those of all tokens.
var Symbols = []string{USDC, USDT, DAI, USD1, ETH, WETH}

// table has a row for each public chain. The chains without pools come in the order in which their pairs are listed; a
// new one is added at the end. docs/CONTRIBUTING.md says what else it needs.
var table = []Network{
	// With pools of the service.
	{
		ID: 1, Name: "Ethereum", Coin: "ETH", CoinName: "Ether", MostGas: "0.05",
		Explorer: "https://etherscan.io", CCTP: cctp(0, 1_000), Block: 12 * time.Second,
		Railgun: railgun("0xFA7093CDD9EE6932B4eb2c9e1cde7CE00B1FA4b9", "0xAc9f360Ae85469B27aEDdEaFC579Ef2d052aD405"),
		Tokens: []Token{
			ether,
			token(WETH, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18),
			token(USDC, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6),
			token(USDT, "0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
			token(DAI, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18),
		},
	},
	{
		ID: 8453, Name: "Base", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://basescan.org", CCTP: cctp(6, 1_300), Block: 2 * time.Second,
		Wrapped: opWETH,
		Tokens: []Token{
			ether,
			token(USDC, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6),
		},
	},
	{
		ID: 56, Name: "BNB Smart Chain", Coin: "BNB", CoinName: "BNB", MostGas: "0.01",
		Explorer: "https://bscscan.com", Block: 450 * time.Millisecond,
		Railgun: railgun("0x590162bf4b50F6576a459B75309eE21D92178A10", "0xF82d00fC51F730F42A00F85E74895a2849ffF2Dd"),
		Wrapped: token("WBNB", "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c", 18),
		Tokens: []Token{
			token(USDC, "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 18),
			token(USDT, "0x55d398326f99059fF775485246999027B3197955", 18),
			token(DAI, "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3", 18),
			token(USD1, "0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d", 18),
			token(WETH, "0x2170Ed0880ac9A755fd29B2688956BD959F933F8", 18),
		},
	},
	{
		ID: Hub, Name: "PulseChain", Coin: "PLS", CoinName: "Pulse", MostGas: "50000",
		Explorer: "https://scan.pulsechain.com", Block: 10 * time.Second,
		Wrapped: token("WPLS", "0xA1077a294dDE1B09bB078844df40758a5D0f9a27", 18),
		Tokens: []Token{
			token(USDC, "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", 6),
			token(WETH, "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", 18),
		},
	},
	{
		ID: 4663, Name: "Robinhood Chain", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://robinhoodchain.blockscout.com", Block: 100 * time.Millisecond,
		Wrapped: token("WETH", "0x0Bd7D308f8E1639FAb988df18A8011f41EAcAD73", 18),
		Tokens:  []Token{ether},
	},
	// Without pools: the issuer of USDC burns and mints there.
	{
		ID: 43114, Name: "Avalanche C-Chain", Coin: "AVAX", CoinName: "Avalanche", MostGas: "0.1",
		Explorer: "https://snowtrace.io", CCTP: cctp(1, 0), Block: 500 * time.Millisecond,
		Wrapped: token("WAVAX", "0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7", 18),
		Tokens:  []Token{token(USDC, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", 6)},
	},
	{
		ID: 42161, Name: "Arbitrum One", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://arbiscan.io", CCTP: cctp(3, 1_400), Block: 250 * time.Millisecond,
		Wrapped: token("WETH", "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1", 18),
		Tokens:  []Token{token(USDC, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", 6)},
	},
	{
		ID: 10, Name: "OP Mainnet", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://optimistic.etherscan.io", CCTP: cctp(2, 1_300), Block: 2 * time.Second,
		Wrapped: opWETH,
		Tokens:  []Token{token(USDC, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6)},
	},
	{
		ID: 137, Name: "Polygon PoS", Coin: "POL", CoinName: "POL", MostGas: "2",
		Explorer: "https://polygonscan.com", CCTP: cctp(7, 0), Block: 2 * time.Second,
		Confirmations: 30, // deep reorgs have happened; one minute covers the usual ones
		Wrapped:       token("WPOL", "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270", 18),
		Tokens:        []Token{token(USDC, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 6)},
	},
	{
		ID: 130, Name: "Unichain", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://uniscan.xyz", CCTP: cctp(10, 2_000), Block: time.Second,
		Wrapped: opWETH,
		Tokens:  []Token{token(USDC, "0x078D782b760474a361dDA0AF3839290b0EF57AD6", 6)},
	},
	{
		ID: 59144, Name: "Linea", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://lineascan.build", CCTP: cctp(11, 13_000), Block: time.Second,
		Wrapped: token("WETH", "0xe5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f", 18),
		Tokens:  []Token{token(USDC, "0x176211869cA2b568f2A7D4EE941E073a821EE1ff", 6)},
	},
	{
		ID: 480, Name: "World Chain", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://worldscan.org", CCTP: cctp(14, 1_300), Block: 2 * time.Second,
		Wrapped: opWETH,
		Tokens:  []Token{token(USDC, "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1", 6)},
	},
	{
		ID: 98866, Name: "Plume", Coin: "PLUME", CoinName: "Plume", MostGas: "20",
		Explorer: "https://explorer.plume.org", CCTP: cctp(22, 2_000), Block: 100 * time.Millisecond,
		Wrapped: token("WPLUME", "0xEa237441c92CAe6FC17Caaf9a7acB3f953be4bd1", 18),
		Tokens:  []Token{token(USDC, "0x222365EF19F7947e5484218551B56bb3965Aa7aF", 6)},
	},
	{
		ID: 2818, Name: "Morph", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://explorer.morphl2.io", CCTP: cctp(30, 4_000), Block: 300 * time.Millisecond,
		Wrapped: token("WETH", "0x5300000000000000000000000000000000000011", 18),
		Tokens:  []Token{token(USDC, "0xCfb1186F4e93D60E60a8bDd997427D1F33bc372B", 6)},
	},
	{
		ID: 57073, Name: "Ink", Coin: "ETH", CoinName: "Ether", MostGas: "0.005",
		Explorer: "https://explorer.inkonchain.com", CCTP: cctp(21, 2_000), Block: time.Second,
		Wrapped: opWETH,
		Tokens:  []Token{token(USDC, "0x2D270e6886d130D724215A266106e6832161EAEd", 6)},
	},
	{
		ID: 143, Name: "Monad", Coin: "MON", CoinName: "Monad", MostGas: "5",
		Explorer: "https://monadscan.com", CCTP: cctp(15, 0), Block: 400 * time.Millisecond,
		Wrapped: token("WMON", "0x3bd359C1119dA7Da1D913D1C4D2B7c461115433A", 18),
		Tokens:  []Token{token(USDC, "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", 6)},
	},
	{
		ID: 146, Name: "Sonic", Coin: "S", CoinName: "Sonic", MostGas: "1",
		Explorer: "https://sonicscan.org", CCTP: cctp(13, 0), Block: 250 * time.Millisecond,
		Wrapped: token("wS", "0x039e2fB66102314Ce7b64Ce5Ce3E5183bc94aD38", 18),
		Tokens:  []Token{token(USDC, "0x29219dd400f2Bf60E5a23d13Be72B486D4038894", 6)},
	},
	{
		ID: 1329, Name: "Sei", Coin: "SEI", CoinName: "Sei", MostGas: "2",
		Explorer: "https://seiscan.io", CCTP: cctp(16, 0), Block: 400 * time.Millisecond,
		Wrapped: token("WSEI", "0xE30feDd158A2e3b13e9badaeABaFc5516e95e8C7", 18),
		Tokens:  []Token{token(USDC, "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", 6)},
	},
	{
		ID: 999, Name: "HyperEVM", Coin: "HYPE", CoinName: "HYPE", MostGas: "0.1",
		Explorer: "https://hyperevmscan.io", CCTP: cctp(19, 0), Block: time.Second,
		Wrapped: token("WHYPE", "0x5555555555555555555555555555555555555555", 18),
		Tokens:  []Token{token(USDC, "0xb88339CB7199b77E23DB6E890353E22632Ba630f", 6)},
	},
	{
		ID: 1672, Name: "Pharos", Coin: "PROS", CoinName: "PharosCoin", MostGas: "1",
		Explorer: "https://pharosscan.xyz", CCTP: cctp(31, 0), Block: 500 * time.Millisecond,
		Wrapped: token("WPROS", "0x52C48d4213107b20bC583832b0d951FB9CA8F0B0", 18),
		Tokens:  []Token{token(USDC, "0xC879C018dB60520F4355C26eD1a6D572cdAC1815", 6)},
	},
	{
		ID: 25, Name: "Cronos", Coin: "CRO", CoinName: "Cronos", MostGas: "20",
		Explorer: "https://explorer.cronos.org", CCTP: cctp(32, 0), Block: 500 * time.Millisecond,
		Wrapped: token("WCRO", "0x5C7F8A570d578ED84E63fdFA7b1eE72dEae1AE23", 18),
		Tokens:  []Token{token(USDC, "0x3D7F2C478aAfdB65542BCB44bCeeC05849999d2D", 6)},
	},
}

// networks are the rows in the order of their IDs, with the default confirmations, and their tokens know their chain.
var networks = complete(table)

func complete(rows []Network) []Network {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b Network) int { return cmp.Compare(a.ID, b.ID) })
	for i := range sorted {
		n := &sorted[i]
		halfMinute := uint64((30*time.Second + n.Block - 1) / n.Block)
		n.Confirmations = cmp.Or(n.Confirmations, max(12, halfMinute))
		for j := range n.Tokens {
			n.Tokens[j].ChainID = n.ID
		}
		n.Wrapped.ChainID = n.ID
	}
	return sorted
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

func railgun(proxy, relayAdapt string) *RailgunContracts {
	return &RailgunContracts{
		Proxy: NewAddress(common.HexToAddress(proxy)), RelayAdapt: NewAddress(common.HexToAddress(relayAdapt)),
	}
}

func token(symbol, address string, decimals uint8) Token {
	return Token{Symbol: symbol, Address: NewAddress(common.HexToAddress(address)), Decimals: decimals}
}

// opWETH is at the same address on all OP Stack chains.
var opWETH = token(WETH, "0x4200000000000000000000000000000000000006", 18)

var ether = Token{Symbol: ETH, Address: Native, Decimals: 18}

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
