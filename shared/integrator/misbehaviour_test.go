package integrator

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// words builds a registry's answer from its three words.
func words(wallet, fee, active string) string {
	return fmt.Sprintf(`"0x%064s%064s%064s"`, wallet, fee, active)
}

// aborts closes the connection in the middle of the answer.
func aborts(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, `{"jsonrpc":`)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// drops closes the connection instead of answering.
func drops(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }

// pours never stops answering.
func pours(w http.ResponseWriter, _ *http.Request) {
	io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x`)
	for zeros := bytes.Repeat([]byte("0"), 1<<16); ; {
		if _, err := w.Write(zeros); err != nil {
			return
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such key: "+r.URL.Path+r.URL.RawQuery+r.Host, code) // as providers do
	}
}

func echoes(w http.ResponseWriter, r *http.Request) {
	says(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit of %s%s"}}`, r.Host, r.URL.Path))(w, r)
}

// misbehaviours are answers to eth_call that must not be accepted.
func misbehaviours(t *testing.T) []misbehaviour {
	good, elsewhere := fmt.Sprintf("%x", wallet(1)), newFront(t, newEVM(t, 369, partner(1, 9)))
	return []misbehaviour{
		{"drops the connection", drops, Unreachable},
		{"breaks off", aborts, Undecodable},
		{"internal error", status(500), Refused},
		{"rate limit", status(429), Refused},
		{"unknown key", status(401), Refused},
		{"sends elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, string(elsewhere.url()), http.StatusTemporaryRedirect)
		}, Refused},
		{"JSON-RPC error", echoes, Refused},
		{"revert with a reason", says(`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"paused","data":"0x"}}`), Reverted},
		{"revert without", says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Execution Reverted"}}`), Reverted},
		{"nothing", says(""), Undecodable},
		{"text", says("OK"), Undecodable},
		{"a web page", says("<html><body>Welcome</body></html>"), Undecodable},
		{"null", says("null"), Undecodable},
		{"a list", says("[]"), Undecodable},
		{"an empty object", says("{}"), Undecodable},
		{"no result", results(`null`), Undecodable},
		{"a number", results(`96`), Undecodable},
		{"an object", results(`{"wallet":"0x01"}`), Undecodable},
		{"no hex", results(`"zz"`), Undecodable},
		{"endless", pours, Undecodable},
		{"no contract", results(`"0x"`), Undecodable},
		{"two words", results(fmt.Sprintf(`"0x%0128s"`, "1")), Undecodable},
		{"a byte short", results(fmt.Sprintf(`"0x%0190s"`, "1")), Undecodable},
		{"four words", results(fmt.Sprintf(`"0x%0256s"`, "1")), Undecodable},
		{"more than an address", results(words("1"+good, "19", "1")), Undecodable},
		{"more than a uint16", results(words(good, "10000", "1")), Undecodable},
		{"more than a bool", results(words(good, "19", "2")), Undecodable},
		{"far more than a bool", results(words(good, "19", "1"+strings.Repeat("0", 63))), Undecodable},
		{"another wallet", results(words(fmt.Sprintf("%x", wallet(3)), "19", "1")), Misconfigured},
		{"far too high a fee", results(words(good, "3e9", "1")), Misconfigured},
	}
}

type misbehaviour struct {
	name    string
	instead http.HandlerFunc
	reason  Reason
}

// Whatever an endpoint does wrong, there is no fee, nothing is remembered, and
// all is well as soon as it does it right.
func TestMisbehavingEndpoint(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	for _, m := range misbehaviours(t) {
		t.Run(m.name, func(t *testing.T) {
			g := newRig(t, front)
			front.instead("eth_call", m.instead)
			e, retry := g.wantUnverified(1, m.reason), time.Second
			if !m.reason.skipsEndpoint() {
				retry = time.Minute
			}
			if e.RetryAfter != retry {
				t.Errorf("retry after %v, want %v", e.RetryAfter, retry)
			}
			state, rests := Unused, 0
			switch {
			case m.reason.skipsEndpoint():
				state, rests = Failing, 1
			case m.name == "far too high a fee":
				state = Working
			}
			if got, want := g.Health()[2], (Health{Network: 369, State: state, Endpoints: 1, Resting: rests}); got != want {
				t.Errorf("health %+v, want %+v", got, want)
			}
			if m.reason.skipsEndpoint() {
				calls := front.count("eth_call")
				if e := g.wantUnverified(1, Resting); e.RetryAfter != time.Second {
					t.Errorf("retry after %v, want a second", e.RetryAfter)
				}
				if got := front.count("eth_call") - calls; got != 0 {
					t.Errorf("%d calls of a resting endpoint, want 0", got)
				}
			}
			front.instead("eth_call", nil)
			g.pass(time.Second)
			g.wantFee(1, 25)
			if got, want := g.Health()[2], (Health{Network: 369, State: Working, Endpoints: 1}); got != want {
				t.Errorf("health %+v, want %+v", got, want)
			}
		})
	}
}

// The second endpoint answers for the first, which is left alone for a while.
func TestFailover(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369, partner(1, 25), partner(2, 30))
	first, second := newFront(t, node), newFront(t, node)
	for _, m := range misbehaviours(t) {
		if m.name == "far too high a fee" {
			continue // an answer, though a bad one
		}
		t.Run(m.name, func(t *testing.T) {
			first.instead("eth_call", m.instead)
			g := newRig(t, first, second)
			g.wantFee(1, 25)

			calls := first.count("eth_call")
			g.wantFee(2, 30)
			want := 1
			if m.reason.skipsEndpoint() {
				want = 0
			}
			if got := first.count("eth_call") - calls; got != want {
				t.Errorf("the first endpoint was asked %d times more, want %d", got, want)
			}

			first.instead("eth_call", nil)
			g.pass(30 * time.Second)
			calls = second.count("eth_call")
			g.wantFee(1, 25)
			if got := second.count("eth_call") - calls; got != 0 {
				t.Errorf("the second endpoint was asked %d times more though the first one works again", got)
			}
		})
	}
}

func TestCertificateNotAccepted(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(hangs))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	cfg := config()
	cfg.RPC369 = []SecretURL{SecretURL("https://" + secret + "@" + server.Listener.Addr().String() + "/" + secret)}
	g := newRigWith(t, cfg, patient)
	if e := g.wantUnverified(1, Unreachable); !strings.Contains(e.Error(), "its certificate is not accepted") {
		t.Errorf("got %v, want the certificate named", e)
	}
}

func TestConnection(t *testing.T) {
	for want, err := range map[string]error{
		"its host name does not resolve": &net.DNSError{Err: "no such host", Name: secret},
		"connection refused":             &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"connection reset":               &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		"no connection, or a broken one": &net.OpError{Op: "dial", Err: syscall.ENETUNREACH},
	} {
		if got := classify(err); got.reason != Unreachable || got.text != want {
			t.Errorf("%v: got %v, want %s: %s", err, got, Unreachable, want)
		}
	}
}
