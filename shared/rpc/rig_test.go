package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// simple is a node of chain 369 that gives every call of a method the same answer.
var simple = node.Answers(func(c node.Call) any {
	return map[string]any{
		"eth_chainId": "0x171", "eth_call": "0x2a", "eth_getBalance": "0x7", "eth_getCode": "0x60",
	}[c.Method]
})

// rig is a Client with a clock that the test moves. It records all that the client logs and
// returns; a secret in any of that fails the test.
type rig struct {
	*Client
	*clock.Clock
	t      testing.TB
	fronts []*node.Front // of chain 369
	log    journal.Journal
}

// patient has deadlines that even a slow machine does not reach.
var patient = Limits{Try: time.Minute, Total: time.Minute, Calls: 16, Waiting: 128}

// newRig has this many endpoints of chain 369.
func newRig(t testing.TB, endpoints int) *rig { return newRigWith(t, endpoints, nil) }

// newRigWith has limits of its own in some queues.
func newRigWith(t testing.TB, endpoints int, limits map[Queue]Limits) *rig {
	t.Helper()
	var fronts []*node.Front
	for range endpoints {
		fronts = append(fronts, node.NewFront(t, simple))
	}
	return newRigOf(t, limits, fronts...)
}

func newRigOf(t testing.TB, limits map[Queue]Limits, fronts ...*node.Front) *rig {
	t.Helper()
	g := &rig{t: t, Clock: clock.At(time.Unix(1_800_000_000, 0)), fronts: fronts}
	cfg := make(Config)
	for _, f := range fronts {
		cfg[369] = append(cfg[369], SecretURL(f.SecretURL()))
	}
	all := make(map[Queue]Limits)
	for queue := range Queue(queueCount) {
		all[queue] = patient
		if l, ok := limits[queue]; ok {
			all[queue] = l
		}
	}
	log := slog.New(slog.NewJSONHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := New(cfg, Options{Log: log, Now: g.Now, Limits: all})
	if err != nil {
		t.Fatal(err)
	}
	g.Client = c
	t.Cleanup(func() {
		c.Close()
		g.hush("the log", g.log.String())
		g.hush("the health report", fmt.Sprintf("%+v", c.Health(369, ordinary...)))
	})
	return g
}

// wantLog wants lines of these levels in the log, about endpoint 1 of chain 369.
func (g *rig) wantLog(levels ...slog.Level) {
	g.t.Helper()
	lines := strings.Split(strings.TrimSpace(g.log.String()), "\n")
	if len(lines) != len(levels) {
		g.t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(levels), g.log.String())
	}
	for i, line := range lines {
		var entry struct {
			Level           slog.Level
			Chain, Endpoint int
			Queue           string
		}
		err := json.Unmarshal([]byte(line), &entry)
		if err != nil || entry.Level != levels[i] || entry.Chain != 369 || entry.Endpoint != 1 || entry.Queue == "" {
			g.t.Errorf("line %d: got %s, want %s about endpoint 1 of chain 369, and a queue", i+1, line, levels[i])
		}
	}
}

// calls is how many contract calls an endpoint has received.
func (g *rig) calls(endpoint int) int { return g.fronts[endpoint].Count("eth_call") }

// hush fails the test if text reveals an endpoint.
func (g *rig) hush(where, text string) {
	g.t.Helper()
	for _, secret := range []string{node.Secret, "127.0.0.1"} {
		if strings.Contains(text, secret) {
			g.t.Errorf("%s tells %q: %s", where, secret, text)
		}
	}
}

var target = common.HexToAddress("0xC0ffee")

// use calls chain 369.
func (g *rig) use(ctx context.Context, queue Queue, use func(context.Context, *Endpoint) error) error {
	g.t.Helper()
	err := g.Ask(ctx, Question{Network: 369, Queue: queue}, use)
	if err != nil {
		g.hush("the error", err.Error())
	}
	return err
}

// call calls a contract on chain 369.
func (g *rig) call(ctx context.Context, queue Queue) (output hexutil.Bytes, err error) {
	g.t.Helper()
	err = g.use(ctx, queue, func(ctx context.Context, e *Endpoint) error {
		return e.ReadAll(ctx, ReadContract(target, []byte{1}, &output))
	})
	return output, err
}

// wantAnswer wants a call in each of these queues to succeed.
func (g *rig) wantAnswer(queues ...Queue) {
	g.t.Helper()
	for _, queue := range queues {
		if got, err := g.call(context.Background(), queue); err != nil || !bytes.Equal(got, []byte{0x2a}) {
			g.t.Fatalf("%s: got %x, %v, want 2a", queue, got, err)
		}
	}
}

// wantFailure wants a call in the queue to fail for that reason.
func (g *rig) wantFailure(queue Queue, reason Reason) *Failure {
	g.t.Helper()
	_, err := g.call(context.Background(), queue)
	return g.wantReason(err, reason)
}

// wantRetry wants a RetryAfter of this length.
func (g *rig) wantRetry(queue Queue, reason Reason, after time.Duration) {
	g.t.Helper()
	if got := g.wantFailure(queue, reason).RetryAfter; got != after {
		g.t.Errorf("%s: retry after %v, want %v", queue, got, after)
	}
}

func (g *rig) wantReason(err error, reason Reason) *Failure {
	g.t.Helper()
	var f *Failure
	if !errors.As(err, &f) || f.Reason != reason {
		g.t.Fatalf("got %v, want the reason %s", err, reason)
	}
	if f.RetryAfter < time.Second || f.RetryAfter > time.Minute {
		g.t.Errorf("retry after %v, want between a second and a minute", f.RetryAfter)
	}
	return f
}

// ordinary are all queues but that of checks.
var ordinary = []Queue{Partners, Unverified, Wallets, TxLookups, Tracking}

// wantHealth wants chain 369 to be in that state with so many resting endpoints,
// as these queues see it, or all ordinary ones if none is given.
func (g *rig) wantHealth(state State, resting int, queues ...Queue) {
	g.t.Helper()
	if len(queues) == 0 {
		queues = ordinary
	}
	if got := g.Health(369, queues...); got.State != state || got.Resting != resting {
		g.t.Errorf("health in %v is %+v, want %s with %d resting", queues, got, state, resting)
	}
}
