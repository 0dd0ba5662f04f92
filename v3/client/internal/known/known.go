// Package known has the tokens and contracts that no listing can say anything else about.
package known

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Native is the address that stands for a chain's own coin.
var Native = common.HexToAddress("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")

// The routing IDs of the privacy pools.
const (
	PrivacyEthereum = 69696969
	PrivacyBNB      = 96969696
)

// Network is the network of a privacy pool that is known, and any other ID itself.
func Network(id uint64) uint64 {
	switch id {
	case PrivacyEthereum:
		return 1
	case PrivacyBNB:
		return 56
	}
	return id
}

// A Token is one that is known.
type Token struct {
	Chain    uint64
	Symbol   string
	Address  common.Address
	Decimals uint8
}

func known(chain uint64, symbol, address string, decimals uint8) Token {
	return Token{chain, symbol, common.HexToAddress(address), decimals}
}

// Tokens are those of this version. A test compares them with the gateway's and with verify.js.
var Tokens = []Token{
	// generated: tokens
	known(1, "USDC", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6),
	known(10, "USDC", "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6),
	known(25, "USDC", "0x3D7F2C478aAfdB65542BCB44bCeeC05849999d2D", 6),
	known(56, "USDC", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 18),
	known(130, "USDC", "0x078D782b760474a361dDA0AF3839290b0EF57AD6", 6),
	known(137, "USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 6),
	known(143, "USDC", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", 6),
	known(146, "USDC", "0x29219dd400f2Bf60E5a23d13Be72B486D4038894", 6),
	known(369, "USDC", "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", 6),
	known(480, "USDC", "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1", 6),
	known(999, "USDC", "0xb88339CB7199b77E23DB6E890353E22632Ba630f", 6),
	known(1329, "USDC", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", 6),
	known(1672, "USDC", "0xC879C018dB60520F4355C26eD1a6D572cdAC1815", 6),
	known(2818, "USDC", "0xCfb1186F4e93D60E60a8bDd997427D1F33bc372B", 6),
	known(8453, "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6),
	known(42161, "USDC", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", 6),
	known(43114, "USDC", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", 6),
	known(57073, "USDC", "0x2D270e6886d130D724215A266106e6832161EAEd", 6),
	known(59144, "USDC", "0x176211869cA2b568f2A7D4EE941E073a821EE1ff", 6),
	known(98866, "USDC", "0x222365EF19F7947e5484218551B56bb3965Aa7aF", 6),
	known(1, "USDT", "0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
	known(56, "USDT", "0x55d398326f99059fF775485246999027B3197955", 18),
	known(1, "DAI", "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18),
	known(56, "DAI", "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3", 18),
	known(56, "USD1", "0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d", 18),
	known(1, "ETH", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", 18),
	known(4663, "ETH", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", 18),
	known(8453, "ETH", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", 18),
	known(1, "WETH", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18),
	known(56, "WETH", "0x2170Ed0880ac9A755fd29B2688956BD959F933F8", 18),
	known(369, "WETH", "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", 18),
	// generated end
}

// FastFees are what the issuer takes of a burn that it delivers fast, by source chain, in thousandths of a basis point.
// A chain that is not here has no such burns, or none for a fee.
var FastFees = map[uint64]int64{
	// generated: issuer fees
	1: 1000, 10: 1300, 130: 2000, 480: 1300, 2818: 4000,
	8453: 1300, 42161: 1400, 57073: 2000, 59144: 13000, 98866: 2000,
	// generated end
}

func find(matches func(t *Token) bool) *Token {
	for i := range Tokens {
		if matches(&Tokens[i]) {
			return &Tokens[i]
		}
	}
	return nil
}

// BySymbol finds a token, or gives nil.
func BySymbol(chain uint64, symbol string) *Token {
	return find(func(t *Token) bool { return t.Chain == chain && t.Symbol == symbol })
}

// ByAddress finds a token, or gives nil.
func ByAddress(chain uint64, address common.Address) *Token {
	return find(func(t *Token) bool { return t.Chain == chain && t.Address == address })
}

// IsChain tells whether a network is known: all of them have a token that is.
func IsChain(id uint64) bool {
	return find(func(t *Token) bool { return t.Chain == id }) != nil
}

// Messenger is the issuer's contract that burns USDC.
var Messenger = common.HexToAddress("0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d")

// wrapped are the coins of networks as ERC-20 tokens, where these are none of Tokens.
var wrapped = map[common.Address]string{
	// generated: wrapped coins
	common.HexToAddress("0x4200000000000000000000000000000000000006"): "WETH on chain 10",
	common.HexToAddress("0x5C7F8A570d578ED84E63fdFA7b1eE72dEae1AE23"): "WCRO on chain 25",
	common.HexToAddress("0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c"): "WBNB on chain 56",
	common.HexToAddress("0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270"): "WPOL on chain 137",
	common.HexToAddress("0x3bd359C1119dA7Da1D913D1C4D2B7c461115433A"): "WMON on chain 143",
	common.HexToAddress("0x039e2fB66102314Ce7b64Ce5Ce3E5183bc94aD38"): "wS on chain 146",
	common.HexToAddress("0xA1077a294dDE1B09bB078844df40758a5D0f9a27"): "WPLS on chain 369",
	common.HexToAddress("0x5555555555555555555555555555555555555555"): "WHYPE on chain 999",
	common.HexToAddress("0xE30feDd158A2e3b13e9badaeABaFc5516e95e8C7"): "WSEI on chain 1329",
	common.HexToAddress("0x52C48d4213107b20bC583832b0d951FB9CA8F0B0"): "WPROS on chain 1672",
	common.HexToAddress("0x5300000000000000000000000000000000000011"): "WETH on chain 2818",
	common.HexToAddress("0x0Bd7D308f8E1639FAb988df18A8011f41EAcAD73"): "WETH on chain 4663",
	common.HexToAddress("0x82aF49447D8a07e3bd95BD0d56f35241523fBab1"): "WETH on chain 42161",
	common.HexToAddress("0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7"): "WAVAX on chain 43114",
	common.HexToAddress("0xe5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f"): "WETH on chain 59144",
	common.HexToAddress("0xEa237441c92CAe6FC17Caaf9a7acB3f953be4bd1"): "WPLUME on chain 98866",
	// generated end
}

// contracts are those of others, which take no money of ours.
var contracts = map[common.Address]string{
	Messenger: "the issuer's TokenMessenger",
	common.HexToAddress("0x81D40F21F12A8F0E3252Bccb954D722d4c464B64"): "the issuer's MessageTransmitter",
	common.HexToAddress("0xFA7093CDD9EE6932B4eb2c9e1cde7CE00B1FA4b9"): "RAILGUN's proxy on chain 1",
	common.HexToAddress("0xAc9f360Ae85469B27aEDdEaFC579Ef2d052aD405"): "RAILGUN's relay adapter on chain 1",
	common.HexToAddress("0x590162bf4b50F6576a459B75309eE21D92178A10"): "RAILGUN's proxy on chain 56",
	common.HexToAddress("0xF82d00fC51F730F42A00F85E74895a2849ffF2Dd"): "RAILGUN's relay adapter on chain 56",
}

var (
	dead    = common.HexToAddress("0x000000000000000000000000000000000000dEaD")
	highest = common.HexToAddress("0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF")
	// OP Stack chains have contracts at all addresses from here on, up to the second.
	firstPredeploy = common.HexToAddress("0x4200000000000000000000000000000000000000")
	pastPredeploys = common.HexToAddress("0x4200000000000000000000000000000000000800")
	// lowestAccount is the first address that can be somebody's: those below are built-in contracts, or reserved for
	// more of them.
	lowestAccount = common.BytesToAddress([]byte{1, 0, 0})
)

// Unpayable says what an address is that must not be paid on any chain. It is empty if nothing is known against it.
func Unpayable(a common.Address) string {
	switch {
	case a == Native:
		return "the native token placeholder"
	case a == dead || a == highest:
		return "a burn address"
	case a.Cmp(lowestAccount) < 0:
		return "below 0x10000, the range of precompiled contracts"
	}
	if token := find(func(t *Token) bool { return t.Address == a }); token != nil {
		return fmt.Sprintf("the contract of %s on chain %d", token.Symbol, token.Chain)
	}
	if name := wrapped[a]; name != "" {
		return "the contract of " + name
	}
	if a.Cmp(firstPredeploy) >= 0 && a.Cmp(pastPredeploys) < 0 {
		return "a system contract of OP Stack chains"
	}
	return contracts[a]
}

var (
	errShape    = errors.New("is not an EVM address: it must be 0x followed by 40 hexadecimal digits")
	errChecksum = errors.New("has a typo: its EIP-55 checksum does not match. Copy it again from your wallet")
)

// ReadAddress reads 0x and 40 hexadecimal digits in any case, as an answer may write them. The error is a sentence
// without its subject.
func ReadAddress(text string) (common.Address, error) {
	var a common.Address
	if len(text) != 2+2*len(a) || text[:2] != "0x" {
		return a, errShape
	}
	if _, err := hex.Decode(a[:], []byte(text[2:])); err != nil {
		return common.Address{}, errShape
	}
	return a, nil
}

// IsAddress tells whether a text is an address, in any case of its letters.
func IsAddress(text string, want common.Address) bool {
	got, err := ReadAddress(text)
	return err == nil && got == want
}

// ParseAddress reads an address of a request. In mixed case it must have a valid EIP-55 checksum.
func ParseAddress(text string) (common.Address, error) {
	a, err := ReadAddress(text)
	if err != nil {
		return a, err
	}
	mixed := strings.ContainsAny(text[2:], "abcdef") && strings.ContainsAny(text[2:], "ABCDEF")
	if mixed && a.Hex() != text {
		return common.Address{}, errChecksum
	}
	return a, nil
}
