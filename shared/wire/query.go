package wire

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
)

// Query is the parameters of one request.
type Query struct {
	values url.Values
	err    error // why the query string cannot be read
}

// ParseQuery reads a query string. Unlike Query of a url.URL it drops nothing: where a part
// cannot be read, reading any parameter fails.
func ParseQuery(raw string) *Query {
	values, cause := url.ParseQuery(raw)
	if cause != nil {
		err := fault.New(fault.InvalidParameter,
			"The query string is invalid: separate parameters with & and percent-encode special characters")
		return &Query{err: err.Because(cause)}
	}
	return &Query{values: values}
}

// queryKey is the key of a context's value, a *Query.
type queryKey struct{}

// WithQuery is a context with the query of a request, which the gateway has parsed.
func WithQuery(ctx context.Context, q *Query) context.Context {
	return context.WithValue(ctx, queryKey{}, q)
}

// QueryOf is the query of a request.
func QueryOf(r *http.Request) *Query {
	if parsed, ok := r.Context().Value(queryKey{}).(*Query); ok {
		return parsed
	}
	return ParseQuery(r.URL.RawQuery)
}

// find gives the text of a parameter, empty if it was left out or has no value.
func (q *Query) find(name string) (text string, err error) {
	if q.err != nil {
		return "", q.err
	}
	switch given := q.values[name]; len(given) {
	case 0:
		return "", nil
	case 1:
		return given[0], nil
	default:
		return "", fault.New(fault.InvalidParameter,
			"The parameter %s is given %d times; send it once", name, len(given)).On(name)
	}
}

func (q *Query) Has(name string) bool {
	text, _ := q.find(name)
	return text != ""
}

// Require makes sure that all of these parameters are there, and names every
// one that is not.
func (q *Query) Require(names ...string) error {
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
func DecodeSwap(q *Query, parseChain func(string) (chain.ID, error)) (quote.Request, error) {
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
func DecodeSwapToAnyone(q *Query, parseChain func(string) (chain.ID, error)) (req quote.Request, err error) {
	if err = q.Require(needed...); err != nil {
		return req, err
	}
	if err = Read(q, "srcToken", text, &req.SrcToken); err != nil {
		return req, err
	}
	if err = Read(q, "dstToken", text, &req.DstToken); err != nil {
		return req, err
	}
	if err = Read(q, "amount", fee.ParseAmount, &req.Amount); err != nil {
		return req, err
	}
	if err = Read(q, "srcChain", parseChain, &req.SrcChain); err != nil {
		return req, err
	}
	if err = Read(q, "dstChain", parseChain, &req.DstChain); err != nil {
		return req, err
	}
	var kind quote.RecipientType
	if err = Read(q, "recipientType", quote.ParseRecipientType, &kind); err != nil {
		return req, err
	}
	err = Read(q, "recipient", kind.Parse, &req.Recipient)
	return req, err
}

// Integrator is the integrator that the request names, or zero.
func (q *Query) Integrator() (id integrator.ID, err error) {
	err = Read(q, integratorParam, integrator.ParseID, &id)
	return id, err
}

// Read parses a parameter into to, which keeps its value if the parameter is absent.
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

// Params are the query parameters that every version knows.
var Params = append(slices.Clone(neededWithRecipient), "recipientType")

// The response headers that warn a client.
const (
	// QuoteWarning has one meaning: this quote must not be signed.
	QuoteWarning = "Quote-Warning"
	// RequestWarning tells of a likely mistake in the request.
	RequestWarning = "Request-Warning"
)

// Bounds of WarnTypos.
const (
	maxTypos = 3  // warnings of one request
	maxNames = 32 // names in a request; one with more was not written by hand
)

// WarnTypos names in the header Request-Warning the parameters that are none of
// the known ones but differ from one only by case or by a typo: "integratorID" is
// ignored, and silently costs a partner its fee. So does an empty integratorId.
func WarnTypos(h http.Header, q *Query, known []string) {
	if slices.Contains(known, integratorParam) && slices.Contains(q.values[integratorParam], "") {
		h.Add(RequestWarning, "the parameter integratorId is empty and is ignored: no integrator is paid")
	}
	if len(q.values) > maxNames {
		return
	}
	var unknown []string
	for name := range q.values {
		if !slices.Contains(known, name) && isWord(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	typos := 0
	for _, name := range unknown {
		meant := nearest(name, known)
		if meant == "" {
			continue
		}
		h.Add(RequestWarning, fmt.Sprintf("the parameter %s is unknown and was ignored; did you mean %s?", name, meant))
		typos++
		if typos == maxTypos {
			return
		}
	}
}

// isWord keeps out names that cannot be a typo, or that are not safe in a header.
func isWord(name string) bool {
	const longest = 20
	return name != "" && len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
}

// nearest is the closest known name, or empty if none is close: one letter
// away, or two in a name of eight letters or more. Only names of a similar length are
// compared letter by letter.
func nearest(name string, known []string) (meant string) {
	const long = 8
	name = strings.ToLower(name)
	closest := 3
	for _, candidate := range known {
		allowed := 1
		if len(candidate) >= long {
			allowed = 2
		}
		longer := len(name) - len(candidate)
		if longer > allowed || -longer > allowed {
			continue
		}
		if d := EditDistance(name, strings.ToLower(candidate)); d <= allowed && d < closest {
			closest = d
			meant = candidate
		}
	}
	return meant
}

// EditDistance is the Levenshtein distance of two texts, counted in bytes.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
