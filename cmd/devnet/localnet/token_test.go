package localnet

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

func TestToken(t *testing.T) {
	at := common.HexToAddress("0x2000")
	tests := map[string]struct {
		contract
		account types.Account
		answer  int // bytes
	}{
		"standard": {contract{contracts.TokenABI, at}, contracts.Token(operator, "USDC", 6, attester), 32},
		"tether":   {contract{contracts.TetherLikeTokenABI, at}, contracts.TetherLikeToken(operator, "USDC", 6, attester), 0},
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			chain := start(t, types.GenesisAlloc{at: token.account})
			for method, want := range map[string]any{"symbol": "USDC", "name": "USDC", "decimals": uint8(6), "operator": operator} {
				if got := chain.read(token.contract, method); got != want {
					t.Errorf("%s: got %v, want %v", method, got, want)
				}
			}

			receipt := chain.do(operatorKey, token.contract, "mint", user, big.NewInt(100))
			same(t, event(t, receipt, token.contract, "Transfer"), map[string]any{"from": common.Address{}, "to": user, "value": big.NewInt(100)})
			chain.do(attesterKey, token.contract, "mint", user, big.NewInt(20))
			chain.refuses("caller may not mint", userKey, nil, token.contract, "mint", user, big.NewInt(1))
			chain.refuses("mint to zero", operatorKey, nil, token.contract, "mint", common.Address{}, big.NewInt(1))

			receipt = chain.do(userKey, token.contract, "transfer", recipient, big.NewInt(7))
			same(t, event(t, receipt, token.contract, "Transfer"), map[string]any{"from": user, "to": recipient, "value": big.NewInt(7)})
			chain.refuses("balance too low", userKey, nil, token.contract, "transfer", recipient, big.NewInt(114))
			chain.refuses("transfer to zero", userKey, nil, token.contract, "transfer", common.Address{}, big.NewInt(1))

			receipt = chain.do(userKey, token.contract, "approve", operator, big.NewInt(30))
			same(t, event(t, receipt, token.contract, "Approval"), map[string]any{"owner": user, "spender": operator, "value": big.NewInt(30)})
			chain.do(operatorKey, token.contract, "transferFrom", user, treasury, big.NewInt(10))
			chain.refuses("allowance too low", operatorKey, nil, token.contract, "transferFrom", user, treasury, big.NewInt(21))
			if got := chain.read(token.contract, "allowance", user, operator).(*big.Int); got.Int64() != 20 {
				t.Errorf("allowance: got %s, want 20", got)
			}

			chain.do(userKey, token.contract, "burn", big.NewInt(3))
			chain.refuses("balance too low", userKey, nil, token.contract, "burn", big.NewInt(101))
			chain.balances(token.contract, map[common.Address]int64{user: 100, recipient: 7, treasury: 10})
			if got := chain.read(token.contract, "totalSupply").(*big.Int); got.Int64() != 117 {
				t.Errorf("total supply: got %s, want 117", got)
			}

			for method, args := range map[string][]any{
				"transfer":     {recipient, big.NewInt(1)},
				"transferFrom": {user, recipient, big.NewInt(1)},
				"approve":      {recipient, big.NewInt(1)},
			} {
				call := ethereum.CallMsg{From: operator, To: &at, Data: token.call(t, method, args...)}
				if method == "transfer" {
					call.From = user
				}
				answer, err := chain.Client().CallContract(t.Context(), call, nil)
				if err != nil {
					t.Fatalf("%s: %v", method, err)
				}
				if len(answer) != token.answer {
					t.Errorf("%s answered %x, want %d bytes", method, answer, token.answer)
				}
			}
		})
	}
}
