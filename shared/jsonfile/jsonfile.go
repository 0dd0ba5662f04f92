// Package jsonfile reads a configuration file strictly. It reports unknown
// fields, repeated keys and wrong types all at once, each with its line, column
// and path, so that an operator can correct a file in one go.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

const (
	// MaxSize bounds how much of a file Read reads.
	MaxSize = 1 << 20
	// maxDepth bounds how deeply values nest. No configuration needs as much.
	maxDepth = 32
)

// Read reads the file at path, at most MaxSize bytes of it.
func Read(path string) ([]byte, error) { return ReadUpTo(path, MaxSize) }

// ReadUpTo reads a file that may have up to size bytes.
func ReadUpTo(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > size {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, size)
	}
	return data, nil
}

// Decode fills into, a pointer to a struct, from one JSON value. The error
// joins all problems, each with its line and column. For a file that is not
// JSON, it says only that.
func Decode(data []byte, into any) error {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return notJSON(data, err)
	}
	walk := walker{data: data, dec: json.NewDecoder(bytes.NewReader(data)), reached: start}
	if err := walk.value("", reflect.TypeOf(into)); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil && len(walk.problems) == 0 {
		walk.problems = append(walk.problems, err) // only a type with a decoder of its own gets here
	}
	return errors.Join(walk.problems...)
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
