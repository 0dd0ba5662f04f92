package chain_test

import (
	"encoding/json"
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
	var facts []struct {
		ChainID uint64
		Name    string
		Native  struct {
			Symbol   string
			Decimals uint8
		}
		CCTP *struct {
			Domain         uint32
			TokenMessenger string
			FastFeeBps     json.Number
		}
		Tokens map[string]struct {
			Address  string
			Decimals uint8
		}
	}
	if err := json.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	networks := chain.Networks()
	if len(networks) != 21 || len(facts) != 21 {
		t.Fatalf("got %d networks and %d facts, want 21", len(networks), len(facts))
	}
	for i, want := range facts {
		got := networks[i]
		if uint64(got.ID) != want.ChainID || got.Name != want.Name {
			t.Errorf("got %d %s, want %d %s", got.ID, got.Name, want.ChainID, want.Name)
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
			fact := want.Tokens[token.Symbol]
			if token.Address.String() != fact.Address || token.Decimals != fact.Decimals {
				t.Errorf("%s: got %s at %s with %d decimals, want %+v", got.Name, token.Symbol, token.Address, token.Decimals, fact)
			}
		}
		if erc20 != len(want.Tokens) {
			t.Errorf("%s: got %d ERC-20 tokens, want %d", got.Name, erc20, len(want.Tokens))
		}
	}
}

// specification is the two tables of supported pairs in another notation:
// asset on chains > asset on chains, and how the source transaction travels.
const specification = `
USDC 1 8453 56 > USDC 369 direct
USDC 369 > USDC 1 8453 56 direct
USDC 43114 42161 10 137 130 59144 480 98866 2818 57073 143 146 1329 999 1672 25 > USDC 369 cctp
USDC 369 > USDC 43114 42161 10 137 130 59144 480 98866 2818 57073 143 146 1329 999 1672 25 direct
ETH 1 8453 4663 > WETH 369 direct
WETH 369 > ETH 1 8453 4663 direct
USDT 1 56 > USDC 369 direct
DAI 1 > USDC 369 direct
USD1 56 > USDC 369 direct
USDC 369 1 8453 56 > USDC 69696969 96969696 direct
USDC 69696969 96969696 > USDC 369 1 8453 56 direct
USDT 1 56 > USDC 69696969 96969696 direct
DAI 1 56 > USDC 69696969 96969696 direct
USD1 56 > USDC 69696969 96969696 direct
ETH 1 > WETH 69696969 96969696 direct
WETH 1 369 > WETH 69696969 96969696 direct
WETH 69696969 96969696 > WETH 369 1 direct
WETH 69696969 96969696 > ETH 1 direct
`

func TestPairsAreTheSpecificationsAndNoMore(t *testing.T) {
	want := map[string]chain.Route{}
	for line := range strings.Lines(strings.TrimSpace(specification)) {
		left, right, _ := strings.Cut(strings.TrimSpace(line), " > ")
		from, to := strings.Fields(left), strings.Fields(right)
		route := chain.Direct
		if to[len(to)-1] == "cctp" {
			route = chain.CCTPInbound
		}
		for _, src := range from[1:] {
			for _, dst := range to[1 : len(to)-1] {
				want[from[0]+" "+src+" > "+to[0]+" "+dst] = route
			}
		}
	}
	if len(want) != 86 {
		t.Fatalf("the specification has %d pairs, want 86: the test is wrong", len(want))
	}

	// Every combination of a chain and a symbol on either side is tried.
	symbols := []string{"USDC", "USDT", "DAI", "USD1", "ETH", "WETH"}
	ids := []chain.ID{chain.PrivacyEthereum, chain.PrivacyBNB}
	for _, n := range chain.Networks() {
		ids = append(ids, n.ID)
	}
	found := 0
	for _, src := range ids {
		for _, dst := range ids {
			for _, from := range symbols {
				for _, to := range symbols {
					name := from + " " + src.String() + " > " + to + " " + dst.String()
					route, supported := want[name]
					p, err := chain.FindPair(src, from, dst, to)
					if err != nil {
						p = &chain.Pair{}
					} else {
						found++
					}
					if (err == nil) != supported || p.Route != route {
						t.Errorf("%s: got route %d and %v, want route %d", name, p.Route, err, route)
					}
				}
			}
		}
	}
	if found != 86 || len(chain.Pairs()) != 86 {
		t.Errorf("got %d pairs found and %d listed, want 86", found, len(chain.Pairs()))
	}
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
		{"unknown symbol", "SHIB", 1, "supported there: USDC, ETH, USDT, DAI, WETH"},
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
		{"same chain", 369, 369, "USDC", "USDC", fault.UnsupportedPair, fault.DestinationChain, "both are on the same chain"},
		{"privacy on both sides", chain.PrivacyEthereum, chain.PrivacyBNB, "USDC", "USDC", fault.UnsupportedPair, fault.DestinationChain, "Unsupported swap pair"},
		{"source token", 8453, 369, "DAI", "USDC", fault.UnsupportedToken, fault.SourceToken, "DAI is not supported on chain 8453"},
		{"destination token", 1, 369, "USDC", "DAI", fault.UnsupportedToken, fault.DestinationToken, "DAI is not supported on chain 369"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chain.FindPair(tt.src, tt.from, tt.dst, tt.to)
			got := fault.From(err)
			if got.Code != tt.code || got.Role != tt.role || !strings.Contains(got.Message, tt.words) {
				t.Errorf("got %s on %d: %q, want %s on %d: …%s…", got.Code, got.Role, got.Message, tt.code, tt.role, tt.words)
			}
		})
	}
}

func TestParseID(t *testing.T) {
	for _, text := range []string{"1", "10", "25", "56", "130", "137", "143", "146", "369", "480", "999", "1329", "1672", "2818",
		"4663", "8453", "42161", "43114", "57073", "59144", "98866", "69696969", "96969696"} {
		id, err := chain.ParseID(text)
		if err != nil || id.String() != text {
			t.Errorf("%s: got %v and %v", text, id, err)
		}
	}
	for _, text := range []string{"", "0", "5", "01", "+1", "-1", " 1", "1 ", "0x1", "1e3", "ethereum", "99999999999999999999999", "١"} {
		if id, err := chain.ParseID(text); fault.From(err).Code != fault.UnsupportedChain {
			t.Errorf("%q: got %v and %v, want %s", text, id, err, fault.UnsupportedChain)
		}
	}
	_, err := chain.ParseID("5")
	if got := fault.From(err).Message; !strings.Contains(got, "1, 10, 25, 56,") || !strings.Contains(got, "96969696") {
		t.Errorf("the supported IDs are missing from %q", got)
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

// TestUnsupportedPairsComeWithAlternatives that really are pairs, all of them.
func TestUnsupportedPairsComeWithAlternatives(t *testing.T) {
	_, err := chain.FindPair(1, "USDC", 8453, "USDC")
	want := []fault.Alternative{{Chain: "369", Token: "USDC"}, {Chain: "69696969", Token: "USDC"}, {Chain: "96969696", Token: "USDC"}}
	if got := fault.From(err).Alternatives; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOtherNotationsOfAChainAreUnderstood(t *testing.T) {
	for text, hint := range map[string]string{
		"0x171": "; write 369;", "eip155:1": "; write 1;", "Ethereum": "; write 1;", "base": "; write 8453;",
		"0x": "number; supported", "eip155:5": "number; supported", "mainnet": "number; supported", "1 ": "number; supported", "01": "write 1;",
	} {
		_, err := chain.ParseID(text)
		e := fault.From(err)
		if e.Code != fault.UnsupportedChain || !strings.Contains(e.Message, hint) || !strings.Contains(e.Message, "supported chain IDs are 1, 10, 25") {
			t.Errorf("%q: got %v, want it to say %q and list the chains", text, err, hint)
		}
	}
}
