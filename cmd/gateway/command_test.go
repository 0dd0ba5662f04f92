package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/metrics"
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
		{"config", "RATE_LIMIT=7", 0, "VARIABLE ", ""},
		{"config", "RATE_LIMIT=x", 1, "VARIABLE ", "gateway: the configuration is wrong:\nRATE_LIMIT: \"x\" is not a whole number"},
		{"", "DEPLOYMENT_FIL=/etc/deployment.json", 1, "", "gateway: the configuration is wrong:\nDEPLOYMENT_FIL: is not a setting; did you mean DEPLOYMENT_FILE?"},
		{"plan check", "", 2, "", "gateway: usage: gateway plan check FILE"},
		{"plan", "", 2, "", "gateway: unknown command \"plan\"; there are `gateway`, `gateway backup FILE`, `gateway check [-json]`, `gateway config`, `gateway health`, `gateway key new NAME`, `gateway plan check FILE [-at TIME] [-json]`, `gateway plan simulate FILE [-json]`, "},
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
			cmd.Env = []string{"BE_THE_GATEWAY=1", "LISTEN_ADDR=127.0.0.1:99999", tt.env} // no such port: it cannot serve for ever
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

func TestHelpNamesEveryCommand(t *testing.T) {
	var out bytes.Buffer
	if err := execute(t.Context(), invocation{args: []string{"help"}, stdout: &out}); err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if !strings.Contains(out.String(), c.call()+" ") || !strings.Contains(out.String(), "  "+c.does+"\n") {
			t.Errorf("%q is not explained:\n%s", c.call(), out.String())
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := execute(t.Context(), invocation{args: []string{"version"}, stdout: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gateway " + metrics.Build()["version"], "\ncommit ", "\n" + runtime.Version() + " "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from %q", want, out.String())
		}
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
