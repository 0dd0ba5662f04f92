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
)

// A signal to reload that comes just before the end is under way while the service
// closes. What the reload makes is closed too.
func TestReloadDuringTheShutdown(t *testing.T) {
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
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
	deployment := filepath.Join(t.TempDir(), "deployment.json")
	writeFile(t, deployment, string(reference))
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
	// Another receiver: the fees are asked for anew, which takes as long as it takes.
	const receiver = "0x25b3Af079309a5477760AC0405107952d11c8fd9"
	changed := strings.Replace(string(reference), receiver, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", 1)
	writeFile(t, deployment, changed)
	hang.Store(true)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-asked
	cancel()
	close(slow)
	s.close()
	log.queue.Close(context.Background())
	if s.core.Load() == first {
		t.Error("the reload made nothing, so that nothing was tested")
	}
	fees.CloseClientConnections()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(before, goleak.IgnoreTopFunction("os/signal.loop")); err != nil {
		t.Error(err)
	}
}

// A hangup while the service drains does not end the process before its time.
func TestHangupWhileDraining(t *testing.T) {
	cmd, base := process(t, "DRAIN_DELAY=2s")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it drains", func() bool {
		status, _ := get(t, base+"/v3/swap/healthcheck")
		return status == http.StatusServiceUnavailable
	})
	for range 3 {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want a proper end", err)
	}
}
