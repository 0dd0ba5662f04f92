package wallet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// ignored is a field that is known and not read.
type ignored struct{}

func (ignored) UnmarshalJSON([]byte) error   { return nil }
func (ignored) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// IsZero leaves the field out where it would be printed.
func (ignored) IsZero() bool { return true }

// decodeExactly reads an answer strictly. Go's own decoder takes a name in any letter case and the last of several, so that
// another program may read another value in the same answer: here names are exact and stand once. Fields that are
// not known are passed over, unless they could carry a transaction: those of a quote must be plain words or numbers.
func decodeExactly(data []byte, into any) error {
	_, isQuote := into.(*Quote)
	d := exact{json.NewDecoder(bytes.NewReader(data)), isQuote}
	d.UseNumber()
	if err := d.value(reflect.TypeOf(into), ""); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return json.Unmarshal(data, into)
}

// exact walks through JSON beside the type that it is meant for.
type exact struct {
	*json.Decoder
	strict bool // refuse what is not known and more than a word or a number
}

var unread = reflect.TypeFor[ignored]()

// value reads one value for a type, which is nil for a field that is not known.
func (d exact) value(t reflect.Type, path string) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		if t == nil && d.strict {
			return fmt.Errorf("it has a field %q, which was not asked for and could carry a transaction", path)
		}
		if token == '[' {
			return d.array(t, path)
		}
		return d.object(t, path)
	case string:
		if t == nil && d.strict && strings.Contains(strings.ToLower(token), "0x") {
			return fmt.Errorf("it has a field %q, which was not asked for and could carry a transaction", path)
		}
	}
	return nil
}

func (d exact) array(t reflect.Type, path string) error {
	if t != nil && t != unread {
		if t.Kind() != reflect.Slice {
			return fmt.Errorf("the field %q is a list", path)
		}
		t = t.Elem()
	}
	for d.More() {
		if err := d.value(t, path); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (d exact) object(t reflect.Type, path string) error {
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		field := strings.TrimPrefix(path+"."+name, ".")
		folded := strings.ToLower(name)
		if seen[folded] {
			return fmt.Errorf("it has the field %q twice, in whatever letters", field)
		}
		seen[folded] = true
		next := t
		if t != unread {
			if next, err = fieldOf(t, name, field); err != nil {
				return err
			}
		}
		if err := d.value(next, field); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// fieldOf is the type of a field, nil if it is not known.
func fieldOf(t reflect.Type, name, path string) (reflect.Type, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, nil
	}
	for i := range t.NumField() {
		known, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case known == "-":
		case known == name:
			return t.Field(i).Type, nil
		case strings.EqualFold(known, name):
			return nil, fmt.Errorf("it has the field %q, which is written %s", path, known)
		}
	}
	return nil, nil
}
