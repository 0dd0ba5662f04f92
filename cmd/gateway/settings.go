package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/setting"
)

// variable is one setting of the service, in the environment.
type variable struct {
	name     string
	standard string // its default as text, empty if it has none
	typ      reflect.Type
	limits   setting.Limits
	secret   bool // its value is never shown

	text string // what is in force
	from string // where that came from
	err  error  // about the file
}

// Where a value comes from.
const (
	fromEnvironment = "environment"
	fromFile        = "file"
	fromDefault     = "default"
)

// settings lists every variable: those in the env tags of config, and one for
// each chain.
func settings(env environment) []variable {
	all := settingsOf(reflect.TypeFor[config]())
	for i := range all {
		all[i].read(env)
	}
	return all
}

func settingsOf(t reflect.Type) (all []variable) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, tagged := field.Tag.Lookup("env")
		switch {
		case tagged:
			name, options, _ := strings.Cut(tag, ",")
			_, standard, _ := strings.Cut(options, "default=")
			all = append(all, variable{
				name:     name,
				standard: standard,
				typ:      field.Type,
				limits:   setting.LimitsOf(field),
				secret:   field.Tag.Get("setting") == "secret",
			})
		case field.Type == reflect.TypeFor[rpc.Config]():
			for _, n := range chain.Networks() {
				name := rpc.VariablePrefix + n.ID.String()
				all = append(all, variable{name: name, typ: reflect.TypeFor[string](), secret: true})
			}
		case field.Type.Kind() == reflect.Struct:
			all = append(all, settingsOf(field.Type)...)
		}
	}
	return all
}

// fileSuffix makes the name of a variable that names a file. Every secret may be
// in a file: ADMIN_TOKEN_FILE names the one that holds ADMIN_TOKEN.
const fileSuffix = "_FILE"

// read takes the text in the environment or in the file that it names. A number that
// is set but empty counts as not set: an empty RATE_LIMIT must not turn the limit off.
func (s *variable) read(env environment) {
	text, set := env[s.name]
	path := env[s.name+fileSuffix]
	kind := s.typ.Kind()
	mayBeEmpty := kind == reflect.String || kind == reflect.Slice
	switch {
	case s.secret && path != "":
		s.from = fromFile
		s.text, s.err = readSecret(path)
		if text != "" {
			s.err = fmt.Errorf("%s is set too; set one of them", s.name)
		}
		if s.err != nil {
			s.err = fmt.Errorf("%s%s: %w", s.name, fileSuffix, s.err)
		}
	case set && (text != "" || mayBeEmpty):
		s.text = text
		s.from = fromEnvironment
	default:
		s.text = s.standard
		s.from = fromDefault
	}
}

func readSecret(path string) (string, error) {
	const most = 64 << 10
	return jsonfile.Load(path, most, func(data []byte) (string, error) {
		text := strings.TrimRight(string(data), "\r\n")
		if text == "" || strings.ContainsAny(text, "\r\n") {
			return "", errors.New("must have one line, with the value")
		}
		return text, nil
	})
}

// unreadable says that a text is not of the variable's type. No secret is a number.
func (s variable) unreadable() error {
	var err error
	what := ""
	kind := s.typ.Kind()
	switch {
	case s.typ == reflect.TypeFor[time.Duration]():
		_, err = time.ParseDuration(s.text)
		what = "a duration such as 500ms, 30s or 5m"
	case kind == reflect.Int:
		_, err = strconv.ParseInt(s.text, 0, s.typ.Bits())
		what = "a whole number, or is too large"
	case kind == reflect.Bool:
		_, err = strconv.ParseBool(s.text)
		what = "true or false"
	}
	if err != nil {
		return fmt.Errorf("%s: %.80q is not %s", s.name, s.text, what)
	}
	return nil
}

// shown is the text as it may be shown to anybody: a secret is hidden.
func (s variable) shown() string {
	if s.secret && s.text != "" {
		return "[hidden]"
	}
	return asWord(s.text)
}

// printSettings writes what is in force, where it came from, and what is allowed.
func printSettings(out io.Writer, env environment) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VARIABLE\tVALUE\tFROM\tLIMITS")
	for _, s := range settings(env) {
		line := fmt.Sprintf("%s\t%s\t%s", s.name, s.shown(), s.from)
		if limits := s.limits.String(); limits != "" {
			line += "\t" + limits
		}
		fmt.Fprintln(table, line)
	}
	return table.Flush()
}

// asWord quotes a text that would not stand as one word in a line.
func asWord(text string) string {
	odd := func(r rune) bool { return r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}
