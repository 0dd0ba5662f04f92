package rpc

import (
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

	"github.com/quotegate/quotegate/shared/testkit/node"
)

type misbehaviour struct {
	name    string
	instead http.HandlerFunc
	reason  Reason
}

// misbehaviours are answers to eth_call that must not be accepted.
func misbehaviours(t *testing.T) []misbehaviour {
	elsewhere := node.NewFront(t, simple)
	return []misbehaviour{
		{"drops the connection", node.Drops, Unreachable},
		{"breaks off", node.Aborts, Undecodable},
		{"internal error", node.Status(500), Refused},
		{"unknown key", node.Status(401), Refused},
		{"sends elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.SecretURL(), http.StatusTemporaryRedirect)
		}, Refused},
		{"over the quota", node.Status(429), Limited},
		{"over the quota in JSON", node.RPCError(429), Limited},
		{"limit exceeded", node.RPCError(-32005), Limited},
		{"JSON-RPC error", node.RPCError(-32000), Refused},
		{"revert with a reason", node.Says(`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"paused","data":"0x"}}`), Reverted},
		{"revert without", node.Says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Execution Reverted"}}`), Reverted},
		{"nothing", node.Says(""), Undecodable},
		{"text", node.Says("OK"), Undecodable},
		{"a web page", node.Says("<html><body>Welcome</body></html>"), Undecodable},
		{"null", node.Says("null"), Undecodable},
		{"a list", node.Says("[]"), Undecodable},
		{"an empty object", node.Says("{}"), Undecodable},
		{"no result", node.Results(`null`), Undecodable},
		{"a number", node.Results(`96`), Undecodable},
		{"an object", node.Results(`{"wallet":"0x01"}`), Undecodable},
		{"no hex", node.Results(`"zz"`), Undecodable},
		{"endless", node.Pours, Undecodable},
	}
}

// Whatever an endpoint does wrong, there is no answer, and all is well as soon as
// it does it right.
func TestMisbehavingEndpoint(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	for _, m := range misbehaviours(t) {
		t.Run(m.name, func(t *testing.T) {
			g := newRig(t, front)
			front.Instead("eth_call", m.instead)
			f, retry := g.wantFailure(Wallets, m.reason), time.Second
			if !m.reason.RestsEndpoint() {
				retry = time.Minute
			}
			if f.RetryAfter != retry {
				t.Errorf("retry after %v, want %v", f.RetryAfter, retry)
			}
			switch {
			case m.reason == Limited:
				g.wantHealth(OverQuota, 1)
			case m.reason.RestsEndpoint():
				g.wantHealth(Failing, 1)
			default:
				g.wantHealth(Unused, 0)
			}
			if m.reason.RestsEndpoint() {
				calls := front.Count("eth_call")
				if f := g.wantFailure(Wallets, Resting); f.RetryAfter != time.Second {
					t.Errorf("retry after %v, want a second", f.RetryAfter)
				}
				if got := front.Count("eth_call") - calls; got != 0 {
					t.Errorf("%d calls of a resting endpoint, want 0", got)
				}
			}
			front.Instead("eth_call", nil)
			g.pass(time.Second)
			g.wantAnswer(Wallets)
			g.wantHealth(Working, 0)
		})
	}
}

// The second endpoint answers for the first, which is left alone for a while, but
// only in the lane in which it failed or which gives way.
func TestFailover(t *testing.T) {
	t.Parallel()
	first, second := node.NewFront(t, simple), node.NewFront(t, simple)
	seen := map[Reason]bool{}
	for _, m := range misbehaviours(t) {
		if seen[m.reason] {
			continue
		}
		seen[m.reason] = true
		t.Run(m.name, func(t *testing.T) {
			first.Instead("eth_call", m.instead)
			g := newRig(t, first, second)
			wantUse := func(lane Lane, want bool) {
				t.Helper()
				calls := first.Count("eth_call")
				g.wantAnswer(lane)
				if got := first.Count("eth_call") > calls; got != want {
					t.Errorf("%s: the first endpoint was asked: %t, want %t", lane, got, want)
				}
			}
			again := !m.reason.RestsEndpoint()
			wantUse(Unverified, true)
			wantUse(Unverified, again)
			wantUse(Partners, true)
			wantUse(Partners, again)
			wantUse(Wallets, m.reason != Limited)

			first.Instead("eth_call", nil)
			g.pass(30 * time.Second)
			calls := second.Count("eth_call")
			for lane := range Lane(laneCount) {
				wantUse(lane, true)
			}
			if got := second.Count("eth_call") - calls; got != 0 {
				t.Errorf("the second endpoint was asked %d times more though the first one works again", got)
			}
		})
	}
}

func TestCertificateNotAccepted(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(node.Hangs))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	g := newRig(t, &node.Front{Server: server})
	if f := g.wantFailure(Unverified, Unreachable); !strings.Contains(f.Text, "invalid TLS certificate") {
		t.Errorf("got %v, want the certificate named", f)
	}
}

func TestConnection(t *testing.T) {
	for want, err := range map[string]error{
		"host name does not resolve": &net.DNSError{Err: "no such host", Name: node.Secret},
		"connection refused":         &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"connection reset":           &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		"connection failed":          &net.OpError{Op: "dial", Err: syscall.ENETUNREACH},
	} {
		if got := classify(fmt.Errorf("calling: %w", err)); got.Reason != Unreachable || got.Text != want {
			t.Errorf("%v: got %v, want %s: %s", err, got, Unreachable, want)
		}
	}
}
