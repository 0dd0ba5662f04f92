package client

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// decodeExactly reads an answer as the JavaScript client does. Of two fields with the same name the last counts, names
// are compared exactly, 369e0 is a number like any other, null is a field left out, and a field that is not known is
// ignored. A field that is known must have its type, and must be there unless its tag says omitempty or omitzero.
func decodeExactly(data []byte, into any) error {
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return err
	}
	known, err := conform(tree, reflect.TypeOf(into).Elem(), "")
	if err != nil {
		return err
	}
	exact, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return json.Unmarshal(exact, into)
}

const (
	longestText = 2048    // characters, as JavaScript counts them; no text of a gateway has half as many
	highest     = 1 << 53 // whole numbers below it are exact in JavaScript
)

// conform gives the known part of a decoded value, which must be one of the given type.
func conform(value any, t reflect.Type, path string) (any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Percentage]():
		n, isNumber := value.(float64)
		text := strconv.FormatFloat(math.Abs(n), 'f', -1, 64)
		return json.Number(text), expect(isNumber && n >= 0 && n <= 100, path, "a percentage")
	case reflect.TypeFor[Amount]():
		text, _ := value.(string)
		return value, expect(isAmount(text), path, "an amount in digits")
	case reflect.TypeFor[Hash]():
		text, _ := value.(string)
		return value, expect(hashes.MatchString(text), path, "a hash")
	case reflect.TypeFor[Site]():
		text, _ := value.(string)
		return value, expect(sites.MatchString(text) && len(text) <= longestText, path, "an https address")
	case reflect.TypeFor[Time]():
		text, _ := value.(string)
		return value, expect(isTime(text), path, "a time")
	}
	switch t.Kind() {
	case reflect.Struct:
		fields, isObject := value.(map[string]any)
		if !isObject {
			return nil, expect(false, path, "an object")
		}
		return conformFields(fields, t, path)
	case reflect.Map:
		fields, isObject := value.(map[string]any)
		if !isObject {
			return nil, expect(false, path, "an object")
		}
		return conformEach(fields, t.Elem(), path)
	case reflect.Slice:
		list, isList := value.([]any)
		if !isList {
			return nil, expect(false, path, "a list")
		}
		return conformList(list, t.Elem(), path)
	case reflect.String:
		text, isText := value.(string)
		return value, expect(isText && len(utf16.Encode([]rune(text))) <= longestText, path, "a text")
	case reflect.Bool:
		_, isBool := value.(bool)
		return value, expect(isBool, path, "true or false")
	default:
		n, isNumber := value.(float64)
		most := math.Ldexp(1, t.Bits())
		isWhole := isNumber && n == math.Trunc(n) && n >= 0 && n < min(most, highest)
		return math.Abs(n), expect(isWhole, path, "a whole number")
	}
}

func expect(isRight bool, path, what string) error {
	if isRight {
		return nil
	}
	return fmt.Errorf("%s: it must be %s", path, what)
}

func conformFields(fields map[string]any, t reflect.Type, path string) (any, error) {
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
				return nil, fmt.Errorf("%s: it is left out", inner)
			}
			continue
		}
		var err error
		if known[name], err = conform(value, field.Type, inner); err != nil {
			return nil, err
		}
	}
	for name, value := range fields {
		if _, isKnown := known[name]; !isKnown && value != nil && isClosed(t) {
			return nil, fmt.Errorf("%s.%.60s: it must be left out", path, name)
		}
	}
	return known, nil
}

// isClosed tells whether nothing else may be in an object: these are shown to people and passed on to wallets.
func isClosed(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[DecodedCall](), reflect.TypeFor[SendCalls](), reflect.TypeFor[SendCall]():
		return true
	}
	return false
}

// lower gives hexadecimal digits in small letters, and other texts as they are.
func lower(text string) string {
	if strings.HasPrefix(text, "0x") {
		return strings.ToLower(text)
	}
	return text
}

func conformEach(fields map[string]any, t reflect.Type, path string) (any, error) {
	known := make(map[string]any)
	for name, value := range fields {
		if value == nil {
			continue
		}
		var err error
		if known[name], err = conform(value, t, path+"."+name); err != nil {
			return nil, err
		}
	}
	return known, nil
}

func conformList(list []any, t reflect.Type, path string) (any, error) {
	known := make([]any, len(list))
	for i, value := range list {
		var err error
		if known[i], err = conform(value, t, fmt.Sprintf("%s.%d", path, i)); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// A Hash is 0x and 64 hexadecimal digits; empty if it is not there.
type Hash string

var hashes = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// A Time is one as a gateway writes it, such as 2026-11-15T12:00:00Z; empty if it is not there.
type Time string

// At is the time; zero if it is not there.
func (t Time) At() time.Time {
	at, _ := time.Parse(time.RFC3339, string(t))
	return at
}

func isTime(text string) bool {
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && at.UTC().Format("2006-01-02T15:04:05Z") == text
}
