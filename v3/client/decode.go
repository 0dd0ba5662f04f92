package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

const (
	longestText = 2048    // characters, as JavaScript counts them; no text of a gateway has half as many
	highest     = 1 << 53 // whole numbers below it are exact in JavaScript
)

// closed are objects in which an unknown field is an error: they are shown to people and passed on to wallets.
var closed = []reflect.Type{reflect.TypeFor[DecodedCall](), reflect.TypeFor[SendCalls](), reflect.TypeFor[SendCall]()}

// decodeBody reads an answer of a gateway as the JavaScript client does. Of two fields with the same name the last
// counts, names are compared exactly, 369e0 is a number like any other, null is a field left out, and an unknown field
// is ignored. A known field must have its type, and must be there unless its tag says omitempty or omitzero.
func decodeBody(body []byte, into any) error {
	_, err := decodeKnown(body, into)
	return err
}

// decodeKnown also gives the known part of the answer as it came: which fields are there, and which are empty.
func decodeKnown(body []byte, into any) (known any, err error) {
	if len(body) > maxAnswer {
		return nil, errors.New("the response is too large")
	}
	var tree any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil, err
	}
	if known, err = knownPart("", tree, reflect.TypeOf(into).Elem()); err != nil {
		return nil, err
	}
	exact, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	return known, json.Unmarshal(exact, into)
}

// knownPart gives the part of a decoded value that has a place in t. Whether the rest has its type is left to
// json.Unmarshal.
func knownPart(path string, value any, t reflect.Type) (any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var err error
	switch value := value.(type) {
	case nil:
		return nil, fmt.Errorf("%s: it must not be null", path)
	case string:
		if len(utf16.Encode([]rune(value))) > longestText {
			return nil, fmt.Errorf("%s: it is too long", path)
		}
	case float64:
		if value >= highest {
			return nil, fmt.Errorf("%s: it is too large", path)
		}
		if value == 0 {
			return 0.0, nil // and not -0
		}
	case []any:
		if t.Kind() != reflect.Slice {
			break
		}
		for i := range value {
			if value[i], err = knownPart(fmt.Sprintf("%s.%d", path, i), value[i], t.Elem()); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return knownFields(path, value, t)
		case reflect.Map:
			maps.DeleteFunc(value, func(_ string, inner any) bool { return inner == nil })
		}
	}
	return value, nil
}

func knownFields(path string, fields map[string]any, t reflect.Type) (any, error) {
	known := make(map[string]any)
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" { // an embedded struct has no name of its own
			continue
		}
		inner := strings.TrimPrefix(path+"."+name, ".")
		value := fields[name]
		if value == nil {
			if options == "" {
				return nil, fmt.Errorf("%s: it is missing", inner)
			}
			continue
		}
		var err error
		if known[name], err = knownPart(inner, value, field.Type); err != nil {
			return nil, err
		}
	}
	for name, value := range fields {
		if _, isKnown := known[name]; !isKnown && value != nil && slices.Contains(closed, t) {
			return nil, fmt.Errorf("%s: unknown field %s", path, quoted(name))
		}
	}
	return known, nil
}

// lower gives hexadecimal digits in small letters, and other texts as they are.
func lower(text string) string {
	if strings.HasPrefix(text, "0x") {
		return strings.ToLower(text)
	}
	return text
}

// A Hash is 0x and 64 hexadecimal digits; empty if it is not there.
type Hash string

var hashes = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// UnmarshalText refuses everything else.
func (h *Hash) UnmarshalText(text []byte) error {
	*h = Hash(text)
	return mustBe(hashes.Match(text), text, "a hash")
}

// A Time is one as a gateway writes it, such as 2026-11-15T12:00:00Z; empty if it is not there.
type Time string

// At is the time; zero if it is not there.
func (t Time) At() time.Time {
	at, _ := time.Parse(time.RFC3339, string(t))
	return at
}

// UnmarshalText refuses everything else.
func (t *Time) UnmarshalText(text []byte) error {
	*t = Time(text)
	return mustBe(t.At().UTC().Format("2006-01-02T15:04:05Z") == string(text), text, "a time")
}

func mustBe(isRight bool, text []byte, what string) error {
	if isRight {
		return nil
	}
	return fmt.Errorf("%s is not %s", quoted(string(text)), what)
}
