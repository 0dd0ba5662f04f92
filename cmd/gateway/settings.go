package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/setting"
	"github.com/quotegate/quotegate/shared/wire"
)

// variable is one setting of the service, in the environment.
type variable struct {
	name     string
	standard string // its default as text, empty if it has none
	typ      reflect.Type
	limits   setting.Limits
	secret   bool // its value is never shown

	text string // what is in force
	from string // "environment", "file" or "default"
	err  error  // about the text or the file
}

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
		s.from = "file"
		s.text, s.err = readSecret(path)
		if text != "" {
			s.err = fmt.Errorf("%s is set too; set one of them", s.name)
		}
		if s.err != nil {
			s.err = fmt.Errorf("%s%s: %w", s.name, fileSuffix, s.err)
		}
	case set && (text != "" || mayBeEmpty):
		s.text = text
		s.from = "environment"
	default:
		s.text = s.standard
		s.from = "default"
	}
	if s.err == nil {
		s.err = s.unreadable()
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

// asWord quotes a text that would not stand as one word in a line.
func asWord(text string) string {
	odd := func(r rune) bool { return r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// environment is all variables of the process, ours and those of others.
type environment map[string]string

// newEnvironment reads variables as os.Environ gives them.
func newEnvironment(variables []string) environment {
	env := make(environment, len(variables))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// misspelled reports every variable whose name is one typo away from a setting. The
// setting would otherwise silently keep its default.
func (e environment) misspelled() (problems []error) {
	var known []string
	for _, s := range settings(nil) {
		known = append(known, s.name)
		if s.secret {
			known = append(known, s.name+fileSuffix)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		wrong := func(hint string) {
			problems = append(problems, fmt.Errorf("%s: is not a setting; %s If it is another program's, "+
				"unset it for this one", asWord(name), hint))
		}
		meant := name
		if i := slices.IndexFunc(known, func(setting string) bool { return isTypo(name, setting) }); i >= 0 {
			meant = known[i]
		}
		switch {
		case slices.Contains(known, name):
		case strings.HasPrefix(meant, rpc.VariablePrefix): // maybe of another chain
			wrong("endpoints are in " + rpc.VariablePrefix + "<chain>, and `gateway config` lists the chains.")
		case meant != name:
			wrong("did you mean " + meant + "?")
		}
	}
	return problems
}

// isTypo reports whether a name is a setting but for one letter that is missing, added
// or replaced, or for the order of the letters.
func isTypo(name, setting string) bool {
	a := lettersOf(name)
	b := lettersOf(setting)
	if len(a) > len(b)+1 { // a long name takes no time
		return false
	}
	return wire.EditDistance(a, b) < 2 || sorted(a) == sorted(b)
}

// lettersOf is a name without what does not count: letter case and underscores.
func lettersOf(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func sorted(text string) string {
	letters := []byte(text)
	slices.Sort(letters)
	return string(letters)
}
