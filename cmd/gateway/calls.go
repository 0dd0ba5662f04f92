package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

// invocation is one call of this program.
type invocation struct {
	args           []string // those of the command, without its name and its flags
	env            environment
	stdout, stderr io.Writer
	choices
	usage string // how the command is called
}

// choices are the values of all flags. A command has some of them.
type choices struct {
	json bool
	at   time.Time // zero if it was not given
	file string    // to write
}

// command is one of the things that this program does.
type command struct {
	name    string // may be two words; empty for what it does without any
	args    string // what must follow, if anything
	options string // its flags, as the usage shows them
	does    string
	flags   func(*flag.FlagSet, *choices)
	run     func(context.Context, invocation) error
}

func commands() []command {
	return []command{
		{
			does: "serves",
			run:  serve,
		}, {
			name: "backup", args: "FILE",
			does: "copies the SQLite database of USAGE_DB to a new file, while the service runs",
			run:  configured(backUp),
		}, {
			name: "check", options: "[-json]",
			does:  "tests the configuration: files, endpoints, contracts, Redis, database, issuer",
			flags: jsonFlag,
			run:   checkService,
		}, {
			name: "config",
			does: "shows every setting, where it came from and its limits, and reports all mistakes",
			run:  showConfig,
		}, {
			name: "health",
			does: "asks the service on this machine whether it can quote, for a container's health check",
			run:  configured(askHealth),
		}, {
			name: "key new", args: "NAME",
			does: "makes an API key for a client, named as in CLIENTS_FILE, and prints the line for that file",
			run:  newKey,
		}, {
			name: "plan check", args: "FILE", options: "[-at TIME] [-json]",
			does: "checks a retirement plan and shows its timeline; " +
				"with USAGE_DB, also what its gates make of the counts",
			flags: planCheckFlags,
			run:   configured(checkPlan),
		}, {
			name: "plan simulate", args: "FILE", options: "[-json]",
			does:  "shows which clients a retirement plan would refuse, going by USAGE_DB",
			flags: jsonFlag,
			run:   configured(simulatePlan),
		}, {
			name: "report", options: "-o FILE",
			does:  "writes the operator's page, from the database and the plan, as one HTML file",
			flags: reportFlags,
			run:   configured(writeReport),
		}, {
			name: "version",
			does: "shows version, module and commit of this program, a hash of it, and its Go",
			run:  showVersion,
		}, {
			name: "help", options: "[COMMAND]",
			does: "lists the commands, or shows how one is called; so does -h anywhere",
		},
	}
}

func jsonFlag(f *flag.FlagSet, c *choices) {
	f.BoolVar(&c.json, "json", false, "print JSON, for programs")
}

func planCheckFlags(f *flag.FlagSet, c *choices) {
	jsonFlag(f, c)
	const about = "show the plan as it is at this `TIME`, such as 2027-01-12T14:05:00Z, instead of now"
	f.Func("at", about, func(text string) error {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return errors.New("it is not a time in RFC 3339, such as 2027-01-12T14:05:00Z")
		}
		c.at = at.UTC()
		return nil
	})
}

func reportFlags(f *flag.FlagSet, c *choices) {
	f.StringVar(&c.file, "o", "", "the `FILE` to write; - is standard output")
}

// usageError is a wrong call. Its text says what is right.
type usageError string

func (e usageError) Error() string { return string(e) }

// execute runs the command that in.args name.
func execute(ctx context.Context, in invocation) error {
	if len(in.args) == 0 {
		return serve(ctx, in)
	}
	if cli.WantsHelp(in.args) || in.args[0] == "help" {
		return explain(in.stdout, in.args)
	}
	for _, c := range named(in.args) {
		words := len(strings.Fields(c.name))
		if len(in.args) < words {
			continue
		}
		in.args = in.args[words:]
		if err := in.parse(c); err != nil {
			return err
		}
		return c.run(ctx, in)
	}
	return unknownCommand(in.args)
}

// named are the commands that words name, or begin to name: "plan" begins two.
func named(words []string) (found []command) {
	for _, c := range commands() {
		name := strings.Fields(c.name)
		n := min(len(name), len(words))
		if n > 0 && slices.Equal(name[:n], words[:n]) {
			found = append(found, c)
		}
	}
	return found
}

// parse reads the arguments of a command. Flags may come before and after the others.
func (in *invocation) parse(c command) error {
	in.usage = c.usage()
	flags := c.flagSet(&in.choices)
	given := in.args
	in.args = nil
	for len(given) > 0 {
		if err := flags.Parse(given); err != nil {
			return usageError(fmt.Sprintf("%v; %s", err, in.usage))
		}
		given = flags.Args()
		if len(given) > 0 {
			in.args = append(in.args, given[0])
			given = given[1:]
		}
	}
	if len(in.args) != len(strings.Fields(c.args)) {
		return usageError(in.usage)
	}
	return nil
}

// flagSet has the flags of a command, whose values go to chosen.
func (c command) flagSet(chosen *choices) *flag.FlagSet {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	if c.flags != nil {
		c.flags(flags, chosen)
	}
	return flags
}

// call is how the command is called: gateway plan check FILE [-at TIME] [-json].
func (c command) call() string {
	return strings.Join(strings.Fields("gateway "+c.name+" "+c.args+" "+c.options), " ")
}

func (c command) usage() string { return "usage: " + c.call() }

// explain lists the commands or, if any are named, shows how these are called.
func explain(out io.Writer, args []string) error {
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return arg == "help" || strings.HasPrefix(arg, "-")
	})
	if len(words) == 0 {
		listCommands(out)
		return nil
	}
	found := named(words)
	if len(found) == 0 {
		return unknownCommand(words)
	}
	for i, c := range found {
		if i > 0 {
			fmt.Fprint(out, "\n\n")
		}
		fmt.Fprintf(out, "%s\n\n", c.usage())
		cli.PrintText(out, strings.ToUpper(c.does[:1])+c.does[1:]+".")
		if c.flags != nil {
			fmt.Fprintln(out)
			cli.PrintFlags(out, c.flagSet(&choices{}))
		}
	}
	return nil
}

func listCommands(out io.Writer) {
	width := 0
	for _, c := range commands() {
		width = max(width, len(c.call())+3)
	}
	for _, c := range commands() {
		left := c.call()
		for _, line := range cli.Wrap(c.does, width) {
			fmt.Fprintf(out, "%-*s%s\n", width, left, line)
			left = ""
		}
	}
	fmt.Fprintln(out)
	cli.PrintText(out, "`gateway help COMMAND` and `gateway COMMAND -h` say more about one.\n\n"+
		"All settings are environment variables, and all are optional: see `gateway config`.\n\n"+
		"Exit codes: 0, done; 1, it could not be done, or a setting is wrong; 2, a wrong call.")
}

func unknownCommand(words []string) error {
	return usageError(fmt.Sprintf("unknown command %.60q; `gateway help` lists all commands", strings.Join(words, " ")))
}
