// Package setting reads the limits of a setting from its struct tags, so that the check,
// the error, `gateway config` and the documentation agree:
//
//	MaxConnections int `env:"MAX_CONNECTIONS, default=4096" min:"16" max:"1000000"`
//
// min and max bound a number, a duration or the length of a text. or names one more value,
// as in "0 for no limit". chars:"printable" allows printable ASCII without spaces. An empty
// text means not set. An invalid bound panics.
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
	min, max  string // empty for none
	or        string
	printable bool
	text      bool // whether characters are counted
}

// LimitsOf reads the tags of a field.
func LimitsOf(field reflect.StructField) Limits {
	return Limits{
		min:       field.Tag.Get("min"),
		max:       field.Tag.Get("max"),
		or:        field.Tag.Get("or"),
		printable: field.Tag.Get("chars") == "printable",
		text:      field.Type.Kind() == reflect.String,
	}
}

// String says what is allowed, such as "between 1 and 1000, or 0 for no limit". It is
// empty if everything is.
func (l Limits) String() string {
	text := ""
	switch {
	case l.min != "" && l.max != "":
		text = "between " + l.min + " and " + l.max
	case l.min != "":
		text = "at least " + l.min
	case l.max != "":
		text = "at most " + l.max
	default:
		return ""
	}
	if l.text {
		text += " characters"
	}
	if l.printable {
		text += ", all of them printable ASCII and none a space"
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
	var n int64
	if l.text {
		text := value.String()
		n = int64(len(text))
		if n == 0 {
			return true
		}
		if l.printable && strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	} else {
		n = value.Int()
	}
	other, _, _ := strings.Cut(l.or, " ")
	if other != "" && n == bound(other) {
		return true
	}
	return (l.min == "" || n >= bound(l.min)) && (l.max == "" || n <= bound(l.max))
}

// bound reads a duration or a number.
func bound(text string) int64 {
	if d, err := time.ParseDuration(text); err == nil {
		return int64(d)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
