// Package jsonfile reads a configuration file strictly. It reports unknown
// fields, repeated keys and wrong types all at once, each with its line, column
// and path, so that an operator can correct a file in one go.
//
// Whatever is at the path, reading it ends at once and takes bounded memory: only a
// regular file of a bounded size is read, and only the first problems are kept.
package jsonfile

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"syscall"
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

// read opens the file without waiting, as a pipe would have it wait for a writer.
func read(path string, size int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data := bytes.NewBuffer(make([]byte, 0, min(info.Size(), size)+bytes.MinRead))
	n, err := data.ReadFrom(io.LimitReader(f, size+1))
	if err == nil && n > size {
		return nil, fmt.Errorf("%s is larger than %s bytes", path, humanize.Number(size))
	}
	return data.Bytes(), err
}

// Decode fills into, a pointer to a struct, from one JSON value, and returns the
// problems, to which a caller may add its own. What has a problem stays zero. For a
// file that is not JSON there is only one. A struct has a json tag on every field
// that is read, and its values are strings, numbers, booleans, texts that decode
// themselves, and structs, maps and slices of these.
func Decode(data []byte, into any) *Problems {
	problems := &Problems{data: data, kind: reflect.TypeOf(into).Elem()}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		at := max(syntax.Offset-1, 0) // Offset counts the character at fault too
		problems.Add("", "not valid JSON: %s%w", place(data[:at]), err)
		problems.closed = true
		return problems
	}
	w := walker{data: data, dec: json.NewDecoder(bytes.NewReader(data)), problems: problems}
	if err := w.value("", reflect.ValueOf(into).Elem()); err != nil {
		problems.Add("", "%w", err)
		problems.closed = true
	}
	return problems
}

// Problems are what is wrong with a file: the first of each place, and maxProblems at most.
type Problems struct {
	all    []problem // one more than maxProblems if there are more
	closed bool      // the file was not read to its end, so that what seems to be missing may be there
	places map[string]bool

	data []byte // the file, and what it was read into; none if there is no file
	kind reflect.Type
}

type problem struct {
	line string // where the value begins, empty if that is not known yet
	at   string
	err  error
}

// Add notes a problem at a place, such as "rows[2].id". A place that has one
// already, such as a value of the wrong type, gets no second. An empty place is the
// whole file.
func (p *Problems) Add(at, format string, args ...any) { p.add("", at, format, args...) }

func (p *Problems) add(line, at, format string, args ...any) {
	if p.places[at] || p.closed || len(p.all) > maxProblems {
		return
	}
	if p.places == nil {
		p.places = map[string]bool{}
	}
	if at != "" {
		p.places[at] = true
	}
	p.all = append(p.all, problem{line, at, fmt.Errorf(format, args...)})
}

// Err joins all problems, one a line. Those of a value begin with its line in the
// file. It is nil if there is none.
func (p *Problems) Err() error {
	lines := p.lines()
	var all []error
	for i, one := range p.all {
		if i == maxProblems {
			all = append(all, errors.New("and more"))
			break
		}
		line := cmp.Or(one.line, lines[one.at])
		if one.at != "" {
			line += one.at + ": "
		}
		all = append(all, fmt.Errorf("%s%w", line, one.err))
	}
	return errors.Join(all...)
}

// lines finds the places of problems that were added after the file was read, by
// reading it once more: to note the place of every value would take much memory.
func (p *Problems) lines() map[string]string {
	found := map[string]string{}
	for _, one := range p.all {
		if one.line == "" && one.at != "" {
			found[one.at] = ""
		}
	}
	if len(found) > 0 && p.data != nil {
		dec := json.NewDecoder(bytes.NewReader(p.data))
		again := walker{data: p.data, dec: dec, problems: &Problems{}, sought: found}
		_ = again.value("", reflect.New(p.kind).Elem()) // it was read before
	}
	return found
}

// walker fills a value from a file that is known to be valid JSON. Unlike
// encoding/json it goes on after a problem, and knows where it is.
type walker struct {
	data     []byte
	dec      *json.Decoder
	reached  int // where the key or value begins that is read
	problems *Problems
	sought   map[string]string // places whose lines are to be filled in, nil for none
}

// begin moves to the key or value that comes next.
func (w *walker) begin() {
	rest := w.data[w.dec.InputOffset():]
	w.reached = len(w.data) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
}

// next returns the value that comes next as it is written.
func (w *walker) next() (text json.RawMessage) {
	_ = w.dec.Decode(&text)
	return text
}

func (w *walker) place() place { return w.data[:w.reached] }

// problem notes what is wrong with what is read.
func (w *walker) problem(path, format string, args ...any) {
	w.problems.add(w.place().String(), path, format, args...)
}

// value reads a value into v. An error ends the walk.
func (w *walker) value(path string, v reflect.Value) error {
	w.begin()
	if _, ok := w.sought[path]; ok {
		w.sought[path] = w.place().String()
	}
	if len(w.problems.all) == maxProblems {
		return errors.New("too many problems; further ones are not listed") // ends the list with "and more"
	}
	first := w.data[w.reached]
	for first != 'n' && v.Kind() == reflect.Pointer { // null leaves it nil
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	kind := map[byte]string{'{': "object", '[': "array"}[first]
	switch {
	case path == "" && kind != wanted(v):
		return fmt.Errorf("%sthe file must be one %s", w.place(), wanted(v)) // null is no file that lists nothing
	case kind == "":
		w.scalar(path, v)
	case kind != wanted(v):
		w.problem(path, "got %s, want %s", kind, wanted(v))
		w.next()
	case kind == "object":
		return w.object(path, v)
	default:
		return w.array(path, v)
	}
	return nil
}

// rfc3339 is stricter than time.Time, which accepts "1:02:03" and a decimal comma.
var rfc3339 = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"$`)

func (w *walker) scalar(path string, v reflect.Value) {
	text := w.next()
	err := json.Unmarshal(text, v.Addr().Interface())
	isTime := v.Type() == reflect.TypeFor[time.Time]() && string(text) != "null"
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

func (w *walker) object(path string, v reflect.Value) error {
	_, _ = w.dec.Token() // its beginning
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	}
	seen := map[string]bool{}
	for w.dec.More() {
		w.begin()
		token, _ := w.dec.Token()
		key := token.(string)
		at := strings.TrimPrefix(path+"."+cmp.Or(key, `""`), ".")
		if seen[key] {
			w.problem(at, "given twice")
		}
		seen[key] = true
		member := field(v, key)
		if !member.IsValid() {
			w.problem(at, "unknown field")
			w.next()
			continue
		}
		if err := w.value(at, member); err != nil {
			return err
		}
		if v.Kind() == reflect.Map {
			v.SetMapIndex(reflect.ValueOf(key), member)
		}
	}
	_, _ = w.dec.Token() // its end
	return nil
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

func (w *walker) array(path string, v reflect.Value) error {
	_, _ = w.dec.Token() // its beginning
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; w.dec.More(); i++ {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if err := w.value(fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
			return err
		}
	}
	_, _ = w.dec.Token() // its end
	return nil
}

// place is a position in a file: all that is before it.
type place []byte

// String begins a message. The position is as editors show it: a column is a character.
func (p place) String() string {
	line := p[bytes.LastIndexByte(p, '\n')+1:]
	return fmt.Sprintf("line %d, column %d: ", 1+bytes.Count(p, []byte("\n")), 1+utf8.RuneCount(line))
}
