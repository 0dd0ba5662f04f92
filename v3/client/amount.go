package client

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits is more than any amount has.
const maxDigits = 78

// An Amount is an integer in the smallest unit of its token, as an answer writes it: decimal digits in quotes. Empty if
// it is not there.
type Amount string

// UnmarshalText refuses everything else.
func (a *Amount) UnmarshalText(text []byte) error {
	*a = Amount(text)
	return mustBe(isAmount(string(text)), text, "an amount in digits")
}

// Int is the amount as a number, nil if it is not one.
func (a Amount) Int() *big.Int {
	if !isAmount(string(a)) {
		return nil
	}
	n, _ := new(big.Int).SetString(string(a), 10)
	return n
}

func amountOf(n *big.Int) Amount { return Amount(n.String()) }

// A Percentage is a number from 0 to 100 as an answer writes it, such as 0.3; empty if it is not there.
type Percentage string

// UnmarshalJSON refuses everything else, and writes a number always in the same way.
func (p *Percentage) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(string(data), 64)
	*p = Percentage(strconv.FormatFloat(n, 'f', -1, 64))
	return mustBe(err == nil && n >= 0 && n <= 100, data, "a percentage")
}

// MarshalJSON writes a number.
func (p Percentage) MarshalJSON() ([]byte, error) {
	if p == "" {
		return []byte("null"), nil
	}
	return []byte(p), nil
}

// BPS is the percentage in hundredths of a percent; false if it is not a whole number of them.
func (p Percentage) BPS() (int64, bool) {
	n, err := ParseAmount(string(p), 2)
	if err != nil || !n.IsInt64() {
		return 0, false
	}
	return n.Int64(), true
}

func percentageOf(bps int64) Percentage { return Percentage(FormatAmount(big.NewInt(bps), 2)) }

// ParseAmount reads whole tokens, such as 100 or 0.5, into the smallest unit of a token with so many decimals. An
// amount that needs more decimals is refused, never rounded.
func ParseAmount(text string, decimals uint8) (*big.Int, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if !digits(whole) || point && !digits(fraction) || len(text) > maxDigits {
		return nil, fmt.Errorf("%.100q is not an amount such as 100 or 0.5", text)
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > int(decimals) {
		return nil, fmt.Errorf("%s has more decimals than the token, which has %d", text, decimals)
	}
	amount, _ := new(big.Int).SetString(whole+fraction+strings.Repeat("0", int(decimals)-len(fraction)), 10)
	return amount, nil
}

// FormatAmount is the reverse of ParseAmount.
func FormatAmount(amount *big.Int, decimals uint8) string {
	text := fmt.Sprintf("%0*s", int(decimals)+1, amount)
	whole, fraction := text[:len(text)-int(decimals)], text[len(text)-int(decimals):]
	fraction = strings.TrimRight(fraction, "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// A Holding is what an account has of the token that it wants to swap, in the smallest unit of the token.
type Holding struct {
	Balance *big.Int
	// Native: the token is the chain's own coin, which pays for gas too.
	Native bool
	// Gas is what the native coin is needed for besides: what the dry run of a quote for less needs (Simulation.Native)
	// beyond the amount.
	Gas *big.Int
	// Max is the most that one swap may move, as the listing says; nil for no limit.
	Max *big.Int
}

// MaxAmount is the most that an account can swap: its balance, less the gas if it is the chain's own coin, and at most
// the limit.
func MaxAmount(h Holding) (*big.Int, error) {
	switch {
	case !isNatural(h.Balance):
		return nil, errors.New("balance is not an amount")
	case h.Native && !isNatural(h.Gas):
		return nil, errors.New("gas is not an amount")
	case h.Max != nil && !isNatural(h.Max):
		return nil, errors.New("max is not an amount")
	}
	most := new(big.Int).Set(h.Balance)
	if h.Native {
		most.Sub(most, h.Gas)
	}
	if most.Sign() < 0 {
		most.SetInt64(0)
	}
	if h.Max != nil && most.Cmp(h.Max) > 0 {
		most.Set(h.Max)
	}
	return most, nil
}

func isNatural(n *big.Int) bool { return n != nil && n.Sign() >= 0 }

func isAmount(text string) bool { return digits(text) && len(text) <= maxDigits }

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func pow10(n uint8) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
