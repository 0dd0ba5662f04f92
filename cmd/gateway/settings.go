package main

import (
	"errors"
	"fmt"
	"io"
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
	"github.com/quotegate/quotegate/shared/wire"
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

// fileSuffix makes the name of a variable that names a file. Every secret may be
// in a file: ADMIN_TOKEN_FILE names the one that holds ADMIN_TOKEN.
const fileSuffix = "_FILE"

// value is the text in the environment or in the file that it names, and where it
// is from. A number that is set but empty counts as not set: an empty RATE_LIMIT
// must not turn the limit off.
func (s setting) value(env environment) (text, from string) {
	text, set := env[s.name]
	if path := env[s.name+fileSuffix]; s.secret && path != "" {
		text, _ = readSecret(path) // secretFiles reports the error
		return text, "file"
	}
	if !set || text == "" && s.typ.Kind() != reflect.String && s.typ.Kind() != reflect.Slice {
		return "", ""
	}
	return text, "environment"
}

// readSecret reads a file with one line.
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

// secretFiles reports every file of a secret that cannot be used.
func (e environment) secretFiles() (problems []error) {
	for _, s := range settings() {
		path := e[s.name+fileSuffix]
		if !s.secret || path == "" {
			continue
		}
		_, err := readSecret(path)
		if e[s.name] != "" {
			err = fmt.Errorf("%s is set too; set one of them", s.name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s%s: %w", s.name, fileSuffix, err))
		}
	}
	return problems
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
		text, from := s.value(env)
		set := from != ""
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

// misspelled reports every variable that differs from a setting by a slip. The
// setting would otherwise keep its default, and nobody would notice.
func (e environment) misspelled() []error {
	var known []string
	for _, s := range settings() {
		known = append(known, s.name)
		if s.secret {
			known = append(known, s.name+fileSuffix)
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if problem := misspelling(name, known); problem != "" {
			problems = append(problems, fmt.Errorf("%s: %s", printable(name), problem))
		}
	}
	return problems
}

// misspelling says what is wrong with a name. It is empty if the name is known,
// or is another program's.
func misspelling(name string, known []string) string {
	if slices.Contains(known, name) {
		return ""
	}
	head := strings.TrimRight(name, "0123456789")
	id := name[len(head):]
	if strings.HasPrefix(name, strings.TrimSuffix(rpc.VariablePrefix, "_")) || id != "" && isSlip(head, rpc.VariablePrefix) {
		if meant := rpc.VariablePrefix + id; slices.Contains(known, meant) {
			return didYouMean(meant)
		}
		return "names no supported chain; it is " + rpc.VariablePrefix + "<chain>, with one of the chains " + chainIDs()
	}
	for _, candidate := range known {
		if isSlip(name, candidate) {
			return didYouMean(candidate)
		}
	}
	return ""
}

func didYouMean(name string) string {
	return "is not a setting; did you mean " + name + "? If it is another program's, unset it for this one"
}

func chainIDs() string {
	var ids []string
	for _, n := range chain.Networks() {
		ids = append(ids, n.ID.String())
	}
	return strings.Join(ids, ", ")
}

// isSlip reports whether two names are the same but for letter case, underscores,
// and one letter that is missing, added, replaced or swapped with the next. More
// would catch names that other programs use: REDIS_SSL is two letters away from
// REDIS_URL.
func isSlip(a, b string) bool {
	letters := strings.NewReplacer("_", "")
	a, b = strings.ToLower(letters.Replace(a)), strings.ToLower(letters.Replace(b))
	if len(a) < len(b)-1 || len(a) > len(b)+1 {
		return false // and a long name takes no time
	}
	return wire.Distance(a, b) <= 1 || swapped(a, b)
}

// swapped reports whether two neighbouring letters have changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
