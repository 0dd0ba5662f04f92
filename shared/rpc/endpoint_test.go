package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestLongAnswer(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	body := `{"jsonrpc":"2.0","id":1,"result":"0x2a"}`
	longest := strings.Repeat(" ", maxAnswer-len(body)) + body
	front.Instead("eth_call", node.Says(" "+longest))
	g.wantFailure(Unverified, Undecodable)
	front.Instead("eth_call", node.Says(longest))
	g.pass(time.Second)
	g.wantAnswer(Unverified)
}

func TestHangingNode(t *testing.T) {
	t.Parallel()
	hung, alive := node.NewFront(t, simple), node.NewFront(t, simple)
	hung.Instead("eth_call", node.Hangs)
	g := newRigWith(t, nil, hung, alive)
	g.wantAnswer(Unverified)
	g.wantHealth(Working, 1)
}

// A question ends in time even if no endpoint does.
func TestHangingNodes(t *testing.T) {
	t.Parallel()
	var hung []*node.Front
	for range 5 {
		hung = append(hung, node.NewFront(t, http.HandlerFunc(node.Hangs)))
	}
	g := newRigWith(t, map[Lane]Limits{Wallets: {Try: 400 * time.Millisecond, Total: 250 * time.Millisecond, Calls: 1, Waiting: 1}}, hung...)
	if f := g.wantFailure(Wallets, Timeout); strings.Contains(f.Text, "endpoint 5") {
		t.Errorf("%v: the last endpoint is named though it was not asked", f)
	}
	if got := hung[4].Count("eth_chainId"); got != 0 {
		t.Errorf("the last endpoint was asked though the time was up")
	}
}

// An endpoint may close a connection that nobody uses; that is not a failure.
func TestIdleConnectionClosed(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	for range 20 {
		g.wantAnswer(Unverified)
		front.CloseClientConnections()
	}
}

func TestWrongChain(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	front.Instead("eth_chainId", node.Results(`"0x2105"`))
	g := newRig(t, front)
	for range 3 {
		g.wantFailure(Unverified, WrongChain)
		g.pass(30 * time.Second)
	}
	if got := front.Count("eth_call"); got != 0 {
		t.Errorf("%d calls of an endpoint that is skipped, want 0", got)
	}
	if got := g.levels(); len(got) != 1 || got[0] != slog.LevelError {
		t.Errorf("logged at %v, want once at %v:\n%s", got, slog.LevelError, g.log())
	}

	// Somebody puts the right node there.
	front.Instead("eth_chainId", nil)
	g.wantAnswer(Unverified)
	if got := g.levels(); len(got) != 2 || got[1] != slog.LevelInfo {
		t.Errorf("logged at %v, want the recovery too:\n%s", got, g.log())
	}
}

func TestUnclearChain(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	for name, result := range map[string]string{
		"none": `null`, "empty": `""`, "decimal": `"369"`, "number": `369`, "prefix only": `"0x"`, "too long": `"0x1710000000000000000000"`, "zero": `"0x0"`,
	} {
		t.Run(name, func(t *testing.T) {
			front.Instead("eth_chainId", node.Results(result))
			g := newRig(t, front)
			if _, err := g.call(context.Background(), Unverified); err == nil {
				t.Error("asked a node of an unknown chain")
			}
			g.wantHealth(Failing, 1)
		})
	}
	if got := front.Count("eth_call"); got != 0 {
		t.Errorf("%d calls of an endpoint that is skipped, want 0", got)
	}
}

// An endpoint says which chain it serves once, and again to a lane in which it
// failed.
func TestChainIsCheckedOnFirstUse(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	want := func(checks int) {
		t.Helper()
		if got := front.Count("eth_chainId"); got != checks {
			t.Fatalf("%d chain checks, want %d", got, checks)
		}
	}
	want(0)
	g.wantAnswer(Unverified)
	g.wantAnswer(Unverified)
	g.wantAnswer(Partners)
	want(1)
	front.Instead("eth_call", node.Status(500))
	g.wantFailure(Unverified, Refused)
	want(1)
	front.Instead("eth_call", nil)
	g.pass(time.Second)
	g.wantAnswer(Partners)
	want(1)
	g.wantAnswer(Unverified)
	want(2)
}

// What one lane learns about the chain of an endpoint, all lanes know.
func TestWrongChainIsKnownToAllLanes(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	g := newRig(t, front)
	g.wantAnswer(Partners)
	front.Instead("eth_chainId", node.Results(`"0x1"`)) // another node takes its place
	front.Instead("eth_call", node.Drops)
	g.wantFailure(Unverified, Unreachable)
	front.Instead("eth_call", nil)
	g.pass(time.Second)
	g.wantFailure(Unverified, WrongChain)
	calls := front.Count("eth_call")
	g.wantFailure(Partners, WrongChain)
	g.wantFailure(Wallets, WrongChain)
	if got := front.Count("eth_call") - calls; got != 0 {
		t.Errorf("%d calls of a node of another chain, want 0", got)
	}
}

func TestRestsGrowLonger(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	front.Instead("eth_call", node.Status(503))
	g := newRig(t, front)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		if got := g.wantFailure(Partners, Refused).RetryAfter; got != want {
			t.Errorf("retry after %v, want %v", got, want)
		}
		g.pass(want - 1)
		g.wantFailure(Partners, Resting)
		g.pass(1)
	}
	if got := g.levels(); len(got) != 1 || got[0] != slog.LevelWarn {
		t.Errorf("logged at %v, want once at %v", got, slog.LevelWarn)
	}
	front.Instead("eth_call", nil)
	g.wantAnswer(Partners)
	front.Instead("eth_call", node.Status(503))
	if got := g.wantFailure(Partners, Refused).RetryAfter; got != time.Second {
		t.Errorf("retry after %v, want a second: the endpoint had worked in between", got)
	}
}

// Calls that fail together count as one failure.
func TestFailuresTogetherAreOne(t *testing.T) {
	now := time.Unix(0, 0)
	for _, reason := range []Reason{Timeout, Limited} {
		e := &Endpoint{now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
		for range 16 {
			e.failed(Unverified, &Failure{Reason: reason})
		}
		if got := e.resting(Unverified); got != firstRest {
			t.Errorf("%s: rests for %v, want %v", reason, got, firstRest)
		}
	}
}

// What the user of an endpoint returns counts like a failure of the endpoint.
func TestFailureOfTheUser(t *testing.T) {
	t.Parallel()
	first, second := node.NewFront(t, simple), node.NewFront(t, simple)
	for name, test := range map[string]struct {
		err    error
		reason Reason
		rests  int
	}{
		"not what was expected": {&Failure{Reason: Undecodable, Text: "no contract"}, Undecodable, 2},
		"about one question":    {&Failure{Reason: Misconfigured, Text: "another wallet"}, Misconfigured, 0},
		"no failure of ours":    {errors.New(node.Secret), Undecodable, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, first, second)
			tries := 0
			err := g.Ask(context.Background(), 369, Unverified, func(context.Context, *Endpoint) error {
				tries++
				return test.err
			})
			g.hush("the error", err.Error())
			g.wantReason(Unverified, err, test.reason)
			if tries != 2 || g.Health(369, ordinary...).Resting != test.rests {
				t.Errorf("%d tries and health %+v, want 2 tries and %d resting", tries, g.Health(369, ordinary...), test.rests)
			}
		})
	}
}
