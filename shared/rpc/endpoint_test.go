package rpc

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// misbehaviours are answers to eth_call that must not be accepted.
var misbehaviours = map[string]struct {
	instead http.HandlerFunc
	reason  Reason
	ofRead  bool // the endpoint has answered, and the failure is that of one read
}{
	"drops the connection":   {node.Drops, Unreachable, false},
	"breaks off":             {node.Aborts, Undecodable, false},
	"internal error":         {node.Status(500), Refused, false},
	"unknown key":            {node.Status(401), Refused, false},
	"sends elsewhere":        {redirect, Refused, false},
	"over the quota":         {node.Status(429), Limited, false},
	"over the quota in JSON": {node.RPCError(429), Limited, false},
	"limit exceeded":         {node.RPCError(-32005), Limited, false},
	"JSON-RPC error":         {node.RPCError(-32000), Refused, true},
	"revert with a reason":   {node.RPCError(3), Reverted, true},
	"revert without": {
		node.Says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Execution Reverted"}}`), Reverted, true,
	},
	"nothing":         {node.Says(""), Undecodable, false},
	"a web page":      {node.Says("<html><body>Welcome</body></html>"), Undecodable, false},
	"null":            {node.Says("null"), Undecodable, true},
	"a list":          {node.Says("[]"), Undecodable, false},
	"an empty object": {node.Says("{}"), Undecodable, true},
	"no result":       {node.Results(`null`), Undecodable, true},
	"a number":        {node.Results(`96`), Undecodable, true},
	"an object":       {node.Results(`{"wallet":"0x01"}`), Undecodable, true},
	"no hex":          {node.Results(`"zz"`), Undecodable, true},
	"endless":         {node.Pours, Undecodable, false},
	"a byte too long": {node.Says(strings.Repeat(" ", maxAnswer+1-len(answer)) + answer), Undecodable, false},
}

const answer = `{"jsonrpc":"2.0","id":1,"result":"0x2a"}`

func redirect(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/elsewhere" {
		node.Says(answer)(w, r)
		return
	}
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

// However an endpoint misbehaves, its answer is not used, and another endpoint is. The queue
// skips the endpoint for a while, unless the failure is about this one question; other queues
// do only if they yield. One correct answer ends that.
func TestMisbehavingEndpoint(t *testing.T) {
	t.Parallel()
	for name, m := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 1)
			front := g.fronts[0]
			front.Instead("eth_call", m.instead)
			if m.reason.restsEndpoint() {
				g.wantRetry(Wallets, m.reason, time.Second)
				calls := g.calls(0)
				g.wantRetry(Wallets, Resting, time.Second)
				if got := g.calls(0) - calls; got != 0 {
					t.Errorf("%d calls of a resting endpoint, want 0", got)
				}
				state := Failing
				if m.reason == Limited {
					state = OverQuota
				}
				g.wantHealth(state, 1)
			} else {
				g.wantRetry(Wallets, m.reason, time.Minute)
				g.wantHealth(Unused, 0)
			}
			front.Instead("eth_call", nil)
			g.Advance(time.Second)
			g.wantAnswer(Wallets)
			g.wantHealth(Working, 0)

			g = newRig(t, 2)
			g.fronts[0].Instead("eth_call", m.instead)
			wantUse := func(queue Queue, want bool) {
				t.Helper()
				calls := g.calls(0)
				g.wantAnswer(queue)
				if got := g.calls(0) > calls; got != want {
					t.Errorf("%s: the first endpoint was asked: %t, want %t", queue, got, want)
				}
			}
			again := !m.reason.restsEndpoint()
			wantUse(Unverified, true)
			wantUse(Unverified, again)
			wantUse(Partners, true)
			wantUse(Partners, again)
			wantUse(Wallets, m.reason != Limited)
			g.fronts[0].Instead("eth_call", nil)
			g.Advance(30 * time.Second)
			for queue := range Queue(queueCount) {
				wantUse(queue, true)
			}
		})
	}
}

// The longest answer that is accepted, and an idle connection that the endpoint closes, are no
// failures.
func TestNoFailures(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	g.fronts[0].Instead("eth_call", node.Says(strings.Repeat(" ", maxAnswer-len(answer))+answer))
	for range 20 {
		g.wantAnswer(Unverified)
		g.fronts[0].CloseClientConnections()
	}
}

// A question ends in time, even if no endpoint answers. If an endpoint is too slow for one
// queue, the others still use it.
func TestHangingNodes(t *testing.T) {
	t.Parallel()
	short := Limits{Try: 50 * time.Millisecond, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, 1, map[Queue]Limits{Wallets: short})
	g.wantAnswer(Partners)
	g.fronts[0].Instead("eth_call", node.Hangs)
	g.wantFailure(Wallets, Timeout)
	g.wantFailure(Wallets, Resting)
	g.fronts[0].Instead("eth_call", nil)
	g.wantHealth(Failing, 1)
	g.wantHealth(Working, 0, Partners, Unverified)
	g.wantAnswer(Partners, Unverified)
	g.wantHealth(Failing, 1, Wallets)

	short.Try = 2 * time.Second // in which the second endpoint answers on a busy machine
	g = newRigWith(t, 2, map[Queue]Limits{Wallets: short})
	g.fronts[0].Instead("eth_chainId", node.Hangs)
	g.wantAnswer(Wallets)
	g.wantHealth(Working, 1)

	tooShort := Limits{Try: 400 * time.Millisecond, Total: 250 * time.Millisecond, Calls: 1, Waiting: 1}
	g = newRigWith(t, 5, map[Queue]Limits{Wallets: tooShort})
	for _, front := range g.fronts {
		front.Instead("eth_chainId", node.Hangs)
	}
	f := g.wantFailure(Wallets, Timeout)
	if strings.Contains(f.Text, "endpoint 5") || g.fronts[4].Count("eth_chainId") != 0 {
		t.Errorf("%v: the last endpoint was asked though the time was up", f)
	}
	g.wantHealth(Unused, 0) // they may have had too little time
}

// The chain of an endpoint is verified before anything else, once, and again after a failure.
func TestChainIsChecked(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	front := g.fronts[0]
	wantChecks := func(want int) {
		t.Helper()
		if got := front.Count("eth_chainId"); got != want {
			t.Fatalf("%d chain checks, want %d", got, want)
		}
	}
	wantChecks(0)
	g.wantAnswer(Unverified, Unverified, Partners)
	wantChecks(1)
	front.Instead("eth_call", node.Status(500))
	g.wantFailure(Unverified, Refused)
	front.Instead("eth_call", nil)
	g.Advance(time.Second)
	g.wantAnswer(Partners, Unverified)
	wantChecks(2)
	g.wantLog(slog.LevelWarn, slog.LevelInfo)

	front.Instead("eth_call", node.Drops)
	g.wantFailure(Unverified, Unreachable)
	front.Instead("eth_call", nil)
	front.Instead("eth_chainId", node.Results(`"0x1"`)) // another node takes its place
	g.Advance(time.Second)
	calls := g.calls(0)
	for _, queue := range []Queue{Unverified, Partners, Wallets} {
		if f := g.wantFailure(queue, WrongChain); !strings.Contains(f.Text, "it serves chain 1") {
			t.Errorf("got %v", f)
		}
	}
	if got := g.calls(0) - calls; got != 0 {
		t.Errorf("%d calls of a node of another chain, want 0", got)
	}
	g.Advance(30 * time.Second)
	g.wantFailure(Unverified, WrongChain)
	if got := g.log.Count(`"ERROR"`); got != 3 {
		t.Errorf("%d errors in the log, want one for each queue:\n%s", got, g.log.String())
	}
	front.Instead("eth_chainId", nil) // somebody puts the right node there
	g.Advance(30 * time.Second)
	g.wantAnswer(Unverified)
}

func TestUnclearChain(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`null`, `""`, `"369"`, `369`, `"0x"`, `"0x1710000000000000000000"`, `"0x0"`} {
		g := newRig(t, 1)
		g.fronts[0].Instead("eth_chainId", node.Results(result))
		if _, err := g.call(t.Context(), Unverified); err == nil || g.calls(0) != 0 {
			t.Errorf("%s: a node of an unknown chain was asked", result)
		}
		g.wantHealth(Failing, 1)
	}
}

func TestRestsGrowLonger(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	g.fronts[0].Instead("eth_call", node.Status(503))
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		rest := seconds * time.Second
		g.wantRetry(Partners, Refused, rest)
		g.Advance(rest - 1)
		g.wantFailure(Partners, Resting)
		g.Advance(1)
	}
	g.wantLog(slog.LevelWarn)
	g.fronts[0].Instead("eth_call", nil)
	g.wantAnswer(Partners)
	g.fronts[0].Instead("eth_call", node.Status(503))
	g.wantRetry(Partners, Refused, time.Second) // it had worked in between

	// Concurrent failures count as one.
	for _, reason := range []Reason{Timeout, Limited} {
		e := &Endpoint{now: g.Now, log: slog.New(slog.DiscardHandler)}
		for range 16 {
			e.failed(Unverified, &Failure{Reason: reason})
		}
		if got := e.resting(Unverified); got != firstRest {
			t.Errorf("%s: rests for %v, want %v", reason, got, firstRest)
		}
	}
}

// The failure of a question names every endpoint and why it has no answer, also while it is skipped for that. A
// question to one endpoint does not name it.
func TestEveryEndpointIsNamed(t *testing.T) {
	t.Parallel()
	g := newRig(t, 2)
	g.fronts[0].Instead("eth_call", node.Status(503))
	g.fronts[1].Instead("eth_call", node.Limited("7"))
	for _, want := range []string{
		"endpoint 1: HTTP status 503; endpoint 2: HTTP status 429",
		"endpoint 1: HTTP status 503 (skipped for 1s); endpoint 2: HTTP status 429 (skipped for 7s)",
	} {
		_, err := g.call(t.Context(), Wallets)
		if f, _ := errors.AsType[*Failure](err); f == nil || f.Text != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	err := g.Ask(t.Context(), Question{Network: 369, Queue: Partners, Endpoint: 1}, func(ctx context.Context, e *Endpoint) error {
		return e.ReadAll(ctx, ReadContract(target, nil, new(hexutil.Bytes)))
	})
	if f := g.wantReason(err, Refused); f.Text != "HTTP status 503" {
		t.Errorf("got %v of one endpoint", f)
	}
	if got := Details(slices.Repeat([]string{"x"}, maxDetails+2)); got != "x; x; x; x; x; x; x; x; and 2 more" {
		t.Errorf("got %s, want a bound", got)
	}
}

// A *Failure that the caller returns counts as a failure of the endpoint.
func TestFailureOfTheUser(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		reason Reason
		rests  int
		state  State
	}{
		"not what was expected": {&Failure{Reason: Undecodable, Text: "no contract"}, Undecodable, 2, Failing},
		"about one question":    {&Failure{Reason: Misconfigured, Text: "another wallet"}, Misconfigured, 0, Unused},
		"no failure of ours":    {errors.New(node.Secret), Undecodable, 2, Failing},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, 2)
			tries := 0
			err := g.use(t.Context(), Unverified, func(context.Context, *Endpoint) error {
				tries++
				return test.err
			})
			g.wantReason(err, test.reason)
			g.wantHealth(test.state, test.rests)
			if tries != 2 {
				t.Errorf("%d tries, want 2", tries)
			}
		})
	}
}

// When any queue is rate limited, all queues that yield pause; partners pause only if they were
// rate limited themselves. A call that was in progress does not end the pause.
func TestOverQuotaOthersYield(t *testing.T) {
	t.Parallel()
	for told := range Queue(queueCount) {
		t.Run(told.String(), func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 1)
			err := g.use(t.Context(), told, func(context.Context, *Endpoint) error {
				g.fronts[0].Instead("eth_call", node.Limited("5"))
				g.wantFailure(told, Limited)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			g.wantHealth(OverQuota, 1)
			g.fronts[0].Instead("eth_call", nil)
			for queue := range Queue(queueCount) {
				if queue == Partners && told != Partners {
					g.wantAnswer(queue)
				} else {
					g.wantRetry(queue, Resting, 5*time.Second)
				}
			}
			g.Advance(5 * time.Second)
			for queue := range Queue(queueCount) {
				g.wantAnswer(queue)
			}
			g.wantHealth(Working, 0)
		})
	}
}

// While the provider keeps rate limiting, partners retry each second, and the other queues less
// and less often, even if a call has worked in between, until a minute has passed without
// another 429.
func TestPartnersRecoverFirst(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	limited := func(queue Queue, rest time.Duration) {
		t.Helper()
		g.fronts[0].Instead("eth_call", node.Limited("1"))
		g.wantRetry(queue, Limited, rest)
		g.fronts[0].Instead("eth_call", nil)
		g.Advance(rest)
		g.wantAnswer(queue, queue)
	}
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		limited(Unverified, seconds*time.Second)
	}
	for range 3 {
		limited(Partners, time.Second)
	}
	g.Advance(coolDown)
	g.wantAnswer(Unverified)
	limited(Unverified, time.Second)
}

func TestQuotaIsLoggedOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	for range 9 {
		g.fronts[0].Instead("eth_call", node.Limited("1"))
		g.wantFailure(Partners, Limited)
		g.fronts[0].Instead("eth_call", nil)
		g.Advance(time.Minute)
		g.wantAnswer(Partners, Unverified)
	}
	g.wantLog(slog.LevelWarn)
	g.Advance(time.Minute)
	g.fronts[0].Instead("eth_call", node.Limited("1"))
	g.wantFailure(Wallets, Limited)
	g.wantLog(slog.LevelWarn, slog.LevelWarn)
}

// A block is too old to be the latest one after twenty usual blocks, and at least two minutes.
// A block of the future is not, whatever time a node sends.
func TestBlockTooOld(t *testing.T) {
	const now = 1_800_000_000
	for name, test := range map[string]struct {
		network chain.ID
		time    uint64
		want    bool
	}{
		"a slow chain, just in time":  {1, now - 240, false},
		"a slow chain, a second late": {1, now - 241, true},
		"a fast chain, just in time":  {42161, now - 120, false},
		"a fast chain, a second late": {42161, now - 121, true},
		"no time":                     {1, 0, true},
		"the future":                  {1, now + 100_000_000, false},
		"no time that a clock shows":  {1, math.MaxUint64, false},
	} {
		block := &Block{Time: hexutil.Uint64(test.time)}
		if got := block.TooOld(test.network, time.Unix(now, 0)); got != test.want {
			t.Errorf("%s: got %t of a block of %v", name, got, block.At())
		}
	}
}
