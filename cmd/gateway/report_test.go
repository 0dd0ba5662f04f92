package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A service that runs is shown by its pages, and its database by a report beside it.
func TestReport(t *testing.T) {
	version, quotes := oldest(t) // so that any version can be deleted
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	sunset := time.Now().UTC().AddDate(1, 0, 0).Format("2006-01-02") + "T00:00:00Z"
	env := environment{
		"USAGE_DB":       filepath.Join(dir, "usage.db"),
		"LIFECYCLE_FILE": tempFile(t, planOf(version, sunset, `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`)),
		"CLIENTS_FILE": tempFile(t,
			`{"clients": [{"name": "Acme", "contact": "dev@acme.example", "match": ["agent:go-http-client"]}]}`),
		"ADMIN_TOKEN": "a-token-of-some-length",
	}
	report := func(args ...string) (string, error) {
		return runCommand(t, env, append([]string{"report"}, args...)...)
	}
	if _, err := report("-o", file); err == nil || !strings.HasPrefix(err.Error(), "USAGE_DB: ") {
		t.Errorf("got %v without a database, want an error of USAGE_DB", err)
	}
	base, admin, stop := start(t, env)
	if status, body := get(t, base+quotes+quoteQuery); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	ask := func(path string) string {
		t.Helper()
		status, _, body := getWith(t, admin+path, "Accept", "text/html", "Authorization", "Bearer "+env["ADMIN_TOKEN"])
		if status != http.StatusOK {
			t.Fatalf("%s: got %d", path, status)
		}
		return body
	}
	wantContains(t, ask("/"), "<h1>Versions</h1>", "1 client of old versions", version+" cannot be retired yet")
	health := ask("/health")
	wantContains(t, health, "Integrator registries", "<th scope=\"row\">PulseChain</th><td>unconfigured</td>", "built-in", "SQLite file",
		"<th scope=\"row\">ADMIN_TOKEN</th><td>[hidden]</td><td>environment</td>", "LIFECYCLE_FILE")
	if strings.Contains(health, env["ADMIN_TOKEN"]) || strings.Contains(health, "usage.db") {
		t.Error("the page about health shows a secret")
	}
	for range 2 { // the second replaces the first
		if out, err := report("-o", file); err != nil || out != "" {
			t.Fatalf("got %v and %q", err, out)
		}
	}
	// The database is copied while the service has it, and a report reads the copy.
	copied := filepath.Join(dir, "copy.db")
	if out, err := runCommand(t, env, "backup", copied); err != nil || !strings.Contains(out, copied) {
		t.Fatalf("got %q, %v", out, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	env["USAGE_DB"] = copied
	printed, err := report("-o", "-")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"file": readText(t, file), "output": printed} {
		wantContains(t, text, "<!DOCTYPE html>", "1 client of old versions", version+" cannot be retired yet",
			"The health of running processes is not included", "Acme", "dev@acme.example", "Content-Security-Policy", "<style>")
		for _, no := range []string{`href="/`, "src=", "<form", "<script", "<nav"} {
			if strings.Contains(text, no) {
				t.Errorf("the %s has %s, which leads nowhere", name, no)
			}
		}
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
}

// A report that cannot be written leaves the one before. A pipe is written to, and is still one afterwards.
func TestReportIsWrittenWhole(t *testing.T) {
	dir := t.TempDir()
	if err := writeWhole(filepath.Join(dir, "none", "report.html"), nil); err == nil {
		t.Error("wrote into a directory that does not exist")
	}
	occupied := filepath.Join(dir, "report.html")
	if err := os.MkdirAll(filepath.Join(occupied, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(occupied, []byte("x")); err == nil {
		t.Error("replaced a directory")
	}
	if left, err := filepath.Glob(occupied + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- string(text)
	}()
	if err := writeWhole(pipe, []byte("a report")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "a report" {
		t.Errorf("the reader got %q", got)
	}
	if there, err := os.Stat(pipe); err != nil || there.Mode().IsRegular() {
		t.Errorf("the pipe is %v afterwards: %v", there.Mode(), err)
	}
}
