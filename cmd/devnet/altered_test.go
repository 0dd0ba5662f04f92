package main

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

// altered shows what a wallet's checks protect against: each case changes a quote on its way, has the check refuse it,
// and sends it all the same.
func (w *world) altered(t *testing.T) {
	t.Run("recipient", w.alteredRecipient)
	t.Run("amount", w.alteredAmount)
	t.Run("hook", w.alteredHook)
	t.Run("attested hook", w.alteredMessage)
	t.Run("note", w.alteredNote)
	t.Run("integrator", w.alteredIntegrator)
	if served("v1") {
		t.Run("no recipient", w.noRecipient)
	}
}

// forged is the main transaction of a quote with its calldata altered, and the refusal of the check. The approval has
// been sent.
func (w *world) forged(t *testing.T, s swap.Swap, alter func(t *testing.T, data []byte)) (client.Call, error) {
	t.Helper()
	_, body := w.ask(t, "v3", s)
	checked, err := swap.Verify(s, body, w.know)
	if err != nil {
		t.Fatalf("a wallet would refuse this quote: %v\n%s", err, body)
	}
	truth := bytes.Clone(checked.Main.Data)
	alter(t, checked.Main.Data)
	lie := bytes.ReplaceAll(body, []byte(hexutil.Encode(truth)), []byte(hexutil.Encode(checked.Main.Data)))
	lie = bytes.ReplaceAll(lie, note(truth), note(checked.Main.Data)) // also in the details, where a liar would not forget it
	_, err = swap.Verify(s, lie, w.know)
	if err == nil {
		t.Error("the check lets it pass")
	}
	if checked.Approval != nil {
		if _, err := w.send(t.Context(), s.Src, reference.User.Key, *checked.Approval); err != nil {
			t.Fatal(err)
		}
	}
	return checked.Main, err
}

// note is the last 160 bytes of calldata, which are the note of a shield, as the details have it.
func note(data []byte) []byte { return []byte(hexutil.Encode(data[len(data)-160:])) }

// replace writes over the last occurrence of old.
func replace(old, new []byte) func(*testing.T, []byte) {
	return func(t *testing.T, data []byte) {
		t.Helper()
		at := bytes.LastIndex(data, old)
		if at < 0 || len(old) != len(new) {
			t.Fatalf("%x cannot take the place of %x in %x", new, old, data)
		}
		copy(data[at:], new)
	}
}

func says(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}

// pairOf finds a pair as a person names it.
func pairOf(t *testing.T, src chain.ID, srcToken string, dst chain.ID, dstToken string) chain.Pair {
	t.Helper()
	p, err := chain.FindPair(src, srcToken, dst, dstToken)
	if err != nil {
		t.Fatal(err)
	}
	return *p
}

// Somebody else in the recipient's place is paid, and anyone can see it.
func (w *world) alteredRecipient(t *testing.T) {
	p := pairOf(t, 1, "USDC", 369, "USDC")
	s, thief := w.swap(p, amount(t, "100", p.SrcToken)), w.newRecipient()
	tx, refusal := w.forged(t, s, replace(common.FromHex(s.Recipient), thief[:]))
	says(t, refusal, "recipient is "+strings.ToLower(thief.Hex()))

	receipt := w.mustSend(t, s.Src, tx)
	equal(t, "recipient of the event", eventOf(t, receipt, contracts.PoolABI, tx.To, "Swap")["recipient"], thief[:])
	w.settle(t, s.Src, receipt)
	equal(t, "the thief", w.balance(t, s.DstToken, thief, nil), 99_700_000)
	equal(t, "the recipient", w.balance(t, s.DstToken, common.HexToAddress(s.Recipient), nil), 0)
}

// More than was approved, or than is sent along, is refused by the contracts; less arrives as less.
func (w *world) alteredAmount(t *testing.T) {
	word := func(n *big.Int) []byte { return common.BigToHash(n).Bytes() }
	for name, p := range map[string]chain.Pair{
		"allowance too low":            pairOf(t, 369, "USDC", 1, "USDC"),
		"value is not the amount":      pairOf(t, 8453, "ETH", 369, "WETH"),
		"burn: allowance too low":      pairOf(t, 10, "USDC", 369, "USDC"),
		"shielding: allowance too low": pairOf(t, 56, "DAI", 69696969, "USDC"),
	} {
		t.Run(name, func(t *testing.T) {
			s := w.swap(p, amount(t, "20", p.SrcToken))
			more := new(big.Int).Add(s.Amount, big.NewInt(1))
			tx, refusal := w.forged(t, s, replace(word(s.Amount), word(more)))
			says(t, refusal, more.String())
			_, err := w.send(t.Context(), s.Src, reference.User.Key, tx)
			_, reason, _ := strings.Cut(name, ": ")
			if reason == "" {
				reason = name
			}
			says(t, err, "execution reverted: "+reason)
			w.forget(t, s, tx.To)
		})
	}
	p := pairOf(t, 1, "DAI", 369, "USDC")
	s := w.swap(p, amount(t, "1000", p.SrcToken))
	tx, refusal := w.forged(t, s, replace(word(s.Amount), word(amount(t, "10", p.SrcToken))))
	says(t, refusal, "amount is 10000000000000000000, want 1000000000000000000000")
	receipt := w.mustSend(t, s.Src, tx)
	equal(t, "paid", w.change(t, s.SrcToken, reference.User.Address, receipt), negative(amount(t, "10", p.SrcToken)))
	w.settle(t, s.Src, receipt)
	equal(t, "arrived", w.balance(t, s.DstToken, common.HexToAddress(s.Recipient), nil), 9_970_000)
	w.forget(t, s, tx.To)
}

// A hook altered before the user signs pays whom it names.
func (w *world) alteredHook(t *testing.T) {
	p := pairOf(t, 43114, "USDC", 369, "USDC")
	s, thief := w.swap(p, amount(t, "100", p.SrcToken)), w.newRecipient()
	tx, refusal := w.forged(t, s, replace(common.FromHex(s.Recipient), thief[:]))
	says(t, refusal, "hook recipient: got "+strings.ToLower(thief.Hex()))

	receipt := w.mustSend(t, s.Src, tx)
	hook := eventOf(t, receipt, contracts.TokenMessengerABI, tx.To, "DepositForBurn")["hookData"].([]byte)
	equal(t, "end of the hook", hook[85:], thief[:])
	w.settle(t, s.Src, receipt)
	equal(t, "the thief", w.balance(t, s.DstToken, thief, nil), 99_700_000)
	equal(t, "the recipient", w.balance(t, s.DstToken, common.HexToAddress(s.Recipient), nil), 0)

	// One that names another chain than any is paid by nobody.
	s = w.swap(p, amount(t, "100", p.SrcToken))
	hookData := wantHook(s)
	tx, refusal = w.forged(t, s, replace(hookData[:84], slices.Concat(common.BigToHash(big.NewInt(370)).Bytes(), hookData[32:84])))
	says(t, refusal, "hook dstChainId")
	orders, err := w.net.Orders(t.Context(), s.Src, w.mustSend(t, s.Src, tx))
	if err != nil || len(orders) != 1 {
		t.Fatalf("got %d orders and %v, want one", len(orders), err)
	}
	_, err = w.net.Settle(t.Context(), orders[0])
	says(t, err, "no pool pays")
}

// A hook altered after the user signed, by a relayer, has no attestation.
func (w *world) alteredMessage(t *testing.T) {
	p := pairOf(t, 42161, "USDC", 369, "USDC")
	s, thief := w.swap(p, amount(t, "100", p.SrcToken)), w.newRecipient()
	_, checked := w.quote(t, "v3", s)
	receipt := w.execute(t, checked)
	sent := eventOf(t, receipt, contracts.TokenMessengerABI, checked.Main.To, "MessageSent")["message"].([]byte)
	message, signature, err := localnet.Attest(reference.Attester.Key, sent, localnet.Attestation{Nonce: receipt.TxHash, Finality: 1000, Fee: new(big.Int)})
	if err != nil {
		t.Fatal(err)
	}
	settlement := w.net.Deployment.Settlement
	deliver := func(message []byte) error {
		data, err := contracts.ReceiverABI.Pack("receiveMessage", message, signature)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.net.Chain(settlement.ChainID).Send(t.Context(), reference.Operator.Key, settlement.Receiver.Address, nil, data)
		return err
	}
	forged := bytes.Clone(message)
	copy(forged[len(forged)-20:], thief[:])
	says(t, deliver(forged), "execution reverted: Invalid signature: not attester")
	if err := deliver(message); err != nil {
		t.Errorf("the message as it was: %v", err)
	}
}

// A note for somebody else, or with a key that nobody can spend, is money lost; the viewing key shows it beforehand.
func (w *world) alteredNote(t *testing.T) {
	p := pairOf(t, 1, "USDC", 69696969, "USDC")
	s := w.swap(p, amount(t, "100", p.SrcToken))
	const stranger = "0zk1qyz75q556x52tgqw7jnavcdzs372jtghpalrfeazg9y4ym8vs6vh8rv7j6fe3z53llcjehy8up0hrd6vccs632a8qx6lksrknvja2fhu9shwehknj8xnc4h8vrp"
	address, err := railgun.ParseAddress(stranger)
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := railgun.NewNote(address)
	if err != nil {
		t.Fatal(err)
	}

	tx, refusal := w.forged(t, s, func(_ *testing.T, data []byte) { copy(data[len(data)-160:], stolen.Recipient()) })
	says(t, refusal, "the recipient cannot open it")
	w.wantLost(t, s, tx, func(note railgun.Note) bool {
		_, err := railgun.Open(reference.PrivateViewingKey, note)
		return err != nil
	})

	tx, refusal = w.forged(t, s, func(_ *testing.T, data []byte) { copy(data[len(data)-160:], stolen.NPK[:]) })
	says(t, refusal, "could see it and never spend it")
	w.wantLost(t, s, tx, func(note railgun.Note) bool {
		_, err := railgun.Open(reference.PrivateViewingKey, note)
		return err == nil && note.NPK == stolen.NPK
	})
}

// wantLost wants a shielding transaction to leave a note on the chain that is as lost as the caller says.
func (w *world) wantLost(t *testing.T, s swap.Swap, tx client.Call, lost func(railgun.Note) bool) {
	t.Helper()
	note, err := reference.FindShielded(w.settle(t, s.Src, w.mustSend(t, s.Src, tx)).Receipt)
	if err != nil {
		t.Fatal(err)
	}
	if !lost(note.Note) {
		t.Errorf("the recipient has the note: %+v", note)
	}
}

// An integrator that is not registered is not paid, and so nobody is.
func (w *world) alteredIntegrator(t *testing.T) {
	p := pairOf(t, 8453, "USDC", 369, "USDC")
	s, thief := w.swap(p, amount(t, "100", p.SrcToken)), w.newRecipient()
	s.Integrator = reference.Integrator.Wallet
	tx, refusal := w.forged(t, s, replace(reference.Integrator.Wallet[:], thief[:]))
	says(t, refusal, "integratorId is 0x")
	orders, err := w.net.Orders(t.Context(), s.Src, w.mustSend(t, s.Src, tx))
	if err != nil || len(orders) != 1 {
		t.Fatalf("got %d orders and %v, want one", len(orders), err)
	}
	_, err = w.net.Settle(t.Context(), orders[0])
	says(t, err, "is not active")
}

// The oldest version quotes without a recipient, and says that such a quote must not be signed: nobody can be paid.
func (w *world) noRecipient(t *testing.T) {
	p := pairOf(t, 8453, "ETH", 369, "WETH")
	s := w.swap(p, amount(t, "1", p.SrcToken))
	s.Recipient = common.Address{}.Hex()
	q, body := w.ask(t, "v1", s)
	_, err := swap.Verify(s, body, w.know)
	says(t, err, "is the zero address")
	tx := client.Call{To: common.HexToAddress(q.To), Value: s.Amount, Data: common.FromHex(q.MethodParameters.Calldata)}
	orders, err := w.net.Orders(t.Context(), s.Src, w.mustSend(t, s.Src, tx))
	if err != nil || len(orders) != 1 {
		t.Fatalf("got %d orders and %v, want one", len(orders), err)
	}
	_, err = w.net.Settle(t.Context(), orders[0])
	says(t, err, "payment to zero")
}

func (w *world) mustSend(t *testing.T, src chain.ID, tx client.Call) *types.Receipt {
	t.Helper()
	receipt, err := w.send(t.Context(), src, reference.User.Key, tx)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// forget takes an allowance back.
func (w *world) forget(t *testing.T, s swap.Swap, spender common.Address) {
	t.Helper()
	if !s.SrcToken.Native() {
		w.mustSend(t, s.Src, approval(t, s.SrcToken, spender, new(big.Int)))
	}
}
