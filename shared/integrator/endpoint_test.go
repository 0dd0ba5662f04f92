package integrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/fault"
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

// misbehaviours are answers to eth_call that must not be believed.
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
			if !m.reason.blamesEndpoint() {
				retry = time.Minute
			}
			if e.RetryAfter != retry {
				t.Errorf("retry after %v, want %v", e.RetryAfter, retry)
			}
			state, rests := Unused, 0
			switch {
			case m.reason.blamesEndpoint():
				state, rests = Failing, 1
			case m.name == "far too high a fee":
				state = Working
			}
			if got, want := g.Health()[2], (Health{Network: 369, State: state, Endpoints: 1, Resting: rests}); got != want {
				t.Errorf("health %+v, want %+v", got, want)
			}
			if m.reason.blamesEndpoint() {
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
			if m.reason.blamesEndpoint() {
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

func TestHangingNode(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369, partner(1, 25))
	hung, alive := newFront(t, node), newFront(t, node)
	hung.instead("eth_call", hangs)
	g := newRigWith(t, config(hung, alive), defaultLimits)
	g.wantFee(1, 25)
	if got := g.Health()[2]; got.Resting != 1 || got.State != Working {
		t.Errorf("health %+v, want one endpoint resting and the chain working", got)
	}
}

// A look-up ends in time even if no endpoint does.
func TestHangingNodes(t *testing.T) {
	t.Parallel()
	var hung []*front
	for range 5 {
		hung = append(hung, newFront(t, http.HandlerFunc(hangs)))
	}
	g := newRigWith(t, config(hung...), limits{try: 40 * time.Millisecond, whole: 100 * time.Millisecond, calls: 1, waiting: 1})
	if e := g.wantUnverified(1, Timeout); strings.Contains(e.Error(), "endpoint 5") {
		t.Errorf("%v: the last endpoint is named though it was not asked", e)
	}
	if got := hung[4].count("eth_chainId"); got != 0 {
		t.Errorf("the last endpoint was asked though the time was up")
	}
}

func TestKilledNode(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	g.wantFee(1, 25)
	front.Close()
	g.wantFee(1, 25)
	g.pass(30 * time.Second)
	g.wantUnverified(1, Unreachable)
	g.wantUnverified(2, Resting)
}

// An endpoint may close a connection that nobody uses; that is not a failure.
func TestIdleConnectionClosed(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	for range 20 {
		g.wantFee(1, 25)
		front.CloseClientConnections()
		g.pass(30 * time.Second)
	}
}

func TestWrongChain(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 8453, partner(1, 25)))
	g := newRig(t, front)
	for range 3 {
		g.wantUnverified(1, WrongChain)
		g.pass(30 * time.Second)
	}
	if got := front.count("eth_call"); got != 0 {
		t.Errorf("%d calls of an endpoint that is not believed, want 0", got)
	}
	if got := g.levels(); len(got) != 1 || got[0] != slog.LevelError {
		t.Errorf("logged at %v, want once at %v:\n%s", got, slog.LevelError, g.log())
	}

	// Somebody puts the right node there.
	front.instead("eth_chainId", results(`"0x171"`))
	front.instead("eth_call", results(words(fmt.Sprintf("%x", wallet(1)), "19", "1")))
	g.wantFee(1, 25)
	if got := g.levels(); len(got) != 2 || got[1] != slog.LevelInfo {
		t.Errorf("logged at %v, want the recovery too:\n%s", got, g.log())
	}
}

func TestUnclearChain(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	for name, result := range map[string]string{
		"none": `null`, "empty": `""`, "decimal": `"369"`, "number": `369`, "prefix only": `"0x"`, "too long": `"0x1710000000000000000000"`, "zero": `"0x0"`,
	} {
		t.Run(name, func(t *testing.T) {
			front.instead("eth_chainId", results(result))
			g := newRig(t, front)
			g.wantFault(1, fault.IntegratorUnverified)
			if got := g.Health()[2].Resting; got != 1 {
				t.Errorf("%d endpoints rest, want 1", got)
			}
		})
	}
	if got := front.count("eth_call"); got != 0 {
		t.Errorf("%d calls of an endpoint that is not believed, want 0", got)
	}
}

// An endpoint says which chain it serves once, and again after it failed.
func TestChainIsCheckedOnFirstUse(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	want := func(checks int) {
		t.Helper()
		if got := front.count("eth_chainId"); got != checks {
			t.Fatalf("%d chain checks, want %d", got, checks)
		}
	}
	want(0)
	g.wantFee(1, 25)
	g.wantFault(2, fault.IntegratorUnregistered)
	g.pass(time.Hour)
	g.wantFee(1, 25)
	want(1)
	front.instead("eth_call", status(500))
	g.wantUnverified(3, Refused)
	want(1)
	front.instead("eth_call", nil)
	g.pass(time.Second)
	g.wantFault(3, fault.IntegratorUnregistered)
	want(2)
}

func TestRestsGrowLonger(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	front.instead("eth_call", status(503))
	g := newRig(t, front)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		if got := g.wantUnverified(1, Refused).RetryAfter; got != want {
			t.Errorf("retry after %v, want %v", got, want)
		}
		g.pass(want - 1)
		g.wantUnverified(1, Resting)
		g.pass(1)
	}
	if got := g.levels(); len(got) != 1 || got[0] != slog.LevelWarn {
		t.Errorf("logged at %v, want once at %v", got, slog.LevelWarn)
	}
	front.instead("eth_call", nil)
	g.wantFee(1, 25)
	front.instead("eth_call", status(503))
	if got := g.wantUnverified(2, Refused).RetryAfter; got != time.Second {
		t.Errorf("retry after %v, want a second: the endpoint had worked in between", got)
	}
}

// Calls that fail together count as one failure.
func TestFailuresTogetherAreOne(t *testing.T) {
	now := time.Unix(0, 0)
	e := &endpoint{now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	for range 16 {
		e.failed(&failure{reason: Timeout})
	}
	if got := e.resting(); got != firstRest {
		t.Errorf("rests for %v, want %v", got, firstRest)
	}
}

// What a real EVM answers when there is something else at the address.
func TestNoRegistryThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code   string
		reason Reason
	}{
		"nothing":                       {"", Undecodable},
		"reverts without a reason":      {"60006000fd", Reverted},
		"reverts with a reason":         {"7f08c379a000000000000000000000000000000000000000000000000000000000600052600460006000a060206000fd", Reverted},
		"runs out of instructions":      {"fe", Refused},
		"answers one word":              {"600160005260206000f3", Undecodable},
		"answers three that are not so": {"60ff60405260606000f3", Undecodable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, newFront(t, newEVMWith(t, 369, func(common.Address) types.Account {
				return types.Account{Code: common.FromHex(test.code), Balance: common.Big0}
			})))
			g.wantUnverified(1, test.reason)
		})
	}
}

// levels are those of the lines logged so far.
func (g *rig) levels() []slog.Level {
	g.t.Helper()
	var levels []slog.Level
	for line := range strings.Lines(g.log()) {
		var entry struct {
			Level    slog.Level
			Chain    int
			Endpoint int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			g.t.Fatal(err)
		}
		if entry.Chain != 369 || entry.Endpoint != 1 {
			g.t.Errorf("%s does not name endpoint 1 of chain 369", line)
		}
		levels = append(levels, entry.Level)
	}
	return levels
}
