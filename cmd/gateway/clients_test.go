package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

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

// lastLine is what `gateway key new` says to put into the file.
func lastLine(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	return lines[len(lines)-1]
}

// TestKeyNewSaysWhatToWrite follows what the command prints, from no file to a
// client with two keys.
func TestKeyNewSaysWhatToWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clients.json")
	knows := func(keys ...string) {
		t.Helper()
		clients, err := caller.NewClients(file, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			c := caller.Caller{}
			if !clients.Recognise(&c, http.Header{"Api-Key": {key}}) || c.Known.Name != `Acme "A" Wallet` {
				t.Errorf("the key is not known: %+v", c)
			}
		}
	}
	const name = `Acme "A" Wallet`
	first, printed := makeKey(t, name, "")
	if !strings.Contains(printed, "CLIENTS_FILE is not set") {
		t.Errorf("got %q", printed)
	}
	writeFile(t, file, lastLine(printed))
	knows(first)

	writeFile(t, file, `{"clients": []}`)
	second, printed := makeKey(t, name, file)
	if !strings.Contains(printed, "has no such client yet") {
		t.Errorf("got %q", printed)
	}
	writeFile(t, file, `{"clients": [`+lastLine(printed)+`]}`)
	knows(second)

	third, printed := makeKey(t, name, file)
	line := lastLine(printed)
	if !strings.HasPrefix(line, `"keys": ["sha256:`) || !strings.Contains(printed, "other keys") {
		t.Errorf("got %q", printed)
	}
	hash, _ := strings.CutPrefix(line, `"keys": [`)
	writeFile(t, file, strings.Replace(readText(t, file), `"keys": [`, `"keys": [`+strings.TrimSuffix(hash, "]")+", ", 1))
	knows(second, third)
}

func TestKeyNewRefuses(t *testing.T) {
	bad := tempFile(t, `{"clients": 7}`)
	for _, tt := range []struct {
		args  []string
		file  string
		usage bool
		want  string
	}{
		{[]string{""}, "", true, "the name: missing"},
		{[]string{"a\x00"}, "", true, "is not a name of 1 to 64"},
		{[]string{strings.Repeat("a", 65)}, "", true, "is not a name of 1 to 64"},
		{[]string{"Acme"}, bad, false, "clients: got number, want array"},
	} {
		out, err := runCommand(t, environment{"CLIENTS_FILE": tt.file}, append([]string{"key", "new"}, tt.args...)...)
		_, usage := errors.AsType[usageError](err)
		if err == nil || usage != tt.usage || !strings.Contains(err.Error(), tt.want) || out != "" {
			t.Errorf("%q: got %v and %q, want %q", tt.args, err, out, tt.want)
		}
	}
}

// TestKnownClients runs the service with a clients file and a plan: a key has its
// own budget, another is refused, reports and log use the client's name, and the
// log has no key.
func TestKnownClients(t *testing.T) {
	version, quotes := oldest(t)
	dir := t.TempDir()
	clients, plan := filepath.Join(dir, "clients.json"), filepath.Join(dir, "plan.json")
	key, printed := makeKey(t, "Acme Wallet", "")
	writeFile(t, clients, strings.Replace(lastLine(printed), `"match": []`, `"match": ["agent:acme"], "perMinute": 6`, 1))
	now := time.Now().UTC().Truncate(time.Second)
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	writeFile(t, plan, fmt.Sprintf(`{"versions": {%q: {"deprecated": %q, "sunset": %q, "successor": "/v3/swap/quote", "docs": "https://example.org/migrate",
		"brownouts": [{"from": %q, "to": %q, "share": 1}], "exempt": ["client:Acme Wallet", "client:Nobody"]}}}`,
		version, at(-time.Hour), at(48*time.Hour), at(-time.Minute), at(24*time.Hour)))

	var logs journal.Journal
	base, admin, stop := startLogging(t, map[string]string{
		"RATE_LIMIT": "4", "LOG_CLIENT_ADDRESS": "true", "CLIENTS_FILE": clients, "LIFECYCLE_FILE": plan,
	}, &logs)
	want := func(what string, want int, path string, headers ...string) http.Header {
		t.Helper()
		got, h, _ := getWith(t, base+path, headers...)
		if got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
		return h
	}
	want("a stranger in the brownout", 410, quotes+quoteQuery, "User-Agent", "stranger/1")
	want("the client, by its key", 200, quotes+quoteQuery, "API-Key", key)
	want("the client, by its software", 200, quotes+quoteQuery, "User-Agent", "Acme/2.0")
	unknown, _ := caller.NewKey()
	want("a key that is not known", 401, quotePath, "API-Key", unknown)
	for range 2 {
		want("the address", 200, quotePath)
	}
	want("the address, used up", 429, quotePath)
	want("another key, used up", 429, quotePath, "API-Key", unknown)
	for range 5 {
		if h := want("the key", 200, quotePath, "API-Key", key); h.Get("RateLimit-Limit") != "6" {
			t.Errorf("got a limit of %q", h.Get("RateLimit-Limit"))
		}
	}
	want("the key, used up", 429, quotePath, "API-Key", key)

	if _, report := get(t, admin+"/admin/usage"); !strings.Contains(report, `"client Acme Wallet"`) {
		t.Errorf("the report does not name the client: %s", report)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	text := logs.String()
	wantContains(t, text, `"client":"client Acme Wallet","address":"127.0.0.1"`, `"code":"UNKNOWN_KEY"`, `"msg":"known clients","file":`,
		`"msg":"the plan exempts clients that CLIENTS_FILE does not have"`, `"clients":["Nobody"]`)
	for _, secret := range []string{key[3:], unknown[3:], regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(printed)[7:]} {
		if strings.Contains(text, secret[:16]) {
			t.Errorf("the log has a secret:\n%s", text)
		}
	}
}
