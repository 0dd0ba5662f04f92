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

func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		args   string
		env    string
		code   int
		stdout string // what it begins with
		stderr string
	}{
		{"help", "", 0, "gateway ", ""},
		{"-h", "", 0, "gateway ", ""},
		{"--help", "RATELIMIT=1", 0, "gateway ", ""},
		{"version", "", 0, "gateway ", ""},
		{"help plan", "", 0, "usage: gateway plan check FILE", ""},
		{"report -o -h", "RATELIMIT=1", 0, "usage: gateway report -o FILE\n", ""},
		{"help confg", "", 2, "", "gateway: unknown command \"confg\"; did you mean `gateway config`?"},
		{"config", "RATE_LIMIT=7", 0, "VARIABLE ", ""},
		{"config", "RATE_LIMIT=x", 1, "VARIABLE ", "gateway: the configuration is wrong:\nRATE_LIMIT: \"x\" is not a whole number"},
		{"", "DEPLOYMENT_FIL=/etc/deployment.json", 1, "",
			"gateway: the configuration is wrong:\nDEPLOYMENT_FIL: is not a setting; did you mean DEPLOYMENT_FILE?"},
		{"plan check", "", 2, "", "gateway: usage: gateway plan check FILE"},
		{"plan", "", 2, "", "gateway: unknown command \"plan\"; did you mean `gateway plan check` or `gateway plan simulate`? `gateway help` lists"},
		{"key new", "", 2, "", "gateway: usage: gateway key new NAME"},
		{"key new Acme Wallet", "", 2, "", "gateway: usage: gateway key new NAME"},
		{"key new Acme", "", 0, "The key of Acme, ", ""},
		{"key new Acme", "CLIENTS_FILE=/nowhere/clients.json", 1, "", "gateway: CLIENTS_FILE: "},
		{"confg", "", 2, "", "gateway: unknown command \"confg\""},
		{"-v", "", 2, "", "gateway: unknown command \"-v\""},
		{"config now", "", 2, "", "gateway: gateway config takes no arguments"},
	} {
		t.Run(tt.args+" "+tt.env, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := exec.Command(os.Args[0], strings.Fields(tt.args)...)
			// There is no such port, so that it cannot serve for ever.
			cmd.Env = []string{"BE_THE_GATEWAY=1", "LISTEN_ADDR=127.0.0.1:99999", tt.env}
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var ended *exec.ExitError
			if err != nil && !errors.As(err, &ended) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.code {
				t.Errorf("got exit code %d, want %d", got, tt.code)
			}
			for _, got := range []struct{ name, text, want string }{{"stdout", stdout.String(), tt.stdout}, {"stderr", stderr.String(), tt.stderr}} {
				if !strings.HasPrefix(got.text, got.want) || got.want == "" && got.text != "" {
					t.Errorf("%s: got %q, want %q", got.name, got.text, got.want)
				}
			}
		})
	}
}

// TestHelp asks for help in every way there is. Every flag of a command is in it.
func TestHelp(t *testing.T) {
	help := func(t *testing.T, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := execute(t.Context(), invocation{args: args, stdout: &out}); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		for line := range strings.Lines(out.String()) {
			if columns := utf8.RuneCountInString(line) - 1; columns > cli.Columns {
				t.Errorf("%q: a line has %d columns: %s", args, columns, line)
			}
		}
		return out.String()
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

func TestUnknownCommands(t *testing.T) {
	for args, want := range map[string]string{
		"confg":                  "`gateway config`",
		"plan":                   "`gateway plan check` or `gateway plan simulate`",
		"plan chek x.json":       "`gateway plan check`",
		"paln check x.json -at":  "`gateway plan check`",
		"simulate":               "`gateway plan simulate`",
		"key":                    "`gateway key new`",
		"keys":                   "`gateway key new`",
		"plna":                   "`gateway plan check` or `gateway plan simulate`",
		"-v":                     "`gateway version`",
		"--version":              "`gateway version`",
		"VERSION":                "`gateway version`",
		"serve":                  "`gateway`, which serves",
		"help repotr":            "`gateway report`",
		"repotr -h":              "`gateway report`",
		"xyzzy":                  "",
		"-":                      "",
		strings.Repeat("x", 1e6): "",
	} {
		var out bytes.Buffer
		err := execute(t.Context(), invocation{args: strings.Fields(args), stdout: &out})
		_, wrong := errors.AsType[usageError](err)
		meant := ""
		if err != nil {
			_, rest, _ := strings.Cut(err.Error(), "did you mean ")
			meant, _, _ = strings.Cut(rest, "?")
		}
		if !wrong || meant != want || out.Len() > 0 || len(err.Error()) > 200 {
			t.Errorf("%.60q: got %v, want %s", args, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := execute(t.Context(), invocation{args: []string{"version"}, stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), cli.Version("gateway")+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHealthAsksTheServiceOfThisMachine(t *testing.T) {
	base, _, stop := start(t, map[string]string{})
	env := environment{"LISTEN_ADDR": ":" + base[strings.LastIndex(base, ":")+1:]}
	var out bytes.Buffer
	if err := execute(t.Context(), invocation{args: []string{"health"}, env: env, stdout: &out, stderr: io.Discard}); err != nil || out.String() != "ok\n" {
		t.Errorf("got %v, %q", err, out.String())
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), invocation{args: []string{"health"}, env: env, stdout: &out, stderr: io.Discard}); err == nil {
		t.Error("a service that has ended is healthy")
	}
}
