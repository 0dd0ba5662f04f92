package main

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// setting describes one environment variable of the service.
type setting struct {
	name     string
	standard string // its default as text, empty if it has none
	typ      reflect.Type
	secret   bool // its value is never shown
}

// settings lists every variable: those in the env tags of config, and one for
// each chain.
func settings() []setting { return settingsOf(reflect.TypeFor[config]()) }

func settingsOf(t reflect.Type) (all []setting) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, tagged := field.Tag.Lookup("env")
		switch {
		case tagged:
			name, options, _ := strings.Cut(tag, ",")
			_, standard, _ := strings.Cut(options, "default=")
			all = append(all, setting{name: name, standard: standard, typ: field.Type, secret: field.Tag.Get("setting") == "secret"})
		case field.Type == reflect.TypeFor[rpc.Config]():
			for _, n := range chain.Networks() {
				all = append(all, setting{name: rpc.VariablePrefix + n.ID.String(), typ: reflect.TypeFor[string](), secret: true})
			}
		case field.Type.Kind() == reflect.Struct:
			all = append(all, settingsOf(field.Type)...)
		}
	}
	return all
}

// value is the text in the environment. A number that is set but empty counts
// as not set: an empty RATE_LIMIT must not turn the limit off.
func (s setting) value(env environment) (text string, set bool) {
	text, set = env[s.name]
	if text == "" && s.typ.Kind() != reflect.String && s.typ.Kind() != reflect.Slice {
		return "", false
	}
	return text, set
}

// unreadable says what is wrong with a text that cannot be parsed. The parser's
// own error is not repeated: it may quote a secret.
func (s setting) unreadable(text string) error {
	what := "cannot be read"
	switch kind := s.typ.Kind(); {
	case s.typ == reflect.TypeFor[time.Duration]():
		what = "is not a duration such as 500ms, 30s or 5m"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		what = "is not a whole number, or is too large"
	case kind == reflect.Bool:
		what = "is not true or false"
	}
	if s.secret {
		return fmt.Errorf("%s: the value %s", s.name, what)
	}
	return fmt.Errorf("%s: %.80q %s", s.name, text, what)
}

// shown is a setting as it may be shown to anybody: a secret is hidden.
type shown struct{ name, value, from string }

// showSettings lists what is in force and where it came from.
func showSettings(env environment) (all []shown) {
	for _, s := range settings() {
		text, set := s.value(env)
		from := "environment"
		if !set {
			text, from = s.standard, "default"
		}
		if s.secret && text != "" {
			text = "[hidden]"
		} else {
			text = printable(text)
		}
		all = append(all, shown{s.name, text, from})
	}
	return all
}

// printSettings writes them as a table.
func printSettings(out io.Writer, env environment) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VARIABLE\tVALUE\tFROM")
	for _, s := range showSettings(env) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.name, s.value, s.from)
	}
	return table.Flush()
}

// printable quotes a text that would not stand as one word in a line.
func printable(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
