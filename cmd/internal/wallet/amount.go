package wallet

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
)

// maxDigits is more than any amount has.
const maxDigits = 78

// ParseAmount reads whole tokens, such as 100 or 0.5, into the smallest unit of a token with so many decimals. An amount
// that needs more decimals is refused, never rounded.
func ParseAmount(text string, decimals uint8) (*big.Int, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if !digits(whole) || point && !digits(fraction) || len(text) > maxDigits {
		return nil, fmt.Errorf("%q is not an amount such as 100 or 0.5", text)
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
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// Money is an amount of a token as people write it.
func Money(amount *big.Int, token chain.Token) string {
	return FormatAmount(amount, token.Decimals) + " " + token.Symbol
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func pow10(n uint8) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
