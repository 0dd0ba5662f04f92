package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// TestCommands: what is printed where, and the exit codes.
func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		args   string
		env    string
		code   int
		stdout string // what it begins with
		stderr string
	}{
		{"--help", "RATELIMIT=1", 0, "gateway\n", ""},
		{"version", "", 0, cli.Version("gateway") + "\n", ""},
		{"help plan", "", 0, "gateway plan check FILE", ""},
		{"help confg", "", 2, "", "unknown command \"confg\"; `gateway help` lists all commands"},
		{"config", "RATE_LIMIT=7", 0, "VARIABLE ", ""},
		{"config", "RATE_LIMIT=x", 1, "VARIABLE ", "the configuration is wrong:\nRATE_LIMIT: \"x\" is not a whole number"},
		{"config now", "", 2, "", "usage: gateway config"},
		{"", "DEPLOYMENT_FIL=/etc/deployment.json", 1, "",
			"the configuration is wrong:\nDEPLOYMENT_FIL: is not a setting; did you mean DEPLOYMENT_FILE?"},
		{"config", "DEPLOYMENT_FILE=", 1, "VARIABLE ", "DEPLOYMENT_FILE: is set and empty"},
		{"check", "DEPLOYMENT_FILE=", 1,
			"failed  configuration  the configuration is wrong: DEPLOYMENT_FILE: is set and empty", "failed tests: 1"},
		{"plan check", "", 2, "", "usage: gateway plan check FILE"},
		{"plan", "", 2, "", `"plan" is not a command; usage: gateway plan check FILE [-at TIME] [-json], or gateway plan gone `},
		{"plan chek p", "", 2, "", `"plan chek p" is not a command; usage: gateway plan check FILE`},
		{"key", "", 2, "", `"key" is not a command; usage: gateway key new NAME`},
		{"help key old", "", 2, "", `"key old" is not a command; usage: gateway key new NAME`},
		{"check everything", "", 2, "", "usage: gateway check [-json]"},
		{"key new", "", 2, "", "usage: gateway key new NAME"},
		{"key new Acme Wallet", "", 2, "", "usage: gateway key new NAME"},
		{"key new a\x01", "", 2, "", "is not a name of 1 to 64"},
		{"key new Acme", "", 0, "The key of Acme, ", ""},
		{"key new Acme", "CLIENTS_FILE=/nowhere/clients.json", 1, "", "CLIENTS_FILE: "},
		{"backup", "", 2, "", "wrong arguments; usage: gateway backup FILE"},
		{"plan check p -at noon", "", 2, "", `invalid value "noon" for flag -at`},
		{"check -at 2027-01-12T14:05:00Z", "", 2, "", "flag provided but not defined: -at; usage: gateway check [-json]"},
		{"backup copy.db", "", 1, "", "USAGE_DB is not set"},
		{"-v", "", 2, "", "unknown command \"-v\""},
	} {
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
			t.Errorf("%s %s: got %d, %q and %q", tt.env, tt.args, code, stdout.String(), text)
		}
	}
	for args, want := range map[string]int{"backup copy.db": 1, "confg": 2} {
		cmd := exec.Command(os.Args[0], strings.Fields(args)...)
		cmd.Env = []string{"BE_THE_GATEWAY=1"}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want || !strings.HasPrefix(string(out), "gateway: ") {
			t.Errorf("%s: got exit code %d and %q, want %d", args, got, out, want)
		}
	}
}

// Help is the same in all its forms, and shows every flag of a command.
func TestHelp(t *testing.T) {
	ask := func(args ...string) string {
		t.Helper()
		out, err := runCommand(t, nil, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	list := ask("help")
	if ask("--help") != list || !strings.HasPrefix(list, "gateway\n  serves\n\ngateway backup FILE\n  copies ") ||
		!strings.HasSuffix(list, "2, a wrong call.\n") {
		t.Errorf("got\n%s", list)
	}
	for _, c := range commands {
		words := strings.Fields(c.name)
		usage := ask(append([]string{"help"}, words...)...)
		wantContains(t, list, "\n\n"+usage+"\n")
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		c.setup(flags)
		flags.VisitAll(func(f *flag.Flag) {
			value, _ := flag.UnquoteUsage(f)
			wantContains(t, c.call, strings.TrimSpace("-"+f.Name+" "+value))
			wantContains(t, usage, "\n  -"+f.Name)
		})
		if got := ask(append(words, "FILE", "-h")...); got != usage {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
	wantContains(t, ask("plan", "-h"), "gateway plan check FILE", "gateway plan simulate FILE")
}

// makeKey runs `gateway key new` and returns the key and all it printed.
func makeKey(t *testing.T, name, clientsFile string) (key, printed string) {
	t.Helper()
	printed, err := runCommand(t, environment{"CLIENTS_FILE": clientsFile}, "key", "new", name)
	if err != nil {
		t.Fatal(err)
	}
	key = regexp.MustCompile(`(?m)^qg_[A-Za-z0-9_-]{43}$`).FindString(printed)
	if key == "" || strings.Count(printed, key) != 1 || strings.Count(printed, "\nqg_") != 1 {
		t.Fatalf("got %q, want one key on a line of its own", printed)
	}
	return key, printed
}

// lastLine is the line for the file that `gateway key new` prints.
func lastLine(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	return lines[len(lines)-1]
}

// TestKeyNew does what the command prints, from no file to a client with two keys.
func TestKeyNew(t *testing.T) {
	const name = `Acme "A" Wallet`
	file := filepath.Join(t.TempDir(), "clients.json")
	written := func(text string, keys ...string) {
		t.Helper()
		writeFile(t, file, text)
		clients, err := caller.NewClients(file, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			c := caller.Caller{}
			if !clients.Recognise(&c, http.Header{"Api-Key": {key}}) || c.Known.Name != name {
				t.Errorf("the key is not known: %+v", c)
			}
		}
	}
	first, printed := makeKey(t, name, "")
	wantContains(t, printed, "CLIENTS_FILE is not set")
	written(lastLine(printed), first)

	written(`{"clients": []}`)
	second, printed := makeKey(t, name, file)
	wantContains(t, printed, "has no such client yet")
	written(`{"clients": [`+lastLine(printed)+`]}`, second)

	third, printed := makeKey(t, name, file)
	wantContains(t, printed, "other keys")
	keys := strings.TrimSuffix(lastLine(printed), "]")
	written(strings.Replace(readText(t, file), `"keys": [`, keys+", ", 1), second, third)
}

// A running service shows its pages, and its database can be simulated with and copied meanwhile.
func TestPagesAndCopy(t *testing.T) {
	version, quotes := oldest(t)
	dir := t.TempDir()
	copied := filepath.Join(dir, "copy.db")
	sunset := time.Now().UTC().AddDate(1, 0, 0).Format(time.RFC3339)
	plan := tempFile(t, planOf(version, sunset, `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`))
	env := environment{
		"USAGE_DB":       filepath.Join(dir, "usage.db"),
		"LIFECYCLE_FILE": plan,
		"CLIENTS_FILE": tempFile(t,
			`{"clients": [{"name": "Acme", "contact": "dev@acme.example", "match": ["agent:go-http-client"]}]}`),
		"ADMIN_TOKEN": "a-token-of-some-length",
	}
	command := func(args ...string) string {
		t.Helper()
		out, err := runCommand(t, env, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	if _, err := runCommand(t, env, "plan", "simulate", plan); err == nil || !strings.HasPrefix(err.Error(), "USAGE_DB: ") {
		t.Errorf("got %v without a database, want an error of USAGE_DB", err)
	}
	wantContains(t, command("plan", "check", plan), "warning: the gates are not compared with the counts: USAGE_DB: ")

	base, admin, stop := start(t, env)
	if status, body := get(t, base+quotes+quoteQuery); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	wantContains(t, command("plan", "check", tempFile(t, planOf(version, "2021-01-01T00:00:00Z", ""))),
		"warning: a gateway refuses this plan now: versions."+version+": this would retire the version at once")
	page := func(path string) string {
		t.Helper()
		status, _, body := getWith(t, admin+path, "Accept", "text/html", "Authorization", "Bearer "+env["ADMIN_TOKEN"])
		if status != http.StatusOK {
			t.Fatalf("%s: got %d", path, status)
		}
		return body
	}
	wantContains(t, page("/"), `<h1 class="verdict`, version+" cannot be retired yet", ">1 client</a>")
	wantContains(t, page("/admin/usage"), `"plan": "`+lifecycle.Hash([]byte(readText(t, plan)))+`"`)
	health := page("/health")
	wantContains(t, health, "Not configured: Integrator registries, Issuer fees.", "SQLite file",
		"<th scope=\"row\">ADMIN_TOKEN</th><td>[hidden]</td><td>environment</td>")
	if strings.Contains(health, env["ADMIN_TOKEN"]) || strings.Contains(health, "usage.db") {
		t.Error("the page about health shows a secret")
	}
	wantContains(t, command("plan", "simulate", plan), "Acme")
	wantContains(t, command("backup", copied), copied)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	env["USAGE_DB"] = copied
	wantContains(t, command("plan", "check", plan), "warning: the gate holds now: 1 client in 7 days (limit 0), "+
		"1 call on the busiest day (limit 0)")
	wantContains(t, command("plan", "simulate", plan), "Acme")

	// In the copy, its instance never stops.
	db, err := sql.Open("sqlite", copied)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var id string
	var written int64
	row := db.QueryRow("update quotegate_instances set written = written - 600 returning instance, written")
	if err := row.Scan(&id, &written); err != nil {
		t.Fatal(err)
	}
	from := time.Unix(written, 0).UTC()
	for _, said := range []struct {
		args []string
		last time.Time
	}{
		{nil, from.Add(20 * time.Second)},
		{[]string{"-last", from.Add(time.Minute).Format(time.RFC3339)}, from.Add(time.Minute)},
	} {
		wantContains(t, command(append([]string{"plan", "gone", id}, said.args...)...), id, "will not come back",
			"from "+from.Format(time.RFC3339)+" to "+said.last.Format(time.RFC3339)+" are missing")
	}
}
