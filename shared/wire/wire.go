// Package wire holds the words that all versions of the interface have in
// common: the parameters of a swap, a token, an approval, a call, an error.
// What a version says differently it says in its own package.
package wire

import (
	"encoding/hex"
	"encoding/json"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
)

// Fields are in the order of the specification, which is the order they are
// answered in.

// Token is a resolved token.
type Token struct {
	Address  string   `json:"address"`
	Symbol   string   `json:"symbol"`
	Decimals uint8    `json:"decimals"`
	ChainID  chain.ID `json:"chainId"`
}

// MapToken words a token.
func MapToken(t chain.Token) Token {
	return Token{t.Address.String(), t.Symbol, t.Decimals, t.ChainID}
}

// Approval is the ERC-20 approval to send first.
type Approval struct {
	Token    string `json:"token"`
	Spender  string `json:"spender"`
	Amount   string `json:"amount"`
	Calldata string `json:"calldata"`
}

// MapApproval words an approval; none stays none.
func MapApproval(a *quote.Approval) *Approval {
	if a == nil {
		return nil
	}
	return &Approval{a.Token.String(), a.Spender.String(), a.Amount.Dec(), hexBytes(a.Calldata)}
}

// Call is the payload of the main transaction.
type Call struct {
	Calldata string `json:"calldata"`
	Value    string `json:"value"`
}

// MapCall words the main transaction.
func MapCall(q *quote.Quote) Call {
	return Call{hexBytes(q.Calldata), q.Value.Hex()}
}

// Route is the kind of route.
type Route struct {
	Type string `json:"type"`
}

// MapRoute words a route.
func MapRoute(r chain.Route) Route {
	if r == chain.CCTPInbound {
		return Route{"CCTP_INBOUND"}
	}
	return Route{"DIRECT"}
}

// Percentage prints a rate as a JSON number.
func Percentage(rate fee.BPS) json.Number { return json.Number(rate.Percent()) }

func hexBytes(b []byte) string { return "0x" + hex.EncodeToString(b) }
