package main

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
)

// wantSwap wants the pool to have the money, and to have been told what was asked for.
func (w *world) wantSwap(t *testing.T, s swap.Swap, q *swap.Checked, receipt *types.Receipt) {
	t.Helper()
	equal(t, "change of the pool's balance", w.change(t, s.SrcToken, q.Main.To, receipt), s.Amount)
	event := eventOf(t, receipt, contracts.PoolABI, q.Main.To, "Swap")
	equal(t, "sender", event["sender"], reference.User.Address)
	equal(t, "dstChainId", event["dstChainId"], s.Dst)
	equal(t, "amount", event["amount"], s.Amount)
	equal(t, "dstToken", event["dstToken"], s.DstToken.Address)
	equal(t, "integratorId", common.Hash(event["integratorId"].([32]byte)), contracts.IntegratorID(s.Integrator))
	recipient := event["recipient"].([]byte)
	if s.Dst.Private() {
		equal(t, "recipientType", event["recipientType"], 2)
		wantNote(t, s.Recipient, recipient)
		return
	}
	equal(t, "recipientType", event["recipientType"], 0)
	equal(t, "recipient", common.Bytes2Hex(recipient), common.Bytes2Hex(common.FromHex(s.Recipient)))
}

// wantBurn wants the money to be gone, and the message to carry it where it should go.
func (w *world) wantBurn(t *testing.T, s swap.Swap, q *swap.Checked, receipt *types.Receipt) {
	t.Helper()
	equal(t, "change of the supply", w.supplyChange(t, s.SrcToken, receipt), negative(s.Amount))
	settlement := w.net.Deployment.Settlement
	receiver := common.BytesToHash(settlement.Receiver.Bytes())
	hook := wantHook(s)

	event := eventOf(t, receipt, contracts.TokenMessengerABI, q.Main.To, "DepositForBurn")
	equal(t, "burnToken", event["burnToken"], s.SrcToken.Address)
	equal(t, "amount", event["amount"], s.Amount)
	equal(t, "depositor", event["depositor"], reference.User.Address)
	equal(t, "mintRecipient", common.Hash(event["mintRecipient"].([32]byte)), receiver)
	equal(t, "destinationDomain", event["destinationDomain"], settlement.Domain)
	equal(t, "destinationCaller", common.Hash(event["destinationCaller"].([32]byte)), receiver)
	equal(t, "maxFee", event["maxFee"], q.MaxFee)
	equal(t, "minFinalityThreshold", event["minFinalityThreshold"], 1000)
	equal(t, "hookData", event["hookData"], hook)

	message := eventOf(t, receipt, contracts.TokenMessengerABI, q.Main.To, "MessageSent")["message"].([]byte)
	equal(t, "hook of the message", message[len(message)-len(hook):], hook)
}

// wantHook is the hook that a swap must have.
func wantHook(s swap.Swap) []byte {
	dst := common.BigToHash(new(big.Int).SetUint64(uint64(s.Dst)))
	integrator := contracts.IntegratorID(s.Integrator)
	return slices.Concat(dst[:], s.DstToken.Address.Bytes(), integrator[:], []byte{0}, common.FromHex(s.Recipient))
}

// wantDelivery wants the burnt money on the settlement chain, less no more than the burn allowed.
func (w *world) wantDelivery(t *testing.T, s swap.Swap, q *swap.Checked, payout *reference.Payout) {
	t.Helper()
	delivery := payout.Delivery
	if delivery.Fee.Cmp(q.MaxFee) > 0 {
		t.Errorf("the issuer took %s, more than %s", delivery.Fee, q.MaxFee)
	}
	settlement := w.net.Deployment.Settlement
	network, _ := chain.FindNetwork(settlement.ChainID)
	usdc := network.Tokens[slices.IndexFunc(network.Tokens, func(t chain.Token) bool { return t.Symbol == chain.USDC })]
	equal(t, "minted to the receiver", w.change(t, usdc, settlement.Receiver.Address, delivery.Receipt), new(big.Int).Sub(s.Amount, delivery.Fee))
	hook := wantHook(s)
	equal(t, "attested hook", delivery.Message[len(delivery.Message)-len(hook):], hook)
}

// wantID wants the settlement to be where anyone looks for it who saw the source: at the pool that pays, under the id that
// the source gives.
func (w *world) wantID(t *testing.T, s swap.Swap, q *swap.Checked, receipt *types.Receipt, payout *reference.Payout) {
	t.Helper()
	number := func(n *big.Int) []byte { return common.BigToHash(n).Bytes() }
	var want common.Hash
	if s.Route == chain.CCTPInbound {
		message := payout.Delivery.Message
		want = crypto.Keccak256Hash(common.LeftPadBytes(message[4:8], 32), message[12:44])
	} else {
		nonce := eventOf(t, receipt, contracts.PoolABI, q.Main.To, "Swap")["nonce"].(*big.Int)
		network := new(big.Int).SetUint64(uint64(s.Src.Network()))
		want = crypto.Keccak256Hash(number(network), common.LeftPadBytes(q.Main.To[:], 32), number(nonce))
	}
	equal(t, "id of the settlement", payout.ID, want)
	event := eventOf(t, payout.Receipt, contracts.PoolABI, payout.Pool, "Settled")
	equal(t, "id of the event", common.Hash(event["id"].([32]byte)), want)
	if payout.Mint != nil {
		settlement, _ := chain.FindNetwork(payout.Network)
		burn := eventOf(t, payout.Receipt, contracts.TokenMessengerABI, settlement.CCTP.Messenger.Address, "DepositForBurn")
		equal(t, "hook of the burn", burn["hookData"], want[:])
	}
}

// wantShielded wants a note of the amount that its recipient can find and spend.
func (w *world) wantShielded(t *testing.T, s swap.Swap, amount *big.Int, receipt *types.Receipt) {
	t.Helper()
	note, err := reference.FindShielded(receipt)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "shielded token", note.Token, s.DstToken.Address)
	equal(t, "shielded amount", note.Value, swap.AfterRailgun(amount, 25))
	equal(t, "shielded amount and RAILGUN's fee", new(big.Int).Add(note.Value, note.Fee), amount)
	wantNote(t, s.Recipient, note.Recipient())
}

// wantNote wants a note to be one that its recipient can open and spend.
func wantNote(t *testing.T, recipient string, encoded []byte) {
	t.Helper()
	owner, err := railgun.ParseAddress(recipient)
	if err != nil {
		t.Fatal(err)
	}
	note, err := railgun.ParseNote(encoded)
	if err != nil {
		t.Fatal(err)
	}
	random, err := railgun.Open(reference.PrivateViewingKey, note)
	if err != nil {
		t.Fatalf("the recipient cannot open the note: %v", err)
	}
	if owner.NPK(random) != note.NPK {
		t.Error("the recipient can see the note and never spend it")
	}
}

// eventOf gives the fields of the one event of that name that a contract emitted.
func eventOf(t *testing.T, receipt *types.Receipt, of abi.ABI, at common.Address, name string) map[string]any {
	t.Helper()
	var found []map[string]any
	for _, log := range receipt.Logs {
		if log.Address != at || log.Topics[0] != of.Events[name].ID {
			continue
		}
		fields := map[string]any{}
		if err := of.UnpackIntoMap(fields, name, log.Data); err != nil {
			t.Fatal(err)
		}
		var indexed abi.Arguments
		for _, input := range of.Events[name].Inputs {
			if input.Indexed {
				indexed = append(indexed, input)
			}
		}
		if err := abi.ParseTopicsIntoMap(fields, indexed, log.Topics[1:]); err != nil {
			t.Fatal(err)
		}
		found = append(found, fields)
	}
	if len(found) != 1 {
		t.Fatalf("got %d events %s, want one", len(found), name)
	}
	return found[0]
}

func (w *world) supplyChange(t *testing.T, token chain.Token, receipt *types.Receipt) *big.Int {
	t.Helper()
	after := w.view(t, token, receipt.BlockNumber, "totalSupply")
	return after.Sub(after, w.view(t, token, new(big.Int).Sub(receipt.BlockNumber, big.NewInt(1)), "totalSupply"))
}

func (w *world) allowance(t *testing.T, token chain.Token, owner, spender common.Address, block *big.Int) *big.Int {
	t.Helper()
	return w.view(t, token, block, "allowance", owner, spender)
}

// view asks a token for a number.
func (w *world) view(t *testing.T, token chain.Token, block *big.Int, method string, args ...any) *big.Int {
	t.Helper()
	data, err := contracts.TokenABI.Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := w.net.Chain(token.ChainID).Client().CallContract(t.Context(), ethereum.CallMsg{To: &token.Address.Address, Data: data}, block)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Int).SetBytes(answer)
}
