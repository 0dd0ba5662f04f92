package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/quotegate/quotegate/shared/fault"
)

// Query reads the parameters of a request, each at most once and never empty.
// The first fault stays; reading on after it is harmless.
type Query struct {
	few   [8]param // as many as a request of ours has, which need no allocation
	count int      // of those
	more  []param  // beyond them
	err   error
}

type param struct{ name, value string }

// ParseQuery reads a request's query string as net/url does, except that a
// part that cannot be read is a fault and not silently dropped.
func ParseQuery(r *http.Request) (q Query) {
	rest := r.URL.RawQuery
	if strings.IndexByte(rest, ';') >= 0 {
		return Query{err: unreadable(errors.New("a semicolon"))}
	}
	plain := strings.IndexByte(rest, '%') < 0 && strings.IndexByte(rest, '+') < 0
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "&")
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
		if q.count < len(q.few) {
			q.few[q.count] = param{name, value}
			q.count++
		} else {
			q.more = append(q.more, param{name, value})
		}
	}
	return q
}

func unreadable(cause error) error {
	return fault.New(fault.InvalidParameter,
		"The query string cannot be read: separate parameters with & and percent-encode special characters").Because(cause)
}

// Err is the first fault, nil if all was well.
func (q *Query) Err() error { return q.err }

// get is the text of a parameter, and whether it is there and well.
func (q *Query) get(name string) (text string, ok bool) {
	given := 0
	for _, params := range [...][]param{q.few[:q.count], q.more} {
		for i := range params {
			if params[i].name == name {
				given++
				text = params[i].value
			}
		}
	}
	switch {
	case q.err != nil || given == 0:
		return "", false
	case given > 1:
		q.err = fault.New(fault.InvalidParameter, "The parameter %s is given %d times; give it once", name, given).On(name)
	case text == "":
		q.err = fault.New(fault.InvalidParameter, "The parameter %s is empty; give it a value or leave it out", name).On(name)
	}
	return text, q.err == nil
}

// Required reads a parameter that must be there.
func Required[T any](q *Query, name string, parse func(string) (T, error)) T {
	value, given := read(q, name, parse)
	if !given && q.err == nil {
		q.err = fault.New(fault.MissingParameter, "The parameter %s is missing", name).On(name)
	}
	return value
}

// Optional reads a parameter that may be left out, as its zero value then.
func Optional[T any](q *Query, name string, parse func(string) (T, error)) T {
	value, _ := read(q, name, parse)
	return value
}

func read[T any](q *Query, name string, parse func(string) (T, error)) (value T, given bool) {
	text, given := q.get(name)
	if !given {
		return value, false
	}
	parsed, err := parse(text)
	if err != nil {
		q.err = fault.From(err).On(name)
		return value, true
	}
	return parsed, true
}

// Text is the parser of a parameter that is text.
func Text(s string) (string, error) { return s, nil }
