// Package jsonfile reads a configuration file strictly. It reports unknown
// fields, repeated keys and wrong types all at once, each with its line, column
// and path, so that an operator can correct a file in one go.
//
// Whatever is at the path, reading it ends at once and takes little memory: only
// a regular file of a bounded size is read, with a bounded number of values, and
// only the first problems are kept.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"syscall"

	"github.com/quotegate/quotegate/shared/words"
)

const (
	// MaxSize is how large a file may be that has no reason to be larger.
	MaxSize = 1 << 20

	// No configuration needs as much.
	maxDepth    = 32
	maxValues   = 120_000
	maxProblems = 100
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
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a file", path)
	case info.Mode()&fs.ModeNamedPipe != 0:
		return nil, fmt.Errorf("%s is a pipe, not a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device or a socket, not a file", path)
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), size)) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, size+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > size {
		return nil, fmt.Errorf("%s is larger than %s bytes", path, words.Number(size))
	}
	return data.Bytes(), nil
}

// Decode fills into, a pointer to a struct, from one JSON value, and returns the
// problems, to which a caller may add its own. What has a problem stays zero. For a
// file that is not JSON there is only one. A struct has a json tag on every field
// that is read, and its values are strings, numbers, booleans, texts that decode
// themselves, and structs, maps and slices of these.
func Decode(data []byte, into any) *Problems {
	walk := walker{data: data, dec: json.NewDecoder(bytes.NewReader(data)), reached: start}
	err := json.Unmarshal(data, new(json.RawMessage))
	if err != nil {
		err = notJSON(data, err)
	} else {
		err = walk.value("", reflect.ValueOf(into))
	}
	if err != nil {
		walk.problems.Add("", "%w", err)
	}
	return &walk.problems
}

func notJSON(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	at := start
	at.advance(data, int(syntax.Offset)-1) // Offset counts the character at fault too
	return fmt.Errorf("not valid JSON: %s: %w", at, err)
}

// Problems are what is wrong with a file: the first of each place, and only so many
// as a person reads.
type Problems struct {
	all    []error
	more   bool
	places map[string]bool
}

// Add notes a problem at a place, such as "rows[2].id". A place that has one
// already, such as a value of the wrong type, gets no second. An empty place is the
// whole file.
func (p *Problems) Add(place, format string, args ...any) { p.add(nil, place, format, args...) }

func (p *Problems) add(line *place, at, format string, args ...any) {
	if at != "" && p.places[at] {
		return
	}
	if p.full() {
		p.more = true
		return
	}
	err := fmt.Errorf(format, args...)
	if at != "" {
		if p.places == nil {
			p.places = map[string]bool{}
		}
		p.places[at] = true
		err = fmt.Errorf("%s: %w", at, err)
	}
	if line != nil {
		err = fmt.Errorf("%s: %w", line, err)
	}
	p.all = append(p.all, err)
}

// Has reports whether a place has a problem.
func (p *Problems) Has(place string) bool { return p.places[place] }

// Err joins all problems, one a line. It is nil if there is none.
func (p *Problems) Err() error {
	if p.more {
		return errors.Join(append(p.all[:maxProblems:maxProblems], errors.New("and more"))...)
	}
	return errors.Join(p.all...)
}

func (p *Problems) full() bool { return len(p.all) == maxProblems }
