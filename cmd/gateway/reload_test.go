package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

// TestHangupReloadsDeploymentAndEndpoints rewrites the files of a running process:
// good ones count as a whole, bad ones not at all.
func TestHangupReloadsDeploymentAndEndpoints(t *testing.T) {
	const (
		oldRouter = "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"
		newRouter = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		recipient = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	)
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	deployment, endpoints := filepath.Join(dir, "deployment.json"), filepath.Join(dir, "endpoints.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(deployment, string(reference))
	write(endpoints, `{"endpoints": {}}`)
	cmd, base := process(t, "DEPLOYMENT_FILE="+deployment, "RPC_FILE="+endpoints, "RATE_LIMIT=0")
	hangup := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	type answer struct {
		To      string
		Details struct{ Reason string }
	}
	quote := func() (a answer) {
		t.Helper()
		getJSON(t, base+"/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&include=details&from="+recipient+"&recipient="+recipient, &a)
		return a
	}
	if a := quote(); a.To != oldRouter || !strings.Contains(a.Details.Reason, "has no RPC endpoint") {
		t.Fatalf("got %+v at first", a)
	}

	write(deployment, strings.Replace(string(reference), oldRouter, newRouter, 1))
	hangup()
	eventually(t, "the new router is quoted", func() bool { return quote().To == newRouter })
	var listing struct{ Data []struct{ Router string } }
	getJSON(t, base+"/v3/app/routers", &listing)
	if !strings.Contains(mustJSON(t, listing), newRouter) || strings.Contains(mustJSON(t, listing), oldRouter) {
		t.Errorf("the listing is not the new one: %+v", listing)
	}

	// A bad deployment keeps the good endpoints out, too.
	front := node.NewFront(t, http.HandlerFunc(node.Status(500)))
	write(deployment, `{"name": "broken"}`)
	write(endpoints, `{"endpoints": {"1": ["`+front.SecretURL()+`"]}}`)
	hangup()
	write(deployment, string(reference)) // read by the next signal only
	if a := quote(); a.To != newRouter || !strings.Contains(a.Details.Reason, "has no RPC endpoint") {
		t.Errorf("got %+v after a bad file", a)
	}
	hangup()
	eventually(t, "the endpoints are used", func() bool { return strings.Contains(quote().Details.Reason, "could not be read") })
	if a := quote(); a.To != oldRouter {
		t.Errorf("got %+v once both files are good", a)
	}
}

// A reload of files that have not changed builds nothing: whoever changes the plan sends
// the same signal, and the pages and documents of a core take megabytes to make.
func TestReloadOfUnchangedFiles(t *testing.T) {
	deployment := filepath.Join(t.TempDir(), "deployment.json")
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, deployment, string(reference))
	cfg, err := readConfig(t.Context(), environment{"DEPLOYMENT_FILE": deployment})
	if err != nil {
		t.Fatal(err)
	}
	log := newLogs(cfg, io.Discard)
	defer log.queue.Close(t.Context())
	s, err := newService(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	first := s.core.Load()
	if s.reload(t.Context(), cfg); s.core.Load() != first {
		t.Error("nothing has changed, and there is a new core")
	}
	writeFile(t, deployment, strings.Replace(string(reference), "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", 1))
	if s.reload(t.Context(), cfg); s.core.Load() == first {
		t.Error("a router has changed, and the core has not")
	}
}

// TestHangupWithAPipe puts a pipe that nobody writes to in the place of each file.
// The service says so, goes on, and reads the files that come back.
func TestHangupWithAPipe(t *testing.T) {
	const oldRouter, newRouter = "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	good := map[string]string{"DEPLOYMENT_FILE": string(reference), "RPC_FILE": `{"endpoints": {}}`, "CLIENTS_FILE": `{"clients": []}`, "LIFECYCLE_FILE": `{"versions": {}}`}
	env := []string{"RATE_LIMIT=0"}
	for name, text := range good {
		writeFile(t, filepath.Join(dir, name), text)
		env = append(env, name+"="+filepath.Join(dir, name))
	}
	cmd, base := process(t, env...)
	hangup := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	for name := range good {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hangup()
	for name, text := range good {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, strings.Replace(text, oldRouter, newRouter, 1))
	}
	eventually(t, "the new router is quoted", func() bool {
		hangup() // two signals at once count as one
		var a struct{ To string }
		getJSON(t, base+"/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", &a)
		return a.To == newRouter
	})
}

// getJSON decodes an answer.
func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, into); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %s (%v)", url, res.StatusCode, body, err)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHealthWhileDraining: an instance that is about to end still quotes, and its
// public health check tells load balancers to send elsewhere.
func TestHealthWhileDraining(t *testing.T) {
	base, _, stop := start(t, map[string]string{"DRAIN_DELAY": "3s"})
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	var health struct{ Status string }
	eventually(t, "the health check says that it drains", func() bool {
		res, err := http.Get(base + "/v3/swap/healthcheck")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&health); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode == http.StatusServiceUnavailable
	})
	if health.Status != "draining" {
		t.Errorf("got status %q", health.Status)
	}
	if err := askOnce(base + quotePath); err != nil {
		t.Errorf("it does not quote any more: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
