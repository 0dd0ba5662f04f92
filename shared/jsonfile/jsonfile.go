// Package jsonfile reads a configuration file strictly. It reports unknown
// fields, repeated keys and wrong types all at once, each with its line, column
// and path, so that an operator can correct a file in one go.
//
// Only a regular file of a bounded size is read, and only the first problems are kept.
package jsonfile

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/humanize"
)

const (
	// MaxSize is how large a file may be that has no reason to be larger.
	MaxSize = 1 << 20

	maxProblems = 100 // more than a person reads
)

// Load reads a file of at most size bytes and parses it. The error names the file.
func Load[T any](path string, size int64, parse func([]byte) (T, error)) (value T, err error) {
	data, err := read(path, size)
	if err != nil {
		return value, err
	}
	parsed, err := parse(data)
	if err != nil {
		return value, fmt.Errorf("%s:\n%w", path, err)
	}
	return parsed, nil
}

// read looks at what is at the path before it opens it: a pipe would wait for a writer.
func read(path string, size int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > size:
		return nil, fmt.Errorf("%s is larger than %s bytes", path, humanize.Number(size))
	}
	return os.ReadFile(path)
}

// Decode fills into, a pointer to a struct, from one JSON object, and returns the
// problems, to which a caller may add its own. What has a problem stays zero. For a
// file that is not a JSON object there is only one. A struct has a json tag on every
// field that is read, and its values are strings, numbers, booleans, texts and JSON that
// decode themselves, and structs, maps and slices of these.
//
// A field with null is as if it was not there. An element of an array or an object is never
// null, unless it is a pointer.
func Decode(data []byte, into any) *Problems {
	problems := &Problems{data: data, places: map[string]int{}}
	w := walker{problems, json.NewDecoder(bytes.NewReader(data))}
	var syntax *json.SyntaxError
	err := json.Unmarshal(data, new(json.RawMessage))
	switch {
	case errors.As(err, &syntax):
		at := max(int(syntax.Offset)-1, 0) // Offset counts the character at fault too
		problems.Add("", "not valid JSON: %s%w", problems.position(at), err)
		problems.closed = true
	case data[w.offset()] != '{':
		problems.Add("", "%sthe file must be one object", problems.position(w.offset()))
		problems.closed = true
	default:
		w.value("", reflect.ValueOf(into).Elem())
	}
	return problems
}

// Problems are what is wrong with a file: the first of each place, and maxProblems at most.
type Problems struct {
	all      []error
	reported []string // their places
	closed   bool     // no more are added

	data   []byte
	places map[string]int // where in data each value begins
}

// Add notes a problem at a place, such as "rows[2].id". A place that has one
// already, such as a value of the wrong type, gets no second. An empty place is the
// whole file.
func (p *Problems) Add(at, format string, args ...any) {
	if p.closed || slices.Contains(p.reported, at) {
		return
	}
	if len(p.all) == maxProblems {
		p.all = append(p.all, errors.New("and more"))
		p.closed = true
		return
	}
	where := ""
	if offset, ok := p.places[at]; ok {
		where = p.position(offset)
	}
	if at != "" {
		where += at + ": "
	}
	p.all = append(p.all, fmt.Errorf("%s%w", where, fmt.Errorf(format, args...)))
	p.reported = append(p.reported, at)
}

// Err joins all problems, one a line. Those of a value begin with its line in the
// file. It is nil if there is none.
func (p *Problems) Err() error { return errors.Join(p.all...) }

// position begins a message. It is as editors show it: a column is a character.
func (p *Problems) position(offset int) string {
	before := p.data[:offset]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d: ", 1+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(line))
}

// walker fills a value from a file that is known to be valid JSON. Unlike
// encoding/json it goes on after a problem, and knows where it is.
type walker struct {
	*Problems
	dec *json.Decoder
}

// offset is where the key or value begins that comes next.
func (w walker) offset() int {
	rest := w.data[w.dec.InputOffset():]
	return len(w.data) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
}

// next returns the value that comes next as it is written.
func (w walker) next() (text json.RawMessage) {
	_ = w.dec.Decode(&text)
	return text
}

func (w walker) value(path string, v reflect.Value) {
	begin := w.offset()
	w.places[path] = begin
	first := w.data[begin]
	if first != 'n' && v.Kind() == reflect.Pointer { // null leaves it nil
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	kind := map[byte]string{'{': "object", '[': "array"}[first]
	switch {
	case kind == "" || decodesJSON(v):
		w.scalar(path, v)
	case kind != wanted(v):
		w.Add(path, "got %s, want %s", kind, wanted(v))
		w.next()
	case kind == "object":
		w.object(path, v)
	default:
		w.array(path, v)
	}
}

// decodesJSON reports whether values like v decode themselves from JSON of any kind.
func decodesJSON(v reflect.Value) bool {
	_, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	_, isJSON := v.Addr().Interface().(json.Unmarshaler)
	return isJSON && !isText
}

func (w walker) scalar(path string, v reflect.Value) {
	text := w.next()
	err := json.Unmarshal(text, v.Addr().Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return
	case v.Type() == reflect.TypeFor[time.Time]():
		w.Add(path, "%.40s is not a time in RFC 3339; write it like 2027-03-01T00:00:00Z", text)
	case errors.As(err, &wrong):
		w.Add(path, "got %.60s, want %s", wrong.Value, wanted(v))
	default:
		w.Add(path, "%w", err)
	}
	v.SetZero()
}

// wanted says what values like v look like in JSON.
func wanted(v reflect.Value) string {
	switch kind := v.Kind(); {
	case v.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "string"
	case kind == reflect.Struct || kind == reflect.Map:
		return "object"
	case kind == reflect.Slice:
		return "array"
	case v.CanUint():
		return fmt.Sprintf("whole number from 0 to %d", uint64(math.MaxUint64)>>(64-v.Type().Bits()))
	case v.CanInt():
		return "whole number"
	case v.CanFloat():
		return "number"
	default:
		return kind.String()
	}
}

func (w walker) object(path string, v reflect.Value) {
	_, _ = w.dec.Token() // its beginning
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	}
	seen := map[string]bool{}
	for w.dec.More() {
		begin := w.offset()
		token, _ := w.dec.Token()
		key := token.(string)
		at := strings.TrimPrefix(path+"."+cmp.Or(key, `""`), ".")
		w.places[at] = begin
		if seen[key] {
			w.Add(at, "given twice")
		}
		seen[key] = true
		member := field(v, key)
		if !member.IsValid() {
			w.Add(at, "unknown field")
			w.next()
			continue
		}
		if v.Kind() == reflect.Map {
			w.element(at, member)
			v.SetMapIndex(reflect.ValueOf(key), member)
		} else {
			w.value(at, member)
		}
	}
	_, _ = w.dec.Token() // its end
}

// field is where the value of a key goes: a field of a struct, not valid if there is
// none, or a new value for a map.
func field(v reflect.Value, key string) (member reflect.Value) {
	if v.Kind() == reflect.Map {
		return reflect.New(v.Type().Elem()).Elem()
	}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == key && name != "" && name != "-" {
			member = v.Field(i)
		}
	}
	return member
}

func (w walker) array(path string, v reflect.Value) {
	_, _ = w.dec.Token() // its beginning
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; w.dec.More(); i++ {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		w.element(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
	}
	_, _ = w.dec.Token() // its end
}

// element is an element of a map or a slice. encoding/json would take null for its zero value.
func (w walker) element(path string, v reflect.Value) {
	if w.data[w.offset()] != 'n' || v.Kind() == reflect.Pointer {
		w.value(path, v)
		return
	}
	w.places[path] = w.offset()
	w.Add(path, "got null, want %s; write one, or remove this entry", wanted(v))
	w.next()
}
