package wire

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
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

// TestFeeNamesAPartnerWhoIsPaid, and nobody else.
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
	f.Partner = integrator.Partner{ID: integrator.ID{31: 7}, Wallet: paid, FeeBPS: 100}
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

// TestNumbers compares with the number's own words, over all sizes.
func TestNumbers(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, n *uint256.Int) {
		if got := string(appendDecimal([]byte("a"), n)); got != "a"+n.Dec() {
			t.Errorf("got %s, want a%s", got, n.Dec())
		}
		b := Body{[]byte("{")}
		if b.Quantity("a", n); string(b.json) != `{"a":"`+n.Hex()+`"` {
			t.Errorf("got %s, want %s", b.json, n.Hex())
		}
	}
	for _, text := range []string{
		"0", "1", "999999999999999999", "1000000000000000000", "18446744073709551615", "18446744073709551616",
		"1000000000000000000000000000000000000", "1000000000000000001000000000000000000",
		"115792089237316195423570985008687907853269984665640564039457584007913129639935",
	} {
		check(t, uint256.MustFromDecimal(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		var n uint256.Int
		n.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "bytes"))
		check(t, &n)
	})
}
