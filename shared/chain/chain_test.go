package chain_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// TestNetworksAgreeWithPublicFacts holds the table to the list of public facts
// it was taken from, field by field.
func TestNetworksAgreeWithPublicFacts(t *testing.T) {
	data, err := os.ReadFile("../../testdata/chains.json")
	if err != nil {
		t.Fatal(err)
	}
	type fact struct {
		ChainID uint64
		Name    string
		Native  struct {
			Name     string
			Symbol   string
			Decimals uint8
		}
		Explorer string
		CCTP     *struct {
			Domain         uint32
			TokenMessenger string
			FastFeeBps     json.Number
		}
		Tokens map[string]struct {
			Address  string
			Decimals uint8
		}
		Wrapped struct{ Symbol, Address string } // null where it is one of tokens
	}
	var facts []fact
	if err := json.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	networks := chain.Networks()
	for _, n := range networks {
		if !slices.ContainsFunc(facts, func(f fact) bool { return f.ChainID == uint64(n.ID) }) {
			t.Fatalf("testdata/chains.json has no row for chain %s, %s: add one from the source, not from our table",
				n.ID, n.Name)
		}
	}
	for i, want := range facts {
		if i == len(networks) || uint64(networks[i].ID) != want.ChainID {
			t.Fatalf("row %d of testdata/chains.json is chain %d, %s: shared/chain/networks.go has no row for it, "+
				"or the rows are not in the order of their IDs", i+1, want.ChainID, want.Name)
		}
		got := networks[i]
		if got.Name != want.Name || got.Coin != want.Native.Symbol {
			t.Errorf("%d: got %s with the coin %s, want %s with %s",
				got.ID, got.Name, got.Coin, want.Name, want.Native.Symbol)
		}
		if got.CoinName != want.Native.Name || got.Explorer != want.Explorer {
			t.Errorf("%s: got the coin's name %q and the explorer %q, want %q and %q",
				got.Name, got.CoinName, got.Explorer, want.Native.Name, want.Explorer)
		}
		if want.Native.Decimals != chain.CoinDecimals {
			t.Errorf("%s: its coin has %d decimals, and the code takes 18 for granted", want.Name, want.Native.Decimals)
		}
		if (got.CCTP == nil) != (want.CCTP == nil) {
			t.Errorf("%s: got CCTP %v, want %v", got.Name, got.CCTP, want.CCTP)
		} else if got.CCTP != nil {
			if got.CCTP.Domain != want.CCTP.Domain || got.CCTP.Messenger.String() != want.CCTP.TokenMessenger {
				t.Errorf("%s: got CCTP %+v, want %+v", got.Name, got.CCTP, want.CCTP)
			}
			bps, err := want.CCTP.FastFeeBps.Float64()
			if err != nil || uint32(bps*1000+0.5) != got.CCTP.FastFeeMilliBPS {
				t.Errorf("%s: got a fast fee of %d thousandths of a bp, want %s bp", got.Name, got.CCTP.FastFeeMilliBPS, want.CCTP.FastFeeBps)
			}
		}
		if w := got.Wrapped; w.Symbol != want.Wrapped.Symbol || w.Symbol != "" &&
			(w.Address.String() != want.Wrapped.Address || w.Decimals != want.Native.Decimals || w.ChainID != got.ID) {
			t.Errorf("%s: got the wrapped coin %+v, want %+v", got.Name, w, want.Wrapped)
		}
		erc20 := 0
		for _, token := range got.Tokens {
			if token.ChainID != got.ID {
				t.Errorf("%s: %s says it is on chain %d", got.Name, token.Symbol, token.ChainID)
			}
			if token.Native() {
				if token.Symbol != want.Native.Symbol || token.Decimals != want.Native.Decimals {
					t.Errorf("%s: got native %s with %d decimals, want %+v", got.Name, token.Symbol, token.Decimals, want.Native)
				}
				continue
			}
			erc20++
			fact, known := want.Tokens[token.Symbol]
			if !known {
				t.Errorf("testdata/chains.json has no %s on chain %d", token.Symbol, got.ID)
			} else if token.Address.String() != fact.Address || token.Decimals != fact.Decimals {
				t.Errorf("%s: got %s at %s with %d decimals, want %+v", got.Name, token.Symbol, token.Address, token.Decimals, fact)
			}
		}
		if erc20 != len(want.Tokens) {
			t.Errorf("%s: got %d ERC-20 tokens, want %d", got.Name, erc20, len(want.Tokens))
		}
	}
}

// specifiedPairs are the two tables of sections 1.1 and 1.2 of the specification: each row has the swaps of one asset from
// every chain of from to every chain of to.
func specifiedPairs() (pairs []string) {
	const (
		cctp   = "43114 42161 10 137 130 59144 480 98866 2818 57073 143 146 1329 999 1672 25"
		routes = "69696969 96969696"
	)
	for _, row := range []struct {
		src, from string
		dst, to   string
		route     chain.Route
	}{
		// 1.1, inbound, then outbound
		{"USDC", "1 8453 56", "USDC", "369", chain.Direct},
		{"USDC", cctp, "USDC", "369", chain.CCTPInbound},
		{"ETH", "1 8453 4663", "WETH", "369", chain.Direct},
		{"USDT", "1 56", "USDC", "369", chain.Direct},
		{"DAI", "1", "USDC", "369", chain.Direct},
		{"USD1", "56", "USDC", "369", chain.Direct},
		{"USDC", "369", "USDC", "1 8453 56", chain.Direct},
		{"USDC", "369", "USDC", cctp, chain.Direct},
		{"WETH", "369", "ETH", "1 8453 4663", chain.Direct},

		// 1.2, shielding, then unshielding
		{"USDC", "369 1 8453 56", "USDC", routes, chain.Direct},
		{"USDT", "1 56", "USDC", routes, chain.Direct},
		{"DAI", "1 56", "USDC", routes, chain.Direct},
		{"USD1", "56", "USDC", routes, chain.Direct},
		{"ETH", "1", "WETH", routes, chain.Direct}, // chain 1 takes and pays either, chain 369 WETH
		{"WETH", "1 369", "WETH", routes, chain.Direct},
		{"USDC", routes, "USDC", "369 1 8453 56", chain.Direct},
		{"WETH", routes, "WETH", "369 1", chain.Direct},
		{"WETH", routes, "ETH", "1", chain.Direct},
	} {
		for _, from := range strings.Fields(row.from) {
			for _, to := range strings.Fields(row.to) {
				pairs = append(pairs, fmt.Sprintf("%s on %s to %s on %s, %s", row.src, from, row.dst, to, row.route))
			}
		}
	}
	return pairs
}

// TestPairsAreTheSpecificationsAndNoMore tries every combination of a chain and a symbol on either side.
func TestPairsAreTheSpecificationsAndNoMore(t *testing.T) {
	want := specifiedPairs()
	var found, listed []string
	name := func(p *chain.Pair) string {
		return fmt.Sprintf("%s on %s to %s on %s, %s", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst, p.Route)
	}
	ids := []chain.ID{chain.PrivacyEthereum, chain.PrivacyBNB}
	for _, n := range chain.Networks() {
		ids = append(ids, n.ID)
	}
	for _, src := range ids {
		for _, dst := range ids {
			for _, from := range chain.Symbols {
				for _, to := range chain.Symbols {
					if p, err := chain.FindPair(src, from, dst, to); err == nil {
						found = append(found, name(p))
					}
				}
			}
		}
	}
	for _, p := range chain.Pairs() {
		listed = append(listed, name(&p))
	}
	for what, got := range map[string][]string{"found": found, "listed": listed} {
		lacking, more := difference(got, want), difference(want, got)
		if len(got) != len(want) || len(lacking)+len(more) > 0 {
			t.Errorf("%d pairs are %s, want %d: specifiedPairs in shared/chain/chain_test.go lacks %q and has %q besides",
				len(got), what, len(want), lacking, more)
		}
	}
}

// difference are those of a that are not in b.
func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func TestFindToken(t *testing.T) {
	tests := []struct {
		name    string
		id      chain.ID
		text    string
		symbol  string
		address string
		chainID chain.ID
	}{
		{"symbol", 1, "USDC", "USDC", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 1},
		{"symbol in lower case", 369, "weth", "WETH", "0x02DcdD04e3F455D838cd1249292C58f3B79e3C3C", 369},
		{"address with checksum", 56, "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", "USDC", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 56},
		{"address in lower case", 56, "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d", "USDC", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 56},
		{"address in upper case", 56, "0x8AC76A51CC950D9822D68B83FE1AD97B32CD580D", "USDC", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 56},
		{"native by its address", 8453, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "ETH", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", 8453},
		{"native by the zero address", 4663, "0x0000000000000000000000000000000000000000", "ETH", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", 4663},
		{"privacy pool on Ethereum", chain.PrivacyEthereum, "WETH", "WETH", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 1},
		{"privacy pool on BNB", chain.PrivacyBNB, "WETH", "WETH", "0x2170Ed0880ac9A755fd29B2688956BD959F933F8", 56},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := chain.FindToken(tt.id, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.Symbol != tt.symbol || got.Address.String() != tt.address || got.ChainID != tt.chainID {
				t.Errorf("got %s %s on %d, want %s %s on %d", got.Symbol, got.Address, got.ChainID, tt.symbol, tt.address, tt.chainID)
			}
		})
	}
}

func TestFindTokenRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		id         chain.ID
		says       string
	}{
		{"unknown symbol", "SHIB", 1, "supported there: USDC, ETH, USDT, DAI"},
		{"a letter that folds to s only in Unicode", "uſdc", 1, "That token is not supported"},
		{"a symbol of another chain", "DAI", 8453, "DAI is not supported on chain 8453"},
		{"pegged ether outside the privacy pool", "WETH", 56, "WETH is not supported on chain 56"},
		{"the coin of a chain that pays in another", "0x0000000000000000000000000000000000000000", 369, "supported there: USDC, WETH"},
		{"an address of another chain", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 369, "not supported on chain 369"},
		{"wrong checksum", "0xa0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 1, "checksum"},
		{"too short", "0xA0b8", 1, "40 hexadecimal digits"},
		{"not hexadecimal", "0xG0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", 1, "40 hexadecimal digits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chain.FindToken(tt.id, tt.text)
			got := fault.From(err)
			want := fault.UnsupportedToken
			if tt.says == "checksum" {
				want = fault.InvalidParameter // a slip of the finger, not a token we lack
			}
			if got.Code != want || !strings.Contains(got.Message, tt.says) {
				t.Errorf("got %s %q, want %s saying %q", got.Code, got.Message, want, tt.says)
			}
		})
	}
}

func TestFindPairSaysWhatWouldBeRight(t *testing.T) {
	tests := []struct {
		name     string
		src, dst chain.ID
		from, to string
		code     fault.Code
		role     fault.Role
		words    string
	}{
		{"not a pair", 1, 8453, "USDC", "USDC", fault.UnsupportedPair, fault.DestinationChain, "Unsupported swap pair: USDC on chain 1 to USDC on chain 8453"},
		{"same chain", 369, 369, "USDC", "USDC", fault.UnsupportedPair, fault.DestinationChain, "source and destination are on the same chain"},
		{"privacy on both sides", chain.PrivacyEthereum, chain.PrivacyBNB, "USDC", "USDC", fault.UnsupportedPair, fault.DestinationChain, "Unsupported swap pair: USDC on chain 69696969 to USDC on chain 96969696"},
		{"source token", 8453, 369, "DAI", "USDC", fault.UnsupportedToken, fault.SourceToken, "DAI is not supported on chain 8453"},
		{"destination token", 1, 369, "USDC", "DAI", fault.UnsupportedToken, fault.DestinationToken, "DAI is not supported on chain 369"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chain.FindPair(tt.src, tt.from, tt.dst, tt.to)
			got := fault.From(err)
			if got.Code != tt.code || got.Role != tt.role || !strings.Contains(got.Message, tt.words) ||
				strings.Contains(got.Message, "same chain") != (tt.src == tt.dst) {
				t.Errorf("got %s on %d: %q, want %s on %d: …%s…", got.Code, got.Role, got.Message, tt.code, tt.role, tt.words)
			}
		})
	}
	_, err := chain.FindPair(1, "USDC", 8453, "USDC")
	want := []fault.Alternative{{Chain: "369", Token: "USDC"}, {Chain: "69696969", Token: "USDC"}, {Chain: "96969696", Token: "USDC"}}
	if got := fault.From(err).Alternatives; !slices.Equal(got, want) {
		t.Errorf("got the alternatives %v, want %v", got, want)
	}
}

func TestParseID(t *testing.T) {
	for _, want := range chain.IDs() {
		if id, err := chain.ParseID(want.String()); err != nil || id != want {
			t.Errorf("%s: got %v and %v", want, id, err)
		}
	}
	for text, hint := range map[string]string{
		"0x171": "; write 369;", "0x1": "; write 1;", "eip155:1": "; write 1;", "Ethereum": "; write 1;", "base": "; write 8453;",
		"01": "; write 1;", "": "number; supported", "0x": "number; supported", "eip155:5": "number; supported",
		"mainnet": "number; supported", "1 ": "number; supported", " 1": "number; supported", "-1": "number; supported",
		"1e3": "number; supported", "١": "number; supported", "99999999999999999999999": "number; supported",
		"0": "Chain 0 is not supported", "5": "Chain 5 is not supported",
	} {
		_, err := chain.ParseID(text)
		e := fault.From(err)
		if e.Code != fault.UnsupportedChain || !strings.Contains(e.Message, hint) ||
			!strings.Contains(e.Message, "supported chain IDs are 1, 10, 25") || !strings.Contains(e.Message, "96969696") {
			t.Errorf("%q: got %v, want it to say %q and list the chains", text, err, hint)
		}
	}
}

func TestParseAddress(t *testing.T) {
	const good = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // from EIP-55
	want := common.HexToAddress(good)
	for _, text := range []string{good, strings.ToLower(good), "0x" + strings.ToUpper(good[2:])} {
		if got, err := chain.ParseAddress(text); err != nil || got != want {
			t.Errorf("%s: got %s and %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0x", good[2:], good + "0", good[:41], "0X" + good[2:], strings.Replace(good, "A", "a", 1), "0x" + strings.Repeat("g", 40)} {
		if got, err := chain.ParseAddress(text); err == nil || got != (common.Address{}) {
			t.Errorf("%q: got %s and %v, want an error and nothing else", text, got, err)
		}
	}
}

func TestOnlyUSDTOnEthereumResetsItsAllowance(t *testing.T) {
	for _, n := range chain.Networks() {
		for _, token := range n.Tokens {
			want := token.Symbol == "USDT" && n.Name == "Ethereum"
			if got := token.ResetsAllowance(); got != want {
				t.Errorf("%s on %s: got %v, want %v", token.Symbol, n.Name, got, want)
			}
		}
	}
}

// FuzzParseAddress compares with go-ethereum: an address is read if it is in
// one case throughout, or in the very case that its own Hex gives it.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED",
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x52908400098527886E0F7030069857D2E4169EE7", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := chain.ParseAddress(text)
		if !strings.HasPrefix(text, "0x") || !common.IsHexAddress(text) {
			if err == nil {
				t.Errorf("%q is read as %s", text, got)
			}
			return
		}
		want, digits := common.HexToAddress(text), text[2:]
		oneCase := digits == strings.ToLower(digits) || digits == strings.ToUpper(digits)
		if readable := oneCase || text == want.Hex(); (err == nil) != readable || readable && got != want {
			t.Errorf("%q: got %s and %v, want %s, readable: %v", text, got, err, want, readable)
		}
	})
}
