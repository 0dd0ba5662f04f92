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
	name  string // may be two words; empty for what it does without any
	args  string // what must follow, empty if nothing may; in brackets if it may
	does  string
	more  string // what else its usage has to say
	flags func(*flag.FlagSet, *choices)
	must  string // the flag that has to be given
	run   func(context.Context, invocation) error
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
			name:  "check",
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
			does: "makes an API key for a client and prints the line for CLIENTS_FILE",
			more: `NAME is the client's name as in CLIENTS_FILE, in "quotes" if it has spaces.`,
			run:  newKey,
		}, {
			name: "plan check", args: "FILE",
			does: "checks a retirement plan and shows its timeline; " +
				"with USAGE_DB, also what its gates make of the counts",
			flags: planCheckFlags,
			run:   checkPlan,
		}, {
			name: "plan simulate", args: "FILE",
			does:  "shows which clients a retirement plan would refuse, going by USAGE_DB",
			flags: jsonFlag,
			run:   configured(simulatePlan),
		}, {
			name:  "report",
			does:  "writes the operator's page, from the database and the plan, as one HTML file",
			flags: reportFlags, must: "o",
			run: configured(writeReport),
		}, {
			name: "version",
			does: "shows version, module and commit of this program, a hash of it, and its Go",
			run:  showVersion,
		}, {
			name: "help", args: "[COMMAND]",
			does: "lists the commands, or shows how one is called; so does -h anywhere",
			run:  showHelp,
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
	if cli.WantsHelp(in.args) {
		isFlag := func(arg string) bool { return strings.HasPrefix(arg, "-") }
		return explain(in.stdout, slices.DeleteFunc(slices.Clone(in.args), isFlag))
	}
	c, found := find(in.args)
	if !found {
		return unknownCommand(in.args)
	}
	in.args = in.args[len(strings.Fields(c.name)):]
	if err := in.parse(c); err != nil {
		return err
	}
	return c.run(ctx, in)
}

// find is the command that the first words name.
func find(words []string) (command, bool) {
	for _, c := range commands() {
		name := strings.Fields(c.name)
		named := len(words) >= len(name) && slices.Equal(words[:len(name)], name)
		if named && (c.name != "" || len(words) == 0) {
			return c, true
		}
	}
	return command{}, false
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
	optional := strings.HasPrefix(c.args, "[")
	wanted := len(strings.Fields(c.args))
	switch {
	case !optional && wanted == 0 && len(in.args) > 0 && c.flags == nil:
		return usageError(fmt.Sprintf("gateway %s takes no arguments", c.name))
	case !optional && len(in.args) != wanted:
		return usageError(in.usage)
	case c.must != "" && flags.Lookup(c.must).Value.String() == "":
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
	words := strings.Fields("gateway " + c.name + " " + c.args)
	c.flagSet(&choices{}).VisitAll(func(f *flag.Flag) {
		value, _ := flag.UnquoteUsage(f)
		text := strings.TrimSpace("-" + f.Name + " " + value)
		if f.Name != c.must {
			text = "[" + text + "]"
		}
		words = append(words, text)
	})
	return strings.Join(words, " ")
}

func (c command) usage() string {
	return strings.TrimSpace("usage: " + c.call() + "\n" + c.more)
}

func showHelp(_ context.Context, in invocation) error { return explain(in.stdout, in.args) }

// explain lists the commands or, if there are words, shows how those are called whose
// names begin with them.
func explain(out io.Writer, words []string) error {
	var text strings.Builder
	named := beginningWith(words)
	if c, found := find(words); found && len(words) > 0 {
		named = []command{c}
	}
	switch {
	case len(words) == 0:
		listCommands(&text)
	case len(named) == 0:
		return unknownCommand(words)
	}
	for i, c := range named {
		if i > 0 {
			text.WriteString("\n\n")
		}
		c.explain(&text)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// beginningWith are the commands whose names begin with these words.
func beginningWith(words []string) (found []command) {
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if len(words) > 0 && len(name) >= len(words) && slices.Equal(name[:len(words)], words) {
			found = append(found, c)
		}
	}
	return found
}

func (c command) explain(out io.Writer) {
	fmt.Fprintf(out, "%s\n\n", c.usage())
	cli.PrintText(out, strings.ToUpper(c.does[:1])+c.does[1:]+".")
	if c.flags != nil {
		fmt.Fprintln(out)
		cli.PrintFlags(out, c.flagSet(&choices{}))
	}
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

// unknownCommand names the commands that begin with these words, if there are any.
func unknownCommand(words []string) error {
	text := fmt.Sprintf("unknown command %.60q", strings.Join(words, " "))
	for i, c := range beginningWith(words) {
		text += []string{": use ", " or "}[min(i, 1)] + "`gateway " + c.name + "`"
	}
	return usageError(text + "; `gateway help` lists all commands")
}
