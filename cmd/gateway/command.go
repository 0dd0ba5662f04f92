package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/chain"
)

// invocation is how a command was called.
type invocation struct {
	args           []string // those after the command's name
	env            environment
	stdout, stderr io.Writer
}

// command is something the program can do.
type command struct {
	name string // may be several words; empty without any
	args string // what may follow, empty if nothing may
	does string
	run  func(context.Context, invocation) error
}

func commands() []command {
	return []command{
		{"", "", "serves", serve},
		{"backup", "FILE", "copies the SQLite database of USAGE_DB to a new file, while the service runs", backUp},
		{"check", "[-json]", "tests the configuration: files, endpoints, contracts, Redis, database, issuer", checkService},
		{"config", "", "shows every setting and where it came from, and reports all mistakes", showConfig},
		{"key new", "NAME", "makes an API key for a client and prints the line for CLIENTS_FILE", newKey},
		{"plan check", "FILE [-at TIME] [-json]", "checks a retirement plan and shows its timeline", checkPlan},
		{"plan simulate", "FILE [-json]", "shows which clients a retirement plan would refuse, going by USAGE_DB", simulatePlan},
		{"report", "-o FILE", "writes the operator's page, from the database and the plan, as one HTML file; - is standard output", writeReport},
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
		in.args = in.args[len(words):]
		if c.args == "" && len(in.args) > 0 {
			return usageError(fmt.Sprintf("gateway %s takes no arguments", c.name))
		}
		return c.run(ctx, in)
	}
	var calls []string
	for _, c := range commands() {
		calls = append(calls, "`"+c.call()+"`")
	}
	return usageError(fmt.Sprintf("unknown command %.60q; there are %s", strings.Join(in.args, " "), strings.Join(calls, ", ")))
}

func (c command) call() string {
	return strings.Join(strings.Fields("gateway "+c.name+" "+c.args), " ")
}

func serve(ctx context.Context, in invocation) error {
	defer holdSpareHeap()()
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

func checkPlan(_ context.Context, in invocation) error {
	return lifecycle.CheckCommand(in.args, servedVersions(), in.stdout, time.Now())
}

// servedVersions are the versions that this program serves, whatever the deployment.
func servedVersions() []string {
	return gateway.Names(gateway.Modules(gateway.Core{Deployment: chain.Reference()}))
}

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
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	_, err := fmt.Fprintf(in.stdout, "gateway %s\ncommit %s\n%s %s/%s\n", version(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the one that Go has stamped into the program: a module version, or
// the commit of a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
