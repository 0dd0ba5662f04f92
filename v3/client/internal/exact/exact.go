// Package exact decodes JSON as the JavaScript client does. Of two fields with the same name the last counts, names are
// compared exactly, 369e0 is a number like any other, null is a field left out, and a field that is not known is
// ignored. A field that is known must have its type, and must be there unless its tag says omitempty or omitzero.
package exact

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

const (
	longestText = 2048    // characters, as JavaScript counts them; no text of a gateway has half as many
	highest     = 1 << 53 // whole numbers below it are exact in JavaScript
)

// A Form is what the values of a string type must be. It has one of the two functions.
type Form struct {
	Name    string                 // for the error, such as "a hash"
	Matches func(text string) bool // a text
	Number  func(n float64) bool   // a number, which the type keeps as it is written
}

// A Decoder reads values of the types of one API.
type Decoder struct {
	Forms  map[reflect.Type]Form
	Closed []reflect.Type // objects in which a field that is not known is an error
}

// Decode reads data into a pointer.
func (d *Decoder) Decode(data []byte, into any) error {
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return err
	}
	known, err := d.conform(tree, reflect.TypeOf(into).Elem(), "")
	if err != nil {
		return err
	}
	exact, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return json.Unmarshal(exact, into)
}

// conform gives the known part of a decoded value, which must be one of the given type.
func (d *Decoder) conform(value any, t reflect.Type, path string) (any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	form, isFormed := d.Forms[t]
	if form.Number != nil {
		n, isNumber := value.(float64)
		text := strconv.FormatFloat(math.Abs(n), 'f', -1, 64)
		return json.Number(text), expect(isNumber && form.Number(n), path, form.Name)
	}
	switch t.Kind() {
	case reflect.Struct:
		fields, isObject := value.(map[string]any)
		if !isObject {
			return nil, expect(false, path, "an object")
		}
		return d.conformStruct(fields, t, path)
	case reflect.Map:
		fields, isObject := value.(map[string]any)
		if !isObject {
			return nil, expect(false, path, "an object")
		}
		return d.conformMap(fields, t.Elem(), path)
	case reflect.Slice:
		list, isList := value.([]any)
		if !isList {
			return nil, expect(false, path, "a list")
		}
		return d.conformList(list, t.Elem(), path)
	case reflect.String:
		text, isText := value.(string)
		isText = isText && len(utf16.Encode([]rune(text))) <= longestText
		if isFormed {
			return value, expect(isText && form.Matches(text), path, form.Name)
		}
		return value, expect(isText, path, "a text")
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

func (d *Decoder) conformStruct(fields map[string]any, t reflect.Type, path string) (any, error) {
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
		if known[name], err = d.conform(value, field.Type, inner); err != nil {
			return nil, err
		}
	}
	for name, value := range fields {
		if _, isKnown := known[name]; !isKnown && value != nil && slices.Contains(d.Closed, t) {
			return nil, fmt.Errorf("%s.%.60s: it must be left out", path, name)
		}
	}
	return known, nil
}

func (d *Decoder) conformMap(fields map[string]any, t reflect.Type, path string) (any, error) {
	known := make(map[string]any)
	for name, value := range fields {
		if value == nil {
			continue
		}
		var err error
		if known[name], err = d.conform(value, t, path+"."+name); err != nil {
			return nil, err
		}
	}
	return known, nil
}

func (d *Decoder) conformList(list []any, t reflect.Type, path string) (any, error) {
	known := make([]any, len(list))
	for i, value := range list {
		var err error
		if known[i], err = d.conform(value, t, fmt.Sprintf("%s.%d", path, i)); err != nil {
			return nil, err
		}
	}
	return known, nil
}
