package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
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

	text string // the effective value
	from string // "environment", "file" or "default"
	err  error  // about the text or the file
}

// settings lists every variable: those in the env tags of config, and one for each chain.
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

// fileSuffix ends the name of a variable for a file. Every secret may be in a file:
// ADMIN_TOKEN_FILE names the one with ADMIN_TOKEN.
const fileSuffix = "_FILE"

// read reads the value from the environment, or from the file that it names. A number that is
// set but empty counts as not set: an empty RATE_LIMIT must not turn the limit off.
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

// unreadable is an error if the text is not of the variable's type. No secret is a number.
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

// shown is the text fit to show: a secret is hidden.
func (s variable) shown() string {
	if s.secret && s.text != "" {
		return "[hidden]"
	}
	return asWord(s.text)
}

// asWord quotes a text that would not read as one word in a line.
func asWord(text string) string {
	unclear := func(r rune) bool { return r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if text == "" || strings.ContainsFunc(text, unclear) {
		return strconv.Quote(text)
	}
	return text
}

// environment is all variables of the process, ours and others.
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

// showConfig is `gateway config`: it shows the effective settings, their origins and their limits, even if some are
// invalid, so that the mistakes can be found.
func showConfig(*flag.FlagSet) action {
	return func(ctx context.Context, in invocation) error {
		table := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "VARIABLE\tVALUE\tFROM\tLIMITS")
		for _, s := range settings(in.env) {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.name, s.shown(), s.from, s.limits)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		_, err := readConfig(ctx, in.env)
		return err
	}
}

// ourPrefixes are prefixes of settings that no other program is likely to use.
var ourPrefixes = []string{
	rpc.VariablePrefix, "USAGE_", "LIFECYCLE_", "DEPLOYMENT_", "INTEGRATOR_", "TRUSTED_", "ISSUER_", "REDIS_",
}

// misspelled finds the variables that are probably meant as a setting, which would otherwise
// silently keep its default. Names that are clearly meant for this program are problems. Those
// that may be another program's are listed in the warning.
func (e environment) misspelled() (problems []error, warning string) {
	var known []string
	for _, s := range settings(nil) {
		known = append(known, s.name)
		if s.secret {
			known = append(known, s.name+fileSuffix)
		}
	}
	var ignored []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if slices.Contains(known, name) {
			continue
		}
		const advice = "If it is another program's, unset it for this one"
		shown := asWord(name)
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		isOurs := slices.ContainsFunc(ourPrefixes, begins)
		near := slices.IndexFunc(known, func(setting string) bool { return oneEdit(name, setting) })
		like := resembled(name, known)
		switch {
		case begins(rpc.VariablePrefix):
			problems = append(problems, fmt.Errorf("%s: is not a setting; endpoints are in %s<chain>, "+
				"and `gateway config` lists the chains. %s", shown, rpc.VariablePrefix, advice))
		case isOurs && near >= 0:
			problems = append(problems,
				fmt.Errorf("%s: is not a setting; did you mean %s? %s", shown, known[near], advice))
		case like != "":
			ignored = append(ignored, fmt.Sprintf("%s (did you mean %s?)", shown, like))
		case isOurs:
			ignored = append(ignored, shown)
		}
	}
	if ignored != nil {
		warning = "variables that are not settings are ignored: " + strings.Join(ignored, ", ")
	}
	return problems, warning
}

// resembled is the setting that a name equals, or is one edit away from, ignoring letter case
// and underscores. It is empty if there is none.
func resembled(name string, known []string) (near string) {
	letters := lettersOf(name)
	for _, setting := range known {
		switch other := lettersOf(setting); {
		case letters == other:
			return setting
		case near == "" && oneEdit(letters, other):
			near = setting
		}
	}
	return near
}

func lettersOf(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// oneEdit reports whether two texts differ by one letter inserted, deleted or replaced, or by
// two adjacent letters swapped.
func oneEdit(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	switch {
	case len(a)+len(b) == 1:
		return true
	case len(a) == 1 && len(b) == 1:
		return true
	case len(a) == 2 && len(b) == 2:
		return a[0] == b[1] && a[1] == b[0]
	}
	return false
}
