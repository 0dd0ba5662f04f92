// Package jsonfile reads a configuration file strictly. It reports unknown
// fields, repeated keys and wrong types all at once, with the path to each, so
// that an operator can correct a file in one go.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

const (
	// MaxSize bounds how much of a file is read.
	MaxSize = 1 << 20
	// maxDepth bounds how deeply values nest. No configuration needs as much.
	maxDepth = 32
)

// Read reads the file at path, at most MaxSize bytes of it.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, MaxSize)
	}
	return data, nil
}

// Decode fills into, a pointer to a struct, from one JSON value. The error
// joins all problems. For a file that is not JSON, it says only that.
func Decode(data []byte, into any) error {
	walk := walker{dec: json.NewDecoder(bytes.NewReader(data))}
	if err := walk.value("", reflect.TypeOf(into)); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if _, err := walk.dec.Token(); err != io.EOF {
		return errors.New("not valid JSON: something follows the first value")
	}
	if err := json.Unmarshal(data, into); err != nil {
		walk.problems = append(walk.problems, err)
	}
	return errors.Join(walk.problems...)
}

// walker compares the tokens of a file with the type they will be decoded into.
type walker struct {
	dec      *json.Decoder
	depth    int
	problems []error
}

func (w *walker) value(path string, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	if w.depth++; w.depth > maxDepth {
		return errors.New("nested too deeply")
	}
	defer func() { w.depth-- }()
	switch token {
	case json.Delim('{'):
		return w.object(path, t)
	case json.Delim('['):
		return w.array(path, t)
	}
	return nil
}

func (w *walker) object(path string, t reflect.Type) error {
	seen := map[string]bool{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder has checked that an object's key is a string
		at := strings.TrimPrefix(path+"."+key, ".")
		if seen[key] {
			w.problems = append(w.problems, fmt.Errorf("%s: given twice", at))
		}
		seen[key] = true
		member, known := memberType(t, key)
		if !known {
			w.problems = append(w.problems, fmt.Errorf("%s: unknown field", at))
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

// memberType finds the type that a key of an object decodes into. A nil type
// is not checked here: json.Unmarshal reports the mismatch.
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
