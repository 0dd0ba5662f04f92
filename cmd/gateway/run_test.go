package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/answer"
	"github.com/quotegate/quotegate/shared/chain"
)

// TestMain lets the test binary be the gateway itself, so that signals and
// exit codes are real.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_GATEWAY") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const quotePath = "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

// start runs the service in this process until the test ends or stop is called.
func start(t *testing.T, env map[string]string) (base, admin string, stop func() error) {
	t.Helper()
	return startLogging(t, env, io.Discard)
}

func startLogging(t *testing.T, env map[string]string, log io.Writer) (base, admin string, stop func() error) {
	t.Helper()
	env["LISTEN_ADDR"], env["ADMIN_ADDR"] = "127.0.0.1:0", "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan [2]string, 1)
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, env, log, func(public, admin string) { ready <- [2]string{public, admin} })
	}()
	stop = func() error {
		cancel()
		return <-done
	}
	select {
	case addrs := <-ready:
		return "http://" + addrs[0], "http://" + addrs[1], stop
	case err := <-done:
		t.Fatalf("the service did not start: %v", err)
		return "", "", nil
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestServesWithoutAnyConfiguration(t *testing.T) {
	base, _, stop := start(t, map[string]string{})
	for path, want := range map[string]string{
		quotePath:              `"destAmount":"99700000"`,
		"/v3/swap/healthcheck": `"status":"ok"`,
		"/v3/app/routers":      `"data":[`,
		"/v3/openapi.yaml":     "openapi: 3.1.0",
		"/versions":            `"name":"v3","state":"active"`,
	} {
		if status, body := get(t, base+path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want it to hold %s", path, status, body, want)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestBadConfigurationStopsTheStartWithEveryProblem(t *testing.T) {
	err := run(t.Context(), environment{
		"LISTEN_ADDR": "8080", "ADMIN_ADDR": "0.0.0.0:9090", "DRAIN_DELAY": "1h", "RATE_LIMIT": "-1", "USAGE_DB": "mysql://short", "LOG_LEVEL": "loud", "LOG_FORMAT": "xml", "LEGACY_HOSTS": "https://old.example",
		"ISSUER_FEE_URL": "not a url", "RPC_URLS_1": "ftp://node.example/key-hunter2",
	}, io.Discard, func(string, string) { t.Error("it started") })
	if err == nil {
		t.Fatal("got no error")
	}
	for _, name := range []string{"LISTEN_ADDR", "ADMIN_ADDR", "DRAIN_DELAY", "RATE_LIMIT", "USAGE_DB", "LOG_LEVEL", "LOG_FORMAT", "LEGACY_HOSTS", "ISSUER_FEE_URL", "RPC_URLS_1"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is missing from:\n%v", name, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a secret:\n%v", err)
	}
}

func TestBadDeploymentStopsTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deployment.json")
	if err := os.WriteFile(path, []byte(`{"name": "mine", "pools": [], "extra": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), environment{"LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "off", "DEPLOYMENT_FILE": path}, io.Discard, func(string, string) { t.Error("it started") })
	for _, want := range []string{"DEPLOYMENT_FILE", "extra: unknown field", "no pair is served"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

// TestPartialDeployment starts with two pools: it serves the two pairs between them, needs nothing of other chains or of
// the issuer, and says how much that is.
func TestPartialDeployment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deployment.json")
	writeFile(t, path, `{"name": "small", "tracking": "reference",
		"pools": [{"chainId": 1, "token": "USDC", "router": "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"},
			{"chainId": 369, "token": "USDC", "router": "0x4C81742fFeD28e2614F21Ca8efeD1317f883be00"}],
		"registries": {"1": "0x84Ac096855E02aD1Ea4558963E6113325453Df24", "369": "0xa9d074a8E98A4941A39ebbEe854649Ced6a8A285"}}`)
	var log bytes.Buffer
	base, _, stop := startLogging(t, map[string]string{
		"DEPLOYMENT_FILE": path, "RPC_URLS_1": "http://127.0.0.1:1", "RPC_URLS_369": "http://127.0.0.1:1",
	}, &log)
	_, body := get(t, base+quotePath)
	wantContains(t, body, `"destAmount":"99700000"`)
	_, body = get(t, base+strings.Replace(quotePath, "srcChain=1&", "srcChain=10&", 1))
	wantContains(t, body, "Unsupported swap pair: USDC on chain 10 to USDC on chain 369; this deployment does not serve it")
	_, body = get(t, base+"/v3/app/pairs")
	wantContains(t, body, `"settlement":{"chainId":8453,"domain":6},"tracking":true`)
	_, body = get(t, base+"/v3/swap/healthcheck")
	wantContains(t, body, `"registries":[{"chainId":1,"rpc":"unused"},{"chainId":369,"rpc":"unused"}]`)
	if strings.Contains(body, "untracked") {
		t.Errorf("the health answer misses endpoints that nothing needs: %s", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	wantContains(t, log.String(), fmt.Sprintf(`"deployment":"small","pairs":"2 of %d"`, len(chain.Pairs())))
}

func wantContains(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("got %s, want it to say %s", text, want)
	}
}

// TestAdminSeesWhatHappened asks for a few quotes and reads about them on the
// admin listener, none of which is to be had on the public one.
func TestAdminSeesWhatHappened(t *testing.T) {
	version, quotes := oldest(t)
	base, admin, stop := start(t, map[string]string{})
	query := strings.TrimPrefix(quotePath, "/v3/swap/quote")
	get(t, base+quotePath)
	get(t, base+quotes+query)
	get(t, base+"/v3/swap/quote")
	for path, wants := range map[string][]string{
		"/metrics": {
			`quotegate_http_requests_total{code="none",rehearsal="false",route="/v3/swap/quote",status="200",version="v3"} 1`,
			`quotegate_http_requests_total{code="MISSING_PARAMETER",rehearsal="false",route="/v3/swap/quote",status="400",version="v3"} 1`,
			`quotegate_http_requests_total{code="none",rehearsal="false",route="` + quotes + `",status="200",version="` + version + `"} 1`,
			"quotegate_build_info", "go_goroutines",
		},
		"/admin/usage":     {`"version":"` + version + `"`, `"calls":1`, `"client":"agent go-http-client #`, `"findings":[{"outcome":"same","calls":1}]`, `"successor":"` + gateway.Current + `"`},
		"/admin/lifecycle": {`"version":"` + version + `","stage":"active"`},
		"/readyz":          {`"status":"ready"`},
	} {
		status, body := get(t, admin+path)
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(body)) == nil {
			body = compact.String()
		}
		for _, want := range wants {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: got %d, and %q is missing from:\n%s", path, status, want, body)
			}
		}
		if status, _ := get(t, base+path); status != http.StatusNotFound {
			t.Errorf("%s: got %d on the public listener", path, status)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// slowNode is a JSON-RPC node of the hub that holds its answer about an integrator
// back until it is released. It refuses what the service asks to test itself.
func slowNode(t *testing.T) (url string, asked <-chan struct{}, release func()) {
	t.Helper()
	called, released := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil || call.Method == "eth_getCode" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		result := "0x171" // eth_chainId
		if bytes.Contains(call.Params, []byte("fb6916095ca1df60bb79ce92ce3ea74c37c5d359")) {
			close(called)
			<-released
			result = "0x000000000000000000000000fb6916095ca1df60bb79ce92ce3ea74c37c5d359" + fmt.Sprintf("%064x%064x", 25, 1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, call.ID, result)
	}))
	t.Cleanup(server.Close)
	return server.URL, called, func() { close(released) }
}

// TestDrain stops the service while a request waits for its node: it is
// answered, a new one is refused, and the exit is clean.
func TestDrain(t *testing.T) {
	node, asked, release := slowNode(t)
	base, admin, stop := start(t, map[string]string{"RPC_URLS_369": node})
	answered := make(chan string, 1)
	go func() {
		res, err := http.Get(base + quotePath + "&integratorId=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answered <- string(body)
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	waitUntilRefused(t, strings.TrimPrefix(base, "http://"))
	if status, body := get(t, admin+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
		t.Errorf("while draining, readiness is %d %s", status, body)
	}
	if status, _ := get(t, admin+"/livez"); status != http.StatusOK {
		t.Errorf("while draining, liveness is %d", status)
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a request under way: %v", err)
	default:
	}
	release()
	if got := <-answered; !strings.Contains(got, `"integrator":{"percentage":0.25,"amount":"250000"`) {
		t.Errorf("the request under way got %s", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func waitUntilRefused(t *testing.T, addr string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Fatal("new connections are still accepted while draining")
}

// process runs the gateway as a process of its own and gives its address once
// it says that it serves.
func process(t *testing.T, env ...string) (cmd *exec.Cmd, base string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "BE_THE_GATEWAY=1", "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var line struct{ Msg, Addr string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("it logs %q, which is not JSON", lines.Text())
		}
		if line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, stderr) }() // or it blocks on its log
			return cmd, "http://" + line.Addr
		}
	}
	t.Fatal("it ended without serving")
	return nil, ""
}

// TestProcess runs the real thing: ready means listening, and SIGTERM means
// exit 0.
func TestProcess(t *testing.T) {
	cmd, base := process(t)
	res, err := http.Get(base + quotePath)
	if err != nil {
		t.Fatalf("it said it serves, but: %v", err)
	}
	res.Body.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v after SIGTERM, want exit code 0", err)
	}
}

// oldest is the version to be retired next, and where it quotes.
func oldest(t *testing.T) (name, path string) {
	t.Helper()
	all := gateway.Modules(answer.Service{Deployment: chain.Reference()})
	if len(all) < 2 {
		t.Skip("there is no old version left")
	}
	m := all[len(all)-1]
	return m.Name, m.Routes[0].Path
}

// TestHangupReloadsThePlan rewrites the plan of a running process.
func TestHangupReloadsThePlan(t *testing.T) {
	version, quotes := oldest(t)
	path := filepath.Join(t.TempDir(), "plan.json")
	write := func(sunset string) {
		t.Helper()
		plan := `{"versions": {"` + version + `": {"deprecated": "2020-01-01T00:00:00Z", "sunset": "` + sunset + `", "successor": "/v3/swap/quote", "docs": "https://example.org/v1", "immediate": true}}}`
		if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("2999-01-01T00:00:00Z")
	cmd, base := process(t, "LIFECYCLE_FILE="+path)
	status := func() int {
		t.Helper()
		res, err := http.Get(base + quotes + strings.TrimPrefix(quotePath, "/v3/swap/quote"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Fatalf("got %d before the sunset", got)
	}
	write("2021-01-01T00:00:00Z")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); status() != http.StatusGone; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new plan is not in force after a minute")
		}
	}
}

func TestPlanCheck(t *testing.T) {
	version, _ := oldest(t)
	path := filepath.Join(t.TempDir(), "plan.json")
	plan := `{"versions": {"` + version + `": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/v1"}}}`
	if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(args ...string) (string, error) {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "BE_THE_GATEWAY=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := check("plan", "check", path, "-at", "2027-03-01T00:00:00Z")
	if err != nil || !strings.Contains(out, "is a valid plan") || !strings.Contains(out, version+": retired at 2027-03-01T00:00:00Z") {
		t.Errorf("got %v and:\n%s", err, out)
	}
	if out, err := check("plan", "check", path+".gone"); err == nil {
		t.Errorf("a missing plan is fine, it says: %s", out)
	}
	if out, err := check("plan", "please"); err == nil || !strings.Contains(out, "gateway plan check") {
		t.Errorf("got %v and %q for an unknown command, want help", err, out)
	}
}
