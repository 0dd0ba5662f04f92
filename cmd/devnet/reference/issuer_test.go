package reference

import (
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// get asks the issuer's service.
func get(t *testing.T, n *Net, path string) (int, string) {
	t.Helper()
	res, err := http.Get(n.IssuerURL() + path)
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

// burnOn burns 100 USDC on a chain for the receiver, with a hook that the receiver can read.
func burnOn(t *testing.T, n *Net, on chain.Network, maxFee int64) *types.Receipt {
	t.Helper()
	usdc, messenger := tokenOf(on, chain.USDC).Address.Address, on.CCTP.Messenger.Address
	amount := units(100, 6)
	send := func(to common.Address, data []byte) *types.Receipt {
		t.Helper()
		receipt, err := n.Chain(on.ID).Send(t.Context(), User.Key, to, nil, data)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	send(usdc, call(contracts.TokenABI, "approve", messenger, amount))
	receiver := common.BytesToHash(n.Deployment.Settlement.Receiver.Bytes())
	hub, _ := chain.FindNetwork(chain.Hub)
	hook := append(common.BigToHash(big.NewInt(369)).Bytes(), tokenOf(hub, chain.USDC).Address.Bytes()...)
	hook = append(hook, make([]byte, 33)...)
	hook = append(hook, Treasury[:]...)
	return send(messenger, call(contracts.TokenMessengerABI, "depositForBurnWithHook",
		amount, n.Deployment.Settlement.Domain, receiver, usdc, receiver, big.NewInt(maxFee), uint32(fast), hook))
}

func wantIssuer(t *testing.T, n *Net) {
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/v2/burn/USDC/fees/11/6":                                           {200, `[{"finalityThreshold":1000,"minimumFee":13},{"finalityThreshold":2000,"minimumFee":0}]`},
		"/v2/burn/USDC/fees/2/6":                                            {200, `[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":2000,"minimumFee":0}]`},
		"/v2/burn/USDC/fees/4/6":                                            {404, `{"code":404,"error":"Domain not found"}`},
		"/v2/burn/USDC/fees/2/x":                                            {404, `{"code":404,"error":"Domain not found"}`},
		"/v2/messages/11":                                                   {400, `{"code":400,"error":"transactionHash is not one"}`},
		"/v2/messages/11?transactionHash=0x12":                              {400, `{"code":400,"error":"transactionHash is not one"}`},
		"/v2/messages/4?transactionHash=0x" + strings.Repeat("1", 64):       {404, `{"code":404,"error":"Message not found"}`},
		"/v2/messages/nowhere?transactionHash=0x" + strings.Repeat("1", 64): {404, `{"code":404,"error":"Message not found"}`},
		"/v2/messages/11?transactionHash=0x" + strings.Repeat("1", 64):      {404, `{"code":404,"error":"Message not found"}`},
	} {
		if status, body := get(t, n, path); status != want.status || body != want.body {
			t.Errorf("%s: got %d %s, want %d %s", path, status, body, want.status, want.body)
		}
	}
	linea, _ := chain.FindNetwork(59144)
	t.Run("attested", func(t *testing.T) { wantAttested(t, n, linea) })
	t.Run("delayed", func(t *testing.T) { wantDelayed(t, n, linea) })
	t.Run("onward", func(t *testing.T) { wantOnward(t, n) })
}

// A told message is what the issuer says of one, as a client reads it.
type told struct {
	Message        *hexutil.Bytes
	EventNonce     string
	Attestation    string
	Status         string
	CCTPVersion    json.Number
	DelayReason    *string
	DecodedMessage map[string]any
}

func ask(t *testing.T, n *Net, on chain.Network, tx common.Hash) told {
	t.Helper()
	status, body := get(t, n, "/v2/messages/"+big.NewInt(int64(on.CCTP.Domain)).String()+"?transactionHash="+tx.Hex())
	var answer struct{ Messages []told }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Messages) != 1 {
		t.Fatalf("got %d %s (%v), want one message", status, body, err)
	}
	return answer.Messages[0]
}

// wantAttested wants the issuer to say what the operator delivers.
func wantAttested(t *testing.T, n *Net, linea chain.Network) {
	receipt := burnOn(t, n, linea, 130_000)
	got := ask(t, n, linea, receipt.TxHash)
	orders, err := n.Orders(t.Context(), linea.ID, receipt)
	if err != nil || len(orders) != 1 {
		t.Fatalf("got %d orders and %v, want one", len(orders), err)
	}
	delivered := orders[0].Delivery.Message
	if got.Status != "complete" || got.DelayReason != nil || got.CCTPVersion != "2" || len(got.Attestation) != 132 {
		t.Errorf("got %+v, want an attestation", got)
	}
	if got.Message == nil || got.Message.String() != hexutil.Encode(delivered) || got.EventNonce != hexutil.Encode(delivered[12:44]) {
		t.Errorf("got message %s with nonce %s, want %x", got.Message, got.EventNonce, delivered)
	}
	if again := ask(t, n, linea, receipt.TxHash); again.Attestation != got.Attestation {
		t.Error("it attests otherwise when it is asked again")
	}
	body := got.DecodedMessage["decodedMessageBody"].(map[string]any)
	receiver := strings.ToLower(n.Deployment.Settlement.Receiver.Hex())
	for field, want := range map[string]string{
		"sourceDomain": "11", "destinationDomain": "6", "nonce": got.EventNonce, "destinationCaller": receiver,
		"minFinalityThreshold": "1000", "finalityThresholdExecuted": "1000", "messageBody": hexutil.Encode(delivered[148:]),
	} {
		if got.DecodedMessage[field] != want {
			t.Errorf("%s: got %v, want %s", field, got.DecodedMessage[field], want)
		}
	}
	for field, want := range map[string]string{
		"burnToken": strings.ToLower(tokenOf(linea, chain.USDC).Address.Hex()), "mintRecipient": receiver,
		"messageSender": strings.ToLower(User.Address.Hex()), "amount": "100000000", "maxFee": "130000", "feeExecuted": "130000",
		"expirationBlock": "0", "hookData": hexutil.Encode(delivered[148+228:]),
	} {
		if body[field] != want {
			t.Errorf("%s: got %v, want %s", field, body[field], want)
		}
	}
}

// wantDelayed wants the issuer to hold back a burn that allows less than its fee, and the operator to say so.
func wantDelayed(t *testing.T, n *Net, linea chain.Network) {
	receipt := burnOn(t, n, linea, 129_999)
	got := ask(t, n, linea, receipt.TxHash)
	if got.Status != "pending_confirmations" || got.Attestation != "PENDING" || got.Message != nil || got.DecodedMessage != nil ||
		got.DelayReason == nil || *got.DelayReason != "insufficient_fee" {
		t.Errorf("got %+v, want it to wait for a higher fee", got)
	}
	if _, err := n.Orders(t.Context(), linea.ID, receipt); err == nil || !strings.Contains(err.Error(), "the issuer does not attest the burn: insufficient_fee") {
		t.Errorf("got %v, want that the issuer does not attest", err)
	}
}

// wantOnward wants a settlement on a chain without a pool to be followed by its own transaction alone: to the issuer's
// nonce, and with it to the delivery.
func wantOnward(t *testing.T, n *Net) {
	arbitrum, _ := chain.FindNetwork(42161)
	_, orders := swap(t, n, 42161, tokenOf(arbitrum, chain.USDC).Address.Address)
	payout, err := n.Settle(t.Context(), orders[0])
	if err != nil {
		t.Fatal(err)
	}
	base, _ := chain.FindNetwork(8453)
	got := ask(t, n, base, payout.Receipt.TxHash)
	if hook := got.DecodedMessage["decodedMessageBody"].(map[string]any)["hookData"]; hook != payout.ID.Hex() {
		t.Errorf("the hook is %v, want the id %s", hook, payout.ID)
	}
	var used *big.Int
	if err := n.read(t.Context(), 42161, nil, contracts.TransmitterABI, Transmitter, &used, "usedNonces", common.HexToHash(got.EventNonce)); err != nil || used.Int64() != 1 {
		t.Errorf("the transmitter says %s of the nonce (%v), want 1", used, err)
	}
	received := contracts.TransmitterABI.Events["MessageReceived"].ID
	found := 0
	for _, log := range payout.Mint.Logs {
		if log.Address == Transmitter && log.Topics[0] == received && log.Topics[2] == common.HexToHash(got.EventNonce) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the delivery has %d events with the nonce, want one", found)
	}
}
