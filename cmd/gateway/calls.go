package main

import (
	"context"
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
	usage          string // how the command is called

	// The values of all flags. A command has some of them.
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
	flags   func(*invocation, *flag.FlagSet)
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
			flags: (*invocation).jsonFlag,
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
			does:  "checks a retirement plan and shows its timeline and, with USAGE_DB, what its gates find",
			flags: (*invocation).planCheckFlags,
			run:   configured(checkPlan),
		}, {
			name: "plan simulate", args: "FILE", options: "[-json]",
			does:  "shows which clients a retirement plan would refuse, going by USAGE_DB",
			flags: (*invocation).jsonFlag,
			run:   configured(simulatePlan),
		}, {
			name: "report", options: "-o FILE",
			does:  "writes the operator's page, from the database and the plan, as one HTML file",
			flags: (*invocation).reportFlags,
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

func (in *invocation) jsonFlag(f *flag.FlagSet) {
	f.BoolVar(&in.json, "json", false, "print JSON, for programs")
}

func (in *invocation) planCheckFlags(f *flag.FlagSet) {
	in.jsonFlag(f)
	const about = "show the plan as it is at this `TIME`, such as 2027-01-12T14:05:00Z, instead of now"
	f.TextVar(&in.at, "at", time.Time{}, about)
	f.Lookup("at").DefValue = "" // it stands for now
}

func (in *invocation) reportFlags(f *flag.FlagSet) {
	f.StringVar(&in.file, "o", "", "the `FILE` to write; - is standard output")
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
	for _, c := range commands() {
		if words := strings.Fields(c.name); len(words) > 0 && begins(in.args, words) {
			in.args = in.args[len(words):]
			if err := in.parse(c); err != nil {
				return err
			}
			return c.run(ctx, in)
		}
	}
	return unknownCommand(in.args)
}

// begins reports whether a list of words begins with others.
func begins(words, with []string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// parse reads the arguments of a command. Flags may come before and after the others.
func (in *invocation) parse(c command) error {
	in.usage = "usage: " + c.call()
	flags := in.flagSet(c)
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

// flagSet has the flags of a command, which set the fields of in.
func (in *invocation) flagSet(c command) *flag.FlagSet {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	if c.flags != nil {
		c.flags(in, flags)
	}
	return flags
}

// call is how the command is called: gateway plan check FILE [-at TIME] [-json].
func (c command) call() string {
	return strings.Join(strings.Fields("gateway "+c.name+" "+c.args+" "+c.options), " ")
}

// explain describes the commands that the arguments name or begin to name, such as both
// that begin with "plan". No name is the beginning of all.
func explain(out io.Writer, args []string) error {
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return arg == "help" || strings.HasPrefix(arg, "-")
	})
	found := false
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if begins(name, words) || len(name) > 0 && begins(words, name) {
			found = true
			fmt.Fprintf(out, "%s\n  %s\n", c.call(), c.does)
			cli.PrintFlags(out, new(invocation).flagSet(c))
		}
	}
	if !found {
		return unknownCommand(words)
	}
	if len(words) == 0 {
		fmt.Fprint(out, "\nAll settings are environment variables, and all are optional: see `gateway config`.\n"+
			"Exit codes: 0, done; 1, it could not be done, or a setting is wrong; 2, a wrong call.\n")
	}
	return nil
}

func unknownCommand(words []string) error {
	return usageError(fmt.Sprintf("unknown command %.60q; `gateway help` lists all commands", strings.Join(words, " ")))
}
