package reference

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// get asks the issuer's service.
func get(t *testing.T, n *Net, path string) (int, string) {
	t.Helper()
	res, err := http.Get(n.Issuer.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(body))
}

// messageOf is the one message of a transaction.
func messageOf(t *testing.T, n *Net, domain string, tx common.Hash) message {
	t.Helper()
	status, body := get(t, n, "/v2/messages/"+domain+"?transactionHash="+tx.Hex())
	var answer struct{ Messages []message }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Messages) != 1 {
		t.Fatalf("got %d %s (%v), want one message", status, body, err)
	}
	return answer.Messages[0]
}

func wantIssuer(t *testing.T, n *Net) {
	const notFound = "404 page not found"
	unknown := "?transactionHash=0x" + strings.Repeat("1", 64)
	fees := func(fast string) string {
		return `[{"finalityThreshold":1000,"minimumFee":` + fast + `},{"finalityThreshold":2000,"minimumFee":0}]`
	}
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/v2/burn/USDC/fees/11/6":        {200, fees("13")},
		"/v2/burn/USDC/fees/2/6":         {200, fees("1.3")},
		"/v2/burn/USDC/fees/4/6":         {404, notFound},
		"/v2/messages/11":                {404, notFound},
		"/v2/messages/4" + unknown:       {404, notFound},
		"/v2/messages/nowhere" + unknown: {404, notFound},
		"/v2/messages/11" + unknown:      {404, notFound},
	} {
		if status, body := get(t, n, path); status != want.status || body != want.body {
			t.Errorf("%s: got %d %s, want %d %s", path, status, body, want.status, want.body)
		}
	}
	t.Run("attested", func(t *testing.T) { wantAttested(t, n) })
	t.Run("delayed", func(t *testing.T) { wantDelayed(t, n) })
	t.Run("onward", func(t *testing.T) { wantOnward(t, n) })
}

// burnOnLinea burns 100 USDC for the receiver, with a hook that the receiver can read.
func burnOnLinea(t *testing.T, n *Net, maxFee int64) *types.Receipt {
	t.Helper()
	linea, _ := chain.FindNetwork(59144)
	usdc := usdcOn(linea.ID).Address.Address
	messenger := linea.CCTP.Messenger.Address
	amount := units(100, 6)
	receiver := common.BytesToHash(n.Deployment.Settlement.Receiver.Bytes())
	hook := slices.Concat(common.BigToHash(big.NewInt(369)).Bytes(), usdcOn(chain.Hub).Address.Bytes(),
		make([]byte, 33), Treasury[:])
	send(t, n, linea.ID, usdc, call(contracts.TokenABI, "approve", messenger, amount))
	return send(t, n, linea.ID, messenger, call(contracts.TokenMessengerABI, "depositForBurnWithHook",
		amount, n.Deployment.Settlement.Domain, receiver, usdc, receiver, big.NewInt(maxFee), uint32(fast), hook))
}

// wantAttested wants the issuer to say the same whenever it is asked, and the receiver to take it.
func wantAttested(t *testing.T, n *Net) {
	receipt := burnOnLinea(t, n, 130_000)
	got := messageOf(t, n, "11", receipt.TxHash)
	if again := messageOf(t, n, "11", receipt.TxHash); got.Status != "complete" || got.DelayReason != "" ||
		len(got.Attestation) != 132 || again.Attestation != got.Attestation || again.Message.String() != got.Message.String() {
		t.Errorf("got %+v and %+v, want an attestation", got, again)
	}
	deliver := call(contracts.ReceiverABI, "receiveMessage", []byte(got.Message), common.FromHex(got.Attestation))
	receiver := n.Deployment.Settlement.Receiver.Address
	if _, err := n.Chain(8453).Send(t.Context(), Operator.Key, receiver, nil, deliver); err != nil {
		t.Fatal(err)
	}
	_, err := orderOf(t, n, 59144, receipt)
	wantError(t, err, "Nonce already used")
	order, err := orderOf(t, n, 59144, burnOnLinea(t, n, 130_000))
	if err != nil || order.Amount.Int64() != 100_000_000 || order.DstChain != 369 {
		t.Errorf("got %+v and %v, want the burn of 100 USDC", order, err)
	}
}

// wantDelayed wants the issuer to hold back a burn that allows less than its fee, and the operator to say so.
func wantDelayed(t *testing.T, n *Net) {
	receipt := burnOnLinea(t, n, 129_999)
	got := messageOf(t, n, "11", receipt.TxHash)
	if got.Status != "pending_confirmations" || got.Attestation != "PENDING" || got.Message != nil ||
		got.DelayReason != "insufficient_fee" {
		t.Errorf("got %+v, want it to wait for a higher fee", got)
	}
	_, err := orderOf(t, n, 59144, receipt)
	wantError(t, err, "the issuer does not attest the burn: insufficient_fee")
}

// wantOnward wants a settlement on a chain without a pool to be followed by its own transaction alone: to the issuer's
// nonce, and with it to the delivery.
func wantOnward(t *testing.T, n *Net) {
	_, order := swap(t, n, 42161, usdcOn(42161).Address.Address, common.Address{})
	payout, err := n.Settle(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	nonce := common.Hash(messageOf(t, n, "6", payout.Receipt.TxHash).Message[12:44])
	transmitter := common.HexToAddress("0x81D40F21F12A8F0E3252Bccb954D722d4c464B64") // where it really is
	used, err := n.read(t.Context(), 42161, nil, contracts.TransmitterABI, transmitter, "usedNonces", nonce)
	if err != nil || used[0].(*big.Int).Int64() != 1 {
		t.Errorf("the transmitter says %s of the nonce (%v), want 1", used, err)
	}
	received := contracts.TransmitterABI.Events["MessageReceived"].ID
	if !slices.ContainsFunc(payout.Mint.Logs, func(log *types.Log) bool {
		return log.Address == transmitter && log.Topics[0] == received && log.Topics[2] == nonce
	}) {
		t.Errorf("the delivery %s has no event with the nonce", payout.Mint.TxHash)
	}
}

func TestAttest(t *testing.T) {
	base, _ := chain.FindNetwork(8453)
	if _, _, err := attest(base.CCTP, &types.Log{Data: []byte{1}}); err == nil {
		t.Error("signed without a message")
	}
	burn := make([]byte, 148+228)
	burn[143] = 7 // the finality that is asked for
	data, err := contracts.TokenMessengerABI.Events["MessageSent"].Inputs.Pack(burn)
	if err != nil {
		t.Fatal(err)
	}
	log := &types.Log{Data: bytes.Clone(data)}
	message, _, err := attest(base.CCTP, log)
	if err != nil || message[147] != 7 || common.Hash(message[12:44]) == (common.Hash{}) {
		t.Errorf("got %x and %v, want a finality and a nonce", message, err)
	}
	if !bytes.Equal(log.Data, data) {
		t.Error("it changed the log")
	}
}
