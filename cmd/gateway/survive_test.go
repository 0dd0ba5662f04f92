package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// sabotaged has each piece of work panic once: the first time, or the second where
// the first is the start of a loop.
type sabotaged struct {
	mu    sync.Mutex
	loops []string
	seen  map[string]int
}

func (s *sabotaged) panic(what string) {
	s.mu.Lock()
	s.seen[what]++
	at := 1
	if slices.Contains(s.loops, what) {
		at = 2
	}
	now := s.seen[what] == at
	s.mu.Unlock()
	if now {
		panic("sabotage of " + what)
	}
}

// missing are the pieces of work that have not panicked yet.
func (s *sabotaged) missing(all []string) (missing []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range all {
		if s.seen[what] == 0 || slices.Contains(s.loops, what) && s.seen[what] < 2 {
			missing = append(missing, what)
		}
	}
	return missing
}

// TestEveryGoroutineSurvives runs a service in which every piece of background work
// panics once, and does all that starts one. It answers afterwards, and does again what
// had panicked.
func TestEveryGoroutineSurvives(t *testing.T) {
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":2000,"minimumFee":0}]`)
	}))
	defer issuer.Close()
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	defer node.Close()

	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	known := filepath.Join(dir, "clients.json")
	version, quotes := oldest(t) // so that any version can be deleted
	writeFile(t, plan, planOf(version, "2026-02-01T00:00:00Z", `, "gate": {"maxClients": 0, "maxCallsPerDay": 0}`))
	deployment := filepath.Join(dir, "deployment.json")
	writeFile(t, deployment, readText(t, "../../shared/chain/reference.json"))
	writeFile(t, known, `{"clients": [{"name": "Acme", "match": ["agent:go-http-client"]}]}`)

	sabotage := &sabotaged{seen: map[string]int{}, loops: []string{
		"looking an issuer fee up", "watching the connections", "writing the counts", "writing the log",
	}}
	// These run while the service starts, and the others would keep it from starting.
	atStart := []string{"looking an issuer fee up", "testing a chain", "testing an endpoint"}
	// All but the loops around them, in which nothing happens that is not guarded by itself.
	all := append(slices.Clone(atStart),
		"accepting a connection", "counting connections", "watching the connections", "reloading", "closing what a reload replaced",
		"writing the log", "the report of a request", "polling the plan", "reading a gate", "collecting metrics",
		"writing the counts", "writing the counts for a page", "looking an integrator up", "looking a swap up",
	)
	started := false
	restore := safego.InjectPanics(func(what string) {
		sabotage.mu.Lock()
		now := slices.Contains(atStart, what) || started && slices.Contains(all, what)
		sabotage.mu.Unlock()
		if now {
			sabotage.panic(what)
		}
	})
	defer restore()
	before := safego.Panics()
	base, admin, stop := start(t, map[string]string{
		"USAGE_DB": filepath.Join(dir, "usage.db"), "LIFECYCLE_FILE": plan, "CLIENTS_FILE": known, "ADMIN_TOKEN": "a-token-of-some-length",
		"DEPLOYMENT_FILE": deployment, "RATE_LIMIT": "0", "ISSUER_FEE_URL": issuer.URL, "RPC_URLS_369": node.URL, "RPC_URLS_1": node.URL,
	})
	sabotage.mu.Lock()
	started = true
	sabotage.seen["writing the counts"] = 1 // their loops have begun
	sabotage.seen["writing the log"] = 1
	sabotage.seen["watching the connections"] = 1
	sabotage.mu.Unlock()

	visit := func(url string) { // whatever comes of it: connections end too
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer a-token-of-some-length")
		if answer, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}
	old := quotes + quoteQuery
	transaction := "/v3/swap/status?srcChain=1&txHash=0x" + strings.Repeat("ab", 32)
	planText, knownText, deploymentText := readText(t, plan), readText(t, known), readText(t, deployment)
	deadline := time.Now().Add(4 * time.Minute)
	for round := 0; len(sabotage.missing(all)) > 0; round++ {
		if time.Now().After(deadline) {
			t.Fatalf("not reached: %s", strings.Join(sabotage.missing(all), ", "))
		}
		for _, url := range []string{
			base + quotePath, base + old, base + quotePath + "&integratorId=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", base + transaction,
			admin + "/metrics", admin + "/", admin + "/clients",
		} {
			visit(url)
		}
		number := strconv.Itoa(round) // changed each time, so that it is read
		writeFile(t, plan, strings.Replace(planText, "migrate", "migrate-"+number, 1))
		writeFile(t, known, strings.Replace(knownText, "Acme", "Acme "+number, 1))
		writeFile(t, deployment, strings.Replace(deploymentText, `"name": "reference`, `"name": "reference-`+number, 1))
		runtime.GC()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if caught := safego.Panics() - before; caught < uint64(len(all)) {
		t.Errorf("%d panics were counted, want one for each of %d", caught, len(all))
	}
	if status, body := get(t, base+quotePath); status != http.StatusOK || !strings.Contains(body, `"destAmount":"99700000"`) {
		t.Errorf("afterwards: got %d %s", status, body)
	}
	if status, body := get(t, base+old); status != http.StatusOK && status != http.StatusGone {
		t.Errorf("an old version afterwards: got %d %s", status, body)
	}
	restore()
	if err := stop(); err != nil {
		t.Errorf("the service ended with %v", err)
	}
}

// slipping is a listener that panics once before it accepts.
type slipping struct {
	net.Listener
	slipped atomic.Bool
}

func (l *slipping) Accept() (net.Conn, error) {
	if !l.slipped.Swap(true) {
		panic("a slip")
	}
	return l.Listener.Accept()
}

// TestServerSurvives: panics while accepting, in the callback that counts connections,
// and in a handler are survived, logged and counted, and the server goes on.
func TestServerSurvives(t *testing.T) {
	var log journal.Journal
	logger := slog.New(slog.NewTextHandler(&log, nil))
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slip" {
			panic("a slip")
		}
		io.WriteString(w, "fine")
	}), writeTimeout, logger)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	var none *connections // counting in it panics
	none.watch(watching, server, logger)
	before := safego.Panics()
	ended := make(chan error, 1)
	go func() { ended <- serveOn(server, &slipping{Listener: plain}, logger) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (string, error) {
		res, err := client.Get("http://" + plain.Addr().String() + path)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	}
	if _, err := get("/slip"); err == nil {
		t.Error("a handler that panicked has answered")
	}
	if text, err := get("/"); text != "fine" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if safego.Panics() < before+3 {
		t.Errorf("counted %d panics", safego.Panics()-before)
	}
	for _, want := range []string{"accepting a connection", "counting connections", "answering a request", "survive_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing from the log", want)
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != http.ErrServerClosed {
		t.Errorf("the server ended with %v", err)
	}
}
