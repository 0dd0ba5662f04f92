package swap

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/localnet"
)

const (
	ofTokens = "pair-usdc-1-to-usdc-369"
	ofCoins  = "pair-eth-1-to-weth-369"
)

// TestExecutePaysContracts runs chains on which some of what a quote names is no contract. Nothing is signed there. What
// the sender is does not matter.
func TestExecutePaysContracts(t *testing.T) {
	type places struct{ me, token, target common.Address }
	code := types.AddressToDelegation(common.HexToAddress("0xabcdef"))
	for name, tt := range map[string]struct {
		quote   string
		alter   func(types.GenesisAlloc, places)
		refuses func(places) common.Address // the address that is named; nil if it is sent
	}{
		"tokens": {quote: ofTokens},
		"coins":  {quote: ofCoins},
		"a delegated sender": {
			quote: ofCoins,
			alter: func(a types.GenesisAlloc, at places) {
				a[at.me] = types.Account{Code: code, Balance: a[at.me].Balance}
			},
		},
		"no pool for tokens": {
			quote:   ofTokens,
			alter:   func(a types.GenesisAlloc, at places) { delete(a, at.target) },
			refuses: func(at places) common.Address { return at.target },
		},
		"no pool for coins": {
			quote:   ofCoins,
			alter:   func(a types.GenesisAlloc, at places) { delete(a, at.target) },
			refuses: func(at places) common.Address { return at.target },
		},
		"no token": {
			quote:   ofTokens,
			alter:   func(a types.GenesisAlloc, at places) { delete(a, at.token) },
			refuses: func(at places) common.Address { return at.token },
		},
		"a delegated account as the pool": {
			quote: ofCoins,
			alter: func(a types.GenesisAlloc, at places) {
				a[at.target] = types.Account{Code: code, Balance: new(big.Int)}
			},
			refuses: func(at places) common.Address { return at.target },
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := checkedQuote(t, tt.quote)
			at := places{token: q.Swap.SrcToken.Address.Address, target: q.Main.To}
			c, sender := startChain(t, q, q.Swap.Amount, func(alloc types.GenesisAlloc, me common.Address) {
				at.me = me
				if tt.alter != nil {
					tt.alter(alloc, at)
				}
			})
			_, err := sender.Execute(t.Context(), q)
			if tt.refuses == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, "there is no contract at "+tt.refuses(at).String()+" on chain 1, and what is sent there is lost")
			if !errors.Is(err, ErrNoContract) {
				t.Errorf("got %v, want ErrNoContract", err)
			}
			wantNothingSent(t, c, sender)
		})
	}
}

// TestExecuteWithSilentNode: where the node does not tell, coins stay, and tokens go after a warning.
func TestExecuteWithSilentNode(t *testing.T) {
	for name, result := range map[string]string{
		"null": `null`, "an empty text": `""`, "no hex": `"contract"`, "half a byte": `"0x0"`, "a list": `["0x60"]`,
		"no JSON": `<html>`, "silence": ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := make(chan struct{})
			silence := func(answer []byte) []byte {
				if result == "" {
					<-late
				}
				var fields struct{ ID json.RawMessage }
				_ = json.Unmarshal(answer, &fields)
				return []byte(`{"jsonrpc":"2.0","id":` + string(fields.ID) + `,"result":` + result + `}`)
			}
			start := func(q *Checked) (*localnet.Chain, Sender) {
				c, sender := startChain(t, q, q.Swap.Amount)
				sender.Node = dial(t, lyingNode(t, c.URL(), "eth_getCode", silence))
				return c, sender
			}
			coins, tokens := checkedQuote(t, ofCoins), checkedQuote(t, ofTokens)
			c, sender := start(coins)
			_, payer := start(tokens)
			t.Cleanup(func() { close(late) }) // before the nodes are closed

			_, err := sender.Execute(t.Context(), coins)
			wantError(t, err, "the node does not say whether there is a contract at "+coins.Main.To.String())
			if !errors.Is(err, ErrContractUnknown) {
				t.Errorf("got %v, want ErrContractUnknown", err)
			}
			wantNothingSent(t, c, sender)

			var told []string
			payer.Progress = func(what string) { told = append(told, what) }
			if _, err := payer.Execute(t.Context(), tokens); err != nil {
				t.Fatal(err)
			}
			for i, address := range []common.Address{tokens.Main.To, tokens.Approval.To} {
				want := "warning: the node does not say whether there is a contract at " + address.String()
				if !strings.HasPrefix(told[i], want) {
					t.Errorf("got %q, want %q", told[i], want)
				}
			}
		})
	}
}

// wantNothingSent: the only transaction is the one that minted the tokens.
func wantNothingSent(t *testing.T, c *localnet.Chain, s Sender) {
	t.Helper()
	nonce, err := c.Client().NonceAt(t.Context(), crypto.PubkeyToAddress(s.Key.PublicKey), nil)
	if err != nil || nonce != 1 {
		t.Errorf("got nonce %d and %v, want 1", nonce, err)
	}
}
