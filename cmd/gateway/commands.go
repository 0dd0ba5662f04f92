package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/humanize"
)

// invocation is one call of this program.
type invocation struct {
	args           []string // of a command, without its name and its flags
	env            environment
	stdout, stderr io.Writer
}

// action runs a command.
type action func(context.Context, invocation) error

// command is one of the commands of this program other than serving.
type command struct {
	name  string                     // may be two words
	args  int                        // number of arguments
	call  string                     // arguments and flags, for the usage
	about string                     // what it does
	setup func(*flag.FlagSet) action // declares its flags and returns its action
}

var commands = []command{
	{"backup", 1, "FILE",
		"copies the SQLite database of USAGE_DB to a new file, while the service runs", backUp},
	{"check", 0, "[-json]",
		"tests the configuration: files, endpoints, contracts, Redis, database, issuer", checkService},
	{"config", 0, "",
		"shows every setting, where it came from and its limits, and reports all mistakes", showConfig},
	{"health", 0, "",
		"asks the service on this machine whether it can quote, for a container's health check", askHealth},
	{"key new", 1, "NAME",
		"makes an API key for a client, named as in CLIENTS_FILE, and prints the line for that file", newKey},
	{"plan check", 1, "FILE [-at TIME] [-json]",
		"checks a retirement plan and shows its timeline and, with USAGE_DB, what its gates find", checkPlan},
	{"plan gone", 1, "INSTANCE [-last TIME]",
		"notes in USAGE_DB that an instance which was killed will not come back, so that gates need not wait", giveUp},
	{"plan simulate", 1, "FILE [-json]",
		"shows which clients a retirement plan would refuse, going by USAGE_DB", simulatePlan},
	{"version", 0, "",
		"shows version, module and commit of this program, a hash of it, and its Go", showVersion},
}

const (
	helpBefore = "gateway\n  serves\n\n"
	helpAfter  = `gateway help [COMMAND]
  lists the commands, or shows how one is called; so does -h after a command

All settings are environment variables, and all are optional: see ` + "`gateway config`" + `.
Exit codes: 0, done; 1, it could not be done, or a setting is wrong; 2, a wrong call.
`
)

// usageError is an invalid call.
type usageError string

func (e usageError) Error() string { return string(e) }

// execute runs the command that in.args name.
func execute(ctx context.Context, in invocation) error {
	if len(in.args) == 0 {
		return run(ctx, in.env, in.stderr, func(string, string) {})
	}
	if in.args[0] == "help" {
		return explain(in.stdout, in.args[1:])
	}
	for _, c := range commands {
		words := strings.Fields(c.name)
		if len(in.args) >= len(words) && slices.Equal(in.args[:len(words)], words) {
			in.args = in.args[len(words):]
			return c.execute(ctx, in)
		}
	}
	last := len(in.args) - 1
	if slices.Contains([]string{"-h", "-help", "--help"}, in.args[last]) {
		return explain(in.stdout, in.args[:last])
	}
	return unknownCommand(in.args)
}

// execute reads what follows the name of the command, and runs it.
func (c command) execute(ctx context.Context, in invocation) error {
	args, do, err := c.parse(in.args)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(in.stdout, c.help())
		return err
	}
	if err == nil {
		in.args = args
		err = do(ctx, in)
	}
	if wrong, is := errors.AsType[usageError](err); is {
		return usageError(fmt.Sprintf("%s; usage: %s", wrong, c.usage()))
	}
	return err
}

// parse reads arguments and flags. Flags may come before and after the other arguments.
func (c command) parse(given []string) (args []string, do action, err error) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error has the message
	do = c.setup(flags)
	for len(given) > 0 {
		err := flags.Parse(given)
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		}
		if err != nil {
			return nil, nil, usageError(err.Error())
		}
		given = flags.Args()
		if len(given) > 0 {
			args = append(args, given[0])
			given = given[1:]
		}
	}
	if len(args) != c.args {
		return nil, nil, usageError("wrong arguments")
	}
	return args, do, nil
}

func (c command) usage() string { return strings.TrimSpace("gateway " + c.name + " " + c.call) }

// help is the usage, what the command does, and its flags.
func (c command) help() string {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.setup(flags)
	text := c.usage() + "\n  " + c.about + "\n"
	flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		text += fmt.Sprintf("  %-9s %s\n", strings.TrimSpace("-"+f.Name+" "+value), usage)
	})
	return text
}

// explain prints the help of the commands whose names begin with these words, or of all.
func explain(out io.Writer, words []string) error {
	name := strings.Join(words, " ")
	var found []string
	for _, c := range commands {
		if name == "" || c.name == name || strings.HasPrefix(c.name, name+" ") {
			found = append(found, c.help())
		}
	}
	text := strings.Join(found, "\n")
	switch {
	case name == "":
		text = helpBefore + text + "\n" + helpAfter
	case text == "":
		return unknownCommand(words)
	}
	_, err := io.WriteString(out, text)
	return err
}

// unknownCommand names the subcommands of the first word, if it has any.
func unknownCommand(words []string) error {
	given := strings.Join(words, " ")
	var usages []string
	for _, c := range commands {
		if strings.HasPrefix(c.name, words[0]+" ") {
			usages = append(usages, c.usage())
		}
	}
	if usages != nil {
		return usageError(fmt.Sprintf("%.60q is not a command; usage: %s", given, strings.Join(usages, ", or ")))
	}
	return usageError(fmt.Sprintf("unknown command %.60q; `gateway help` lists all commands", given))
}

// asJSON declares the flag -json.
func asJSON(flags *flag.FlagSet) *bool { return flags.Bool("json", false, "print JSON, for programs") }

// configured is an action that needs the configuration.
func configured(run func(context.Context, invocation, *config) error) action {
	return func(ctx context.Context, in invocation) error {
		cfg, err := readConfig(ctx, in.env)
		if err != nil {
			return err
		}
		return run(ctx, in, cfg)
	}
}

func showVersion(*flag.FlagSet) action {
	return func(_ context.Context, in invocation) error {
		_, err := fmt.Fprintln(in.stdout, cli.Version("gateway"))
		return err
	}
}

// newKey is `gateway key new`: it prints a key, which is not stored, and what to add to the
// clients file.
func newKey(*flag.FlagSet) action {
	return func(_ context.Context, in invocation) error {
		name := in.args[0]
		if err := caller.CheckName(name); err != nil {
			return usageError(fmt.Sprintf("the name: %v", err))
		}
		file := in.env["CLIENTS_FILE"]
		clients, err := caller.NewClients(file, quiet)
		if err != nil {
			return fmt.Errorf("CLIENTS_FILE: %w", err)
		}
		key, hash := caller.NewKey()
		client, known := clients.Find(name)
		return texts.ExecuteTemplate(in.stdout, "key.txt", struct {
			Name, Key, Hash, File string
			Known                 bool
			Keys                  int // that it has already
		}{name, key, hash, file, known, len(client.Keys)})
	}
}

//go:embed *.txt
var textFiles embed.FS

// texts are what commands print for people, each in a file.
var texts = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": humanize.Timestamp, "share": humanize.Percent, "headers": lifecycle.ResponseHeaders,
}).ParseFS(textFiles, "*.txt"))

// servedVersions are the versions that this program serves, whatever the deployment.
func servedVersions() []string {
	return gateway.Names(gateway.Modules(api.Service{Deployment: chain.Reference()}))
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
