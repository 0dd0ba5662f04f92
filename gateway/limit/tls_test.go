package limit

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/quotegate/quotegate/testdata/journal"
)

// With TLS a server must have a certificate, unless the URL says that any will
// do. What it says is checked as without.
func TestTLS(t *testing.T) {
	pages := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1, of an authority that nobody trusts
	defer pages.Close()
	start := func(lie func([]string) (string, bool)) *liar {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return startLiarAt(t, tls.NewListener(l, &tls.Config{Certificates: pages.TLS.Certificates}), lie)
	}
	honest := start(func([]string) (string, bool) { return "", false })
	lying := start(func([]string) (string, bool) { return "*9223372036854775807\r\n", true })
	for _, tt := range []struct {
		url  string
		want Backend
		logs string
	}{
		{"rediss://" + honest.addr + "?skip_verify=true", Redis, "counting in Redis"},
		{"rediss+cluster://" + honest.addr + "?skip_verify=true", Redis, "counting in Redis"},
		{"rediss+sentinel://" + honest.addr + "/main?skip_verify=true", Redis, "counting in Redis"},
		{"rediss://" + honest.addr, Fallback, "unknown authority"},
		{"rediss+cluster://" + honest.addr, Fallback, "unknown authority"},
		{"rediss+sentinel://" + honest.addr + "/main", Fallback, "unknown authority"},
		{"redis://" + honest.addr, Fallback, "does not answer"},
		{"rediss://" + lying.addr + "?skip_verify=true", Fallback, errBadReply.Error()},
	} {
		var j journal.Journal
		l := newSharedLimiter(t, tt.url, logTo(&j), newClock(), calm)
		if got := l.Stats().Backend; got != tt.want || j.Count(tt.logs) != 1 {
			t.Errorf("%s: got %s and a log of %s, want %s and %q", tt.url, got, j.String(), tt.want, tt.logs)
		}
		wantStatus(t, get(guarded(l), alice), 200)
	}
}
