package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

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
	// `gateway health` asks the service of this machine.
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

// TestBadFilesStopTheStart, with every problem.
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

// TestPartialDeployment starts with two pools: it serves the two pairs between them, needs nothing of other chains or of
// the issuer, and says how much that is.
func TestPartialDeployment(t *testing.T) {
	path := tempFile(t, `{"name": "small", "tracking": "reference",
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

// TestAdminSeesWhatHappened asks for a few quotes and reads about them on the
// admin listener, none of which is to be had on the public one.
func TestAdminSeesWhatHappened(t *testing.T) {
	version, quotes := oldest(t)
	base, admin, stop := start(t, map[string]string{})
	get(t, base+quotePath)
	get(t, base+quotes+quoteQuery)
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
		wantContains(t, body, wants...)
		public, _ := get(t, base+path)
		if status != http.StatusOK || public != http.StatusNotFound {
			t.Errorf("%s: got %d, and %d on the public listener", path, status, public)
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
	eventually(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			return true
		}
		conn.Close()
		return false
	})
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
	wantContains(t, <-answered, `"integrator":{"percentage":0.25,"amount":"250000"`)
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// TestProcess: ready means listening, and SIGTERM means exit 0. Until then it still
// quotes, its public health check tells load balancers to send elsewhere, and a
// hangup does not end it before its time.
func TestProcess(t *testing.T) {
	t.Parallel()
	i := process(t, "DRAIN_DELAY=3s")
	i.signal(t, syscall.SIGTERM)
	eventually(t, "the health check says that it drains", func() bool {
		status, body := get(t, i.base+"/v3/swap/healthcheck")
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"status":"draining"`)
	})
	if status, body := get(t, i.base+quotePath); status != http.StatusOK {
		t.Errorf("it does not quote any more: %d %s", status, body)
	}
	for range 3 {
		i.signal(t, syscall.SIGHUP)
		time.Sleep(10 * time.Millisecond) // two signals at once count as one
	}
	if err := i.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want a proper end", err)
	}
}

// TestHangupReloadsFiles rewrites the files of a running process. Pipes that nobody
// writes to do not hold it up, a bad file keeps out the good ones that belong to it,
// and good ones count.
func TestHangupReloadsFiles(t *testing.T) {
	t.Parallel()
	const (
		oldRouter = "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"
		newRouter = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
		sender    = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	)
	version, quotes := oldest(t)
	revoked, printed := makeKey(t, "Acme", "")
	key, printedLater := makeKey(t, "Acme", "")
	reference := string(chain.ReferenceFile())
	front := node.NewFront(t, http.HandlerFunc(node.Status(500)))
	dir := t.TempDir()
	first := map[string]string{
		"DEPLOYMENT_FILE": reference, "RPC_FILE": `{"endpoints": {}}`, "CLIENTS_FILE": lastLine(printed),
		"LIFECYCLE_FILE": planOf(version, "2999-01-01T00:00:00Z", ""),
	}
	var env []string
	for name, text := range first {
		writeFile(t, filepath.Join(dir, name), text)
		env = append(env, name+"="+filepath.Join(dir, name))
	}
	i := unreadProcess(t, env...)
	var log journal.Journal
	go func() { _, _ = io.Copy(&log, i.log) }()
	replace := func(name, text string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, "new"), text)
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	type answer struct {
		To      string
		Details struct{ Reason string }
	}
	quote := func() (a answer) {
		t.Helper()
		getJSON(t, i.base+quotePath+"&include=details&from="+sender, &a)
		return a
	}
	status := func(path, key string) int {
		t.Helper()
		got, _, _ := getWith(t, i.base+path, "API-Key", key)
		return got
	}
	if a := quote(); a.To != oldRouter || !strings.Contains(a.Details.Reason, "no RPC endpoint is configured") ||
		status(quotePath, revoked) != 200 || status(quotePath, key) != 401 || status(quotes+quoteQuery, revoked) != 200 {
		t.Fatalf("got %+v at first", a)
	}

	for name := range first {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i.signal(t, syscall.SIGHUP)
	replace("DEPLOYMENT_FILE", strings.Replace(reference, oldRouter, newRouter, 1))
	replace("RPC_FILE", first["RPC_FILE"])
	replace("CLIENTS_FILE", lastLine(printedLater))
	replace("LIFECYCLE_FILE", planOf(version, "2021-01-01T00:00:00Z", `, "immediate": true`))
	eventually(t, "the new router is quoted", func() bool {
		i.signal(t, syscall.SIGHUP) // two signals at once count as one
		return quote().To == newRouter
	})
	if _, listing := get(t, i.base+"/v3/app/routers"); !strings.Contains(listing, newRouter) || strings.Contains(listing, oldRouter) {
		t.Errorf("the listing is not the new one: %s", listing)
	}
	if a, b := status(quotePath, revoked), status(quotePath, key); a != 401 || b != 200 {
		t.Errorf("got %d for the key that was taken out, and %d for the new one", a, b)
	}
	if got := status(quotes+quoteQuery, key); got != 410 {
		t.Errorf("got %d after the sunset of the new plan", got)
	}

	// A bad deployment keeps the good endpoints out, too.
	refused := log.Count("are not reloaded")
	replace("DEPLOYMENT_FILE", `{"name": "broken"}`)
	i.signal(t, syscall.SIGHUP)
	eventually(t, "the bad file is read", func() bool { return log.Count("are not reloaded") > refused })
	replace("RPC_FILE", `{"endpoints": {"1": ["`+front.SecretURL()+`"]}}`)
	replace("CLIENTS_FILE", lastLine(printed))
	i.signal(t, syscall.SIGHUP)
	eventually(t, "the other files are read", func() bool { return status(quotePath, revoked) == 200 })
	if a := quote(); a.To != newRouter || !strings.Contains(a.Details.Reason, "no RPC endpoint is configured") {
		t.Errorf("got %+v after a bad file", a)
	}
	replace("DEPLOYMENT_FILE", reference)
	eventually(t, "the endpoints are used", func() bool {
		i.signal(t, syscall.SIGHUP)
		return strings.Contains(quote().Details.Reason, "temporarily unavailable")
	})
	if a := quote(); a.To != oldRouter {
		t.Errorf("got %+v once both files are good", a)
	}
}
