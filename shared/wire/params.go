package wire

import (
	"cmp"
	"slices"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
)

// paramNames are the query parameters, which are the same in every version.
var paramNames = map[fault.Role]string{
	fault.SourceChain:      "srcChain",
	fault.DestinationChain: "dstChain",
	fault.SourceToken:      "srcToken",
	fault.DestinationToken: "dstToken",
	fault.Amount:           "amount",
	fault.Recipient:        "recipient",
	fault.Integrator:       "integratorId",
}

// Name is the query parameter for a part of the request, empty for none.
func Name(role fault.Role) string { return paramNames[role] }

// Param is the query parameter at fault, empty for none.
func Param(e *fault.Error) string { return cmp.Or(e.Param, Name(e.Role)) }

// The parameters without which there is no quote.
var (
	needed              = []string{"srcToken", "dstToken", "amount", "srcChain", "dstChain"}
	neededWithRecipient = append(slices.Clone(needed), "recipient")
)

// DecodeSwap reads what every version asks for: tokens, amount, chains and
// recipient. parseChain decides which chains the version knows.
func DecodeSwap(q *Query, parseChain func(string) (chain.ID, error)) (quote.Request, error) {
	return decodeSwap(q, neededWithRecipient, parseChain, quote.RecipientType.Parse)
}

// DecodeSwapToAnyone is DecodeSwap for a version whose recipient may be left
// out or zero, and is the zero address then.
func DecodeSwapToAnyone(q *Query, parseChain func(string) (chain.ID, error)) (quote.Request, error) {
	return decodeSwap(q, needed, parseChain, quote.RecipientType.ParseOrZero)
}

func decodeSwap(q *Query, needed []string, parseChain func(string) (chain.ID, error),
	parseRecipient func(quote.RecipientType, string) (quote.Recipient, error)) (req quote.Request, err error) {
	var kind quote.RecipientType
	err = cmp.Or( // the first fault counts
		q.require(needed),
		Read(q, "srcToken", text, &req.SrcToken),
		Read(q, "dstToken", text, &req.DstToken),
		Read(q, "amount", fee.ParseAmount, &req.Amount),
		Read(q, "srcChain", parseChain, &req.SrcChain),
		Read(q, "dstChain", parseChain, &req.DstChain),
		Read(q, "recipientType", quote.ParseRecipientType, &kind),
		Read(q, "recipient", func(text string) (quote.Recipient, error) { return parseRecipient(kind, text) }, &req.Recipient),
	)
	return req, err
}

// Integrator is the integrator that the request names, zero if none. It is
// parsed once, though both the gateway and the version may ask for it.
func (q *Query) Integrator() (integrator.ID, error) {
	i := &q.integrator
	if !i.parsed {
		i.parsed = true
		i.err = Read(q, "integratorId", integrator.ParseID, &i.id)
	}
	return i.id, i.err
}

// Decoder makes a module's Decode from the function that its handlers use.
func Decoder(decode func(*Query) (quote.Request, error)) func(rawQuery string) (quote.Request, error) {
	return func(rawQuery string) (quote.Request, error) {
		q := ParseQuery(rawQuery)
		return decode(&q)
	}
}

// Read reads a parameter, which stays as it is where the parameter is not given.
func Read[T any](q *Query, name string, parse func(string) (T, error), to *T) error {
	text, err := q.find(name)
	if err != nil || text == "" {
		return err
	}
	value, err := parse(text)
	if err != nil {
		return fault.From(err).On(name)
	}
	*to = value
	return nil
}

// text is the parser of a parameter that needs none.
func text(s string) (string, error) { return s, nil }
