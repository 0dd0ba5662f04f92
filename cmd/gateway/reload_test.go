package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/shared/chain"
)

// A reload of files that have not changed builds nothing: whoever changes the plan sends
// the same signal, and the pages and documents of a core take megabytes to make. One
// that is under way while the service closes leaves nothing open.
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

	// Another receiver: the fees are asked for anew, which takes as long as it takes.
	const receiver = "0x25b3Af079309a5477760AC0405107952d11c8fd9"
	writeFile(t, deployment, strings.Replace(reference, receiver, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", 1))
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
