package main

import (
	"bytes"
	"io"
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
	dir := t.TempDir()
	plan, file := filepath.Join(dir, "plan.json"), filepath.Join(dir, "report.html")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	versions := servedVersions()
	oldest := versions[len(versions)-1] // so that any version can be deleted
	route := map[string]string{"v1": "/v1/", "v3legacy": "/v3legacy/swap/"}[oldest]
	sunset := time.Now().UTC().AddDate(1, 0, 0).Format("2006-01-02") + "T00:00:00Z"
	write(plan, `{"versions": {"`+oldest+`": {"deprecated": "2026-01-01T00:00:00Z", "sunset": "`+sunset+`", "successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1", "gate": {"maxClients": 0, "maxCallsPerDay": 0}}}}`)
	known := filepath.Join(dir, "clients.json")
	write(known, `{"clients": [{"name": "Acme", "contact": "dev@acme.example", "match": ["agent:go-http-client"]}]}`)
	env := environment{"USAGE_DB": filepath.Join(dir, "usage.db"), "LIFECYCLE_FILE": plan, "CLIENTS_FILE": known, "ADMIN_TOKEN": "a-token-of-some-length"}
	report := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := execute(t.Context(), invocation{args: append([]string{"report"}, args...), env: env, stdout: &out, stderr: &out})
		return out.String(), err
	}
	if _, err := report("-o", file); err == nil || !strings.HasPrefix(err.Error(), "USAGE_DB: ") {
		t.Errorf("got %v without a database, want an error of USAGE_DB", err)
	}
	base, admin, stop := start(t, env)
	if status, body := get(t, base+strings.Replace(quotePath, "/v3/swap/", route, 1)); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	page := ask(t, admin+"/", "text/html")
	for _, want := range []string{"<h1>Versions</h1>", "1 client of old versions", "v1 cannot be retired yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	health := ask(t, admin+"/health", "text/html")
	for _, want := range []string{"Integrator registries", "<th scope=\"row\">PulseChain</th><td>unconfigured</td>", "built-in", "SQLite file", "<th scope=\"row\">ADMIN_TOKEN</th><td>[hidden]</td><td>environment</td>", "LIFECYCLE_FILE"} {
		if !strings.Contains(health, want) {
			t.Errorf("the page about health lacks %q", want)
		}
	}
	if strings.Contains(health, env["ADMIN_TOKEN"]) || strings.Contains(health, "usage.db") {
		t.Error("the page about health shows a secret")
	}
	for range 2 { // the second replaces the first
		if out, err := report("-o", file); err != nil || out != "" {
			t.Fatalf("got %v and %q", err, out)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := report("-o", "-")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"file": string(written), "output": printed} {
		for _, want := range []string{"<!DOCTYPE html>", "1 client of old versions", "v1 cannot be retired yet", "The health of running processes is not included", "Acme", "dev@acme.example", "Content-Security-Policy", "<style>"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s lacks %q", name, want)
			}
		}
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

// A report that cannot be written leaves the one before.
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
}

func TestReportCalls(t *testing.T) {
	for _, args := range [][]string{nil, {"-o"}, {"report.html"}, {"-o", "a", "b"}, {"-x"}} {
		err := execute(t.Context(), invocation{args: append([]string{"report"}, args...), env: environment{}})
		if _, wrong := err.(usageError); !wrong || !strings.Contains(err.Error(), "usage: gateway report -o FILE") {
			t.Errorf("%q: got %v, want how to call it", args, err)
		}
	}
	if err := execute(t.Context(), invocation{args: []string{"report", "-o", "-"}, env: environment{}}); err == nil || !strings.Contains(err.Error(), "USAGE_DB is not set") {
		t.Errorf("got %v without a database", err)
	}
}

// ask gets a page of the admin listener, with the token as a browser sends it.
func ask(t *testing.T, url, accept string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.SetBasicAuth("operator", "a-token-of-some-length")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d, %v", url, res.StatusCode, err)
	}
	return string(body)
}

// The database is copied while the service writes to it, and a report reads the copy.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	env := environment{"USAGE_DB": filepath.Join(dir, "usage.db")}
	base, _, stop := start(t, env)
	get(t, base+quotePath)
	run := func(env environment, args ...string) (string, error) {
		var out bytes.Buffer
		err := execute(t.Context(), invocation{args: args, env: env, stdout: &out, stderr: &out})
		return out.String(), err
	}
	copied := filepath.Join(dir, "copy.db")
	if out, err := run(env, "backup", copied); err != nil || !strings.Contains(out, copied) {
		t.Fatalf("got %q, %v", out, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if out, err := run(environment{"USAGE_DB": copied}, "report", "-o", "-"); err != nil || !strings.Contains(out, "<!DOCTYPE html>") {
		t.Errorf("got %.100q, %v from the copy", out, err)
	}
	for _, args := range [][]string{{"backup"}, {"backup", copied}, {"backup", "a", "b"}} {
		if _, err := run(env, args...); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}

// TestReportIntoAPipe: a pipe or a device is written to, and is still one afterwards.
func TestReportIntoAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
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
