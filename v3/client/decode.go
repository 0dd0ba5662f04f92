package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// decodeExactly reads an answer strictly. Go's own decoder takes a name in any letter case and the last of several,
// so that another program may read another value in the same answer: here names are exact and stand once. Fields that
// are not known are passed over, unless they could carry a transaction: those of a quote must be plain words or
// numbers.
func decodeExactly(data []byte, into any) error {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return err // also if it is nested too deeply to walk through
	}
	_, isQuote := into.(*Quote)
	d := exact{json.NewDecoder(bytes.NewReader(data)), isQuote, map[reflect.Type]map[string]structField{}}
	d.UseNumber()
	if err := d.value(reflect.TypeOf(into), ""); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// exact walks through JSON beside the type that it is meant for.
type exact struct {
	*json.Decoder
	strict bool // refuse what is not known and more than a word or a number
	fields map[reflect.Type]map[string]structField
}

// A structField is one that a struct type has, found by its name in small letters.
type structField struct {
	name string
	kind reflect.Type
}

// fieldsOf are the fields of a struct type. They are kept, since a listing has hundreds of rows.
func (d exact) fieldsOf(t reflect.Type) map[string]structField {
	if fields, ok := d.fields[t]; ok {
		return fields
	}
	fields := map[string]structField{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" { // an embedded struct has no name of its own
			fields[fold(name)] = structField{name, field.Type}
		}
	}
	d.fields[t] = fields
	return fields
}

// fold gives the same for all names that Go's decoder takes for one: it folds as Unicode does.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

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
	if t != nil {
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
		folded := fold(name)
		if seen[folded] {
			return fmt.Errorf("it has the field %q twice, in whatever letters", field)
		}
		seen[folded] = true
		next, err := d.fieldOf(t, name, field)
		if err != nil {
			return err
		}
		if err := d.value(next, field); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// fieldOf is the type of a field, nil if it is not known.
func (d exact) fieldOf(t reflect.Type, name, path string) (reflect.Type, error) {
	switch {
	case t == nil:
		return nil, nil
	case t.Kind() == reflect.Map:
		return t.Elem(), nil
	case t.Kind() != reflect.Struct:
		return nil, fmt.Errorf("the field %q is in no object", path)
	}
	known, ok := d.fieldsOf(t)[fold(name)]
	switch {
	case !ok:
		return nil, nil
	case known.name != name:
		return nil, fmt.Errorf("it has the field %q, which is written %s", path, known.name)
	}
	return known.kind, nil
}
