package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/chain"
)

// A service without any configuration quotes. The admin listener reports usage, and the public
// one does not.
func TestServesWithoutAnyConfiguration(t *testing.T) {
	version, quotes := oldest(t)
	base, admin, stop := start(t, environment{})
	for path, want := range map[string]string{
		quotePath:           `"destAmount":"99700000"`,
		healthPath:          `"status":"ok"`,
		"/v3/app/routers":   `"data":[`,
		"/v3/openapi.yaml":  "openapi: 3.1.0",
		"/versions":         `"name":"v3","state":"active"`,
		"/v3/swap/quote":    "MISSING_PARAMETER",
		quotes + quoteQuery: `"`,
	} {
		_, body := get(t, base+path)
		wantContains(t, body, want)
	}
	requests := func(code, route, status, version string) string {
		return fmt.Sprintf(`quotegate_http_requests_total{code=%q,rehearsal="false",route=%q,status=%q,version=%q} 1`,
			code, route, status, version)
	}
	for path, wants := range map[string][]string{
		"/metrics": {
			requests("none", "/v3/swap/quote", "200", "v3"),
			requests("MISSING_PARAMETER", "/v3/swap/quote", "400", "v3"),
			requests("none", quotes, "200", version),
			"quotegate_build_info", "go_goroutines",
		},
		"/admin/usage": {
			`"version":"` + version + `"`, `"calls":1`, `"client":"agent go-http-client #`,
			`"findings":[{"outcome":"same","calls":1}]`, `"successor":"` + gateway.Current + `"`,
		},
		"/admin/lifecycle": {`"version":"` + version + `","stage":"active"`},
		"/readyz":          {`"status":"ready"`},
	} {
		status, body := get(t, admin+path)
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(body)) == nil {
			body = compact.String()
		}
		wantContains(t, body, wants...)
		public, _ := get(t, base+path)
		if status != http.StatusOK || public != http.StatusNotFound {
			t.Errorf("%s: got %d, and %d on the public listener", path, status, public)
		}
	}
	// `gateway health` queries the service of this machine.
	env := environment{"LISTEN_ADDR": ":" + base[strings.LastIndex(base, ":")+1:]}
	if out, err := runCommand(t, env, "health"); err != nil || out != "ok\n" {
		t.Errorf("got %v, %q", err, out)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if _, err := runCommand(t, env, "health"); err == nil {
		t.Error("a service that has ended is healthy")
	}
}

// Calls of a version whose code was deleted count under its name, at whichever path of it, as the
// alert on calls of retired versions asks for.
func TestCallsOfADeletedVersionAreCounted(t *testing.T) {
	all := gateway.RetiredVersions
	defer func() { gateway.RetiredVersions = all }()
	former := gateway.RetiredVersion{Name: "v0", Prefixes: []string{"/v0/", "/swap/v0/"}, Successor: "/v3/swap/quote"}
	gateway.RetiredVersions = append(slices.Clone(all), former)
	base, admin, _ := start(t, environment{})
	for _, path := range []string{"/v0/quote" + quoteQuery, "/swap/v0/anything"} {
		if status, body := get(t, base+path); status != http.StatusGone {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	_, body := get(t, admin+"/metrics")
	wantContains(t, body, `quotegate_http_requests_total{code="VERSION_RETIRED",rehearsal="false",route="none",status="410",version="v0"} 2`)
}

// Bad files stop the start, with every problem.
func TestBadFilesStopTheStart(t *testing.T) {
	for variable, tt := range map[string]struct {
		text  string
		wants []string
	}{
		"DEPLOYMENT_FILE": {`{"name": "mine", "pools": [], "extra": 1}`,
			[]string{"extra: unknown field", "no pair is served"}},
		"CLIENTS_FILE": {`{"clients": [{"name": ""}, {"name": "Acme", "perMinute": 5000}]}`,
			[]string{"clients[0].name: missing", "clients[1].perMinute: 5000 is not"}},
	} {
		env := environment{"LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "off", variable: tempFile(t, tt.text)}
		err := run(t.Context(), env, io.Discard, func(string, string) { t.Error("it started") })
		wantContains(t, fmt.Sprint(err), append(tt.wants, variable+": ")...)
	}
}

// With two pools, it serves the two pairs between them, needs no other chain and no issuer, and
// logs how many pairs it serves.
func TestPartialDeployment(t *testing.T) {
	path := tempFile(t, `{"name": "small", "tracking": "reference",
		"pools": [{"chainId": 1, "token": "USDC", "router": "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"},
			{"chainId": 369, "token": "USDC", "router": "0x4C81742fFeD28e2614F21Ca8efeD1317f883be00"}],
		"registries": {"1": "0x84Ac096855E02aD1Ea4558963E6113325453Df24",
			"369": "0xa9d074a8E98A4941A39ebbEe854649Ced6a8A285"}}`)
	var log bytes.Buffer
	const nowhere = "http://127.0.0.1:1"
	base, _, stop := startLogging(t, environment{
		"DEPLOYMENT_FILE": path, "RPC_URLS_1": nowhere, "RPC_URLS_369": nowhere,
	}, &log)
	for path, want := range map[string]string{
		quotePath: `"destAmount":"99700000"`,
		strings.Replace(quotePath, "srcChain=1&", "srcChain=10&", 1): "Unsupported swap pair: USDC on chain 10 to USDC " +
			"on chain 369; this deployment does not serve it",
		"/v3/app/pairs": `"settlement":{"chainId":8453,"domain":6},"tracking":true`,
		healthPath:      `"registries":[{"chainId":1,"rpc":"unused"},{"chainId":369,"rpc":"unused"}]`,
	} {
		_, body := get(t, base+path)
		wantContains(t, body, want)
		if strings.Contains(body, "untracked") {
			t.Errorf("the health answer misses endpoints that nothing needs: %s", body)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	wantContains(t, log.String(), fmt.Sprintf(`"deployment":"small","pairs":"2 of %d"`, len(chain.Pairs())))
}

// slowNode is a JSON-RPC node of the hub that holds back its answer about an integrator until it
// is released. It refuses the calls of self-checks.
func slowNode(t *testing.T) (url string, asked <-chan struct{}, release func()) {
	t.Helper()
	const integrator = "fb6916095ca1df60bb79ce92ce3ea74c37c5d359"
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
		if bytes.Contains(call.Params, []byte(integrator)) {
			close(called)
			<-released
			result = "0x" + strings.Repeat("0", 24) + integrator + fmt.Sprintf("%064x%064x", 25, 1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, call.ID, result)
	}))
	t.Cleanup(server.Close)
	return server.URL, called, func() { close(released) }
}

// A service that is stopped while a request waits for its node answers that request,
// refuses new ones, and ends without an error.
func TestDrain(t *testing.T) {
	node, asked, release := slowNode(t)
	base, admin, stop := start(t, environment{"RPC_URLS_369": node})
	answered := make(chan string, 1)
	go func() {
		_, body, err := ask(base + quotePath + "&integratorId=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
		answered <- fmt.Sprint(body, err)
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	eventually(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			return true
		}
		conn.Close()
		return false
	})
	status, body := get(t, admin+"/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
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
	wantContains(t, <-answered, `"integrator":{"percentage":0.25,"amount":"250000"`)
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// SIGTERM ends a process with exit code 0. Until then it still quotes, its public health
// check makes load balancers send elsewhere, and a hangup does not end it.
func TestProcess(t *testing.T) {
	t.Parallel()
	i := process(t, "DRAIN_DELAY=3s")
	i.signal(t, syscall.SIGTERM)
	eventually(t, "the health check says that it drains", func() bool {
		status, body := get(t, i.base+healthPath)
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"status":"draining"`)
	})
	i.signal(t, syscall.SIGHUP)
	if status, body := get(t, i.base+quotePath); status != http.StatusOK {
		t.Errorf("it does not quote any more: %d %s", status, body)
	}
	if err := i.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want exit code 0", err)
	}
}

// A second SIGTERM ends a draining process at once, by that signal.
func TestSecondSignalEndsTheDrain(t *testing.T) {
	t.Parallel()
	i := process(t, "DRAIN_DELAY=1m")
	i.signal(t, syscall.SIGTERM)
	eventually(t, "the health check says that it drains", func() bool {
		_, body := get(t, i.base+healthPath)
		return strings.Contains(body, `"status":"draining"`)
	})
	ended := make(chan error, 1)
	go func() { ended <- i.cmd.Wait() }()
	eventually(t, "the process ends", func() bool {
		_ = i.cmd.Process.Signal(syscall.SIGTERM) // again, if it has not yet let go of the first; or it has ended
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if how := i.cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want by the signal", i.cmd.ProcessState)
	}
}

// A plan that retires the version of a client, and a client with a key: the key has its
// own budget, an unknown key is refused, reports and log use the client's name, and the
// log has no key.
func TestKnownClients(t *testing.T) {
	version, quotes := oldest(t)
	key, printed := makeKey(t, "Acme Wallet", "")
	clients := strings.Replace(lastLine(printed), `"match": []`, `"match": ["agent:acme"], "perMinute": 6`, 1)
	now := time.Now().UTC().Truncate(time.Second)
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	plan := planOf(version, at(48*time.Hour), fmt.Sprintf(`, "brownouts": [{"from": %q, "to": %q, "share": 1}],
		"exempt": ["client:Acme Wallet", "client:Nobody"]`, at(-time.Minute), at(24*time.Hour)))
	var log bytes.Buffer
	base, admin, stop := startLogging(t, environment{
		"RATE_LIMIT": "4", "LOG_CLIENT_ADDRESS": "true",
		"CLIENTS_FILE": tempFile(t, clients), "LIFECYCLE_FILE": tempFile(t, plan),
	}, &log)
	unknown := "qg_" + strings.Repeat("x", 43)
	const nobody, limit = "", "4"
	for _, tt := range []struct {
		path, agent, key string
		status           int
		limit            string
	}{
		{quotes + quoteQuery, "stranger/1", nobody, 410, ""},
		{quotes + quoteQuery, "stranger/1", key, 200, "6"},
		{quotes + quoteQuery, "Acme/2.0", nobody, 200, limit},
		{quotePath, "stranger/1", unknown, 401, ""},
		{quotePath, "stranger/1", nobody, 200, limit},
		{quotePath, "stranger/1", nobody, 200, limit},
		{quotePath, "stranger/1", nobody, 429, limit},
		{quotePath, "stranger/1", key, 200, "6"},
	} {
		headers := []string{"User-Agent", tt.agent}
		if tt.key != nobody {
			headers = append(headers, "API-Key", tt.key)
		}
		got, h, _ := getWith(t, base+tt.path, headers...)
		if got != tt.status || tt.limit != "" && h.Get("RateLimit-Limit") != tt.limit {
			t.Errorf("%+v: got %d and a limit of %q", tt, got, h.Get("RateLimit-Limit"))
		}
	}
	_, report := get(t, admin+"/admin/usage")
	wantContains(t, report, `"client Acme Wallet"`)
	if err := stop(); err != nil {
		t.Error(err)
	}
	wantContains(t, log.String(), `"client":"client Acme Wallet","address":"127.0.0.1"`, `"code":"UNKNOWN_KEY"`,
		`"msg":"known clients","file":`, `"clients":["Nobody"]`,
		`"msg":"the plan exempts clients that CLIENTS_FILE does not have"`)
	_, hash, _ := strings.Cut(printed, "sha256:")
	for _, secret := range []string{key[3:], unknown[3:], hash} {
		if strings.Contains(log.String(), secret[:16]) {
			t.Errorf("the log has a secret:\n%s", log.String())
		}
	}
}

// TestTakenPort: the error says how to choose another.
func TestTakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().String()
	for _, tt := range []struct{ public, admin, want string }{
		{taken, "off", "LISTEN_ADDR: listen tcp " + taken + ": bind: address already in use; " +
			"choose another port, for example LISTEN_ADDR=:9000"},
		{"127.0.0.1:0", taken, "ADMIN_ADDR: listen tcp " + taken + ": bind: address already in use; " +
			"choose another port, for example ADMIN_ADDR=127.0.0.1:9001, or ADMIN_ADDR=off for none"},
	} {
		_, err := runCommand(t, environment{"LISTEN_ADDR": tt.public, "ADMIN_ADDR": tt.admin})
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestPageURL(t *testing.T) {
	for addr, want := range map[string]string{
		"[::]:9000":      "http://localhost:9000/",
		"0.0.0.0:80":     "http://localhost:80/",
		"[::1]:80":       "http://[::1]:80/",
		"192.0.2.7:8080": "http://192.0.2.7:8080/",
	} {
		if got := pageURL(addr); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}
