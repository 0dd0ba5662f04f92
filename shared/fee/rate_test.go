package fee

import (
	"math/big"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/shared/fault"
)

func bps(t testing.TB, text string) Rate {
	t.Helper()
	rate, err := ParseRate(text)
	if err != nil {
		t.Fatalf("%s %v", text, err)
	}
	return rate
}

func TestParseRate(t *testing.T) {
	zeros := strings.Repeat("0", 61)
	for text, want := range map[string]string{
		"0": "0", "0.0": "0", "0e99": "0", "0e-99": "0", "1": "1", "1.3": "1.3", "1.30": "1.3", "14.000": "14", "100": "100",
		"0.000000001": "0.000000001", "99.999999999": "99.999999999", "1." + zeros: "1",
		"1.3e0": "1.3", "1e-1": "0.1", "1E+1": "10", "1e2": "100", "0.00013e4": "1.3", "130000e-5": "1.3",
		// Up, never down.
		"1.3E-09": "0.000000002", "1.0000000001": "1.000000001", "1.3000000000000000444": "1.300000001",
		"1e-9": "0.000000001", "1.0e-9": "0.000000001", "99.9999999999": "100",
	} {
		if got, err := ParseRate(text); err != nil || got.String() != want {
			t.Errorf("%s: got %s and %v, want %s", text, got, err, want)
		}
	}
	for says, texts := range map[string]string{
		"is not a decimal number such as 1.3": "  x + - . .5 5. +1 01 00 1,3 1.3.0 1.3bps 0x10 1_0 NaN Infinity null " +
			"true 1e 1e+ 1e1.5 e1 1e-+1 1e100 1e-100 1e999 1e-999 0e999 1e001 1e1000 1e-1000 ١ -x --1 1\u00a0 -1 -0.5 -0 -1e400 1.000" + zeros + " " +
			strings.Repeat("9", 65) + " " + strings.Repeat("9", 1<<20),
		"is above 100 basis points":                        "100.1 101 1e3 100.00000000000000000001 1e99 " + strings.Repeat("9", 64),
		"is not 0, but below a billionth of a basis point": "9.9e-10 0.0000000009999 1e-99 0." + zeros + "1",
	} {
		for text := range strings.SplitSeq(texts, " ") {
			got, err := ParseRate(text)
			if err == nil || err.Error() != says || got != (Rate{}) {
				t.Errorf("%.80q: got %s and %v, want an error that it %s", text, got, err, says)
			}
		}
	}
	for milli, want := range map[uint32]string{0: "0", 1: "0.001", 1_300: "1.3", 100_001: "100", 1<<32 - 1: "100"} {
		if got := FromMilliBPS(milli); got.String() != want {
			t.Errorf("%d: got %s, want %s", milli, got, want)
		}
	}
}

func TestMaxFee(t *testing.T) {
	for _, test := range []struct{ rate, amount, estimate, maxFee string }{
		{"1.3", "100000000", "13000", "15600"},        // 100 USDC
		{"1.3", "100000001", "13001", "15602"},        // 13000.00013, 15601.2
		{"13", "25000000000", "32500000", "39000000"}, // 25,000 USDC from Linea
		{"1.333333333", "10000000000000", "1333333333", "1600000000"},
		{"0.000000001", "1000", "1", "2"},
		{"1", "10000", "1", "2"},
		{"1", "10001", "2", "3"},
		{"0", "1", "0", "0"},
		{"100", "3", "1", "2"},
		// 2^256-1, whose hundredth times 1.2 fits.
		{"100", "115792089237316195423570985008687907853269984665640564039457584007913129639935",
			"1157920892373161954235709850086879078532699846656405640394575840079131296400",
			"1389505070847794345082851820104254894239239815987686768473491008094957555680"},
	} {
		rate := bps(t, test.rate)
		amount := uint256.MustFromDecimal(test.amount)
		estimate := rate.estimate(amount)
		maxFee, err := rate.MaxFee(amount)
		if err != nil || estimate.Dec() != test.estimate || maxFee.Dec() != test.maxFee || amount.Dec() != test.amount {
			t.Errorf("%+v: got an estimate of %s and a maxFee of %s (%v)", test, estimate.Dec(), maxFee.Dec(), err)
		}
	}
	// What would revert.
	for _, test := range []struct {
		rate   string
		amount uint64 // one more is enough
	}{{"1.3", 2}, {"100", 2}, {"0.000000001", 2}, {"0", 0}} {
		rate := bps(t, test.rate)
		got, err := rate.MaxFee(uint256.NewInt(test.amount))
		if !got.IsZero() || fault.From(err).Code != fault.AmountOutOfRange {
			t.Errorf("%+v: got %s, %v", test, got.Dec(), err)
		}
		if _, err := rate.MaxFee(uint256.NewInt(test.amount + 1)); err != nil {
			t.Errorf("%+v: got %v for the least amount", test, err)
		}
	}
}

// rates draws a rate together with its exact value in basis points.
func rates(t *rapid.T) (Rate, *big.Rat) {
	nano := rapid.OneOf(rapid.Uint64Range(0, 100_000_000_000), rapid.Uint64Range(0, 20)).Draw(t, "rate")
	text := new(big.Rat).SetFrac(new(big.Int).SetUint64(nano), big.NewInt(1e9))
	rate, err := ParseRate(text.FloatString(9))
	if err != nil {
		t.Fatal(err)
	}
	return rate, text
}

// amounts draws an amount of any size.
func amounts(t *rapid.T) *uint256.Int {
	size := rapid.IntRange(0, 32).Draw(t, "size")
	return new(uint256.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "amount"))
}

// ceil rounds a rational up.
func ceil(r *big.Rat) *big.Int {
	n := new(big.Int).Add(r.Num(), r.Denom())
	return n.Sub(n, big.NewInt(1)).Div(n, r.Denom())
}

// TestMaxFeeIsExact compares with rationals.
func TestMaxFeeIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, exact := rates(t)
		amount := amounts(t)
		product := new(big.Rat).Mul(exact, new(big.Rat).SetInt(amount.ToBig()))
		product.Quo(product, big.NewRat(10_000, 1))
		wantEstimate := ceil(product)
		wantMax := ceil(new(big.Rat).Mul(new(big.Rat).SetInt(wantEstimate), big.NewRat(12, 10)))

		estimate := rate.estimate(amount)
		if estimate.ToBig().Cmp(wantEstimate) != 0 {
			t.Fatalf("got an estimate of %s, want %s", estimate.Dec(), wantEstimate)
		}
		maxFee, err := rate.MaxFee(amount)
		if reverts := wantMax.Cmp(amount.ToBig()) >= 0; reverts != (err != nil) {
			t.Fatalf("got %v, want an error to be %t", err, reverts)
		}
		if err != nil {
			return
		}
		if maxFee.ToBig().Cmp(wantMax) != 0 {
			t.Fatalf("got a maxFee of %s, want %s", maxFee.Dec(), wantMax)
		}
		margin := new(big.Rat).Mul(product, big.NewRat(12, 10))
		if new(big.Rat).SetInt(maxFee.ToBig()).Cmp(margin) < 0 {
			t.Fatalf("got a maxFee of %s, less than the fee and a fifth", maxFee.Dec())
		}
	})
}

// FuzzParseRate holds the parser to rationals: what it takes is the number
// rounded up to its unit, and what is plainly a rate it takes.
func FuzzParseRate(f *testing.F) {
	for _, text := range []string{
		"1.3", "100", "1e-1", "1.3E+0", "-1", "100.0000000001", "1e999", "01", "", "0e", "1.", strings.Repeat("9", 70),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseRate(text)
		if len(text) > 133 || strings.Trim(text, "0123456789.eE+-") != "" {
			if err == nil {
				t.Fatalf("got %s for what is no number", got)
			}
			return
		}
		exact, ok := new(big.Rat).SetString(text)
		if err != nil {
			plain := ok && exact.Sign() >= 0 && exact.Cmp(big.NewRat(100, 1)) <= 0 &&
				strings.Trim(text, "123456789.") == "" && text[0] != '.' && !strings.HasSuffix(text, ".")
			if plain {
				t.Fatalf("%q is refused: %v", text, err)
			}
			return
		}
		if !ok {
			t.Fatalf("got %s for %q, which is no number", got, text)
		}
		unit := big.NewRat(1, 1e9)
		want := new(big.Rat).SetInt(ceil(new(big.Rat).Quo(exact, unit)))
		want.Mul(want, unit)
		printed, ok := new(big.Rat).SetString(got.String())
		if !ok || printed.Cmp(want) != 0 || exact.Sign() < 0 || exact.Cmp(big.NewRat(100, 1)) > 0 {
			t.Fatalf("got %s for %q, want %s", got, text, want.FloatString(9))
		}
		if again, err := ParseRate(got.String()); err != nil || again != got {
			t.Fatalf("got %s and %v for the text of %s", again, err, got)
		}
	})
}
