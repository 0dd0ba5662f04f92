package localnet

import (
	"math/big"
	"os"
	"regexp"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// TestSettlementIDs wants one settlement for each swap and each burn, under the id that its source gives it.
func TestSettlementIDs(t *testing.T) {
	chain := startPools(t)
	fund(chain, usdcPool, usdc)
	swap := settlement(usdc)
	swap.Amount, swap.ProtocolFee, swap.IntegratorFee = big.NewInt(1), new(big.Int), new(big.Int)
	with := func(change func(*contracts.Settlement)) contracts.Settlement {
		s := swap
		change(&s)
		return s
	}
	burn := with(func(s *contracts.Settlement) { s.SrcPool = common.Address{} })
	huge := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	for name, s := range map[string]contracts.Settlement{
		"a swap":                 swap,
		"of another pool":        with(func(s *contracts.Settlement) { s.SrcPool[0] = 1 }),
		"of another chain":       with(func(s *contracts.Settlement) { s.Source = big.NewInt(1) }),
		"with another nonce":     with(func(s *contracts.Settlement) { s.Nonce = new(big.Int) }),
		"a burn":                 burn,
		"a burn on domain 0":     with(func(s *contracts.Settlement) { s.SrcPool, s.Source = common.Address{}, new(big.Int) }),
		"a burn, largest nonce":  with(func(s *contracts.Settlement) { s.SrcPool, s.Nonce = common.Address{}, huge }),
		"a swap with that nonce": with(func(s *contracts.Settlement) { s.Nonce = huge }),
	} {
		t.Run(name, func(t *testing.T) {
			chain := testChain{chain.Chain, t}
			id := swapID(s)
			said := chain.read(usdcPool, "swapId", s.Source, s.SrcPool, s.Nonce)
			if s.SrcPool == (common.Address{}) {
				id = crypto.Keccak256Hash(join(common.BigToHash(s.Source), common.BigToHash(s.Nonce)))
				said = chain.read(usdcPool, "burnId", s.Source, [32]byte(common.BigToHash(s.Nonce)))
			}
			if said != id {
				t.Errorf("the pool says that the id is %x, want %x", said, id)
			}
			chain.wantSettled(usdcPool, id, new(big.Int))
			receipt := chain.do(operatorKey, usdcPool, "settle", s)
			same(t, event(t, receipt, usdcPool, "Settled"), map[string]any{"id": id, "settlement": s})
			chain.wantSettled(usdcPool, id, receipt.BlockNumber)
			// Whatever else it says, it is the same settlement.
			s.Amount, s.Recipient, s.ProtocolFee = big.NewInt(2), treasury[:], big.NewInt(1)
			chain.refuses("already settled", operatorKey, nil, usdcPool, "settle", s)
			chain.refuses("already settled", operatorKey, nil, usdcPool, "settleOnward", s, uint32(7))
		})
	}
}

// wantSettled wants a pool to say in which block it settled; 0 if it has not.
func (c testChain) wantSettled(pool contract, id common.Hash, block *big.Int) {
	c.t.Helper()
	if got := c.read(pool, "settled", id).(*big.Int); got.Cmp(block) != 0 {
		c.t.Errorf("the pool says that it settled in block %s, want %s", got, block)
	}
}

// TestSettledOnArbitrum wants the block as eth_getLogs counts it where block.number is another chain's.
func TestSettledOnArbitrum(t *testing.T) {
	const arbBlockNumber = "a3b1b31d"
	asked := "60003560e01c63" + arbBlockNumber + "14" // the selector of the call is this one
	said := "63075bcd15" + "60005260206000f3"         // return 123,456,789
	chain := start(t, types.GenesisAlloc{
		usdc.at:                     contracts.Token(operator, "USDC", 6),
		usdcPool.at:                 contracts.Pool(operator, usdc.at, treasury, common.Address{}),
		common.HexToAddress("0x64"): {Code: common.FromHex(asked + "601457" + "60006000fd" + "5b" + said)},
	})
	fund(chain, usdcPool, usdc)
	s := settlement(usdc)
	chain.do(operatorKey, usdcPool, "settle", s)
	chain.wantSettled(usdcPool, swapID(s), big.NewInt(123_456_789))
}

const remoteDomain = 7

// transmitter stands for the one of the remote domain; remoteUSDC is what it mints.
var (
	remoteUSDC     = contract{contracts.TokenABI, common.HexToAddress("0x2007")}
	transmitter    = contract{contracts.TransmitterABI, common.HexToAddress("0x7000")}
	settlementPool = contract{contracts.PoolABI, common.HexToAddress("0x4006")}
)

// startOnward runs the chain of a pool that burns on, which has the transmitter of the other chain too.
func startOnward(t *testing.T) testChain {
	chain := start(t, types.GenesisAlloc{
		usdc.at:           contracts.Token(operator, "USDC", 6),
		remoteUSDC.at:     contracts.Token(operator, "USDC", 6, transmitter.at),
		railgun.at:        contracts.Railgun(shieldTreasury),
		messenger.at:      contracts.TokenMessenger(settlementDomain, usdc.at, remoteDomain),
		transmitter.at:    contracts.Transmitter(attester, remoteUSDC.at, remoteDomain),
		settlementPool.at: contracts.SettlementPool(operator, usdc.at, treasury, railgun.at, messenger.at),
		usdcPool.at:       contracts.Pool(operator, usdc.at, treasury, railgun.at),
	})
	fund(chain, settlementPool, usdc)
	fund(chain, usdcPool, usdc)
	return chain
}

// TestSettleOnward wants one receipt to tell of the settlement and of the burn that pays it.
func TestSettleOnward(t *testing.T) {
	chain := startOnward(t)
	s := settlement(usdc)
	id := swapID(s)
	receipt := chain.do(operatorKey, settlementPool, "settleOnward", s, uint32(remoteDomain))

	same(t, event(t, receipt, settlementPool, "Settled"), map[string]any{"id": id, "settlement": s})
	same(t, event(t, receipt, messenger, "DepositForBurn"), map[string]any{
		"burnToken":                 usdc.at,
		"amount":                    900,
		"depositor":                 settlementPool.at,
		"mintRecipient":             [32]byte(common.BytesToHash(recipient[:])),
		"destinationDomain":         remoteDomain,
		"destinationTokenMessenger": [32]byte(common.BytesToHash(messenger.at[:])),
		"destinationCaller":         [32]byte{},
		"maxFee":                    0,
		"minFinalityThreshold":      2000,
		"hookData":                  id[:],
	})
	chain.balances(usdc, map[common.Address]int64{recipient: 0, treasury: 30, integrator: 20, settlementPool.at: 50})
	if got := chain.read(usdc, "allowance", settlementPool.at, messenger.at).(*big.Int); got.Sign() != 0 {
		t.Errorf("allowance left to the messenger: got %s, want none", got)
	}
	chain.refuses("already settled", operatorKey, nil, settlementPool, "settleOnward", s, uint32(remoteDomain))
	chain.refuses("already settled", operatorKey, nil, settlementPool, "settle", s)

	burnt := event(t, receipt, messenger, "MessageSent")["message"].([]byte)
	message, signature := attested(t, burnt, 5, func(a *Attestation) { a.Finality, a.Fee = 2000, new(big.Int) })
	delivered := chain.do(attesterKey, transmitter, "receiveMessage", message, signature)
	same(t, event(t, delivered, transmitter, "MessageReceived"), map[string]any{
		"caller":                    attester,
		"sourceDomain":              settlementDomain,
		"nonce":                     [32]byte{5},
		"sender":                    [32]byte(common.BytesToHash(messenger.at[:])),
		"finalityThresholdExecuted": 2000,
		"messageBody":               message[148:],
	})
	chain.balances(remoteUSDC, map[common.Address]int64{recipient: 900})
}

func TestSettleOnwardRefused(t *testing.T) {
	chain := startOnward(t)
	for name, test := range map[string]struct {
		pool   contract
		domain uint32
		change func(*contracts.Settlement)
		reason string
	}{
		"no messenger":        {usdcPool, remoteDomain, nil, "no messenger on this chain"},
		"unknown domain":      {settlementPool, 8, nil, "No TokenMessenger for domain"},
		"its own domain":      {settlementPool, settlementDomain, nil, "No TokenMessenger for domain"},
		"a note":              {settlementPool, remoteDomain, toShield, "only an address can be paid on another chain"},
		"the zero address":    {settlementPool, remoteDomain, func(s *contracts.Settlement) { s.Recipient = make([]byte, 20) }, "Mint recipient must be nonzero"},
		"padded address":      {settlementPool, remoteDomain, func(s *contracts.Settlement) { s.Recipient = make([]byte, 32) }, "recipient has the wrong length"},
		"nothing":             {settlementPool, remoteDomain, func(s *contracts.Settlement) { s.Amount = new(big.Int) }, "amount is zero"},
		"more than it has":    {settlementPool, remoteDomain, func(s *contracts.Settlement) { s.Amount = big.NewInt(1001) }, "balance too low"},
		"fees it has not":     {settlementPool, remoteDomain, func(s *contracts.Settlement) { s.Amount = big.NewInt(951) }, "balance too low"},
		"a token not for USD": {settlementPool, remoteDomain, func(s *contracts.Settlement) { s.Token = remoteUSDC.at }, "Burn token not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settlement(usdc)
			if test.change != nil {
				test.change(&s)
			}
			testChain{chain.Chain, t}.refuses(test.reason, operatorKey, nil, test.pool, "settleOnward", s, test.domain)
		})
	}
	chain.refuses("caller is not the operator", userKey, nil, settlementPool, "settleOnward", settlement(usdc), uint32(remoteDomain))
	chain.wantSettled(settlementPool, swapID(settlement(usdc)), new(big.Int))
}

// TestTransmitter wants a message to be delivered once, by whom it allows, as it was attested.
func TestTransmitter(t *testing.T) {
	chain := startOnward(t)
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(10_000))
	chain.do(userKey, usdc, "approve", messenger.at, big.NewInt(10_000))
	burnt := func(caller common.Address) []byte {
		b := burn{1000, remoteDomain, common.BytesToHash(recipient[:]), usdc.at, common.BytesToHash(caller[:]), 3, 1000, []byte{1}}
		return sent(chain, b)
	}
	message, signature := attested(t, burnt(common.Address{}), 1, nil)
	nonce := [32]byte{1}
	if got := chain.read(transmitter, "usedNonces", nonce).(*big.Int); got.Sign() != 0 {
		t.Errorf("a nonce that is not used: got %s, want 0", got)
	}
	altered := append([]byte{}, message...)
	altered[215] ^= 1 // the mint recipient
	chain.refuses("Invalid signature: not attester", userKey, nil, transmitter, "receiveMessage", altered, signature)
	chain.refuses("Invalid attestation length", userKey, nil, transmitter, "receiveMessage", message, signature[1:])
	chain.do(userKey, transmitter, "receiveMessage", message, signature)
	chain.balances(remoteUSDC, map[common.Address]int64{recipient: 998}) // the executed fee is 2
	if got := chain.read(transmitter, "usedNonces", nonce).(*big.Int); got.Int64() != 1 {
		t.Errorf("a nonce that is used: got %s, want 1", got)
	}
	chain.refuses("Nonce already used", userKey, nil, transmitter, "receiveMessage", message, signature)
	again, signature := attested(t, message, 1, func(a *Attestation) { a.Finality = 2000 })
	chain.refuses("Nonce already used", userKey, nil, transmitter, "receiveMessage", again, signature)

	message, signature = attested(t, burnt(operator), 2, nil)
	chain.refuses("Invalid caller for message", userKey, nil, transmitter, "receiveMessage", message, signature)
	chain.do(operatorKey, transmitter, "receiveMessage", message, signature)

	here := sent(chain, burn{1000, remoteDomain, common.BytesToHash(recipient[:]), usdc.at, common.Hash{}, 3, 1000, []byte{1}})
	for reason, change := range map[string]func([]byte) []byte{
		"Invalid message: too short":   func(m []byte) []byte { return m[:375] },
		"Invalid message version":      func(m []byte) []byte { m[3] = 2; return m },
		"Invalid destination domain":   func(m []byte) []byte { m[11] = 8; return m },
		"Invalid message body version": func(m []byte) []byte { m[151] = 2; return m },
	} {
		changed := change(append([]byte{}, here...))
		signature, err := crypto.Sign(crypto.Keccak256(changed), attesterKey)
		if err != nil {
			t.Fatal(err)
		}
		signature[64] += 27
		chain.refuses(reason, userKey, nil, transmitter, "receiveMessage", changed, signature)
	}
	dear, signature := attested(t, here, 3, func(a *Attestation) { a.Fee = big.NewInt(4) })
	chain.refuses("Fee exceeds max fee", userKey, nil, transmitter, "receiveMessage", dear, signature)
	chain.balances(remoteUSDC, map[common.Address]int64{recipient: 2 * 998})
}

// TestDocumentedIDs holds the vectors of docs/contracts.md against the contract and another encoder.
func TestDocumentedIDs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	chain := startPools(t)
	check := func(row, method string, want string, args ...any) {
		t.Helper()
		said := common.Hash(chain.read(usdcPool, method, args...).([32]byte))
		encoded, err := usdcPool.Methods[method].Inputs.Pack(args...)
		if err != nil {
			t.Fatal(err)
		}
		if said.Hex() != want || crypto.Keccak256Hash(encoded).Hex() != want {
			t.Errorf("%s: the contract says %s, the encoder %s", row, said, crypto.Keccak256Hash(encoded))
		}
	}
	decimal := func(text string) *big.Int {
		n, _ := new(big.Int).SetString(text, 10)
		return n
	}
	swaps := regexp.MustCompile("(?m)^\\| (\\d+) \\| `(0x[0-9a-fA-F]{40})` \\| (\\d+) \\| `(0x[0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(text), -1)
	for _, row := range swaps {
		check(row[0], "swapId", row[4], decimal(row[1]), common.HexToAddress(row[2]), decimal(row[3]))
	}
	burns := regexp.MustCompile("(?m)^\\| (\\d+) \\| `(0x[0-9a-f]{64})` \\| `(0x[0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(text), -1)
	for _, row := range burns {
		check(row[0], "burnId", row[3], decimal(row[1]), [32]byte(common.HexToHash(row[2])))
	}
	if len(swaps) != 5 || len(burns) != 4 {
		t.Errorf("got %d swaps and %d burns, want 5 and 4", len(swaps), len(burns))
	}
}
