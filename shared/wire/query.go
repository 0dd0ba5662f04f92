package wire

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
)

// Query is the parameters of one request. It is not safe for concurrent use.
type Query struct {
	inline   [8]param // enough for every documented request, without an allocation
	used     int      // how many of inline are set
	overflow []param  // the parameters after the first eight
	err      error    // why the query string cannot be read

	integrator struct {
		parsed bool
		id     integrator.ID
		err    error
	}
}

type param struct{ name, value string }

// QueryOf is the query of a request. If the request's context has it, because
// the gateway has parsed it, that is used; otherwise it is parsed here. QueryOf
// is small enough to be inlined, so that the new Query stays on the stack.
func QueryOf(r *http.Request) *Query { return queryOf(r, new(Query)) }

func queryOf(r *http.Request, q *Query) *Query {
	if parsed, ok := r.Context().(interface{ Query() *Query }); ok {
		return parsed.Query()
	}
	*q = ParseQuery(r.URL.RawQuery)
	return q
}

// ParseQuery reads a query string as net/url does, except that it does not drop
// a part that cannot be read: reading any parameter then fails.
func ParseQuery(raw string) (q Query) {
	if strings.IndexByte(raw, ';') >= 0 {
		return Query{err: unreadable(errors.New("a semicolon"))}
	}
	plain := strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if !plain {
			var nameErr, valueErr error
			name, nameErr = url.QueryUnescape(name)
			value, valueErr = url.QueryUnescape(value)
			if err := cmp.Or(nameErr, valueErr); err != nil {
				return Query{err: unreadable(err)}
			}
		}
		if q.used < len(q.inline) {
			q.inline[q.used] = param{name, value}
			q.used++
		} else {
			q.overflow = append(q.overflow, param{name, value})
		}
	}
	return q
}

func unreadable(cause error) error {
	return fault.New(fault.InvalidParameter,
		"The query string cannot be read: separate parameters with & and percent-encode special characters").Because(cause)
}

// find gives the text of a parameter, empty if it was left out or has no value.
func (q *Query) find(name string) (text string, err error) {
	if q.err != nil {
		return "", q.err
	}
	count := 0
	for _, params := range [...][]param{q.inline[:q.used], q.overflow} {
		for i := range params {
			if params[i].name == name {
				count++
				text = params[i].value
			}
		}
	}
	if count > 1 {
		return "", fault.New(fault.InvalidParameter, "The parameter %s is given %d times; give it once", name, count).On(name)
	}
	return text, nil
}

// Has tells whether a parameter has a value.
func (q *Query) Has(name string) bool {
	text, _ := q.find(name)
	return text != ""
}

// Require is for the parameters of other routes than quotes.
func (q *Query) Require(names ...string) error { return q.require(names) }

// require makes sure that all of these parameters are there, and names every
// one that is not.
func (q *Query) require(names []string) error {
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
		return fault.New(fault.MissingParameter, "The parameters %s and %s are missing", strings.Join(missing[:last], ", "), missing[last]).On(missing[0])
	}
}
