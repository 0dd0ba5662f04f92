package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/version"
)

// Query is the parameters of one request, as far as its reader knows them.
type Query struct {
	params []version.Param
	err    error    // why the query string cannot be read
	known  []string // the parameters that can be read; nil for all
}

// QueryOf is the query of a request for a reader that knows these parameters, or all if nil:
// the others are ignored, and Warn names them. Unlike Query of a url.URL it drops nothing:
// where a part of the query string cannot be read, reading any parameter fails.
func QueryOf(r *version.Request, known []string) Query {
	if r.QueryErr != nil {
		err := fault.New(fault.InvalidParameter,
			"The query string is invalid: separate parameters with & and percent-encode special characters")
		return Query{err: err.Because(r.QueryErr), known: known}
	}
	return Query{params: r.Query, known: known}
}

// find gives the text of a parameter, empty if it was left out or has no value.
func (q Query) find(name string) (text string, err error) {
	if q.err != nil {
		return "", q.err
	}
	if !q.knows(name) {
		return "", nil
	}
	given := 0
	for _, p := range q.params {
		if p.Name == name {
			text = p.Value
			given++
		}
	}
	if given > 1 {
		return "", fault.New(fault.InvalidParameter,
			"The parameter %s is given %d times; send it once", name, given).On(name)
	}
	return text, nil
}

func (q Query) knows(name string) bool { return q.known == nil || slices.Contains(q.known, name) }

func (q Query) Has(name string) bool {
	text, _ := q.find(name)
	return text != ""
}

// Require makes sure that all of these parameters are there, and names every
// one that is not.
func (q Query) Require(names ...string) error {
	var missing []string
	for _, name := range names {
		text, err := q.find(name)
		if err != nil {
			return err
		}
		if text == "" {
			missing = append(missing, name)
		}
	}
	switch last := len(missing) - 1; {
	case last < 0:
		return nil
	case last == 0:
		return fault.New(fault.MissingParameter, "The parameter %s is missing", missing[0]).On(missing[0])
	default:
		list := strings.Join(missing[:last], ", ")
		return fault.New(fault.MissingParameter,
			"The parameters %s and %s are missing", list, missing[last]).On(missing[0])
	}
}

// paramNames are the query parameters, which are the same in every version.
var paramNames = map[fault.Role]string{
	fault.SourceChain:      "srcChain",
	fault.DestinationChain: "dstChain",
	fault.SourceToken:      "srcToken",
	fault.DestinationToken: "dstToken",
	fault.Amount:           "amount",
	fault.Recipient:        "recipient",
	fault.Integrator:       integratorParam,
}

const integratorParam = "integratorId"

// Name is the query parameter for a part of the request, or empty.
func Name(role fault.Role) string { return paramNames[role] }

// Param is the query parameter at fault, or empty.
func Param(e *fault.Error) string { return cmp.Or(e.Param, Name(e.Role)) }

// The parameters without which there is no quote.
var (
	needed              = []string{"srcToken", "dstToken", "amount", "srcChain", "dstChain"}
	neededWithRecipient = append(slices.Clone(needed), "recipient")
)

// DecodeSwap reads what every version asks for: tokens, amount, chains and
// recipient. parseChain decides which chains the version knows.
func DecodeSwap(q Query, parseChain func(string) (chain.ID, error)) (quote.Request, error) {
	if err := q.Require(neededWithRecipient...); err != nil {
		return quote.Request{}, err
	}
	req, err := DecodeSwapToAnyone(q, parseChain)
	if err == nil && req.Recipient.Zero() {
		zero := fault.BadRecipient(fault.Zero, "The recipient is the zero address: funds sent there are lost")
		return req, zero.On("recipient")
	}
	return req, err
}

// DecodeSwapToAnyone is DecodeSwap for a version whose recipient may be left
// out or zero, and is the zero address then. It reads the parameters in a fixed order,
// and reports the first invalid one.
func DecodeSwapToAnyone(q Query, parseChain func(string) (chain.ID, error)) (req quote.Request, err error) {
	if err = q.Require(needed...); err != nil {
		return req, err
	}
	if req.SrcToken, err = Read(q, "srcToken", text); err != nil {
		return req, err
	}
	if req.DstToken, err = Read(q, "dstToken", text); err != nil {
		return req, err
	}
	if req.Amount, err = Read(q, "amount", fee.ParseAmount); err != nil {
		return req, err
	}
	if req.SrcChain, err = Read(q, "srcChain", parseChain); err != nil {
		return req, err
	}
	if req.DstChain, err = Read(q, "dstChain", parseChain); err != nil {
		return req, err
	}
	var kind quote.RecipientType
	if kind, err = Read(q, "recipientType", quote.ParseRecipientType); err != nil {
		return req, err
	}
	req.Recipient, err = Read(q, "recipient", kind.Parse)
	return req, err
}

// Integrator is the integrator that the request names, or zero.
func (q Query) Integrator() (id calldata.IntegratorID, err error) {
	id, err = Read(q, integratorParam, calldata.ParseIntegratorID)
	return id, err
}

// Read parses a parameter. The value is zero if the parameter is absent.
func Read[T any](q Query, name string, parse func(string) (T, error)) (value T, err error) {
	text, err := q.find(name)
	if err != nil || text == "" {
		return value, err
	}
	value, err = parse(text)
	if err != nil {
		var none T
		return none, fault.From(err).On(name)
	}
	return value, nil
}

// text is the parser of a parameter that needs none.
func text(s string) (string, error) { return s, nil }

// Params are the query parameters that every version knows.
var Params = append(slices.Clone(neededWithRecipient), "recipientType")

// The response headers that warn a client.
const (
	// QuoteWarning has one meaning: this quote must not be signed.
	QuoteWarning = "Quote-Warning"
	// RequestWarning names the parameters that were ignored.
	RequestWarning = "Request-Warning"
)

// Bounds of what Warn repeats of a request.
const (
	maxNames = 5
	maxName  = 32
)

// namedFirst are parameters of other services whose users would rely on them: nothing here
// protects from slippage, and fromAddress does not say who pays.
var namedFirst = []string{"slippage", "fromAddress"}

// Warn names in the header Request-Warning the parameters that are ignored: those that are
// not known, such as integratorID, and an empty integratorId. Both silently cost a partner
// its fee.
func (q Query) Warn(h http.Header) {
	var ignored []string
	if names := q.unknown(); names != nil {
		ignored = append(ignored, "Unknown parameters were ignored: "+strings.Join(names, ", "))
	}
	if q.knows(integratorParam) && slices.Contains(q.params, version.Param{Name: integratorParam}) {
		ignored = append(ignored, "Empty parameters were ignored: "+integratorParam)
	}
	if ignored != nil {
		h.Set(RequestWarning, strings.Join(ignored, ". "))
	}
}

// unknown lists the first parameters that are not known, as they may stand in a header.
func (q Query) unknown() (names []string) {
	add := func(name string) {
		if name == "" || q.knows(name) {
			return
		}
		if shown := headerName(name); !slices.Contains(names, shown) {
			names = append(names, shown)
		}
	}
	for _, name := range namedFirst {
		if slices.ContainsFunc(q.params, func(p version.Param) bool { return p.Name == name }) {
			add(name)
		}
	}
	for _, p := range q.params {
		if len(names) == maxNames {
			break
		}
		add(p.Name)
	}
	return names
}

// headerName is the start of a parameter's name as a URL has it: a few characters of ASCII,
// of which none is a comma, a quote or a space.
func headerName(name string) string {
	text := url.QueryEscape(name)
	if len(text) <= maxName {
		return text
	}
	text = text[:maxName]
	const escape = len("%2C")
	if i := strings.LastIndexByte(text, '%'); i > maxName-escape {
		text = text[:i]
	}
	return text
}
