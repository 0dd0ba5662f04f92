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

// QueryOf is the query of a request for a reader that knows these parameters; nil means all.
// Others are ignored, and warn names them. Unlike url.URL.Query it drops nothing: if a part
// of the query string is invalid, reading any parameter fails.
func QueryOf(r *version.Request, known []string) Query {
	if r.QueryErr != nil {
		err := fault.New(fault.InvalidParameter,
			"The query string is invalid: separate parameters with & and percent-encode special characters")
		return Query{err: err.Because(r.QueryErr), known: known}
	}
	return Query{params: r.Query, known: known}
}

// find returns the text of a parameter, empty if it is absent or has no value.
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

// require returns an error that names every one of these parameters that is missing.
func (q Query) require(names ...string) error {
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

// Param is the query parameter at fault, or empty.
func Param(e *fault.Error) string { return cmp.Or(e.Param, paramNames[e.Role]) }

// The parameters without which there is no quote.
var (
	needed              = []string{"srcToken", "dstToken", "amount", "srcChain", "dstChain"}
	neededWithRecipient = append(slices.Clone(needed), "recipient")
)

// DecodeSwap reads what every version asks for: tokens, amount, chains and
// recipient. parseChain decides which chains the version knows.
func DecodeSwap(q Query, parseChain func(string) (chain.ID, error)) (quote.Request, error) {
	if err := q.require(neededWithRecipient...); err != nil {
		return quote.Request{}, err
	}
	req, err := DecodeSwapToAnyone(q, parseChain)
	if err == nil && req.Recipient.Zero() {
		zero := fault.BadRecipient(fault.Zero, "The recipient is the zero address: funds sent there are lost")
		return req, zero.On("recipient")
	}
	return req, err
}

// DecodeSwapToAnyone is DecodeSwap for a version whose recipient may be absent or zero; an
// absent one is the zero address. It reads the parameters in a fixed order and reports the
// first invalid one.
func DecodeSwapToAnyone(q Query, parseChain func(string) (chain.ID, error)) (req quote.Request, err error) {
	if err = q.require(needed...); err != nil {
		return req, err
	}
	if req.SrcToken, err = read(q, "srcToken", text); err != nil {
		return req, err
	}
	if req.DstToken, err = read(q, "dstToken", text); err != nil {
		return req, err
	}
	if req.Amount, err = read(q, "amount", fee.ParseAmount); err != nil {
		return req, err
	}
	if req.SrcChain, err = read(q, "srcChain", parseChain); err != nil {
		return req, err
	}
	if req.DstChain, err = read(q, "dstChain", parseChain); err != nil {
		return req, err
	}
	var kind quote.RecipientType
	if kind, err = read(q, "recipientType", quote.ParseRecipientType); err != nil {
		return req, err
	}
	req.Recipient, err = read(q, "recipient", kind.Parse)
	return req, err
}

// Integrator is the integrator that the request names, or zero.
func (q Query) Integrator() (calldata.IntegratorID, error) {
	return read(q, integratorParam, calldata.ParseIntegratorID)
}

// read parses a parameter. The value is zero if the parameter is absent.
func read[T any](q Query, name string, parse func(string) (T, error)) (none T, err error) {
	text, err := q.find(name)
	if err != nil || text == "" {
		return none, err
	}
	value, err := parse(text)
	if err != nil {
		return none, fault.From(err).On(name)
	}
	return value, nil
}

// text is the parser of a parameter that is used as it is.
func text(s string) (string, error) { return s, nil }

// Params are the query parameters that every version knows.
var Params = append(slices.Clone(neededWithRecipient), "recipientType")

// The response headers that warn a client.
const (
	// quoteWarning means that the quote must not be signed.
	quoteWarning = "Quote-Warning"
	// requestWarning names the parameters that were ignored.
	requestWarning = "Request-Warning"
)

// Bounds on what warn repeats of a request.
const (
	maxNames = 5
	maxName  = 32
)

// namedFirst are parameters of other services that users may rely on: nothing here protects
// against slippage, and fromAddress does not set the sender.
var namedFirst = []string{"slippage", "fromAddress"}

// warn names the ignored parameters in the header Request-Warning: unknown ones, such as
// integratorID, and an empty integratorId. Either would silently cost a partner its fee.
func (q Query) warn(h http.Header) {
	var ignored []string
	if names := q.unknown(); names != nil {
		ignored = append(ignored, "Unknown parameters were ignored: "+strings.Join(names, ", "))
	}
	if q.knows(integratorParam) && slices.Contains(q.params, version.Param{Name: integratorParam}) {
		ignored = append(ignored, "Empty parameters were ignored: "+integratorParam)
	}
	if ignored != nil {
		h.Set(requestWarning, strings.Join(ignored, ". "))
	}
}

// unknown lists the first unknown parameters, encoded for a header.
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

// headerName is the start of a parameter's name, percent-encoded: short ASCII without commas,
// quotes or spaces.
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
