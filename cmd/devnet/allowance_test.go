package main

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// allowances wants the client flow to approve only what is missing, whatever is allowed already.
func (w *world) allowances(t *testing.T) {
	usdt := pairOf(t, 1, "USDT", 369, "USDC")
	tests := map[string]struct {
		pair         chain.Pair
		allowed      string
		transactions uint64
	}{
		"nothing":                {pairOf(t, 1, "USDC", 369, "USDC"), "0", 2},
		"too little":             {pairOf(t, 1, "USDC", 369, "USDC"), "99.999999", 2},
		"enough":                 {pairOf(t, 1, "USDC", 369, "USDC"), "100", 1},
		"USDT, nothing":          {usdt, "0", 2},
		"USDT, too little":       {usdt, "99.999999", 3},
		"USDT, more than enough": {usdt, "100.000001", 1},
		"burn, too little":       {pairOf(t, 10, "USDC", 369, "USDC"), "1", 2},
		"native":                 {pairOf(t, 1, "ETH", 369, "WETH"), "0", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := "100"
			if test.pair.SrcToken.Native() {
				text = "1"
			}
			s := w.swap(test.pair, amount(t, text, test.pair.SrcToken))
			_, checked := w.quote(t, "v3", s)
			allowed := amount(t, test.allowed, s.SrcToken)
			if allowed.Sign() > 0 {
				w.mustSend(t, s.Src, approval(t, s.SrcToken, checked.Main.To, allowed))
			}
			before := w.nonce(t, s.Src)
			w.execute(t, checked)
			equal(t, "transactions", w.nonce(t, s.Src)-before, test.transactions)
			w.forget(t, s, checked.Main.To)
		})
	}
	target := w.net.Deployment.Target(&usdt).Address
	w.mustSend(t, 1, approval(t, usdt.SrcToken, target, big.NewInt(1)))
	_, err := w.send(t.Context(), 1, reference.User.Key, approval(t, usdt.SrcToken, target, big.NewInt(2)))
	says(t, err, "allowance is not zero")
	w.mustSend(t, 1, approval(t, usdt.SrcToken, target, new(big.Int)))
}

func (w *world) nonce(t *testing.T, src chain.ID) uint64 {
	t.Helper()
	nonce, err := w.net.Chain(src).Client().NonceAt(t.Context(), reference.User.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return nonce
}

func approval(t *testing.T, token chain.Token, spender common.Address, amount *big.Int) client.Call {
	t.Helper()
	data, err := contracts.TokenABI.Pack("approve", spender, amount)
	if err != nil {
		t.Fatal(err)
	}
	return client.Call{To: token.Address.Address, Value: new(big.Int), Data: data}
}
