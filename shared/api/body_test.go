package api

import (
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
)

func TestApprovalIsThereWhereOneIsNeeded(t *testing.T) {
	pair, err := chain.FindPair(1, "USDC", 369, "USDC")
	if err != nil {
		t.Fatal(err)
	}
	q := &quote.Quote{Pair: pair, To: chain.NewAddress(common.HexToAddress(wallet)), SrcAmount: *uint256.NewInt(1_000_000)}
	b := Body{[]byte("{")}
	if b.Approval("approval", q); string(b.json) != "{" {
		t.Errorf("got %s of a quote that needs no approval", b.json)
	}
	q.Approval = []byte{0x09, 0x5e, 0xa7, 0xb3}
	const want = `{"approval":{"token":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","spender":"` + wallet +
		`","amount":"1000000","calldata":"0x095ea7b3"}`
	if b.Approval("approval", q); string(b.json) != want {
		t.Errorf("got %s, want %s", b.json, want)
	}
}

// TestFeeNamesAPartnerWhoIsPaid: without a partner, the fee has no id and no address.
func TestFeeNamesAPartnerWhoIsPaid(t *testing.T) {
	f := &quote.Fee{ChainID: 369, ProtocolBPS: 15}
	f.Split = fee.Split{Protocol: *uint256.NewInt(15), Net: *uint256.NewInt(9_985)}
	b := Body{[]byte("{")}
	b.Fee("fee", f)
	const alone = `{"fee":{"chainId":369,"token":"destination","protocol":{"percentage":0.15,"amount":"15"},` +
		`"integrator":{"percentage":0,"amount":"0"},"total":{"amount":"15"}}`
	if string(b.json) != alone {
		t.Errorf("got %s, want %s", b.json, alone)
	}
	paid := chain.NewAddress(common.HexToAddress(wallet))
	f.Partner = quote.Partner{ID: calldata.IntegratorID{31: 7}, Wallet: paid, FeeBPS: 100}
	f.Integrator = *uint256.NewInt(100)
	b = Body{[]byte("{")}
	b.Fee("fee", f)
	const both = `{"fee":{"chainId":369,"token":"destination","protocol":{"percentage":0.15,"amount":"15"},` +
		`"integrator":{"percentage":1,"amount":"100",` +
		`"id":"0x0000000000000000000000000000000000000000000000000000000000000007","address":"` + wallet + `"},` +
		`"total":{"amount":"115"}}`
	if string(b.json) != both {
		t.Errorf("got %s, want %s", b.json, both)
	}
}

// TestTextsAreEscaped: whatever a text holds, it stays one text of its field.
func TestTextsAreEscaped(t *testing.T) {
	for _, hostile := range []string{
		`"`, `\`, `","admin":true,"x":"`, "a\nb", "\x00\x1f\x7f", "\xff\xfe", "</script>&", "\u2028", "é", "",
	} {
		w := httptest.NewRecorder()
		b := NewBody()
		b.Text("a", hostile)
		b.Texts("b", hostile, hostile)
		b.Token("c", &chain.Token{Symbol: hostile})
		if err := b.send(w); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Errorf("%q: got %s, which is no JSON: %v", hostile, w.Body, err)
			continue
		}
		text := strings.ToValidUTF8(strings.ReplaceAll(hostile, "\xff\xfe", "\ufffd\ufffd"), "")
		want := map[string]any{
			"a": text, "b": []any{text, text},
			"c": map[string]any{"address": "", "symbol": text, "decimals": 0.0, "chainId": 0.0},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", hostile, got, want)
		}
	}
}
