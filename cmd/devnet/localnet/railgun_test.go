package localnet

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

var snarkScalarField, _ = new(big.Int).SetString("21888242871839275222246405745257275088548364400416034343698204186575808495617", 10)

// A shielded is one note on its way into RAILGUN, or as RAILGUN reports it.
type shielded struct {
	npk       common.Hash
	tokenType byte
	token     common.Address
	value     int64
	bundle    [3]common.Hash
	key       common.Hash
}

// note makes a note that differs from all others.
func note(n byte) shielded {
	return shielded{
		npk:    common.Hash{31: n},
		bundle: [3]common.Hash{{0xb0, n}, {0xb1, n}, {0xb2, n}},
		key:    common.Hash{0xc0, n},
	}
}

// recipient is the note as a pool takes it.
func (s shielded) recipient() []byte {
	return join(s.npk, s.bundle[0], s.bundle[1], s.bundle[2], s.key)
}

// request is the nine words of the note in a shield call.
func (s shielded) request() []byte {
	return join(s.npk, common.Hash{31: s.tokenType}, common.BytesToHash(s.token[:]), common.Hash{}, number(s.value),
		s.bundle[0], s.bundle[1], s.bundle[2], s.key)
}

func shieldCall(notes ...shielded) []byte {
	call := append(common.FromHex("044a40c3"), join(number(32), number(int64(len(notes))))...)
	for _, n := range notes {
		call = append(call, n.request()...)
	}
	return call
}

func join(words ...common.Hash) (joined []byte) {
	for _, w := range words {
		joined = append(joined, w[:]...)
	}
	return joined
}

func number(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// wantShield wants the receipt to hold a Shield event with these notes, their values after the fee.
func wantShield(t *testing.T, receipt *types.Receipt, start int64, notes []shielded, fees []int64) {
	t.Helper()
	type token struct {
		Type    uint8
		Address common.Address
		SubID   int64
	}
	type preimage struct {
		NPK   [32]byte
		Token token
		Value int64
	}
	type ciphertext struct {
		Bundle [3][32]byte
		Key    [32]byte
	}
	var preimages []preimage
	var ciphertexts []ciphertext
	for _, n := range notes {
		preimages = append(preimages, preimage{n.npk, token{Address: n.token}, n.value})
		ciphertexts = append(ciphertexts, ciphertext{[3][32]byte{n.bundle[0], n.bundle[1], n.bundle[2]}, n.key})
	}
	same(t, event(t, receipt, railgun, "Shield"), map[string]any{
		"treeNumber":       0,
		"startPosition":    start,
		"commitments":      preimages,
		"shieldCiphertext": ciphertexts,
		"fees":             fees,
	})
}

func TestRailgunShield(t *testing.T) {
	chain := startPools(t)
	for _, token := range []contract{usdc, usdt} {
		chain.do(operatorKey, token, "mint", user, big.NewInt(1_000_000))
		chain.do(userKey, token, "approve", railgun.at, big.NewInt(500_000))
	}
	small, large, last := note(1), note(2), note(3)
	small.token, small.value = usdc.at, 399 // too little for a fee of one unit
	large.token, large.value = usdt.at, 100_001
	last.token, last.value = usdc.at, 400
	last.npk = common.BigToHash(new(big.Int).Sub(snarkScalarField, big.NewInt(1)))

	shield := func(notes ...shielded) *types.Receipt {
		t.Helper()
		receipt, err := chain.Send(t.Context(), userKey, railgun.at, nil, shieldCall(notes...))
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	receipt := shield(small, large)
	large.value -= 250
	wantShield(t, receipt, 0, []shielded{small, large}, []int64{0, 250})

	receipt = shield(last)
	last.value--
	wantShield(t, receipt, 2, []shielded{last}, []int64{1})

	chain.balances(usdc, map[common.Address]int64{user: 1_000_000 - 799, railgun.at: 798, shieldTreasury: 1})
	chain.balances(usdt, map[common.Address]int64{user: 1_000_000 - 100_001, railgun.at: 99_751, shieldTreasury: 250})
}

func TestRailgunRefuses(t *testing.T) {
	chain := startPools(t)
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(1000))
	chain.do(userKey, usdc, "approve", railgun.at, big.NewInt(500))
	tests := map[string]struct {
		change func(*shielded)
		reason string
	}{
		"nothing":                 {func(n *shielded) { n.value = 0 }, "Invalid Note Value"},
		"npk out of the field":    {func(n *shielded) { n.npk = common.BigToHash(snarkScalarField) }, "Invalid Note NPK"},
		"ERC-721":                 {func(n *shielded) { n.tokenType = 1 }, "only ERC-20 is modelled"},
		"more than was approved":  {func(n *shielded) { n.value = 501 }, "allowance too low"},
		"token that is not there": {func(n *shielded) { n.token = recipient }, "token has no code"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := note(1)
			n.token, n.value = usdc.at, 500
			test.change(&n)
			_, err := chain.Send(t.Context(), userKey, railgun.at, nil, shieldCall(n))
			if want := "call of " + railgun.at.String() + ": execution reverted: " + test.reason; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
