package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// makeKey runs `gateway key new` and returns the key and all it printed.
func makeKey(t *testing.T, name, clientsFile string) (key, printed string) {
	t.Helper()
	var out bytes.Buffer
	in := invocation{args: []string{"key", "new", name}, env: environment{"CLIENTS_FILE": clientsFile}, stdout: &out}
	if err := execute(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	key = regexp.MustCompile(`(?m)^qg_[A-Za-z0-9_-]{43}$`).FindString(out.String())
	if key == "" || strings.Count(out.String(), key) != 1 || strings.Count(out.String(), "\nqg_") != 1 {
		t.Fatalf("got %q, want one key on a line of its own", out.String())
	}
	return key, out.String()
}

// lastLine is what `gateway key new` says to put into the file.
func lastLine(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	return lines[len(lines)-1]
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// statusOf asks with headers, given as names and values.
func statusOf(t *testing.T, url string, headers ...string) (status int, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode, res.Header
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
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(text), `"keys": [`, `"keys": [`+strings.TrimSuffix(hash, "]")+", ", 1))
	knows(second, third)
}

func TestKeyNewRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "clients.json")
	writeFile(t, bad, `{"clients": 7}`)
	for _, tt := range []struct {
		args  []string
		file  string
		usage bool
		want  string
	}{
		{nil, "", true, "usage: gateway key new NAME"},
		{[]string{"Acme", "Wallet"}, "", true, "usage: gateway key new NAME"},
		{[]string{""}, "", true, "the name: missing"},
		{[]string{"a\x00"}, "", true, "is not a name of 1 to 64"},
		{[]string{strings.Repeat("a", 65)}, "", true, "is not a name of 1 to 64"},
		{[]string{"Acme"}, bad, false, "clients: got number, want array"},
	} {
		var out bytes.Buffer
		in := invocation{args: append([]string{"key", "new"}, tt.args...), env: environment{"CLIENTS_FILE": tt.file}, stdout: &out}
		err := execute(t.Context(), in)
		var usage usageError
		if err == nil || errors.As(err, &usage) != tt.usage || !strings.Contains(err.Error(), tt.want) || out.Len() > 0 {
			t.Errorf("%q: got %v and %q, want %q", tt.args, err, out.String(), tt.want)
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
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan [2]string, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, environment{
			"LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "127.0.0.1:0", "RATE_LIMIT": "4", "LOG_CLIENT_ADDRESS": "true",
			"CLIENTS_FILE": clients, "LIFECYCLE_FILE": plan,
		}, &logs, func(public, admin string) { ready <- [2]string{public, admin} })
	}()
	var base, admin string
	select {
	case addrs := <-ready:
		base, admin = "http://"+addrs[0], "http://"+addrs[1]
	case err := <-done:
		t.Fatal(err)
	}
	query := strings.TrimPrefix(quotePath, "/v3/swap/quote")
	want := func(what string, want int, path string, headers ...string) http.Header {
		t.Helper()
		got, h := statusOf(t, base+path, headers...)
		if got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
		return h
	}
	want("a stranger in the brownout", 410, quotes+query, "User-Agent", "stranger/1")
	want("the client, by its key", 200, quotes+query, "API-Key", key)
	want("the client, by its software", 200, quotes+query, "User-Agent", "Acme/2.0")
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
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	text := logs.String()
	for _, want := range []string{
		`"client":"client Acme Wallet","address":"127.0.0.1"`, `"code":"UNKNOWN_KEY"`,
		`"msg":"known clients","file":`, `"msg":"the plan exempts clients that CLIENTS_FILE does not have"`, `"clients":["Nobody"]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not have %s:\n%s", want, text)
		}
	}
	for _, secret := range []string{key[3:], unknown[3:], regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(printed)[7:]} {
		if strings.Contains(text, secret[:16]) {
			t.Errorf("the log has a secret:\n%s", text)
		}
	}
}

// TestHangupReloadsClients revokes one key and gives out another.
func TestHangupReloadsClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clients.json")
	before, printed := makeKey(t, "Acme", "")
	writeFile(t, file, lastLine(printed))
	cmd, base := process(t, "CLIENTS_FILE="+file, "RATE_LIMIT=0")
	status := func(key string) int {
		got, _ := statusOf(t, base+quotePath, "API-Key", key)
		return got
	}
	after, printed := makeKey(t, "Acme", "")
	if b, a := status(before), status(after); b != 200 || a != 401 {
		t.Errorf("got %d and %d at first", b, a)
	}
	writeFile(t, file, lastLine(printed))
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new key is known", func() bool { return status(after) == 200 })
	if got := status(before); got != 401 {
		t.Errorf("got %d for the key that was taken out", got)
	}
}

func TestBadClientsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clients.json")
	writeFile(t, file, `{"clients": [{"name": ""}, {"name": "Acme", "perMinute": 5000}]}`)
	wants := []string{"clients[0].name: missing", "clients[1].perMinute: 5000 is not"}
	err := run(t.Context(), environment{"LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "off", "CLIENTS_FILE": file}, &bytes.Buffer{}, func(string, string) { t.Error("it started") })
	for _, want := range append(wants, "CLIENTS_FILE: ") {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the start: got %v, want %q", err, want)
		}
	}
	var out bytes.Buffer
	if err := execute(t.Context(), invocation{args: []string{"check", "-json"}, env: environment{"CLIENTS_FILE": file}, stdout: &out}); err == nil {
		t.Error("check finds nothing")
	}
	var report struct {
		Results []struct{ Name, Outcome, Detail string }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Name != "known clients" {
			continue
		}
		if r.Outcome != "failed" || !strings.Contains(r.Detail, wants[0]) || !strings.Contains(r.Detail, wants[1]) {
			t.Errorf("got %+v", r)
		}
		return
	}
	t.Errorf("check does not test the clients: %s", out.String())
}
