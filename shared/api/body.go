package api

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/version"
)

// Body builds a JSON object, field by field, in order. Field names are constants; every text
// is escaped. Encoding a struct with encoding/json would add 12 to 20 % to a request.
type Body struct{ json []byte }

// bodies are reused: a body is the largest allocation of a quote.
var bodies = sync.Pool{New: func() any {
	return &Body{make([]byte, 0, 2048)} // more than the longest quote without details
}}

// NewBody starts an object without fields.
func NewBody() *Body {
	b := bodies.Get().(*Body)
	b.json = append(b.json[:0], '{')
	return b
}

// appendText appends a text as a JSON string. Most texts need no escapes.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			escaped, _ := version.Encode(text) // a string can always be encoded
			return append(b, bytes.TrimSuffix(escaped, []byte("\n"))...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// send ends the object and answers with it. The body must not be used again.
func (b *Body) send(w http.ResponseWriter) error {
	b.json = append(b.json, '}', '\n')
	err := version.Send(w, http.StatusOK, version.JSONType, b.json)
	bodies.Put(b)
	return err
}

// literal adds a field whose value is JSON already: a constant or a number.
func (b *Body) literal(name, value string) {
	json := b.json
	if json[len(json)-1] != '{' {
		json = append(json, ',')
	}
	json = append(json, '"')
	json = append(json, name...)
	json = append(json, `":`...)
	b.json = append(json, value...)
}

// Open starts a field that is an object. Close ends it.
func (b *Body) Open(name string) { b.literal(name, "{") }

func (b *Body) Close() { b.json = append(b.json, '}') }

// OpenArray starts a field that is an array, and its first object. CloseArray
// ends both.
func (b *Body) OpenArray(name string) { b.literal(name, "[{") }

// Next ends an object of the array last opened and starts another.
func (b *Body) Next() { b.json = append(b.json, '}', ',', '{') }

func (b *Body) CloseArray() { b.json = append(b.json, '}', ']') }

func (b *Body) Text(name, value string) {
	b.literal(name, "")
	b.json = appendText(b.json, value)
}

func (b *Body) Texts(name, first, second string) {
	b.literal(name, "[")
	b.json = append(appendText(b.json, first), ',')
	b.json = append(appendText(b.json, second), ']')
}

// Time adds a time in UTC, to the second.
func (b *Body) Time(name string, t time.Time) { b.Text(name, t.UTC().Format(time.RFC3339)) }

func (b *Body) Number(name string, n uint64) {
	b.literal(name, "")
	b.json = strconv.AppendUint(b.json, n, 10)
}

// Percentage adds a rate in percent, as a number.
func (b *Body) Percentage(name string, rate fee.BPS) {
	b.literal(name, "")
	b.json = rate.AppendPercent(b.json)
}

// Amount adds an amount as a decimal string.
func (b *Body) Amount(name string, amount *uint256.Int) {
	if !amount.IsUint64() {
		b.Text(name, amount.Dec())
		return
	}
	b.literal(name, `"`)
	b.json = strconv.AppendUint(b.json, amount.Uint64(), 10)
	b.json = append(b.json, '"')
}

// Quantity adds a number in minimal hexadecimal, as in JSON-RPC.
func (b *Body) Quantity(name string, n *uint256.Int) {
	if !n.IsUint64() {
		b.Text(name, n.Hex())
		return
	}
	b.literal(name, `"0x`)
	b.json = strconv.AppendUint(b.json, n.Uint64(), 16)
	b.json = append(b.json, '"')
}

// Address adds an address as its EIP-55 text.
func (b *Body) Address(name string, address chain.Address) { b.Text(name, address.String()) }

// Hex adds bytes as 0x and lower-case digits.
func (b *Body) Hex(name string, data []byte) {
	b.literal(name, `"0x`)
	b.json = append(hex.AppendEncode(b.json, data), '"')
}

// Approval adds the ERC-20 approval, if one is needed.
func (b *Body) Approval(name string, q *quote.Quote) {
	if q.Approval == nil {
		return
	}
	b.Open(name)
	b.Address("token", q.Pair.SrcToken.Address)
	b.Address("spender", q.To)
	b.Amount("amount", &q.SrcAmount)
	b.Hex("calldata", q.Approval)
	b.Close()
}

// Call adds the payload of the main transaction.
func (b *Body) Call(name string, q *quote.Quote) {
	b.Open(name)
	b.Hex("calldata", q.Calldata)
	b.Quantity("value", &q.Value)
	b.Close()
}

// Fee adds both fees, in the destination token's smallest unit.
func (b *Body) Fee(name string, f *quote.Fee) {
	total := f.Total()
	b.Open(name)
	b.Number("chainId", uint64(f.ChainID))
	b.Text("token", "destination")
	b.Open("protocol")
	b.Percentage("percentage", f.ProtocolBPS)
	b.Amount("amount", &f.Protocol)
	b.Close()
	b.Open("integrator")
	b.Percentage("percentage", fee.BPS(f.Partner.FeeBPS))
	b.Amount("amount", &f.Integrator)
	if f.Partner != (quote.Partner{}) {
		b.Hex("id", f.Partner.ID[:])
		b.Address("address", f.Partner.Wallet)
	}
	b.Close()
	b.Open("total")
	b.Amount("amount", &total)
	b.Close()
	b.Close()
}

func (b *Body) Route(name string, r chain.Route) {
	b.Open(name)
	b.Text("type", r.String())
	b.Close()
}

// Token adds a token. Its chain is a network, not a routing ID.
func (b *Body) Token(name string, t *chain.Token) {
	b.Open(name)
	b.Address("address", t.Address)
	b.Text("symbol", t.Symbol)
	b.Number("decimals", uint64(t.Decimals))
	b.Number("chainId", uint64(t.ChainID))
	b.Close()
}
