package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/wire"
)

// config is the whole environment. Each part is defined next to the code that it
// configures.
type config struct {
	ListenAddr     string        `env:"LISTEN_ADDR, default=:8080"`
	DeploymentFile string        `env:"DEPLOYMENT_FILE"`
	DrainDelay     time.Duration `env:"DRAIN_DELAY, default=0s"`
	MaxConnections int           `env:"MAX_CONNECTIONS, default=4096"`
	LogLevel       string        `env:"LOG_LEVEL, default=info"`
	LogFormat      string        `env:"LOG_FORMAT, default=json"`

	LogClientAddress bool `env:"LOG_CLIENT_ADDRESS, default=false"` // whether the line of a request has the client's address

	Admin       admin.Config
	Gateway     gateway.Config
	Caller      caller.Config
	Limit       limit.Config
	Usage       usage.Config
	IssuerFees  cctp.Config
	RPC         rpc.Config
	RPCFile     string `env:"RPC_FILE"`
	Integrators integrator.Config
	Quote       quote.Config

	settings []setting // all of it, to be shown to an operator
}

// readConfig reports every problem at once: names with a slip, values that cannot
// be parsed, and values that are not allowed. envconfig stops at the first value
// that it cannot parse, so it is called again without that variable until none is
// left.
func readConfig(ctx context.Context, env environment) (*config, error) {
	problems := env.misspelled()
	left := make(map[string]setting)
	for _, s := range settings(env) {
		left[s.name] = s
		if s.err != nil {
			problems = append(problems, s.err)
		}
	}
	var last setting // the one looked up last, if it is set
	lookup := func(name string) (text string, set bool) {
		if last = left[name]; last.from == "default" {
			last = setting{}
		}
		return last.text, last.name != ""
	}
	for {
		cfg := &config{RPC: rpc.ReadConfig(lookup)}
		err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: cfg, Lookuper: envconfig.LookuperFunc(lookup)})
		switch {
		case err == nil:
			if err := errors.Join(append(problems, cfg.validate())...); err != nil {
				return nil, fmt.Errorf("the configuration is wrong:\n%w", err)
			}
			return cfg, nil
		case last.name == "":
			return nil, err // a default of ours is at fault
		}
		problems = append(problems, last.unreadable())
		delete(left, last.name)
	}
}

func (c *config) validate() error {
	_, _, addrErr := net.SplitHostPort(c.ListenAddr)
	levelErr := new(slog.Level).UnmarshalText([]byte(c.LogLevel))
	var problems []error
	check := func(ok bool, format string, value any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, value))
		}
	}
	check(addrErr == nil, "LISTEN_ADDR: %q is not an address such as :8080 or 127.0.0.1:8080", c.ListenAddr)
	check(levelErr == nil, "LOG_LEVEL: %q is not debug, info, warn or error", c.LogLevel)
	check(c.LogFormat == "json" || c.LogFormat == "text", "LOG_FORMAT: %q is not json or text", c.LogFormat)
	check(c.DrainDelay >= 0 && c.DrainDelay <= time.Minute, "DRAIN_DELAY: %s is not between 0s and 1m", c.DrainDelay)
	check(c.MaxConnections >= 16 && c.MaxConnections <= 1_000_000, "MAX_CONNECTIONS: %d is not between 16 and 1000000", c.MaxConnections)
	problems = append(problems, c.Admin.Validate(), c.Gateway.Validate(), c.Caller.Validate(), c.Limit.Validate(), c.Usage.Validate(), c.IssuerFees.Validate(), c.RPC.Validate(), c.Integrators.Validate(), c.Quote.Validate())
	return errors.Join(problems...)
}

// deployment reads the operator's file. The name of the reference deployment
// chooses it knowingly, as the devnet does. An empty one may be a mistake, which
// would send money to contracts that do not exist on a public chain.
func (c *config) deployment() (*chain.Deployment, error) {
	reference := chain.Reference()
	switch c.DeploymentFile {
	case reference.Name:
		return reference, nil
	case "":
		reference.Warnings = append(reference.Warnings, "this service quotes the reference deployment, whose contracts exist on the local devnet only; set DEPLOYMENT_FILE")
		return reference, nil
	}
	return chain.ReadDeployment(c.DeploymentFile)
}

// endpoints are those of the environment and of the file.
func (c *config) endpoints() (rpc.Config, error) {
	if c.RPCFile == "" {
		return c.RPC, nil
	}
	endpoints, err := c.RPC.With(c.RPCFile)
	if err != nil {
		return nil, fmt.Errorf("RPC_FILE: %w", err)
	}
	return endpoints, nil
}

// setting is one environment variable of the service.
type setting struct {
	name     string
	standard string // its default as text, empty if it has none
	typ      reflect.Type
	secret   bool // its value is never shown

	text, from string // what is in force, and where it came from: environment, file or default
	err        error  // about the file
}

// settings lists every variable: those in the env tags of config, and one for
// each chain.
func settings(env environment) []setting {
	all := settingsOf(reflect.TypeFor[config]())
	for i := range all {
		all[i].read(env)
	}
	return all
}

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

// read takes the text in the environment or in the file that it names. A number that
// is set but empty counts as not set: an empty RATE_LIMIT must not turn the limit off.
func (s *setting) read(env environment) {
	text, set := env[s.name]
	path := env[s.name+fileSuffix]
	switch kind := s.typ.Kind(); {
	case s.secret && path != "":
		s.from = "file"
		if s.text, s.err = readSecret(path); text != "" {
			s.err = fmt.Errorf("%s is set too; set one of them", s.name)
		}
		if s.err != nil {
			s.err = fmt.Errorf("%s%s: %w", s.name, fileSuffix, s.err)
		}
	case set && (text != "" || kind == reflect.String || kind == reflect.Slice):
		s.text, s.from = text, "environment"
	default:
		s.text, s.from = s.standard, "default"
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

// unreadable says what is wrong with a text that cannot be parsed. The parser's
// own error is not repeated: it may quote a secret.
func (s setting) unreadable() error {
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
	return fmt.Errorf("%s: %.80q %s", s.name, s.text, what)
}

// shown is the text as it may be shown to anybody: a secret is hidden.
func (s setting) shown() string {
	if s.secret && s.text != "" {
		return "[hidden]"
	}
	return printable(s.text)
}

// printSettings writes what is in force and where it came from.
func printSettings(out io.Writer, env environment) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VARIABLE\tVALUE\tFROM")
	for _, s := range settings(env) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.name, s.shown(), s.from)
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
func (e environment) misspelled() (problems []error) {
	var known []string
	for _, s := range settings(nil) {
		known = append(known, s.name)
		if s.secret {
			known = append(known, s.name+fileSuffix)
		}
	}
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
	meant := rpc.VariablePrefix + name[len(head):]
	if strings.HasPrefix(name, strings.TrimSuffix(rpc.VariablePrefix, "_")) || head != name && isSlip(head, rpc.VariablePrefix) {
		if !slices.Contains(known, meant) {
			var ids []string
			for _, n := range chain.Networks() {
				ids = append(ids, n.ID.String())
			}
			return "names no supported chain; it is " + rpc.VariablePrefix + "<chain>, with one of the chains " + strings.Join(ids, ", ")
		}
	} else {
		i := slices.IndexFunc(known, func(candidate string) bool { return isSlip(name, candidate) })
		if i < 0 {
			return ""
		}
		meant = known[i]
	}
	return "is not a setting; did you mean " + meant + "? If it is another program's, unset it for this one"
}

// isSlip reports whether two names are the same but for letter case, underscores,
// and one letter that is missing, added, replaced or swapped with the next. More
// would catch names that other programs use: REDIS_SSL is two letters away from
// REDIS_URL.
func isSlip(a, b string) bool {
	a, b = strings.ToLower(strings.ReplaceAll(a, "_", "")), strings.ToLower(strings.ReplaceAll(b, "_", ""))
	if len(a) < len(b)-1 || len(a) > len(b)+1 {
		return false // and a long name takes no time
	}
	return wire.Distance(a, b) <= 1 || swapped(a, b)
}

// swapped reports whether two neighbouring letters have changed places.
func swapped(a, b string) bool {
	for i := 1; i < len(a); i++ {
		if a[:i-1]+a[i:i+1]+a[i-1:i]+a[i+1:] == b {
			return true
		}
	}
	return false
}
