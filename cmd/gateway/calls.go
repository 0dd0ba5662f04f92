package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// help has a paragraph for each command. Its first line is how the command is called.
//
//go:embed help.txt
var help string

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

// command is one of the things that this program does, beside serving.
type command struct {
	name  string   // may be two words
	args  int      // how many must follow
	flags []string // which may follow
	run   func(context.Context, invocation) error
}

var commands = []command{
	{"backup", 1, nil, configured(backUp)},
	{"check", 0, []string{"json"}, checkService},
	{"config", 0, nil, showConfig},
	{"health", 0, nil, configured(askHealth)},
	{"key new", 1, nil, newKey},
	{"plan check", 1, []string{"at", "json"}, configured(checkPlan)},
	{"plan simulate", 1, []string{"json"}, configured(simulatePlan)},
	{"report", 0, []string{"o"}, configured(writeReport)},
	{"version", 0, nil, showVersion},
}

// usageError is a wrong call. Its text says what is right.
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
		if len(in.args) < len(words) || !slices.Equal(in.args[:len(words)], words) {
			continue
		}
		err := in.parse(c, in.args[len(words):])
		switch {
		case errors.Is(err, flag.ErrHelp):
			return explain(in.stdout, words)
		case err != nil:
			return usageError(fmt.Sprintf("%v; %s", err, in.usage))
		}
		return c.run(ctx, in)
	}
	last := len(in.args) - 1
	if slices.Contains([]string{"-h", "-help", "--help"}, in.args[last]) {
		return explain(in.stdout, in.args[:last])
	}
	return unknownCommand(in.args)
}

// parse reads what follows the name of a command. Flags may come before and after the
// other arguments.
func (in *invocation) parse(c command, given []string) error {
	call, _, _ := strings.Cut(helpOn(c.name), "\n")
	in.usage = "usage: " + call
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	flags.BoolVar(&in.json, "json", false, "")
	flags.TextVar(&in.at, "at", time.Time{}, "")
	flags.StringVar(&in.file, "o", "", "")
	in.args = nil
	for len(given) > 0 {
		if err := flags.Parse(given); err != nil {
			return err
		}
		given = flags.Args()
		if len(given) > 0 {
			in.args = append(in.args, given[0])
			given = given[1:]
		}
	}
	wrong := len(in.args) != c.args
	flags.Visit(func(f *flag.Flag) { wrong = wrong || !slices.Contains(c.flags, f.Name) })
	if wrong {
		return errors.New("wrong arguments")
	}
	return nil
}

// helpOn has the paragraphs on the commands whose names begin with these words.
func helpOn(words string) string {
	var found []string
	for _, paragraph := range strings.Split(help, "\n\n") {
		if strings.HasPrefix(paragraph, "gateway "+words) {
			found = append(found, paragraph)
		}
	}
	return strings.Join(found, "\n\n")
}

// explain prints the help on some commands, or all of it.
func explain(out io.Writer, words []string) error {
	text := strings.TrimSpace(help)
	if len(words) > 0 {
		text = helpOn(strings.Join(words, " "))
	}
	if text == "" {
		return unknownCommand(words)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

func unknownCommand(words []string) error {
	return usageError(fmt.Sprintf("unknown command %.60q; `gateway help` lists all commands", strings.Join(words, " ")))
}
