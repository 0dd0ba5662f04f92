package localnet

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

const (
	sourceDomain     = 0
	settlementDomain = 6
)

// One chain stands for both ends: what is burnt of usdc is minted of settlementUSDC.
var (
	settlementUSDC = contract{contracts.TokenABI, common.HexToAddress("0x2006")}
	messenger      = contract{contracts.TokenMessengerABI, common.HexToAddress("0x5000")}
	receiver       = contract{contracts.ReceiverABI, common.HexToAddress("0x6000")}
)

func startCCTP(t *testing.T) testChain {
	chain := start(t, types.GenesisAlloc{
		usdc.at:           contracts.Token(operator, "USDC", 6),
		settlementUSDC.at: contracts.Token(operator, "USDC", 6, receiver.at),
		messenger.at:      contracts.TokenMessenger(sourceDomain, usdc.at, settlementDomain),
		receiver.at:       contracts.Receiver(attester, settlementUSDC.at, settlementDomain),
	})
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(10_000))
	chain.do(userKey, usdc, "approve", messenger.at, big.NewInt(9_000))
	return chain
}

// A burn is the arguments of a depositForBurnWithHook.
type burn struct {
	amount      int64
	domain      uint32
	recipient   common.Hash
	token       common.Address
	caller      common.Hash
	maxFee      int64
	minFinality uint32
	hook        []byte
}

func goodBurn() burn {
	here := common.BytesToHash(receiver.at[:])
	return burn{5000, settlementDomain, here, usdc.at, here, 2, 1000, hook(0, recipient[:])}
}

func (b burn) args() []any {
	return []any{big.NewInt(b.amount), b.domain, b.recipient, b.token, b.caller, big.NewInt(b.maxFee), b.minFinality, b.hook}
}

// hook is a swap to WETH on chain 369.
func hook(recipientType byte, recipient []byte) []byte {
	chain, integrator := number(369), contracts.IntegratorID(integrator)
	return slices.Concat(chain[:], dstToken[:], integrator[:], []byte{recipientType}, recipient)
}

func TestBurn(t *testing.T) {
	chain := startCCTP(t)
	b := goodBurn()
	receipt := chain.do(userKey, messenger, "depositForBurnWithHook", b.args()...)

	chain.balances(usdc, map[common.Address]int64{user: 5000, messenger.at: 0})
	if got := chain.read(usdc, "totalSupply").(*big.Int); got.Int64() != 5000 {
		t.Errorf("total supply: got %s, want 5000", got)
	}
	same(t, event(t, receipt, messenger, "DepositForBurn"), map[string]any{
		"burnToken":                 usdc.at,
		"amount":                    5000,
		"depositor":                 user,
		"mintRecipient":             [32]byte(b.recipient),
		"destinationDomain":         settlementDomain,
		"destinationTokenMessenger": [32]byte(common.BytesToHash(messenger.at[:])),
		"destinationCaller":         [32]byte(b.caller),
		"maxFee":                    2,
		"minFinalityThreshold":      1000,
		"hookData":                  b.hook,
	})

	const pad = "000000000000000000000000"
	zero := strings.Repeat("0", 64)
	want := strings.Join([]string{
		"00000001", "00000000", "00000006", zero, // version, domains, nonce
		pad, "0000000000000000000000000000000000005000", // sender
		pad, "0000000000000000000000000000000000005000", // recipient
		pad, "0000000000000000000000000000000000006000", // destination caller
		"000003e8", "00000000", // finality: asked for, executed
		"00000001",
		pad, "0000000000000000000000000000000000002000", // burn token
		pad, "0000000000000000000000000000000000006000", // mint recipient
		strings.Repeat("0", 60), "1388", // amount
		pad, hex.EncodeToString(user[:]), // depositor
		strings.Repeat("0", 63), "2", zero, zero, // fee: maximum, executed; expiration block
		strings.Repeat("0", 61), "171", // chain 369
		"d57d57d57d57d57d57d57d57d57d57d57d57d57d",
		pad, "17e6000000000000000000000000000000000003", // integrator
		"00", "4ec1000000000000000000000000000000000002", // recipient
	}, "")
	if got := hex.EncodeToString(event(t, receipt, messenger, "MessageSent")["message"].([]byte)); got != want {
		t.Errorf("message: got %s\nwant %s", got, want)
	}
}

func TestBurnRefused(t *testing.T) {
	chain := startCCTP(t)
	tests := map[string]struct {
		change func(*burn)
		reason string
	}{
		"nothing":            {func(b *burn) { b.amount = 0 }, "Amount must be nonzero"},
		"nobody to mint to":  {func(b *burn) { b.recipient = common.Hash{} }, "Mint recipient must be nonzero"},
		"fee takes all":      {func(b *burn) { b.maxFee = b.amount }, "Max fee must be less than amount"},
		"no hook":            {func(b *burn) { b.hook = nil }, "Hook data is empty"},
		"own domain":         {func(b *burn) { b.domain = sourceDomain }, "No TokenMessenger for domain"},
		"unknown domain":     {func(b *burn) { b.domain = 7 }, "No TokenMessenger for domain"},
		"another token":      {func(b *burn) { b.token = settlementUSDC.at }, "Burn token not supported"},
		"more than approved": {func(b *burn) { b.amount = 9001 }, "allowance too low"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b, chain := goodBurn(), testChain{chain.Chain, t}
			test.change(&b)
			chain.refuses(test.reason, userKey, nil, messenger, "depositForBurnWithHook", b.args()...)
		})
	}
	dearest := goodBurn()
	dearest.amount, dearest.maxFee = 9000, 8999
	chain.do(userKey, messenger, "depositForBurnWithHook", dearest.args()...)
}

// sent burns, and gives the message that asks for the mint.
func sent(chain testChain, b burn) []byte {
	chain.t.Helper()
	receipt := chain.do(userKey, messenger, "depositForBurnWithHook", b.args()...)
	return event(chain.t, receipt, messenger, "MessageSent")["message"].([]byte)
}

// attested signs the message, which may be a changed one, as number n.
func attested(t *testing.T, message []byte, n byte, change func(*Attestation)) (signed, signature []byte) {
	t.Helper()
	a := Attestation{Nonce: common.Hash{n}, Finality: 1000, Fee: big.NewInt(2)}
	if change != nil {
		change(&a)
	}
	signed, signature, err := Attest(attesterKey, message, a)
	if err != nil {
		t.Fatal(err)
	}
	return signed, signature
}

func TestReceiveRefusesAlteredBytes(t *testing.T) {
	chain := startCCTP(t)
	message, signature := attested(t, sent(chain, goodBurn()), 1, nil)
	for field, at := range map[string]int{"version": 3, "nonce": 12, "amount": 247, "executed fee": 343, "hook recipient": 480} {
		t.Run(field, func(t *testing.T) {
			altered := bytes.Clone(message)
			altered[at] ^= 2
			testChain{chain.Chain, t}.refuses("Invalid signature: not attester", operatorKey, nil, receiver, "receiveMessage", altered, signature)
		})
	}
	chain.refuses("Invalid signature: not attester", operatorKey, nil, receiver, "receiveMessage", append(bytes.Clone(message), 0), signature)
	chain.refuses("Invalid attestation length", operatorKey, nil, receiver, "receiveMessage", message, signature[:64])
	unrecoverable := append(bytes.Clone(signature[:64]), 0)
	chain.refuses("Invalid signature", operatorKey, nil, receiver, "receiveMessage", message, unrecoverable)
	_, forged, err := Attest(userKey, message, Attestation{Nonce: common.Hash{1}, Finality: 1000, Fee: big.NewInt(2)})
	if err != nil {
		t.Fatal(err)
	}
	chain.refuses("Invalid signature: not attester", operatorKey, nil, receiver, "receiveMessage", message, forged)
	chain.balances(settlementUSDC, map[common.Address]int64{receiver.at: 0})
	chain.do(operatorKey, receiver, "receiveMessage", message, signature)
}

// Each of these is signed by the attester.
func TestReceiveRefusesMessage(t *testing.T) {
	chain := startCCTP(t)
	good := sent(chain, goodBurn())
	head := chain.head()
	stranger := common.BytesToHash(recipient[:])
	put := func(at int, value ...byte) func([]byte) []byte {
		return func(m []byte) []byte { copy(m[at:], value); return m }
	}
	rehook := func(hook []byte) func([]byte) []byte {
		return func(m []byte) []byte { return append(m[:hookAt], hook...) }
	}
	tests := map[string]struct {
		message func([]byte) []byte
		attest  func(*Attestation)
		reason  string
	}{
		"version":           {put(3, 2), nil, "Invalid message version"},
		"another domain":    {put(11, 7), nil, "Invalid destination domain"},
		"another caller":    {put(108, stranger[:]...), nil, "Invalid caller for message"},
		"any caller":        {put(108, make([]byte, 32)...), nil, "Invalid caller for message"},
		"body version":      {put(151, 2), nil, "Invalid message body version"},
		"minted to another": {put(184, stranger[:]...), nil, "minted to another"},
		"fee over maximum":  {nil, func(a *Attestation) { a.Fee = big.NewInt(3) }, "Fee exceeds max fee"},
		"fee takes all":     {nil, func(a *Attestation) { a.Fee = big.NewInt(5000) }, "Fee equals or exceeds amount"},
		"expired":           {nil, func(a *Attestation) { a.ExpirationBlock = head }, "Message expired and must be re-signed"},
		"no hook":           {rehook(nil), nil, "hook is too short"},
		"no recipient":      {rehook(hook(0, nil)), nil, "hook is too short"},
		"padded address":    {rehook(hook(0, stranger[:])), nil, "recipient has the wrong length"},
		"address to shield": {rehook(hook(2, recipient[:])), nil, "recipient has the wrong length"},
		"recipient type 1":  {rehook(hook(1, recipient[:])), nil, "unknown recipient type"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			message := bytes.Clone(good)
			if test.message != nil {
				message = test.message(message)
			}
			message, signature := attested(t, message, 1, test.attest)
			testChain{chain.Chain, t}.refuses(test.reason, operatorKey, nil, receiver, "receiveMessage", message, signature)
		})
	}
}

func TestAttestRefuses(t *testing.T) {
	whole := make([]byte, 376)
	tests := map[string]struct {
		message []byte
		fee     *big.Int
	}{
		"short message": {whole[:375], new(big.Int)},
		"negative fee":  {whole, big.NewInt(-1)},
		"huge fee":      {whole, new(big.Int).Lsh(big.NewInt(1), 256)},
		"no fee given":  {whole, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Attest(attesterKey, test.message, Attestation{Fee: test.fee}); err == nil {
				t.Error("signed")
			}
		})
	}
}
