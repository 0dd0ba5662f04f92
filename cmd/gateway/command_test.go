package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

// TestCommands: what is printed where, and the exit codes of processes.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   string
		env    string
		code   int
		stdout string // what it begins with
		stderr string
	}{
		{"--help", "RATELIMIT=1", 0, "gateway ", ""},
		{"version", "", 0, cli.Version("gateway") + "\n", ""},
		{"help plan", "", 0, "usage: gateway plan check FILE", ""},
		{"help confg", "", 2, "", "unknown command \"confg\"; `gateway help` lists all commands"},
		{"config", "RATE_LIMIT=7", 0, "VARIABLE ", ""},
		{"config", "RATE_LIMIT=x", 1, "VARIABLE ", "the configuration is wrong:\nRATE_LIMIT: \"x\" is not a whole number"},
		{"config now", "", 2, "", "gateway config takes no arguments"},
		{"", "DEPLOYMENT_FIL=/etc/deployment.json", 1, "",
			"the configuration is wrong:\nDEPLOYMENT_FIL: is not a setting; did you mean DEPLOYMENT_FILE?"},
		{"plan check", "", 2, "", "usage: gateway plan check FILE"},
		{"plan", "", 2, "",
			"unknown command \"plan\": use `gateway plan check` or `gateway plan simulate`; `gateway help` lists"},
		{"check everything", "", 2, "", "usage: gateway check [-json]"},
		{"key new", "", 2, "", "usage: gateway key new NAME"},
		{"key new Acme Wallet", "", 2, "", "usage: gateway key new NAME"},
		{"key new Acme", "", 0, "The key of Acme, ", ""},
		{"key new Acme", "CLIENTS_FILE=/nowhere/clients.json", 1, "", "CLIENTS_FILE: "},
		{"report", "", 2, "", "usage: gateway report -o FILE"},
		{"report -o", "", 2, "", "usage: gateway report -o FILE"},
		{"report -o a b", "", 2, "", "usage: gateway report -o FILE"},
		{"report -x", "", 2, "", "usage: gateway report -o FILE"},
		{"report -o -", "", 1, "", "USAGE_DB is not set"},
		{"backup", "", 2, "", "usage: gateway backup FILE"},
		{"-v", "", 2, "", "unknown command \"-v\""},
	} {
		t.Run(tt.args+" "+tt.env, func(t *testing.T) {
			var stdout bytes.Buffer
			err := execute(t.Context(), invocation{
				args: strings.Fields(tt.args), env: newEnvironment([]string{tt.env}), stdout: &stdout, stderr: io.Discard,
			})
			code, text := 0, ""
			if err != nil {
				code, text = 1, err.Error()
			}
			if _, wrong := errors.AsType[usageError](err); wrong {
				code = 2
			}
			if code != tt.code || !strings.Contains(text, tt.stderr) || !strings.HasPrefix(stdout.String(), tt.stdout) ||
				tt.stdout == "" && stdout.Len() > 0 {
				t.Errorf("got %d, %q and %q", code, stdout.String(), text)
			}
		})
	}
	for args, want := range map[string]int{"version": 0, "report -o -": 1, "confg": 2} {
		cmd := exec.Command(os.Args[0], strings.Fields(args)...)
		cmd.Env = []string{"BE_THE_GATEWAY=1"}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want || strings.HasPrefix(string(out), "gateway: ") != (want > 0) {
			t.Errorf("%s: got exit code %d and %q, want %d", args, got, out, want)
		}
	}
}

// TestHelp asks for help in every way there is. Every flag of a command is in it.
func TestHelp(t *testing.T) {
	help := func(t *testing.T, args ...string) string {
		t.Helper()
		out, err := runCommand(t, nil, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		for line := range strings.Lines(out) {
			if columns := utf8.RuneCountInString(line) - 1; columns > cli.Columns {
				t.Errorf("%q: a line has %d columns: %s", args, columns, line)
			}
		}
		return out
	}
	list := help(t, "help")
	for _, args := range [][]string{{"-h"}, {"-help"}, {"--help"}, {"-x", "-h"}} {
		if got := help(t, args...); got != list {
			t.Errorf("%q: got\n%s", args, got)
		}
	}
	squeezed := strings.Join(strings.Fields(list), " ")
	for _, c := range commands() {
		if !strings.Contains(list, c.call()+" ") || !strings.Contains(squeezed, c.does[strings.LastIndex(c.does, ",")+1:]) {
			t.Errorf("%q is not explained:\n%s", c.call(), list)
		}
		if c.name == "" {
			continue
		}
		words := strings.Fields(c.name)
		usage := help(t, append([]string{"help"}, words...)...)
		if !strings.HasPrefix(usage, "usage: "+c.call()+"\n") {
			t.Errorf("%s: got\n%s", c.name, usage)
		}
		c.flagSet(&choices{}).VisitAll(func(f *flag.Flag) {
			if !strings.Contains(usage, "\n  -"+f.Name) {
				t.Errorf("%s does not tell of -%s:\n%s", c.name, f.Name, usage)
			}
		})
		for _, more := range [][]string{{"-h"}, {"--help"}, {"FILE", "-h"}, {"-o", "-h"}, {"-nonsense", "-h", "FILE"}} {
			if got := help(t, append(slices.Clone(words), more...)...); got != usage {
				t.Errorf("%s %q: got\n%s", c.name, more, got)
			}
		}
	}
	for _, args := range [][]string{{"plan", "-h"}, {"help", "plan"}} {
		got := help(t, args...)
		for _, want := range []string{"usage: gateway plan check FILE [-at TIME] [-json]\n", "usage: gateway plan simulate FILE"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q: got\n%s", args, got)
			}
		}
	}
}
