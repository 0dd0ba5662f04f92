// Package setting reads the limits of a setting from its struct tags, so that the check,
// the error, `gateway config` and the documentation agree:
//
//	MaxConnections int `env:"MAX_CONNECTIONS, default=4096" min:"16" max:"1000000"`
//
// min and max bound a number, a duration or the length of a text; above is an exclusive
// bound. or names one more value, as in "0 for no limit". chars:"printable" allows
// printable ASCII without spaces. An empty text means not set. An invalid tag panics.
package setting

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Limits are what the tags of a field say.
type Limits struct {
	min, above, max string // empty for none
	or              string
	printable       bool
	text            bool // whether characters are counted
}

// LimitsOf reads the tags of a field.
func LimitsOf(field reflect.StructField) Limits {
	return Limits{
		min:       field.Tag.Get("min"),
		above:     field.Tag.Get("above"),
		max:       field.Tag.Get("max"),
		or:        field.Tag.Get("or"),
		printable: field.Tag.Get("chars") == "printable",
		text:      field.Type.Kind() == reflect.String,
	}
}

// String says what is allowed, such as "between 1 and 1000, or 0 for no limit". It is
// empty if everything is.
func (l Limits) String() string {
	var said []string
	add := func(format, value string) {
		if value != "" {
			said = append(said, fmt.Sprintf(format, value))
		}
	}
	if l.min != "" && l.max != "" {
		add("between %s", l.min)
		add("%s", l.max)
	} else {
		add("at least %s", l.min)
		add("more than %s", l.above)
		add("at most %s", l.max)
	}
	text := strings.Join(said, " and ")
	if l.text && text != "" {
		text += " characters"
	}
	if l.printable {
		text = strings.TrimPrefix(text+", all of them printable ASCII and none a space", ", ")
	}
	if l.or != "" {
		text += ", or " + l.or
	}
	return text
}

// Check reports every field of a struct that is outside its limits, naming the
// variable. The value of a secret is not repeated.
func Check(config any) error {
	var problems []error
	value := reflect.ValueOf(config)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		limits := LimitsOf(field)
		if limits.String() == "" || limits.allow(value.Field(i)) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		switch {
		case field.Tag.Get("setting") == "secret":
			problems = append(problems, fmt.Errorf("%s: must be %s", name, limits))
		case limits.text:
			problems = append(problems, fmt.Errorf("%s: %.80q must be %s", name, value.Field(i), limits))
		default:
			problems = append(problems, fmt.Errorf("%s: %v is not %s", name, value.Field(i), limits))
		}
	}
	return errors.Join(problems...)
}

func (l Limits) allow(value reflect.Value) bool {
	n := measure(value)
	if l.text && n == 0 {
		return true
	}
	if l.printable && strings.ContainsFunc(value.String(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	bound := func(text string) int64 { return parse(text, value.Type()) }
	if l.or != "" {
		other, _, _ := strings.Cut(l.or, " ")
		if n == bound(other) {
			return true
		}
	}
	below := l.min != "" && n < bound(l.min) || l.above != "" && n <= bound(l.above)
	beyond := l.max != "" && n > bound(l.max)
	return !below && !beyond
}

// measure is what is compared with a bound.
func measure(value reflect.Value) int64 {
	if value.Kind() == reflect.String {
		return int64(value.Len())
	}
	return value.Int()
}

// parse reads a bound of a field of type t.
func parse(text string, t reflect.Type) int64 {
	if t == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		return int64(d)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
