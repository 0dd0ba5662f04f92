package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/version"
)

// TestMain lets the test binary be the gateway itself, so that signals and
// exit codes are real.
//
// A start waits for its database as long as that takes, on any machine.
func TestMain(m *testing.M) {
	startWait = 2 * time.Minute
	if os.Getenv("BE_THE_GATEWAY") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	quoteQuery = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
		"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	quotePath = "/v3/swap/quote" + quoteQuery
)

// start runs the service in this process until stop is called, or the test ends and
// wants it to end without an error.
func start(t testing.TB, env environment) (base, admin string, stop func() error) {
	t.Helper()
	return startLogging(t, env, io.Discard)
}

func startLogging(t testing.TB, env environment, log io.Writer) (base, admin string, stop func() error) {
	t.Helper()
	env["LISTEN_ADDR"] = "127.0.0.1:0"
	env["ADMIN_ADDR"] = "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan [2]string, 1)
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, env, log, func(public, admin string) { ready <- [2]string{public, admin} })
	}()
	stopped := false
	stop = func() error {
		stopped = true
		http.DefaultClient.CloseIdleConnections() // or it waits for them to be idle
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if stopped {
			return
		}
		if err := stop(); err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	select {
	case addrs := <-ready:
		return "http://" + addrs[0], "http://" + addrs[1], stop
	case err := <-done:
		stopped = true
		t.Fatalf("the service did not start: %v", err)
		return "", "", nil
	}
}

// instance is a gateway as a process of its own.
type instance struct {
	cmd         *exec.Cmd
	base, admin string
	log         *os.File
}

// process runs the gateway, without a limit, until it says that it serves.
func process(t *testing.T, env ...string) *instance {
	t.Helper()
	i := unreadProcess(t, env...)
	go func() { _, _ = io.Copy(io.Discard, i.log) }() // or it drops lines of its log
	return i
}

// unreadProcess is a process whose log is read only until it serves.
func unreadProcess(t *testing.T, env ...string) *instance {
	t.Helper()
	log, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{cmd: exec.Command(os.Args[0]), log: log}
	own := []string{"BE_THE_GATEWAY=1", "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "RATE_LIMIT=0"}
	i.cmd.Env = append(append(os.Environ(), own...), env...)
	i.cmd.Stderr = theirs
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() {
		_ = i.cmd.Process.Kill() // it may have ended
		_ = i.cmd.Wait()
		log.Close()
	})
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, Addr, Admin string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("it logs %q, which is not JSON", lines.Text())
		}
		if line.Msg == "serving" {
			i.base, i.admin = "http://"+line.Addr, "http://"+line.Admin
			return i
		}
	}
	t.Fatal("it ended without serving")
	return nil
}

func (i *instance) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := i.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// terminate wants the process to end properly.
func (i *instance) terminate(t *testing.T) {
	t.Helper()
	i.signal(t, syscall.SIGTERM)
	if err := i.cmd.Wait(); err != nil {
		t.Errorf("got %v after SIGTERM, want exit code 0", err)
	}
}

// runCommand runs a command of the gateway in this process.
func runCommand(t *testing.T, env environment, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := execute(t.Context(), invocation{args: args, env: env, stdout: &out, stderr: &out})
	return out.String(), err
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	status, _, body = getWith(t, url)
	return status, body
}

// getWith sends headers, given as names and values.
func getWith(t *testing.T, url string, headers ...string) (status int, h http.Header, body string) {
	t.Helper()
	res, body, err := ask(url, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, body
}

func ask(url string, headers ...string) (res *http.Response, body string, err error) {
	return askAs(http.MethodGet, url, headers...)
}

func askAs(method, url string, headers ...string) (res *http.Response, body string, err error) {
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		return nil, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err = http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

func wantContains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want it to say %s", text, want)
		}
	}
}

// eventually waits for something that another goroutine or process does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("this did not happen within two minutes: %s", what)
		}
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tempFile is a file of a test, with a text.
func tempFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.json")
	writeFile(t, path, text)
	return path
}

// localOnly is why no quote of the reference deployment may be signed.
const localOnly = "the contracts of the reference deployment exist only on local test chains"

// deploymentNamed is a file with the reference deployment under a name.
func deploymentNamed(t testing.TB, name string) string {
	t.Helper()
	return tempFile(t, string(chain.ReferenceAs(name)))
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// oldest is the version to be retired next, and where it quotes.
func oldest(t *testing.T) (name, path string) {
	t.Helper()
	all := modules()
	if len(all) < 2 {
		t.Skip("there is no old version left")
	}
	m := all[len(all)-1]
	return m.Name, m.Routes[0].Path
}

var modules = sync.OnceValue(func() []version.Module {
	return gateway.Modules(api.Service{Deployment: chain.Reference()})
})

// planOf is a plan of a version, which was deprecated long ago.
func planOf(version, sunset, more string) string {
	return `{"versions": {"` + version + `": {"deprecated": "2020-01-01T00:00:00Z", "sunset": "` + sunset + `",
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate"` + more + `}}}`
}
