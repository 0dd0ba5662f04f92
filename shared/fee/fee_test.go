package fee_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
)

func TestProtocolRates(t *testing.T) {
	for _, p := range chain.Pairs() {
		want := fee.BPS(50) // outbound and privacy
		if !p.Src.Private() && !p.Dst.Private() && p.Dst == 369 {
			want = 30
		}
		if got := fee.Protocol(p.Src, p.Dst); got != want {
			t.Errorf("%d to %d: got %d bps, want %d", p.Src, p.Dst, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for bps, want := range map[fee.BPS]string{0: "0", 1: "0.01", 9: "0.09", 10: "0.1", 30: "0.3", 50: "0.5", 99: "0.99", 100: "1", 101: "1.01", 125: "1.25", 150: "1.5", 1000: "10"} {
		if got := string(bps.AppendPercent(nil)); got != want {
			t.Errorf("%d bps: got %s, want %s", bps, got, want)
		}
	}
}

// TestBeforeIsTheLeast: of Before(amount), the amount is left, and of one unit
// less, less.
func TestBeforeIsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := new(uint256.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 14).Draw(t, "amount"))
		rate := fee.BPS(rapid.IntRange(0, 1000).Draw(t, "rate"))
		left := func(n *uint256.Int) *uint256.Int {
			part := rate.Of(n)
			return new(uint256.Int).Sub(n, &part)
		}
		before := rate.Before(amount)
		if left(&before).Lt(amount) {
			t.Fatalf("of %s only %s is left", before.Dec(), left(&before).Dec())
		}
		if before.IsZero() {
			return
		}
		if less := new(uint256.Int).SubUint64(&before, 1); !left(less).Lt(amount) {
			t.Fatalf("%s is not the least: of %s there is %s left", before.Dec(), less.Dec(), left(less).Dec())
		}
	})
}

func TestConvertAndDivide(t *testing.T) {
	tests := []struct {
		name                      string
		amount                    string
		from, to                  uint8
		protocol, integrator      fee.BPS
		wantProtocol, wantPartner string
		wantNet                   string
	}{
		{"same decimals", "100000000", 6, 6, 30, 0, "300000", "0", "99700000"},
		{"18 to 6", "100000000000000000000", 18, 6, 30, 0, "300000", "0", "99700000"},
		{"6 to 18", "100000000", 6, 18, 50, 0, "500000000000000000", "0", "99500000000000000000"},
		{"18 to 6, dust below a unit is lost before the fee", "10000000999999999999", 18, 6, 30, 0, "30000", "0", "9970000"},
		{"fees do not divide evenly", "10000001", 6, 6, 30, 33, "30000", "33000", "9937001"},
		{"both fees round down", "33333333", 6, 6, 50, 77, "166666", "256666", "32910001"},
		{"ether", "20000000000000000000", 18, 18, 50, 1000, "100000000000000000", "2000000000000000000", "17900000000000000000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gross := fee.Convert(uint256.MustFromDecimal(tt.amount), tt.from, tt.to)
			got := fee.Divide(&gross, tt.protocol, tt.integrator)
			if got.Protocol.Dec() != tt.wantProtocol || got.Integrator.Dec() != tt.wantPartner || got.Net.Dec() != tt.wantNet {
				t.Errorf("got %s + %s + %s, want %s + %s + %s", got.Protocol.Dec(), got.Integrator.Dec(), got.Net.Dec(),
					tt.wantProtocol, tt.wantPartner, tt.wantNet)
			}
		})
	}
}

// TestMoneyProperties compares with math/big over amounts up to far beyond the limits.
func TestMoneyProperties(t *testing.T) {
	decimals := rapid.SampledFrom([]uint8{6, 18})
	rapid.Check(t, func(t *rapid.T) {
		amount := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 14).Draw(t, "amount"))
		from, to := decimals.Draw(t, "from"), decimals.Draw(t, "to")
		protocol := fee.BPS(rapid.IntRange(0, 50).Draw(t, "protocol"))
		integrator := fee.BPS(rapid.IntRange(0, 1000).Draw(t, "integrator"))

		gross := new(big.Int).Set(amount)
		ten := big.NewInt(10)
		if to > from {
			gross.Mul(gross, ten.Exp(ten, big.NewInt(int64(to-from)), nil))
		} else {
			gross.Quo(gross, ten.Exp(ten, big.NewInt(int64(from-to)), nil))
		}
		a := uint256.MustFromBig(amount)
		got := fee.Convert(a, from, to)
		if got.ToBig().Cmp(gross) != 0 {
			t.Fatalf("converted to %s, want %s", got.Dec(), gross)
		}
		split := fee.Divide(&got, protocol, integrator)
		total := split.Total()
		sum := new(big.Int).Add(total.ToBig(), split.Net.ToBig())
		if sum.Cmp(gross) != 0 {
			t.Fatalf("the parts add up to %s, want %s", sum, gross)
		}
		want := new(big.Int).Quo(new(big.Int).Mul(gross, big.NewInt(int64(integrator))), big.NewInt(10_000))
		if split.Integrator.ToBig().Cmp(want) != 0 {
			t.Fatalf("integrator fee %s, want %s", split.Integrator.Dec(), want)
		}

		more := new(uint256.Int).AddUint64(a, rapid.Uint64().Draw(t, "more"))
		moreGross := fee.Convert(more, from, to)
		moreSplit := fee.Divide(&moreGross, protocol, integrator)
		// Both fees are rounded down, so that each may take one unit more of one unit more.
		if moreSplit.Net.AddUint64(&moreSplit.Net, 1).Lt(&split.Net) {
			t.Fatalf("%s in gives %s, but %s in gives only %s", a.Dec(), split.Net.Dec(), more.Dec(), moreSplit.Net.Dec())
		}
	})
}

func TestLimits(t *testing.T) {
	tests := []struct {
		symbol   string
		id       chain.ID
		min, max string
	}{
		{"USDC", 1, "10000000", "25000000000"},
		{"USDC", 56, "10000000000000000000", "25000000000000000000000"},
		{"USDC", 369, "10000000", "25000000000"},
		{"USDT", 1, "10000000", "25000000000"},
		{"USDT", 56, "10000000000000000000", "25000000000000000000000"},
		{"DAI", 1, "10000000000000000000", "25000000000000000000000"},
		{"USD1", 56, "10000000000000000000", "25000000000000000000000"},
		{"ETH", 4663, "10000000000000000", "20000000000000000000"},
		{"WETH", 369, "10000000000000000", "20000000000000000000"},
	}
	for _, tt := range tests {
		t.Run(tt.symbol+" on "+tt.id.String(), func(t *testing.T) {
			token, err := chain.FindToken(tt.id, tt.symbol)
			if err != nil {
				t.Fatal(err)
			}
			min, max := uint256.MustFromDecimal(tt.min), uint256.MustFromDecimal(tt.max)
			one := uint256.NewInt(1)
			for _, ok := range []*uint256.Int{min, max} {
				if err := fee.CheckLimits(token, ok); err != nil {
					t.Errorf("%s: %v", ok.Dec(), err)
				}
			}
			for _, bad := range []*uint256.Int{new(uint256.Int), new(uint256.Int).Sub(min, one), new(uint256.Int).Add(max, one), new(uint256.Int).SetAllOne()} {
				e := fault.From(fee.CheckLimits(token, bad))
				if e.Code != fault.AmountOutOfRange || e.MinAmount != tt.min || e.MaxAmount != tt.max {
					t.Errorf("%s: got %+v, want bounds %s and %s", bad.Dec(), e, tt.min, tt.max)
				}
			}
		})
	}
	weth, _ := chain.FindToken(369, "WETH")
	if got := fault.From(fee.CheckLimits(weth, uint256.NewInt(1))).Message; !strings.Contains(got, "below the minimum of one transaction: 0.01 to 20 WETH") {
		t.Errorf("got %q", got)
	}
}

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "10": "10", "007": "7", "100000000": "100000000",
		strings.Repeat("0", 77) + "1": "1",
		"115792089237316195423570985008687907853269984665640564039457584007913129639935": "115792089237316195423570985008687907853269984665640564039457584007913129639935",
		"115792089237316195423570985008687907853269984665640564039457584007913129639936": "115792089237316195423570985008687907853269984665640564039457584007913129639935", // 2^256 saturates
		strings.Repeat("9", 78): "115792089237316195423570985008687907853269984665640564039457584007913129639935",
	} {
		got, err := fee.ParseAmount(text)
		if err != nil || got.Dec() != want {
			t.Errorf("%s: got %s and %v, want %s", text, got.Dec(), err, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.5", "1e6", "0x10", " 1", "1 ", "1_000", "١", strings.Repeat("1", 79)} {
		if got, err := fee.ParseAmount(text); fault.From(err).Code != fault.InvalidAmount || !got.IsZero() {
			t.Errorf("%q: got %s and %v, want %s", text, got.Dec(), err, fault.InvalidAmount)
		}
	}
}

// TestEveryTokenHasLimits: a new token gets limits of its own, never those of another.
func TestEveryTokenHasLimits(t *testing.T) {
	for _, pair := range chain.Pairs() {
		if _, most := fee.Limits(&pair.SrcToken); most.IsZero() {
			t.Errorf("%s has no limits: add them to limits in shared/fee/fee.go", pair.SrcToken.Symbol)
		}
	}
}
