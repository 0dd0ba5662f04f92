package web

import (
	"net/http"
	"net/url"

	"github.com/quotegate/quotegate/shared/fault"
)

// Query reads the parameters of a request, each at most once and never empty.
// The first fault stays; reading on after it is harmless.
type Query struct {
	values url.Values
	err    error
}

// ParseQuery reads a request's query string, where a part that cannot be read
// is a fault and not silently dropped.
func ParseQuery(r *http.Request) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &Query{err: fault.New(fault.InvalidParameter,
			"The query string cannot be read: separate parameters with & and percent-encode special characters").Because(err)}
	}
	return NewQuery(values)
}

// NewQuery reads from values.
func NewQuery(values url.Values) *Query { return &Query{values: values} }

// Err is the first fault, nil if all was well.
func (q *Query) Err() error { return q.err }

// get is the text of a parameter, empty if it is absent or at fault.
func (q *Query) get(name string) string {
	given := q.values[name]
	switch {
	case q.err != nil || len(given) == 0:
		return ""
	case len(given) > 1:
		q.err = fault.New(fault.InvalidParameter, "The parameter %s is given %d times; give it once", name, len(given)).On(name)
		return ""
	case given[0] == "":
		q.err = fault.New(fault.InvalidParameter, "The parameter %s is empty; give it a value or leave it out", name).On(name)
		return ""
	}
	return given[0]
}

// Required reads a parameter that must be there.
func Required[T any](q *Query, name string, parse func(string) (T, error)) T {
	value := Optional(q, name, parse)
	if q.err == nil && len(q.values[name]) == 0 {
		q.err = fault.New(fault.MissingParameter, "The parameter %s is missing", name).On(name)
	}
	return value
}

// Optional reads a parameter that may be left out, as its zero value then.
func Optional[T any](q *Query, name string, parse func(string) (T, error)) T {
	var zero T
	text := q.get(name)
	if text == "" {
		return zero
	}
	value, err := parse(text)
	if err != nil {
		q.err = fault.On(name, err)
		return zero
	}
	return value
}

// Text is the parser of a parameter that is text.
func Text(s string) (string, error) { return s, nil }
