package cctp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
)

// onLoopback gives the fees of a service at an address, over the transport
// that is used in production.
func onLoopback(t *testing.T, address string) (*cctp.Fees, *logged) {
	t.Helper()
	log := &logged{}
	f, err := cctp.New(cctp.Config{FeeURL: address}, chain.Reference().Settlement, slog.New(slog.NewTextHandler(log, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, log
}

// settled is the state of a source that was looked up. On a busy machine that
// may take longer than Warm waits.
func settled(t testing.TB, f *cctp.Fees, source chain.ID) cctp.State {
	t.Helper()
	for {
		f.Warm(t.Context())
		if s := state(t, f, source); s.Err != nil || s.Origin == cctp.Live {
			return s
		}
	}
}

func TestOverLoopback(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != "user" || word != "secret" || r.URL.Path != "/base/v2/burn/USDC/fees/11/6" {
			http.Error(w, "who is there?", http.StatusForbidden)
			return
		}
		charge("12.5")(w, r)
	}))
	address := strings.Replace(server.URL, "://", "://user:secret@", 1) + "/base"
	f, log := onLoopback(t, address)
	if s := settled(t, f, linea); s.Origin != cctp.Live || s.Rate != bps(t, "12.5") {
		t.Errorf("got %+v, want a live 12.5 bps", s)
	}
	if s := settled(t, f, optimism); s.Err == nil || s.Err.Error() != "status 403" || s.Origin != cctp.BuiltIn {
		t.Errorf("got %+v, want status 403", s)
	}
	f.Close()
	server.Close()
	down, downLog := onLoopback(t, address)
	if s := settled(t, down, polygon); s.Err == nil || s.Err.Error() != "unreachable" || s.Origin != cctp.BuiltIn {
		t.Errorf("got %+v, want the service to be unreachable", s)
	}
	down.Close()
	if got := log.String() + downLog.String(); strings.Contains(got, "secret") || !strings.Contains(got, "refused") {
		t.Errorf("got log %s, want the cause and no secret", got)
	}
}

func TestACertificateNobodyVouchesFor(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	server := httptest.NewUnstartedServer(charge("77"))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	f, log := onLoopback(t, server.URL)
	if s := settled(t, f, linea); s.Err == nil || s.Err.Error() != "unreachable" || s.Rate != bps(t, "13") {
		t.Errorf("got %+v, want the service to be unreachable", s)
	}
	f.Close()
	if got := log.String(); !strings.Contains(got, "certificate") {
		t.Errorf("got log %s, want the certificate to be the cause", got)
	}
}

// TestARateAllocatesNothing holds the path of every burn's quote to it.
func TestARateAllocatesNothing(t *testing.T) {
	server := httptest.NewServer(charge("7"))
	defer server.Close()
	f, _ := onLoopback(t, server.URL)
	settled(t, f, linea)
	if got := testing.AllocsPerRun(1000, func() { f.Of(linea) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
