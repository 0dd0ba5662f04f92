package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/words"
)

// walker compares the tokens of a file with the type they will be decoded into.
type walker struct {
	data     []byte
	dec      *json.Decoder
	reached  place
	depth    int
	values   int
	problems Problems
}

// next reads a token and moves reached to where it begins.
func (w *walker) next() (json.Token, error) {
	rest := w.data[w.dec.InputOffset():]
	w.reached.advance(w.data, len(w.data)-len(bytes.TrimLeft(rest, " \t\r\n,:")))
	return w.dec.Token()
}

// problem notes what is wrong with the token that was read last.
func (w *walker) problem(path, what string) { w.problems.add(&w.reached, path, "%s", what) }

func (w *walker) value(path string, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.next()
	if err != nil {
		return err
	}
	if w.depth++; w.depth > maxDepth {
		return fmt.Errorf("%s: nested too deeply", w.reached)
	}
	if w.values++; w.values > maxValues {
		return fmt.Errorf("%s: more than %s values", w.reached, words.Number(maxValues))
	}
	defer func() { w.depth-- }()
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		t = nil // it has rules of its own
	}
	switch token {
	case json.Delim('{'):
		w.fits(path, []byte("{}"), t)
		return w.object(path, t)
	case json.Delim('['):
		w.fits(path, []byte("[]"), t)
		return w.array(path, t)
	}
	w.fits(path, w.data[w.reached.offset:w.dec.InputOffset()], t)
	return nil
}

// fits notes a value that is not of type t. For an object or an array it is
// enough to try an empty one.
func (w *walker) fits(path string, value []byte, t reflect.Type) {
	if t == nil {
		return
	}
	err := json.Unmarshal(value, reflect.New(t).Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		w.problem(path, fmt.Sprintf("got %.60s, want %s", wrong.Value, wanted(t)))
	case err != nil:
		w.problem(path, err.Error())
	}
}

// wanted says what values of type t look like in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "whole number"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}

func (w *walker) object(path string, t reflect.Type) error {
	seen := map[string]bool{}
	for w.dec.More() {
		token, err := w.next()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder has checked that an object's key is a string
		at := strings.TrimPrefix(path+"."+key, ".")
		if seen[key] {
			w.problem(at, "given twice")
		}
		seen[key] = true
		member, known := memberType(t, key)
		if !known {
			w.problem(at, "unknown field")
		}
		if err := w.value(at, member); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

func (w *walker) array(path string, t reflect.Type) error {
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		elem = t.Elem()
	}
	for i := 0; w.dec.More(); i++ {
		if err := w.value(fmt.Sprintf("%s[%d]", path, i), elem); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

// memberType finds the type that a key of an object decodes into. It is nil
// where the object itself is of the wrong type, which fits has noted.
func memberType(t reflect.Type, key string) (member reflect.Type, known bool) {
	if t == nil {
		return nil, true
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == key {
				return t.Field(i).Type, true
			}
		}
		return nil, false
	}
	return nil, true
}

// place is a position in a file as editors show it: a column is a character.
type place struct{ offset, line, column int }

var start = place{0, 1, 1}

// advance moves forward to the byte at offset to.
func (p *place) advance(data []byte, to int) {
	for ; p.offset < to; p.offset++ {
		switch c := data[p.offset]; {
		case c == '\n':
			p.line, p.column = p.line+1, 1
		case utf8.RuneStart(c):
			p.column++
		}
	}
}

func (p place) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column) }
