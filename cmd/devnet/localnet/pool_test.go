package localnet

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// Where things stand on the chain of the pool tests.
var (
	usdc    = contract{contracts.TokenABI, common.HexToAddress("0x2000")}
	usdt    = contract{contracts.TetherLikeTokenABI, common.HexToAddress("0x2001")}
	native  = contract{at: contracts.Native}
	railgun = contract{contracts.RailgunABI, common.HexToAddress("0x3000")}

	usdcPool = contract{contracts.PoolABI, common.HexToAddress("0x4000")}
	usdtPool = contract{contracts.PoolABI, common.HexToAddress("0x4001")}
	ethPool  = contract{contracts.PoolABI, common.HexToAddress("0x4002")}

	shieldTreasury = common.HexToAddress("0x7EA5000000000000000000000000000000000004")
	dstToken       = common.HexToAddress("0xd57d57d57d57d57d57d57d57d57d57d57d57d57d")
)

func startPools(t *testing.T) testChain {
	return start(t, types.GenesisAlloc{
		usdc.at:     contracts.Token(operator, "USDC", 6),
		usdt.at:     contracts.TetherLikeToken(operator, "USDT", 6),
		railgun.at:  contracts.Railgun(shieldTreasury),
		usdcPool.at: contracts.Pool(operator, usdc.at, treasury, railgun.at),
		usdtPool.at: contracts.Pool(operator, usdt.at, treasury, railgun.at),
		ethPool.at:  contracts.Pool(operator, contracts.Native, treasury, common.Address{}),
	})
}

func TestPoolRefusesSwap(t *testing.T) {
	chain := startPools(t)
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(100))
	chain.do(userKey, usdc, "approve", usdcPool.at, big.NewInt(200))
	tests := map[string]struct {
		pool          contract
		value         *big.Int
		amount        int64
		recipient     []byte
		recipientType uint8
		reason        string
	}{
		"nothing":              {usdcPool, nil, 0, recipient[:], 0, "amount is zero"},
		"more than is owned":   {usdcPool, nil, 101, recipient[:], 0, "balance too low"},
		"value with an ERC-20": {usdcPool, big.NewInt(1), 10, recipient[:], 0, "value with an ERC-20"},
		"native without value": {ethPool, nil, 10, recipient[:], 0, "value is not the amount"},
		"native, too much":     {ethPool, big.NewInt(11), 10, recipient[:], 0, "value is not the amount"},
		"padded address":       {usdcPool, nil, 10, common.LeftPadBytes(recipient[:], 32), 0, "recipient has the wrong length"},
		"no recipient":         {usdcPool, nil, 10, nil, 0, "recipient has the wrong length"},
		"address to shield":    {usdcPool, nil, 10, recipient[:], 2, "recipient has the wrong length"},
		"note as address":      {usdcPool, nil, 10, note(1).recipient(), 0, "recipient has the wrong length"},
		"recipient type 1":     {usdcPool, nil, 10, recipient[:], 1, "unknown recipient type"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			testChain{chain.Chain, t}.refuses(test.reason, userKey, test.value, test.pool, "swap", big.NewInt(369),
				big.NewInt(test.amount), test.recipient, test.recipientType, dstToken, [32]byte{})
		})
	}
	chain.balances(usdc, map[common.Address]int64{user: 100, usdcPool.at: 0})
}

// Tokens that are not there, or that say no without reverting, must not pass for paid.
func TestPoolRefusesFalseToken(t *testing.T) {
	nowhere, liar := common.HexToAddress("0x2002"), common.HexToAddress("0x2003")
	nowherePool := contract{contracts.PoolABI, common.HexToAddress("0x4003")}
	liarPool := contract{contracts.PoolABI, common.HexToAddress("0x4004")}
	chain := start(t, types.GenesisAlloc{
		liar:           {Code: common.FromHex("600060005260206000f3"), Balance: new(big.Int)}, // answers 32 zero bytes to anything
		nowherePool.at: contracts.Pool(operator, nowhere, treasury, common.Address{}),
		liarPool.at:    contracts.Pool(operator, liar, treasury, common.Address{}),
	})
	for reason, pool := range map[string]contract{"token has no code": nowherePool, "token answered false": liarPool} {
		chain.refuses(reason, userKey, nil, pool, "swap", big.NewInt(369), big.NewInt(1), recipient[:], uint8(0), dstToken, [32]byte{})
	}
}

func settlement(token contract) contracts.Settlement {
	return contracts.Settlement{
		Source:        big.NewInt(369),
		SrcPool:       common.HexToAddress("0x4b1d"),
		Nonce:         big.NewInt(7),
		Token:         token.at,
		Amount:        big.NewInt(900),
		Recipient:     recipient[:],
		ProtocolFee:   big.NewInt(30),
		Integrator:    integrator,
		IntegratorFee: big.NewInt(20),
	}
}

// swapID is the id of a settlement of a swap, worked out by hand.
func swapID(s contracts.Settlement) [32]byte {
	return crypto.Keccak256Hash(join(common.BigToHash(s.Source), common.BytesToHash(s.SrcPool[:]), common.BigToHash(s.Nonce)))
}

// fund gives the pool 1000 of the token.
func fund(chain testChain, pool, token contract) {
	if token.at != native.at {
		chain.do(operatorKey, token, "mint", pool.at, big.NewInt(1000))
	} else if _, err := chain.Send(chain.t.Context(), userKey, pool.at, big.NewInt(1000), nil); err != nil {
		chain.t.Fatal(err)
	}
}

func TestPoolRefusesSettlement(t *testing.T) {
	chain := startPools(t)
	fund(chain, usdcPool, usdc)
	fund(chain, usdcPool, native)
	fund(chain, ethPool, usdc)
	tests := map[string]struct {
		pool   contract
		change func(*contracts.Settlement)
		reason string
	}{
		"nothing":          {usdcPool, func(s *contracts.Settlement) { s.Amount = new(big.Int) }, "amount is zero"},
		"more than it has": {usdcPool, func(s *contracts.Settlement) { s.Amount = big.NewInt(951) }, "balance too low"},
		"more coin than it has": {usdcPool, func(s *contracts.Settlement) {
			s.Token, s.Amount = contracts.Native, big.NewInt(1001)
		}, "payment refused"},
		"to the zero address":    {usdcPool, func(s *contracts.Settlement) { s.Recipient = make([]byte, 20) }, "payment to zero"},
		"fee for no integrator":  {usdcPool, func(s *contracts.Settlement) { s.Integrator = common.Address{} }, "payment to zero"},
		"padded address":         {usdcPool, func(s *contracts.Settlement) { s.Recipient = make([]byte, 32) }, "recipient has the wrong length"},
		"address to shield":      {usdcPool, func(s *contracts.Settlement) { s.RecipientType = 2 }, "recipient has the wrong length"},
		"recipient type 3":       {usdcPool, func(s *contracts.Settlement) { s.RecipientType = 3 }, "unknown recipient type"},
		"native coin to shield":  {usdcPool, func(s *contracts.Settlement) { toShield(s); s.Token = contracts.Native }, "only an ERC-20 can be shielded"},
		"more than a note holds": {usdcPool, func(s *contracts.Settlement) { toShield(s); s.Amount = new(big.Int).Lsh(big.NewInt(1), 120) }, "amount does not fit a note"},
		"shield without RAILGUN": {ethPool, toShield, "no RAILGUN on this chain"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := settlement(usdc)
			test.change(&s)
			testChain{chain.Chain, t}.refuses(test.reason, operatorKey, nil, test.pool, "settle", s)
		})
	}
	chain.refuses("caller is not the operator", userKey, nil, usdcPool, "settle", settlement(usdc))
	chain.wantSettled(usdcPool, swapID(settlement(usdc)), new(big.Int))
}

func toShield(s *contracts.Settlement) { s.Recipient, s.RecipientType = note(1).recipient(), 2 }
