package jsonfile

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/words"
)

// walker fills a value from the tokens of a file. Unlike encoding/json it goes on
// after a problem, and knows where it is.
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
func (w *walker) problem(path, format string, args ...any) {
	w.problems.add(&w.reached, path, format, args...)
}

// value reads a value into v. A v that is not valid stands for one that no field
// takes, which is only counted.
func (w *walker) value(path string, v reflect.Value) error {
	token, err := w.next()
	if err != nil {
		return err
	}
	if w.depth++; w.depth > maxDepth {
		return fmt.Errorf("%s: nested too deeply", w.reached)
	}
	defer func() { w.depth-- }()
	if w.values++; w.values > maxValues {
		return fmt.Errorf("%s: more than %s values", w.reached, words.Number(maxValues))
	}
	if w.problems.full() {
		v = reflect.Value{} // nobody will use it
	}
	for token != nil && v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch token {
	case json.Delim('{'):
		return w.object(path, w.takes(path, "object", v, reflect.Struct, reflect.Map))
	case json.Delim('['):
		return w.array(path, w.takes(path, "array", v, reflect.Slice))
	}
	w.scalar(path, token, v)
	return nil
}

// takes returns v if it is of a kind that takes an object or an array. Otherwise it
// notes the problem, and what is inside goes nowhere.
func (w *walker) takes(path, what string, v reflect.Value, kinds ...reflect.Kind) reflect.Value {
	if v.IsValid() {
		for _, kind := range kinds {
			if v.Kind() == kind && !v.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
				return v
			}
		}
		w.problem(path, "got %s, want %s", what, wanted(v))
	}
	return reflect.Value{}
}

// rfc3339 is stricter than time.Time, which accepts "1:02:03" and a decimal comma.
var rfc3339 = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"$`)

func (w *walker) scalar(path string, token json.Token, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if text, ok := token.(string); ok && v.Type() == reflect.TypeFor[string]() {
		v.SetString(text)
		return
	}
	text := w.data[w.reached.offset:w.dec.InputOffset()]
	err := json.Unmarshal(text, v.Addr().Interface())
	isTime := v.Type() == reflect.TypeFor[time.Time]() && token != nil
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil && (!isTime || rfc3339.Match(text)):
		return
	case errors.As(err, &wrong):
		w.problem(path, "got %.60s, want %s", wrong.Value, wanted(v))
	case isTime:
		w.problem(path, "%.40s is not a time in RFC 3339; write it like 2027-03-01T00:00:00Z", text)
	default:
		w.problem(path, "%w", err)
	}
	v.SetZero()
}

// wanted says what values like v look like in JSON.
func wanted(v reflect.Value) string {
	if v.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "string"
	}
	switch t := v.Type(); t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "whole number"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return t.Kind().String()
	}
}

func (w *walker) object(path string, v reflect.Value) error {
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	}
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
		member := w.member(at, v, key)
		if err := w.value(at, member); err != nil {
			return err
		}
		if v.Kind() == reflect.Map {
			v.SetMapIndex(reflect.ValueOf(key), member)
		}
	}
	_, err := w.dec.Token()
	return err
}

// member is what takes the value of a key.
func (w *walker) member(at string, v reflect.Value, key string) (member reflect.Value) {
	switch v.Kind() {
	case reflect.Map:
		return reflect.New(v.Type().Elem()).Elem()
	case reflect.Struct:
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name == key {
				return v.Field(i)
			}
		}
		w.problem(at, "unknown field")
	}
	return member
}

func (w *walker) array(path string, v reflect.Value) error {
	if v.IsValid() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	for i := 0; w.dec.More(); i++ {
		var elem reflect.Value
		if v.IsValid() && !w.problems.full() {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			elem = v.Index(i)
		}
		if err := w.value(fmt.Sprintf("%s[%d]", path, i), elem); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
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
