package wire

import (
	"cmp"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
)

// names are what a query calls the parts of a request, in every version.
var names = map[fault.Role]string{
	fault.SourceChain:      "srcChain",
	fault.DestinationChain: "dstChain",
	fault.SourceToken:      "srcToken",
	fault.DestinationToken: "dstToken",
	fault.Amount:           "amount",
	fault.Recipient:        "recipient",
	fault.Integrator:       "integratorId",
}

// Name is the query parameter of a part of the request, empty for none.
func Name(role fault.Role) string { return names[role] }

// Param is the query parameter at fault, empty where none is.
func Param(e *fault.Error) string { return cmp.Or(e.Param, Name(e.Role)) }

// DecodeSwap reads what every version asks for: tokens, amount and chains.
// parseChain decides which chains the version knows.
func DecodeSwap(q *Query, parseChain func(string) (chain.ID, error)) (req quote.Request, err error) {
	err = cmp.Or( // the first fault counts
		required(q, "srcToken", text, &req.SrcToken),
		required(q, "dstToken", text, &req.DstToken),
		required(q, "amount", fee.ParseAmount, &req.Amount),
		required(q, "srcChain", parseChain, &req.SrcChain),
		required(q, "dstChain", parseChain, &req.DstChain),
	)
	return req, err
}

// DecodeRecipient reads a recipient that must be there and must not be zero.
func DecodeRecipient(q *Query) (r quote.Recipient, err error) {
	var kind quote.RecipientType
	if err = optional(q, "recipientType", quote.ParseRecipientType, &kind); err == nil {
		err = required(q, "recipient", kind.Parse, &r)
	}
	return r, err
}

// DecodeOptionalRecipient reads a recipient that may be left out, as the zero
// address then.
func DecodeOptionalRecipient(q *Query) (r quote.Recipient, err error) {
	var kind quote.RecipientType
	if err = optional(q, "recipientType", quote.ParseRecipientType, &kind); err == nil {
		err = optional(q, "recipient", kind.ParseOrZero, &r)
	}
	return r, err
}

// Integrator is the integrator that the request names, zero if none. It is
// parsed when first asked for: by the front door, which wants to know who is
// calling, or by a version that has integrators.
func (q *Query) Integrator() (integrator.ID, error) {
	i := &q.integrator
	if !i.known {
		i.known = true
		i.err = optional(q, "integratorId", integrator.ParseID, &i.id)
	}
	return i.id, i.err
}

// Decoder is what a module offers as its Decode: what its handlers do with a
// query, for one that is still text.
func Decoder(decode func(*Query) (quote.Request, error)) func(rawQuery string) (quote.Request, error) {
	return func(rawQuery string) (quote.Request, error) {
		q := ParseQuery(rawQuery)
		return decode(&q)
	}
}

// required reads a parameter that must be there.
func required[T any](q *Query, name string, parse func(string) (T, error), to *T) error {
	text, err := q.find(name)
	switch {
	case err != nil:
		return err
	case text == "":
		return fault.New(fault.MissingParameter, "The parameter %s is missing", name).On(name)
	}
	return read(name, text, parse, to)
}

// optional reads a parameter that may be left out, and then stays as it is.
func optional[T any](q *Query, name string, parse func(string) (T, error), to *T) error {
	text, err := q.find(name)
	if err != nil || text == "" {
		return err
	}
	return read(name, text, parse, to)
}

func read[T any](name, text string, parse func(string) (T, error), to *T) error {
	value, err := parse(text)
	if err != nil {
		return fault.From(err).On(name)
	}
	*to = value
	return nil
}

// text is the parser of a parameter that is text.
func text(s string) (string, error) { return s, nil }
