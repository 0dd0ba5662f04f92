package main

import (
	"bytes"
	"math/big"
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
	t.Run("attested hook", w.alteredMessage)
	t.Run("note", w.alteredNote)
	t.Run("integrator", w.alteredIntegrator)
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

func (w *world) mustSend(t *testing.T, src chain.ID, tx client.Call) *types.Receipt {
	t.Helper()
	receipt, err := w.send(t.Context(), src, reference.User.Key, tx)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}
