package localnet

import (
	"fmt"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// TestToken: USDT answers nothing where others answer true, and changes an allowance only from or to zero.
func TestToken(t *testing.T) {
	chain := start(t, nil)
	one := big.NewInt(1)
	for token, answer := range map[*contract]int{&usdc: 32, &usdt: 0} {
		chain.do(operatorKey, *token, "mint", user, big.NewInt(120))
		chain.do(userKey, *token, "transfer", recipient, big.NewInt(7))
		chain.do(userKey, *token, "approve", operator, big.NewInt(30))
		chain.do(operatorKey, *token, "transferFrom", user, treasury, big.NewInt(10))
		chain.do(userKey, *token, "burn", big.NewInt(3))
		chain.balances(*token, map[common.Address]int64{user: 100, recipient: 7, treasury: 10})
		for method, want := range map[string]int64{"totalSupply": 117, "decimals": 6} {
			if got := fmt.Sprint(chain.read(*token, method)); got != fmt.Sprint(want) {
				t.Errorf("%s: got %s, want %d", method, got, want)
			}
		}
		chain.refuses("caller may not mint", userKey, *token, "mint", user, one)
		chain.refuses("mint to zero", operatorKey, *token, "mint", common.Address{}, one)
		chain.refuses("balance too low", userKey, *token, "transfer", recipient, big.NewInt(101))
		chain.refuses("transfer to zero", userKey, *token, "transfer", common.Address{}, one)
		chain.refuses("allowance too low", operatorKey, *token, "transferFrom", user, treasury, big.NewInt(21))
		chain.refuses("balance too low", userKey, *token, "burn", big.NewInt(101))
		for method, args := range map[string][]any{
			"transfer":     {recipient, one},
			"transferFrom": {user, recipient, new(big.Int)},
			"approve":      {recipient, one},
		} {
			question := ethereum.CallMsg{From: user, To: &token.at, Data: token.call(t, method, args...)}
			got, err := chain.Client().CallContract(t.Context(), question, nil)
			if err != nil || len(got) != answer {
				t.Errorf("%s answered %x (%v), want %d bytes", method, got, err, answer)
			}
		}
	}
	chain.refuses("allowance is not zero", userKey, usdt, "approve", operator, big.NewInt(31))
	chain.do(userKey, usdc, "approve", operator, big.NewInt(31))
}

func TestRegistry(t *testing.T) {
	chain := start(t, nil)
	id := contracts.IntegratorID(integrator)
	wants := func(id common.Hash, wallet common.Address, feeBPS uint16, active bool) {
		t.Helper()
		got := chain.read(registry, "getIntegrator", id)
		if want := []any{wallet, feeBPS, active}; !reflect.DeepEqual(got, want) {
			t.Errorf("integrator %s: got %v, want %v", id, got, want)
		}
	}
	wants(contracts.IntegratorID(listed.Wallet), listed.Wallet, 258, true)
	wants(contracts.IntegratorID(resting.Wallet), resting.Wallet, 30, false)
	wants(id, common.Address{}, 0, false)

	chain.do(operatorKey, registry, "register", integrator, uint16(50))
	wants(id, integrator, 50, true)
	chain.do(operatorKey, registry, "setFee", id, uint16(65535))
	wants(id, integrator, 65535, true)
	chain.do(operatorKey, registry, "setActive", id, false)
	wants(id, integrator, 65535, false)

	stranger := contracts.IntegratorID(recipient)
	chain.refuses("already registered", operatorKey, registry, "register", integrator, uint16(1))
	chain.refuses("wallet is zero", operatorKey, registry, "register", common.Address{}, uint16(1))
	chain.refuses("not registered", operatorKey, registry, "setFee", stranger, uint16(1))
	chain.refuses("not registered", operatorKey, registry, "setActive", stranger, true)
	chain.refuses("caller is not the operator", userKey, registry, "register", recipient, uint16(1))
	chain.refuses("caller is not the operator", userKey, registry, "setFee", id, uint16(1))
	chain.refuses("caller is not the operator", userKey, registry, "setActive", id, true)
	wants(id, integrator, 65535, false)
}

// TestPoolRefusesSwap: a token that does not exist, or that says no without reverting, must not pass for paid.
func TestPoolRefusesSwap(t *testing.T) {
	nowhere, liar := common.HexToAddress("0x2002"), common.HexToAddress("0x2003")
	nowherePool := contract{contracts.PoolABI, common.HexToAddress("0x4003")}
	liarPool := contract{contracts.PoolABI, common.HexToAddress("0x4004")}
	chain := start(t, types.GenesisAlloc{
		liar:           {Code: common.FromHex("600060005260206000f3")}, // answers 32 zero bytes to anything
		nowherePool.at: contracts.Pool(operator, nowhere, treasury, common.Address{}),
		liarPool.at:    contracts.Pool(operator, liar, treasury, common.Address{}),
	})
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(100))
	chain.do(userKey, usdc, "approve", usdcPool.at, big.NewInt(200))
	padded := common.LeftPadBytes(recipient[:], 32)
	for name, test := range map[string]struct {
		pool          contract
		value         int64
		amount        int64
		recipient     []byte
		recipientType uint8
		reason        string
	}{
		"nothing":              {usdcPool, 0, 0, recipient[:], 0, "amount is zero"},
		"more than is owned":   {usdcPool, 0, 101, recipient[:], 0, "balance too low"},
		"value with an ERC-20": {usdcPool, 1, 10, recipient[:], 0, "value with an ERC-20"},
		"native without value": {ethPool, 0, 10, recipient[:], 0, "value is not the amount"},
		"native, too much":     {ethPool, 11, 10, recipient[:], 0, "value is not the amount"},
		"padded address":       {usdcPool, 0, 10, padded, 0, "recipient has the wrong length"},
		"no recipient":         {usdcPool, 0, 10, nil, 0, "recipient has the wrong length"},
		"address to shield":    {usdcPool, 0, 10, recipient[:], 2, "recipient has the wrong length"},
		"note as address":      {usdcPool, 0, 10, newNote(1).recipient(), 0, "recipient has the wrong length"},
		"recipient type 1":     {usdcPool, 0, 10, recipient[:], 1, "unknown recipient type"},
		"no token":             {nowherePool, 0, 1, recipient[:], 0, "token has no code"},
		"token that lies":      {liarPool, 0, 1, recipient[:], 0, "token answered false"},
	} {
		t.Run(name, func(t *testing.T) {
			data := test.pool.call(t, "swap", big.NewInt(369), big.NewInt(test.amount),
				test.recipient, test.recipientType, dstToken, [32]byte{})
			chain := testChain{chain.Chain, t}
			chain.refusesCall(test.reason, userKey, big.NewInt(test.value), test.pool, data)
		})
	}
	chain.balances(usdc, map[common.Address]int64{user: 100, usdcPool.at: 0})
}

// newSettlement of 900 USDC, with fees of 30 and 20.
func newSettlement() contracts.Settlement {
	return contracts.Settlement{
		Source:        big.NewInt(369),
		SrcPool:       common.HexToAddress("0x4b1d"),
		Nonce:         big.NewInt(7),
		Token:         usdc.at,
		Amount:        big.NewInt(900),
		Recipient:     recipient[:],
		ProtocolFee:   big.NewInt(30),
		Integrator:    integrator,
		IntegratorFee: big.NewInt(20),
	}
}

// settlementID works the id of a settlement out by hand.
func settlementID(s contracts.Settlement) [32]byte {
	words := []common.Hash{common.BigToHash(s.Source), common.BytesToHash(s.SrcPool[:]), common.BigToHash(s.Nonce)}
	if s.SrcPool == (common.Address{}) { // of a burn
		return crypto.Keccak256Hash(words[0][:], words[2][:])
	}
	return crypto.Keccak256Hash(words[0][:], words[1][:], words[2][:])
}

// wantSettled wants a pool to say in which block it settled; 0 if it has not.
func (c testChain) wantSettled(pool contract, id common.Hash, block int64) {
	c.t.Helper()
	if got := c.read(pool, "settled", id).(*big.Int); got.Int64() != block {
		c.t.Errorf("the pool says that it settled in block %s, want %d", got, block)
	}
}

func toShield(s *contracts.Settlement) {
	s.Recipient = newNote(1).recipient()
	s.RecipientType = 2
}

// TestPoolRefusesSettlement: of settle and of settleOnward, which pays on a chain that has no pool.
func TestPoolRefusesSettlement(t *testing.T) {
	chain := start(t, nil)
	for _, pool := range []contract{usdcPool, ethPool, settlementPool} {
		chain.do(operatorKey, usdc, "mint", pool.at, big.NewInt(1000))
	}
	amount := func(n int64) func(*contracts.Settlement) {
		return func(s *contracts.Settlement) { s.Amount = big.NewInt(n) }
	}
	to := func(recipient []byte) func(*contracts.Settlement) {
		return func(s *contracts.Settlement) { s.Recipient = recipient }
	}
	ofType := func(recipientType uint8) func(*contracts.Settlement) {
		return func(s *contracts.Settlement) { s.RecipientType = recipientType }
	}
	coin := func(s *contracts.Settlement) { s.Token = contracts.Native }
	shieldCoin := func(s *contracts.Settlement) { toShield(s); coin(s) }
	shieldTooMuch := func(s *contracts.Settlement) { toShield(s); s.Amount = new(big.Int).Lsh(big.NewInt(1), 120) }
	noIntegrator := func(s *contracts.Settlement) { s.Integrator = common.Address{} }
	otherToken := func(s *contracts.Settlement) { s.Token = remoteUSDC.at }
	same := func(*contracts.Settlement) {}
	const here = -1 // for settle
	for name, test := range map[string]struct {
		pool   contract
		domain int
		change func(*contracts.Settlement)
		reason string
	}{
		"nothing":                   {usdcPool, here, amount(0), "amount is zero"},
		"more than it has":          {usdcPool, here, amount(951), "balance too low"},
		"more coin than it has":     {usdcPool, here, coin, "payment refused"},
		"to the zero address":       {usdcPool, here, to(make([]byte, 20)), "payment to zero"},
		"fee for no integrator":     {usdcPool, here, noIntegrator, "payment to zero"},
		"padded address":            {usdcPool, here, to(make([]byte, 32)), "recipient has the wrong length"},
		"address to shield":         {usdcPool, here, ofType(2), "recipient has the wrong length"},
		"recipient type 3":          {usdcPool, here, ofType(3), "unknown recipient type"},
		"native coin to shield":     {usdcPool, here, shieldCoin, "only an ERC-20 can be shielded"},
		"more than a note holds":    {usdcPool, here, shieldTooMuch, "amount does not fit a note"},
		"shield without RAILGUN":    {ethPool, here, toShield, "no RAILGUN on this chain"},
		"onward without messenger":  {usdcPool, remoteDomain, same, "no messenger on this chain"},
		"onward to nowhere":         {settlementPool, 8, same, "No TokenMessenger for domain"},
		"onward to its own domain":  {settlementPool, settlementDomain, same, "No TokenMessenger for domain"},
		"onward, a note":            {settlementPool, remoteDomain, toShield, "only an address can be paid on another chain"},
		"onward, zero address":      {settlementPool, remoteDomain, to(make([]byte, 20)), "Mint recipient must be nonzero"},
		"onward, padded address":    {settlementPool, remoteDomain, to(make([]byte, 32)), "recipient has the wrong length"},
		"onward, nothing":           {settlementPool, remoteDomain, amount(0), "amount is zero"},
		"onward, more than it has":  {settlementPool, remoteDomain, amount(1001), "balance too low"},
		"onward, fees it has not":   {settlementPool, remoteDomain, amount(951), "balance too low"},
		"onward, token not for USD": {settlementPool, remoteDomain, otherToken, "Burn token not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := testChain{chain.Chain, t}
			s := newSettlement()
			test.change(&s)
			if test.domain == here {
				chain.refuses(test.reason, operatorKey, test.pool, "settle", s)
			} else {
				chain.refuses(test.reason, operatorKey, test.pool, "settleOnward", s, uint32(test.domain))
			}
		})
	}
	s := newSettlement()
	chain.refuses("caller is not the operator", userKey, usdcPool, "settle", s)
	chain.refuses("caller is not the operator", userKey, settlementPool, "settleOnward", s, uint32(remoteDomain))
	chain.wantSettled(usdcPool, settlementID(s), 0)
	chain.wantSettled(settlementPool, settlementID(s), 0)
}

// TestSettleOnce wants one settlement for each swap and each burn, under the id that its source gives it.
func TestSettleOnce(t *testing.T) {
	chain := start(t, nil)
	chain.do(operatorKey, usdc, "mint", usdcPool.at, big.NewInt(1000))
	huge := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	pool := newSettlement().SrcPool
	for name, source := range map[string]struct {
		source *big.Int
		pool   common.Address
		nonce  *big.Int
	}{
		"a swap":                {big.NewInt(369), pool, big.NewInt(7)},
		"of another pool":       {big.NewInt(369), common.HexToAddress("0x4b1e"), big.NewInt(7)},
		"of another chain":      {big.NewInt(1), pool, big.NewInt(7)},
		"with another nonce":    {big.NewInt(369), pool, new(big.Int)},
		"a swap, largest nonce": {big.NewInt(369), pool, huge},
		"a burn":                {big.NewInt(369), common.Address{}, big.NewInt(7)},
		"a burn on domain 0":    {new(big.Int), common.Address{}, big.NewInt(7)},
		"a burn, largest nonce": {big.NewInt(369), common.Address{}, huge},
	} {
		t.Run(name, func(t *testing.T) {
			chain := testChain{chain.Chain, t}
			s := newSettlement()
			s.Source, s.SrcPool, s.Nonce = source.source, source.pool, source.nonce
			s.Amount, s.ProtocolFee, s.IntegratorFee = big.NewInt(1), new(big.Int), new(big.Int)
			id := settlementID(s)
			chain.wantSettled(usdcPool, id, 0)
			receipt := chain.do(operatorKey, usdcPool, "settle", s)
			same(t, event(t, receipt, usdcPool, "Settled"), map[string]any{"id": id, "settlement": s})
			chain.wantSettled(usdcPool, id, receipt.BlockNumber.Int64())
			// Whatever else it says, it is the same settlement.
			s.Amount, s.Recipient, s.ProtocolFee = big.NewInt(2), treasury[:], big.NewInt(1)
			chain.refuses("already settled", operatorKey, usdcPool, "settle", s)
			chain.refuses("already settled", operatorKey, usdcPool, "settleOnward", s, uint32(7))
		})
	}
}

// TestSettledOnArbitrum wants the block as eth_getLogs counts it where block.number is another chain's.
func TestSettledOnArbitrum(t *testing.T) {
	const arbBlockNumber = "a3b1b31d"
	asked := "60003560e01c63" + arbBlockNumber + "14" // the selector of the call is this one
	said := "63075bcd15" + "60005260206000f3"         // return 123,456,789
	chain := start(t, types.GenesisAlloc{
		common.HexToAddress("0x64"): {Code: common.FromHex(asked + "601457" + "60006000fd" + "5b" + said)},
	})
	chain.do(operatorKey, usdc, "mint", usdcPool.at, big.NewInt(1000))
	s := newSettlement()
	chain.do(operatorKey, usdcPool, "settle", s)
	chain.wantSettled(usdcPool, settlementID(s), 123_456_789)
}

// TestDocumentedIDs holds the vectors of docs/contracts.md against the contract and another encoder.
func TestDocumentedIDs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	chain := start(t, nil)
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
	const number, address, hash = `(\d+)`, "`(0x[0-9a-fA-F]{40})`", "`(0x[0-9a-f]{64})`"
	rows := func(columns string) [][]string {
		return regexp.MustCompile(`(?m)^\| `+columns+` \|$`).FindAllStringSubmatch(string(text), -1)
	}
	swaps := rows(number + ` \| ` + address + ` \| ` + number + ` \| ` + hash)
	for _, row := range swaps {
		check(row[0], "swapId", row[4], decimal(row[1]), common.HexToAddress(row[2]), decimal(row[3]))
	}
	burns := rows(number + ` \| ` + hash + ` \| ` + hash)
	for _, row := range burns {
		check(row[0], "burnId", row[3], decimal(row[1]), [32]byte(common.HexToHash(row[2])))
	}
	if len(swaps) != 5 || len(burns) != 4 {
		t.Errorf("got %d swaps and %d burns, want 5 and 4", len(swaps), len(burns))
	}
}

var snarkScalarField, _ = new(big.Int).SetString(
	"21888242871839275222246405745257275088548364400416034343698204186575808495617", 10)

// A note is the words of one note on its way into RAILGUN.
type note struct {
	npk       common.Hash
	tokenType byte
	token     common.Address
	value     int64
	rest      []common.Hash // ciphertext and key
}

// newNote makes a note of 500 USDC that differs from all others.
func newNote(n byte) note {
	return note{
		npk:   common.Hash{31: n},
		token: usdc.at,
		value: 500,
		rest:  []common.Hash{{0xb0, n}, {0xb1, n}, {0xb2, n}, {0xc0, n}},
	}
}

func join(words ...common.Hash) (joined []byte) {
	for _, w := range words {
		joined = append(joined, w[:]...)
	}
	return joined
}

func number(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// recipient is the note as a pool takes it.
func (n note) recipient() []byte { return append(n.npk.Bytes(), join(n.rest...)...) }

func shieldCall(notes ...note) []byte {
	call := append(common.FromHex("044a40c3"), join(number(32), number(int64(len(notes))))...)
	for _, n := range notes {
		token := common.BytesToHash(n.token[:])
		call = append(call, join(n.npk, common.Hash{31: n.tokenType}, token, common.Hash{}, number(n.value))...)
		call = append(call, join(n.rest...)...)
	}
	return call
}

// TestRailgunShield wants a fee of each note, rounded down, and notes that are numbered.
func TestRailgunShield(t *testing.T) {
	chain := start(t, nil)
	for _, token := range []contract{usdc, usdt} {
		chain.do(operatorKey, token, "mint", user, big.NewInt(1_000_000))
		chain.do(userKey, token, "approve", railgun.at, big.NewInt(500_000))
	}
	small, large, last := newNote(1), newNote(2), newNote(3)
	small.value = 399 // too little for a fee of one unit
	large.value = 100_001
	large.token = usdt.at
	last.value = 400
	last.npk = common.BigToHash(new(big.Int).Sub(snarkScalarField, big.NewInt(1)))
	for _, test := range []struct {
		notes []note
		start int64
		fees  string
	}{
		{[]note{small, large}, 0, "[0 250]"},
		{[]note{last}, 2, "[1]"},
	} {
		receipt, err := chain.Send(t.Context(), userKey, railgun.at, nil, shieldCall(test.notes...))
		if err != nil {
			t.Fatal(err)
		}
		got := event(t, receipt, railgun, "Shield")
		delete(got, "commitments") // the end-to-end tests open them
		delete(got, "shieldCiphertext")
		same(t, got, map[string]any{"treeNumber": 0, "startPosition": test.start, "fees": test.fees})
	}
	chain.balances(usdc, map[common.Address]int64{user: 1_000_000 - 799, railgun.at: 798, shieldTreasury: 1})
	chain.balances(usdt, map[common.Address]int64{user: 1_000_000 - 100_001, railgun.at: 99_751, shieldTreasury: 250})
}

func TestRailgunRefuses(t *testing.T) {
	chain := start(t, nil)
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(1000))
	chain.do(userKey, usdc, "approve", railgun.at, big.NewInt(500))
	for name, test := range map[string]struct {
		change func(*note)
		reason string
	}{
		"nothing":                 {func(n *note) { n.value = 0 }, "Invalid Note Value"},
		"npk out of the field":    {func(n *note) { n.npk = common.BigToHash(snarkScalarField) }, "Invalid Note NPK"},
		"ERC-721":                 {func(n *note) { n.tokenType = 1 }, "only ERC-20 is modelled"},
		"more than was approved":  {func(n *note) { n.value = 501 }, "allowance too low"},
		"token that is not there": {func(n *note) { n.token = recipient }, "token has no code"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNote(1)
			test.change(&n)
			testChain{chain.Chain, t}.refusesCall(test.reason, userKey, nil, railgun, shieldCall(n))
		})
	}
}
