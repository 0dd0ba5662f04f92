package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// startNginx runs nginx with the configuration of the page, at other addresses and with
// further replacements.
func startNginx(t *testing.T, nginx, front string, instances []string, replaced ...string) {
	t.Helper()
	blocks, err := pages.Find("../..", "docs/operate/instances.md", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	site := strings.NewReplacer(append(replaced,
		"127.0.0.1:8081", instances[0], "127.0.0.1:8082", instances[1],
		"listen 8080;", "listen "+front+";", "listen [::]:8080;", "",
		"/var/log/nginx/", dir+"/",
	)...).Replace(blocks[0].Text)
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr crit; events {}
http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
%[2]s}`, dir, site)
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
	eventually(t, "nginx answers", func() bool { return answers("http://"+front+"/versions") == nil })
	eventually(t, "nginx logs the request ID at the end of a line", func() bool {
		log, err := os.ReadFile(filepath.Join(dir, "gateway.log"))
		return err == nil && requestID.Match(log)
	})
}

var requestID = regexp.MustCompile(`(?m) [0-9a-f]{32}$`)
