package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// A reload of unchanged files builds nothing: a change of the plan needs the same signal, and
// the pages and documents of a core take megabytes to build. A reload in progress while the
// service closes leaves nothing open.
func TestReload(t *testing.T) {
	asked, slow := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var hang atomic.Bool
	fees := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hang.Load() {
			once.Do(func() { close(asked) })
			<-slow
		}
		http.Error(w, "no fees here", http.StatusInternalServerError)
	}))
	defer fees.Close()
	reference := string(chain.ReferenceFile())
	deployment := tempFile(t, reference)
	cfg, err := readConfig(t.Context(), environment{"DEPLOYMENT_FILE": deployment, "ISSUER_FEE_URL": fees.URL})
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	log := newLogs(cfg, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := newService(ctx, cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	s.reloadOnHangup(ctx, cfg)
	first := s.core.Load()
	if s.reload(ctx, cfg); s.core.Load() != first {
		t.Error("nothing has changed, and there is a new core")
	}

	// Another receiver: the fees are looked up again, which takes a while.
	const receiver = "0x25b3Af079309a5477760AC0405107952d11c8fd9"
	writeFile(t, deployment, strings.Replace(reference, receiver, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", 1))
	hang.Store(true)
	hangUp(t)
	<-asked
	cancel()
	close(slow)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	log.queue.Close(time.Minute)
	if s.core.Load() == first {
		t.Error("the reload made nothing, so that nothing was tested")
	}
	fees.CloseClientConnections()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(before, goleak.IgnoreTopFunction("os/signal.loop")); err != nil {
		t.Error(err)
	}
}

// A request that came just before a reload replaced the core is answered by the old one, which is closed when the
// service stops, if not before. The issuer's fees go on with the new one, as the settlement is the same.
func TestReloadLeavesTheOldCoreOpen(t *testing.T) {
	url, _, release := slowNode(t)
	release()
	reference := string(chain.ReferenceFile())
	deployment := tempFile(t, reference)
	cfg, err := readConfig(t.Context(), environment{"DEPLOYMENT_FILE": deployment, "RPC_URLS_369": url})
	if err != nil {
		t.Fatal(err)
	}
	log := newLogs(cfg, io.Discard)
	defer log.queue.Close(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := newService(ctx, cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	old := s.core.Load()
	closing := make(chan struct{})
	stopChecks := old.stopChecks
	old.stopChecks = func() {
		close(closing)
		stopChecks()
	}
	writeFile(t, deployment, strings.Replace(reference, `"name": "reference`, `"name": "another`, 1))
	s.reload(ctx, cfg)
	if after := s.core.Load(); after == old || after.issuer != old.issuer {
		t.Errorf("got the core %p after %p, want another one with the same issuer", after, old)
	}
	select {
	case <-closing:
		t.Error("the old core is closed while requests may use it")
	case <-time.After(100 * time.Millisecond): // time for a mistake; it should take drainTimeout
	}
	w := httptest.NewRecorder()
	const partner = "&integratorId=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359" // its node is asked
	old.public.ServeHTTP(w, httptest.NewRequest(http.MethodGet, quotePath+partner, nil))
	wantContains(t, w.Body.String(), `"integrator":{"percentage":0.25,"amount":"250000"`)
	cancel()
	if err := s.close(); err != nil {
		t.Error(err)
	}
	<-closing
}

// The files of a running service are rewritten. Pipes without a writer do not block it, an
// invalid file also blocks the valid ones that belong to it, and valid ones are used.
func TestHangupReloadsFiles(t *testing.T) {
	const (
		oldRouter = "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"
		newRouter = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
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
	env := environment{"RATE_LIMIT": "0"}
	for name, text := range first {
		env[name] = filepath.Join(dir, name)
		writeFile(t, env[name], text)
	}
	var log journal.Journal
	base, _, stop := startLogging(t, env, &log)
	replace := func(name, text string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, "new"), text)
		if err := os.Rename(filepath.Join(dir, "new"), env[name]); err != nil {
			t.Fatal(err)
		}
	}
	wantQuote := func(router, reason string) {
		t.Helper()
		_, body := get(t, base+quotePath+"&include=details&from=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
		wantContains(t, body, `"to":"`+router, reason)
	}
	wantStatus := func(want int, path, key string) {
		t.Helper()
		if got, _, _ := getWith(t, base+path, "API-Key", key); got != want {
			t.Errorf("got %d for %s, want %d", got, path, want)
		}
	}
	const unset, failing = "no RPC endpoint is configured", "temporarily unavailable"
	wantQuote(oldRouter, unset)
	wantStatus(200, quotePath, revoked)
	wantStatus(401, quotePath, key)
	wantStatus(200, quotes+quoteQuery, revoked)

	for name := range first {
		if err := os.Remove(env[name]); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(env[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logged := func(text string) {
		t.Helper()
		before := log.Count(text)
		hangUp(t)
		eventually(t, text, func() bool { return log.Count(text) > before })
	}
	const kept, reloaded = "are not reloaded", "endpoints are reloaded"
	logged(kept)
	replace("DEPLOYMENT_FILE", strings.Replace(reference, oldRouter, newRouter, 1))
	replace("RPC_FILE", first["RPC_FILE"])
	replace("CLIENTS_FILE", lastLine(printedLater))
	replace("LIFECYCLE_FILE", planOf(version, "2021-01-01T00:00:00Z", `, "immediate": true`))
	logged(reloaded)
	wantQuote(newRouter, unset)
	if _, listing := get(t, base+"/v3/app/routers"); strings.Contains(listing, oldRouter) {
		t.Errorf("the listing is not the new one: %s", listing)
	}
	wantStatus(401, quotePath, revoked)
	wantStatus(200, quotePath, key)
	wantStatus(410, quotes+quoteQuery, key)

	// An invalid deployment also blocks valid endpoints.
	replace("DEPLOYMENT_FILE", `{"name": "broken"}`)
	replace("RPC_FILE", `{"endpoints": {"1": ["`+front.SecretURL()+`"]}}`)
	replace("CLIENTS_FILE", lastLine(printed))
	logged(kept)
	wantStatus(200, quotePath, revoked)
	wantQuote(newRouter, unset)
	replace("DEPLOYMENT_FILE", reference)
	logged(reloaded)
	wantQuote(oldRouter, failing)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), node.Secret) {
		t.Error("the log has the URL of an endpoint")
	}
}
