package localnet

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// startCCTP gives the user 10,000 USDC, of which the messengers may take 9,000.
func startCCTP(t *testing.T) testChain {
	t.Helper()
	chain := start(t, nil)
	chain.do(operatorKey, usdc, "mint", user, big.NewInt(10_000))
	for _, m := range []contract{messenger, homeMessenger} {
		chain.do(userKey, usdc, "approve", m.at, big.NewInt(9_000))
	}
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

// goodBurn is one that the receiver takes.
func goodBurn() burn {
	here := common.BytesToHash(receiver.at[:])
	return burn{5000, settlementDomain, here, usdc.at, here, 2, 1000, hook(0, recipient[:])}
}

func (b burn) args() []any {
	return []any{
		big.NewInt(b.amount), b.domain, b.recipient, b.token, b.caller, big.NewInt(b.maxFee), b.minFinality, b.hook,
	}
}

// hook is a swap to a token on chain 369.
func hook(recipientType byte, recipient []byte) []byte {
	chain := number(369)
	id := contracts.IntegratorID(integrator)
	return slices.Concat(chain[:], dstToken[:], id[:], []byte{recipientType}, recipient)
}

// TestBurn wants the bytes of the message that the issuer attests.
func TestBurn(t *testing.T) {
	chain := startCCTP(t)
	b := goodBurn()
	receipt := chain.do(userKey, messenger, "depositForBurnWithHook", b.args()...)
	chain.balances(usdc, map[common.Address]int64{user: 5000, messenger.at: 0})
	if got := chain.read(usdc, "totalSupply").(*big.Int); got.Int64() != 5000 {
		t.Errorf("total supply: got %s, want 5000", got)
	}
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
	for name, test := range map[string]struct {
		change func(*burn)
		reason string
	}{
		"nothing":            {func(b *burn) { b.amount = 0 }, "Amount must be nonzero"},
		"nobody to mint to":  {func(b *burn) { b.recipient = common.Hash{} }, "Mint recipient must be nonzero"},
		"fee takes all":      {func(b *burn) { b.maxFee = b.amount }, "Max fee must be less than amount"},
		"no hook":            {func(b *burn) { b.hook = nil }, "Hook data is empty"},
		"own domain":         {func(b *burn) { b.domain = sourceDomain }, "No TokenMessenger for domain"},
		"unknown domain":     {func(b *burn) { b.domain = remoteDomain }, "No TokenMessenger for domain"},
		"another token":      {func(b *burn) { b.token = settlementUSDC.at }, "Burn token not supported"},
		"more than approved": {func(b *burn) { b.amount = 9001 }, "allowance too low"},
	} {
		t.Run(name, func(t *testing.T) {
			b := goodBurn()
			test.change(&b)
			testChain{chain.Chain, t}.refuses(test.reason, userKey, messenger, "depositForBurnWithHook", b.args()...)
		})
	}
	dearest := goodBurn()
	dearest.amount = 9000
	dearest.maxFee = 8999
	chain.do(userKey, messenger, "depositForBurnWithHook", dearest.args()...)
}

// sent burns, and gives the message that asks for the mint.
func sent(chain testChain, from contract, b burn) []byte {
	chain.t.Helper()
	receipt := chain.do(userKey, from, "depositForBurnWithHook", b.args()...)
	return event(chain.t, receipt, from, "MessageSent")["message"].([]byte)
}

// attested fills in and signs a message as the issuer does, as number n with a fee of 2. Before it signs, the message
// may be changed.
func attested(
	t *testing.T, by *ecdsa.PrivateKey, sent []byte, n byte, change func([]byte) []byte,
) (message, signature []byte) {
	t.Helper()
	message = bytes.Clone(sent)
	message[12] = n                                      // the nonce
	binary.BigEndian.PutUint32(message[144:], 1000)      // the finality
	binary.BigEndian.PutUint64(message[burnSize-40:], 2) // the fee
	if change != nil {
		message = change(message)
	}
	signature, err := crypto.Sign(crypto.Keccak256(message), by)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return message, signature
}

// put writes over a part of a message.
func put(at int, value ...byte) func([]byte) []byte {
	return func(message []byte) []byte {
		copy(message[at:], value)
		return message
	}
}

// burnSize is that of a burn message without its hook, which follows.
const burnSize = 376

func TestReceiveRefusesAlteredBytes(t *testing.T) {
	chain := startCCTP(t)
	message, signature := attested(t, attesterKey, sent(chain, messenger, goodBurn()), 1, nil)
	_, forged := attested(t, userKey, message, 1, nil)
	flip := func(at int) []byte {
		altered := bytes.Clone(message)
		altered[at] ^= 2
		return altered
	}
	const stranger = "Invalid signature: not attester"
	for name, test := range map[string]struct {
		message, signature []byte
		reason             string
	}{
		"version":           {flip(3), signature, stranger},
		"nonce":             {flip(12), signature, stranger},
		"amount":            {flip(247), signature, stranger},
		"executed fee":      {flip(343), signature, stranger},
		"hook recipient":    {flip(480), signature, stranger},
		"longer":            {append(bytes.Clone(message), 0), signature, stranger},
		"another signer":    {message, forged, stranger},
		"shorter signature": {message, signature[:64], "Invalid attestation length"},
		"unrecoverable":     {message, append(bytes.Clone(signature[:64]), 0), "Invalid signature"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := testChain{chain.Chain, t}
			chain.refuses(test.reason, operatorKey, receiver, "receiveMessage", test.message, test.signature)
		})
	}
	chain.balances(settlementUSDC, map[common.Address]int64{receiver.at: 0})
	chain.do(operatorKey, receiver, "receiveMessage", message, signature)
	chain.balances(settlementUSDC, map[common.Address]int64{receiver.at: 4998})
	chain.refuses("Nonce already used", operatorKey, receiver, "receiveMessage", message, signature)
}

// TestReceiveRefusesMessage: each of these is signed by the attester. The transmitter of another chain refuses what is
// not for it in the same way.
func TestReceiveRefusesMessage(t *testing.T) {
	chain := startCCTP(t)
	home := sent(chain, messenger, goodBurn())
	stranger := common.BytesToHash(recipient[:])
	abroad := sent(chain, homeMessenger, burn{1000, remoteDomain, stranger, usdc.at, common.Hash{}, 2, 1000, []byte{1}})
	head, err := chain.Client().BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rehook := func(hook []byte) func([]byte) []byte {
		return func(m []byte) []byte { return append(m[:burnSize], hook...) }
	}
	const feeEnd, expirationEnd = burnSize - 32, burnSize
	for name, test := range map[string]struct {
		change func([]byte) []byte
		reason string
	}{
		"version":           {put(3, 2), "Invalid message version"},
		"another domain":    {put(11, 8), "Invalid destination domain"},
		"another caller":    {put(108, stranger[:]...), "Invalid caller for message"},
		"any caller":        {put(108, make([]byte, 32)...), "Invalid caller for message"},
		"body version":      {put(151, 2), "Invalid message body version"},
		"minted to another": {put(184, stranger[:]...), "minted to another"},
		"fee over maximum":  {put(feeEnd-1, 3), "Fee exceeds max fee"},
		"fee takes all":     {put(feeEnd-2, 5000>>8, 5000&255), "Fee equals or exceeds amount"},
		"expired":           {put(expirationEnd-1, byte(head)), "Message expired and must be re-signed"},
		"no hook":           {rehook(nil), "hook is too short"},
		"no recipient":      {rehook(hook(0, nil)), "hook is too short"},
		"padded address":    {rehook(hook(0, stranger[:])), "recipient has the wrong length"},
		"address to shield": {rehook(hook(2, recipient[:])), "recipient has the wrong length"},
		"recipient type 1":  {rehook(hook(1, recipient[:])), "unknown recipient type"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := testChain{chain.Chain, t}
			refuse := func(by contract, sent []byte) {
				t.Helper()
				message, signature := attested(t, attesterKey, sent, 1, test.change)
				chain.refuses(test.reason, operatorKey, by, "receiveMessage", message, signature)
			}
			refuse(receiver, home)
			switch name {
			case "version", "another domain", "another caller", "body version", "fee over maximum":
				refuse(transmitter, abroad)
			}
		})
	}
}

// TestTransmitter wants a message to be delivered once, by whom it allows, as it was attested.
func TestTransmitter(t *testing.T) {
	chain := startCCTP(t)
	burnt := func(caller common.Address) []byte {
		to, by := common.BytesToHash(recipient[:]), common.BytesToHash(caller[:])
		return sent(chain, homeMessenger, burn{1000, remoteDomain, to, usdc.at, by, 3, 1000, []byte{1}})
	}
	wantUsed := func(want int64) {
		t.Helper()
		if got := chain.read(transmitter, "usedNonces", [32]byte{1}).(*big.Int); got.Int64() != want {
			t.Errorf("use of the nonce: got %s, want %d", got, want)
		}
	}
	message, signature := attested(t, attesterKey, burnt(common.Address{}), 1, nil)
	altered := bytes.Clone(message)
	altered[215] ^= 1 // the mint recipient
	chain.refuses("Invalid signature: not attester", userKey, transmitter, "receiveMessage", altered, signature)
	chain.refuses("Invalid attestation length", userKey, transmitter, "receiveMessage", message, signature[1:])
	short, of := attested(t, attesterKey, message, 1, func(m []byte) []byte { return m[:burnSize-1] })
	chain.refuses("Invalid message: too short", userKey, transmitter, "receiveMessage", short, of)
	wantUsed(0)
	delivered := chain.do(userKey, transmitter, "receiveMessage", message, signature)
	same(t, event(t, delivered, transmitter, "MessageReceived"), map[string]any{
		"caller":                    user,
		"sourceDomain":              settlementDomain,
		"nonce":                     [32]byte{1},
		"sender":                    [32]byte(common.BytesToHash(homeMessenger.at[:])),
		"finalityThresholdExecuted": 1000,
		"messageBody":               message[148:],
	})
	chain.balances(remoteUSDC, map[common.Address]int64{recipient: 998}) // the executed fee is 2
	wantUsed(1)
	chain.refuses("Nonce already used", userKey, transmitter, "receiveMessage", message, signature)
	again, signature := attested(t, attesterKey, message, 1, put(144, 0, 0, 2000>>8, 2000&255)) // another finality
	chain.refuses("Nonce already used", userKey, transmitter, "receiveMessage", again, signature)

	message, signature = attested(t, attesterKey, burnt(operator), 2, nil)
	chain.refuses("Invalid caller for message", userKey, transmitter, "receiveMessage", message, signature)
	chain.do(operatorKey, transmitter, "receiveMessage", message, signature)
}

// TestSettleOnward wants one receipt to tell of the settlement and of the burn that pays it.
func TestSettleOnward(t *testing.T) {
	chain := start(t, nil)
	chain.do(operatorKey, usdc, "mint", settlementPool.at, big.NewInt(1000))
	s := newSettlement()
	id := settlementID(s)
	receipt := chain.do(operatorKey, settlementPool, "settleOnward", s, uint32(remoteDomain))
	same(t, event(t, receipt, settlementPool, "Settled"), map[string]any{"id": id, "settlement": s})
	same(t, event(t, receipt, homeMessenger, "DepositForBurn"), map[string]any{
		"burnToken":                 usdc.at,
		"amount":                    900,
		"depositor":                 settlementPool.at,
		"mintRecipient":             [32]byte(common.BytesToHash(recipient[:])),
		"destinationDomain":         remoteDomain,
		"destinationTokenMessenger": [32]byte(common.BytesToHash(homeMessenger.at[:])),
		"destinationCaller":         [32]byte{},
		"maxFee":                    0,
		"minFinalityThreshold":      2000,
		"hookData":                  id[:],
	})
	chain.balances(usdc, map[common.Address]int64{recipient: 0, treasury: 30, integrator: 20, settlementPool.at: 50})
	if got := chain.read(usdc, "allowance", settlementPool.at, homeMessenger.at).(*big.Int); got.Sign() != 0 {
		t.Errorf("allowance left to the messenger: got %s, want none", got)
	}
	chain.refuses("already settled", operatorKey, settlementPool, "settleOnward", s, uint32(remoteDomain))
	chain.refuses("already settled", operatorKey, settlementPool, "settle", s)
}
