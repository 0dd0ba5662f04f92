package swap

import (
	"math/big"
	"regexp"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/shared/chain"
)

func TestEveryNetworkHasACoin(t *testing.T) {
	for _, network := range chain.Networks() {
		if network.Coin == "" || DefaultMaxGas(network.ID).Sign() <= 0 {
			t.Errorf("the row of %s in shared/chain has no Coin, or no MostGas that is an amount above 0", network.Name)
		}
	}
	if got := FormatCoins(DefaultMaxGas(chain.PrivacyBNB), chain.PrivacyBNB); got != "0.01 BNB" {
		t.Errorf("got %s for the privacy pool, want the coin of its network", got)
	}
	if got := DefaultMaxGas(2); got.Sign() != 0 {
		t.Errorf("got %s for an unknown network, want that nothing may be sent", got)
	}
}

// TestDearGas has a node ask for too much in each way there is, and wants nothing to be signed.
func TestDearGas(t *testing.T) {
	q := checkedQuote(t, "pair-usdc-1-to-usdc-369")
	result := func(value string) func([]byte) []byte {
		return func(answer []byte) []byte {
			return regexp.MustCompile(`"result":"0x[0-9a-f]+"`).ReplaceAll(answer, []byte(`"result":"`+value+`"`))
		}
	}
	tests := map[string]struct {
		method string
		alter  func([]byte) []byte
		maxGas *big.Int
		says   string
	}{
		"tip": {"eth_maxPriorityFeePerGas", result("0x38d7ea4c68000"), nil, "and the most allowed is 0.05 ETH"}, // 10^15 wei
		"base fee": {"eth_getBlockByNumber", func(answer []byte) []byte {
			return regexp.MustCompile(`"baseFeePerGas":"0x[0-9a-f]+"`).ReplaceAll(answer, []byte(`"baseFeePerGas":"0x38d7ea4c68000"`))
		}, nil, "and the most allowed is 0.05 ETH"},
		"gas":          {"eth_estimateGas", result("0xffffffffffff"), nil, "and the most allowed is 0.05 ETH"},
		"chosen bound": {"eth_chainId", result("0x1"), big.NewInt(1), "and the most allowed is 0.000000000000000001 ETH"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, sender := startChain(t, q, q.Swap.Amount)
			sender.Node = dial(t, lyingNode(t, c.URL(), test.method, test.alter))
			sender.MaxGas = test.maxGas
			_, err := sender.Execute(t.Context(), q)
			wantError(t, err, "approval: not signed: at the node's price its gas could cost ")
			wantError(t, err, test.says)
			nonce, err := c.Client().NonceAt(t.Context(), crypto.PubkeyToAddress(sender.Key.PublicKey), nil)
			if err != nil || nonce != 1 {
				t.Errorf("got nonce %d and %v, want 1: nothing sent since the tokens were minted", nonce, err)
			}
		})
	}
}

// TestGasAtTheBound wants the bound itself to be allowed.
func TestGasAtTheBound(t *testing.T) {
	sender := Sender{MaxGas: big.NewInt(21_000 * 7)}
	if err := sender.affordable(big.NewInt(1), 21_000, big.NewInt(7)); err != nil {
		t.Errorf("got %v for as much as is allowed", err)
	}
	wantError(t, sender.affordable(big.NewInt(1), 21_001, big.NewInt(7)),
		"could cost 0.000000000000147007 ETH, and the most allowed is 0.000000000000147 ETH")
}
