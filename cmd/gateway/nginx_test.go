package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/pages"
	"github.com/quotegate/quotegate/shared/testkit/ports"
)

// TestRollingRestart restarts two gateways behind the nginx of
// docs/operate/instances.md, one after the other and under load, as that page
// says. No request fails.
func TestRollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it restarts two gateways behind nginx; make test-all runs it")
	}
	t.Parallel()
	nginx := findNginx(t)
	addrs := []string{ports.Free(t), ports.Free(t), ports.Free(t)}
	front, instances := addrs[0], addrs[1:]
	begin := func(addr string) *instance {
		return process(t, "LISTEN_ADDR="+addr, "ADMIN_ADDR=off", "TRUSTED_PROXIES=127.0.0.1", "DRAIN_DELAY=500ms")
	}
	var running [2]*instance
	for i, addr := range instances {
		running[i] = begin(addr)
	}
	startNginx(t, nginx, front, instances)

	var asked atomic.Int64
	failures := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				asked.Add(1)
				if err := answers("http://" + front + quotePath); err != nil {
					select {
					case failures <- err:
					default:
					}
				}
				time.Sleep(5 * time.Millisecond) // or the clients take all of the machine
			}
		})
	}
	answered := func(n int64) { // lets so many more requests pass
		t.Helper()
		target := asked.Load() + n
		eventually(t, "requests are answered", func() bool { return asked.Load() >= target })
	}
	answered(100)
	for i, addr := range instances {
		running[i].terminate(t)
		answered(200) // while only the other one is there
		running[i] = begin(addr)
		answered(200)
	}
	stop()
	clients.Wait()
	select {
	case err := <-failures:
		t.Errorf("a request failed, of %d: %v", asked.Load(), err)
	default:
	}
}

// findNginx is the path of nginx.
func findNginx(t *testing.T) string {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil { // it may be there, and the path of an ordinary user not lead to it
		nginx, err = exec.LookPath("/usr/sbin/nginx")
	}
	if err != nil {
		const missing = "there is no nginx here; install the package nginx-light to run this test"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip("SKIPPED, NOT TESTED: " + missing)
	}
	return nginx
}

// TestNginxBoundsRequests: behind the nginx of the page, an address with as many requests
// in progress as it may have gets 429, while another is answered. When the instances have
// as many as they may, everybody gets 503. Both are JSON. Servers that hold requests stand
// for two gateways.
func TestNginxBoundsRequests(t *testing.T) {
	nginx := findNginx(t)
	addrs := []string{ports.Free(t), ports.Free(t), ports.Free(t)}
	front, instances := addrs[0], addrs[1:]
	release := make(chan struct{})
	for _, addr := range instances {
		server := &http.Server{Addr: addr, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/held" {
				<-release
			}
			w.Header().Set("X-Request-Id", strings.Repeat("0f", 16))
		})}
		go func() { _ = server.ListenAndServe() }()
		t.Cleanup(func() { server.Close() })
	}
	t.Cleanup(func() { close(release) })
	startNginx(t, nginx, front, instances, "max_conns=512", "max_conns=40")
	hold := func(ip string, requests int) {
		t.Helper()
		for range requests {
			if _, err := io.WriteString(from(t, ip, front), "GET /held HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	refusedWith := func(ip string, status int) {
		t.Helper()
		var refused *http.Response
		eventually(t, fmt.Sprintf("nginx answers %s with %d", ip, status), func() bool {
			refused = getOn(from(t, ip, front), "/versions")
			return refused != nil && refused.StatusCode == status
		})
		h := refused.Header
		if h.Get("Content-Type") != "application/json" || h.Get("Retry-After") != "1" ||
			!regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(h.Get("X-Request-Id")) {
			t.Errorf("%d has headers %v", status, h)
		}
	}
	hold("127.0.0.1", 64)
	refusedWith("127.0.0.1", http.StatusTooManyRequests)
	if res := getOn(from(t, "127.0.0.2", front), "/versions"); res == nil || res.StatusCode != http.StatusOK {
		t.Errorf("another address got %v", res)
	}
	hold("127.0.0.3", 16)
	refusedWith("127.0.0.2", http.StatusServiceUnavailable)
}

// answers reports whether a request is answered with 200.
func answers(url string) error {
	res, body, err := ask(url)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	return err
}

// startNginx runs nginx with the configuration of docs/operate/instances.md, at other addresses and with
// further replacements. It returns the folder of its logs.
func startNginx(t *testing.T, nginx, front string, instances []string, replaced ...string) (logs string) {
	t.Helper()
	logs = t.TempDir()
	runNginx(t, nginx, "docs/operate/instances.md", append(replaced,
		"127.0.0.1:8081", instances[0], "127.0.0.1:8082", instances[1],
		"listen 8080;", "listen "+front+";", "listen [::]:8080;", "",
		"/var/log/nginx/", logs+"/",
	)...)
	eventually(t, "nginx answers", func() bool { return answers("http://"+front+"/versions") == nil })
	eventually(t, "nginx logs the request ID at the end of a line", func() bool {
		log, err := os.ReadFile(filepath.Join(logs, "gateway.log"))
		return err == nil && requestID.Match(log)
	})
	return logs
}

var requestID = regexp.MustCompile(`(?m) [0-9a-f]{32}$`)

// runNginx runs nginx with the first configuration of a page, after replacements, until the test ends.
func runNginx(t *testing.T, nginx, page string, replaced ...string) {
	t.Helper()
	blocks, err := pages.Find("../..", page, "nginx")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr crit; events {}
http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
%[2]s}`, dir, strings.NewReplacer(replaced...).Replace(blocks[0].Text))
	writeFile(t, config, text)
	cmd := exec.Command(nginx, "-p", dir, "-c", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// TestNginxLogsNoQuery: neither log of the nginx of the page has a recipient, an amount or an address of
// a client, whether a request is answered, refused because of its rate, or fails at an instance. At another
// level the error log has all of them, so the requests of this test do lead to its lines.
func TestNginxLogsNoQuery(t *testing.T) {
	t.Parallel()
	nginx := findNginx(t)
	for _, logged := range []bool{false, true} {
		addrs := []string{ports.Free(t), ports.Free(t), ports.Free(t)}
		front, instances := addrs[0], addrs[1:]
		release := make(chan struct{})
		server := &http.Server{Addr: instances[0], Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/held" {
				<-release
			}
			w.Header().Set("X-Request-Id", strings.Repeat("0f", 16))
		})} // and at the other address, there is none
		go func() { _ = server.ListenAndServe() }()
		t.Cleanup(func() { server.Close() })
		t.Cleanup(func() { close(release) })
		replaced := []string{"limit_conn per_address 64;", "limit_conn per_address 1;", "proxy_connect_timeout 1s;", "proxy_read_timeout 2s;"}
		if logged {
			replaced = append(replaced, "error.log crit;", "error.log error;")
		}
		dir := startNginx(t, nginx, front, instances, replaced...)
		get := func(path string, want int) {
			t.Helper()
			res := getOn(from(t, "127.0.0.2", front), path)
			if res == nil || res.StatusCode != want {
				t.Fatalf("%s: got %v, want %d", path, res, want)
			}
		}
		for range 4 { // each instance is asked
			get(quotePath, http.StatusOK)
		}
		held := from(t, "127.0.0.2", front)
		fmt.Fprintf(held, "GET /held%s HTTP/1.1\r\nHost: x\r\n\r\n", quoteQuery)
		eventually(t, "an address has all its requests in progress", func() bool {
			res := getOn(from(t, "127.0.0.2", front), quotePath)
			return res != nil && res.StatusCode == http.StatusTooManyRequests
		})
		late, err := http.ReadResponse(bufio.NewReader(held), nil)
		if err != nil || late.StatusCode != http.StatusServiceUnavailable || late.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("an instance that does not answer: got %v, %v", late, err)
		}
		server.Close()
		get(quotePath, http.StatusServiceUnavailable)

		var access string
		eventually(t, "nginx logs every answer", func() bool {
			access = readText(t, dir+"/gateway.log")
			return strings.Contains(access, `" 200 `) && strings.Contains(access, `" 429 `) && strings.Count(access, `" 503 `) == 2
		})
		errors := readText(t, dir+"/gateway-error.log")
		for _, secret := range []string{"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "100000000", "127.0.0.2"} {
			if strings.Contains(access, secret) || strings.Contains(errors, secret) != logged {
				t.Errorf("logged at level error %t: %s is in one of them, or not:\n%s\n%s", logged, secret, access, errors)
			}
		}
	}
}

// TestAdminBehindNginx: what nginx passes on to the admin listener needs the token, with the configuration of
// docs/operate/README.md and without what that sets. Probes need none. A start without a token logs who can read what.
func TestAdminBehindNginx(t *testing.T) {
	nginx := findNginx(t)
	const secret = "0123456789abcdef"
	for _, token := range []string{"", secret} {
		var log bytes.Buffer
		_, admin, stop := startLogging(t, environment{"ADMIN_TOKEN": token}, &log)
		for _, documented := range []bool{true, false} {
			front := ports.Free(t)
			replaced := []string{
				"127.0.0.1:9090", strings.TrimPrefix(admin, "http://"),
				"listen 9443 ssl;", "listen " + front + ";", "ssl_", "# ssl_",
			}
			if !documented {
				replaced = append(replaced, "proxy_set_header", "# proxy_set_header", "proxy_http_version 1.1", "proxy_http_version 1.0")
			}
			runNginx(t, nginx, "docs/operate/README.md", replaced...)
			base := "http://" + front
			eventually(t, "nginx answers", func() bool { return answers(base+"/livez") == nil })
			for _, tt := range []struct {
				method, path, token string
				open, closed        int // what a gateway without and with a token answers
			}{
				{"GET", "/admin/usage", "", 403, 401},
				{"GET", "/admin/usage", secret, 403, 200},
				{"PUT", "/admin/log-level", "", 403, 401},
				{"PUT", "/admin/log-level", secret, 403, 400}, // since it names no level
				{"GET", "/readyz", "", 200, 200},
			} {
				want := tt.open
				if token != "" {
					want = tt.closed
				}
				res, body, err := askAs(tt.method, base+tt.path, "Authorization", "Bearer "+tt.token)
				if err != nil || res.StatusCode != want {
					t.Errorf("documented %t, ADMIN_TOKEN %q: %s %s with %q: got %v %s, %v, want %d",
						documented, token, tt.method, tt.path, tt.token, res, body, err, want)
				}
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "anyone on this machine can read client names") != (token == "") {
			t.Errorf("with the token %q, the log says of the admin listener:\n%s", token, &log)
		}
	}
}

// TestHealthChecksOfLegacyHosts: a load balancer that checks by a host name of the earlier v3 finds the service
// healthy, whatever has become of that version: at the gateway itself, and through the nginx of the page.
func TestHealthChecksOfLegacyHosts(t *testing.T) {
	nginx := findNginx(t)
	if !slices.Contains(servedVersions(), "v3legacy") {
		t.Skip("the earlier v3 was deleted: see TestRetiredVersions")
	}
	const old = "legacy.example"
	at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format(time.RFC3339) }
	for name, tt := range map[string]struct {
		plan string
		want int // of a quote
	}{
		"active":     {`{"versions": {}}`, http.StatusOK},
		"a brownout": {planOf("v3legacy", at(48*time.Hour), `, "brownouts": [{"from": "`+at(-time.Hour)+`", "to": "`+at(time.Hour)+`", "share": 1}]`), http.StatusGone},
		"retired":    {planOf("v3legacy", at(-time.Hour), ""), http.StatusGone},
	} {
		base, admin, _ := start(t, environment{"LEGACY_HOSTS": old, "LIFECYCLE_FILE": tempFile(t, tt.plan), "TRUSTED_PROXIES": "127.0.0.1"})
		front, instance := ports.Free(t), strings.TrimPrefix(base, "http://")
		startNginx(t, nginx, front, []string{instance, ports.Free(t)})
		for url, want := range map[string]int{
			base + healthPath: http.StatusOK, "http://" + front + healthPath: http.StatusOK, admin + "/readyz": http.StatusOK,
			base + quotePath: tt.want, "http://" + front + quotePath: tt.want,
		} {
			r, err := http.NewRequest(http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = old
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s: %s as %s: got %d, want %d", name, url, old, res.StatusCode, want)
			}
		}
	}
}
