// Command gateway serves swap quotes. Environment variables configure it, and all
// are optional: see docs/operate. `gateway help` lists the commands beside it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/quotegate/quotegate/gateway/metrics"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // or the process would end with the reader of its log
	err := execute(ctx, invocation{args: os.Args[1:], env: newEnvironment(os.Environ()), stdout: os.Stdout, stderr: os.Stderr})
	if err == nil {
		return
	}
	code := 1
	if _, wrong := errors.AsType[usageError](err); wrong {
		code = 2
	}
	time.AfterFunc(logTimeout, func() { os.Exit(code) }) // if nobody reads why
	fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
	os.Exit(code)
}

type invocation struct {
	args           []string          // those after the command's name, without the flags
	flags          map[string]string // "true" for one that has no value
	env            environment
	stdout, stderr io.Writer
	usage          string // how the command is called
}

// flagInCall is a flag in the description of a call: -o FILE, which must be given,
// [-at TIME] or [-json].
var flagInCall = regexp.MustCompile(`\[?-(\w+)( [A-Z]+)?\]?`)

// parse reads the arguments that a command describes. Flags may come before and after
// the others.
func (in *invocation) parse(c command) error {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	described, _, _ := strings.Cut(c.args, ",")
	for _, found := range flagInCall.FindAllStringSubmatch(described, -1) {
		if found[2] == "" {
			flags.Bool(found[1], false, "")
		} else {
			flags.String(found[1], "", "")
		}
	}
	given := in.args
	in.args, in.flags = nil, map[string]string{}
	for len(given) > 0 {
		if err := flags.Parse(given); errors.Is(err, flag.ErrHelp) {
			return err
		} else if err != nil {
			return usageError(fmt.Sprintf("%v; %s", err, in.usage))
		}
		if given = flags.Args(); len(given) > 0 {
			in.args, given = append(in.args, given[0]), given[1:]
		}
	}
	complete := len(in.args) == len(strings.Fields(flagInCall.ReplaceAllString(described, "")))
	flags.VisitAll(func(f *flag.Flag) {
		in.flags[f.Name] = f.Value.String()
		complete = complete && (in.flags[f.Name] != "" || strings.Contains(described, "[-"+f.Name))
	})
	if !complete {
		return usageError(in.usage)
	}
	return nil
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

type command struct {
	name string // may be several words; empty without any
	args string // what may follow, empty if nothing may; after a comma, more about it
	does string
	run  func(context.Context, invocation) error
}

func commands() []command {
	return []command{
		{"", "", "serves", serve},
		{"backup", "FILE", "copies the SQLite database of USAGE_DB to a new file, while the service runs", configured(backUp)},
		{"check", "[-json]", "tests the configuration: files, endpoints, contracts, Redis, database, issuer", checkService},
		{"config", "", "shows every setting and where it came from, and reports all mistakes", showConfig},
		{"health", "", "asks the service on this machine whether it can quote, for a container's health check", configured(askHealth)},
		{"key new", `NAME, with the client's name as in CLIENTS_FILE ("quoted" if it has spaces)`, "makes an API key for a client and prints the line for CLIENTS_FILE", newKey},
		{"plan check", "FILE [-at TIME] [-json]", "checks a retirement plan and shows its timeline; with USAGE_DB, also what its gates make of the counts", checkPlan},
		{"plan simulate", "FILE [-json]", "shows which clients a retirement plan would refuse, going by USAGE_DB", configured(simulatePlan)},
		{"report", "-o FILE", "writes the operator's page, from the database and the plan, as one HTML file; - is standard output", configured(writeReport)},
		{"version", "", "shows the version of this program", showVersion},
		{"help", "", "shows this", showHelp},
	}
}

// usageError is a wrong call. Its text says what is right.
type usageError string

func (e usageError) Error() string { return string(e) }

// execute runs the command that in.args name.
func execute(ctx context.Context, in invocation) error {
	if len(in.args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, in.args[0]) {
		in.args = []string{"help"}
	}
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(in.args) < len(words) || !slices.Equal(in.args[:len(words)], words) || c.name == "" && len(in.args) > 0 {
			continue
		}
		in.args, in.usage = in.args[len(words):], "usage: gateway "+c.name+" "+c.args
		if c.args == "" && len(in.args) > 0 {
			return usageError(fmt.Sprintf("gateway %s takes no arguments", c.name))
		}
		err := in.parse(c)
		if errors.Is(err, flag.ErrHelp) {
			_, err = fmt.Fprintln(in.stdout, in.usage)
		} else if err == nil {
			err = c.run(ctx, in)
		}
		return err
	}
	var calls []string
	for _, c := range commands() {
		calls = append(calls, "`"+c.call()+"`")
	}
	return usageError(fmt.Sprintf("unknown command %.60q; there are %s", strings.Join(in.args, " "), strings.Join(calls, ", ")))
}

func (c command) call() string {
	args, _, _ := strings.Cut(c.args, ",")
	return strings.Join(strings.Fields("gateway "+c.name+" "+args), " ")
}

// configured is a command that needs the configuration.
func configured(run func(context.Context, invocation, *config) error) func(context.Context, invocation) error {
	return func(ctx context.Context, in invocation) error {
		cfg, err := readConfig(ctx, in.env)
		if err != nil {
			return err
		}
		return run(ctx, in, cfg)
	}
}

func serve(ctx context.Context, in invocation) error {
	defer paceCollector()()
	return run(ctx, in.env, in.stderr, func(string, string) {})
}

// showConfig shows also a configuration with mistakes, so that they can be found.
func showConfig(ctx context.Context, in invocation) error {
	if err := printSettings(in.stdout, in.env); err != nil {
		return err
	}
	_, err := readConfig(ctx, in.env)
	return err
}

// askHealth asks the service that has the same environment. It needs no shell and
// no other program, so that it works in an image that has nothing else.
func askHealth(_ context.Context, in invocation, cfg *config) error {
	host, port, _ := net.SplitHostPort(cfg.ListenAddr) // validated
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
		host = "localhost"
	}
	client := http.Client{Timeout: healthTimeout}
	response, err := client.Get("http://" + net.JoinHostPort(host, port) + "/" + servedVersions()[0] + "/swap/healthcheck")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", response.Status)
	}
	_, err = fmt.Fprintln(in.stdout, "ok")
	return err
}

// healthTimeout is shorter than the 30 seconds that Docker waits.
const healthTimeout = 5 * time.Second

func showHelp(_ context.Context, in invocation) error {
	table := tabwriter.NewWriter(in.stdout, 0, 0, 3, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(table, "%s\t%s\n", c.call(), c.does)
	}
	fmt.Fprintln(table, "\nAll settings are environment variables, and all are optional: see `gateway config`.")
	fmt.Fprintln(table, "Exit codes: 0, done; 1, it could not be done, or a setting is wrong; 2, a wrong call.")
	return table.Flush()
}

func showVersion(_ context.Context, in invocation) error {
	build := metrics.Build()
	_, err := fmt.Fprintf(in.stdout, "gateway %s\ncommit %s\n%s %s/%s\n", build["version"], build["revision"], runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
