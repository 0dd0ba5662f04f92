package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// simple is a node of chain 369 that gives every call and balance the same
// answer, in batches too.
var simple = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if bytes.HasPrefix(body, []byte("[")) {
		var answers []string
		for _, q := range questions(body) {
			answers = append(answers, q.answer())
		}
		node.Says("["+strings.Join(answers, ",")+"]")(w, r)
		return
	}
	node.Says(questions([]byte("[" + string(body) + "]"))[0].answer())(w, r)
})

type question struct {
	ID     json.RawMessage
	Method string
}

func questions(batch []byte) (qs []question) {
	if err := json.Unmarshal(batch, &qs); err != nil {
		panic(err) // the front has read it already
	}
	return qs
}

func (q question) answer() string {
	result := map[string]string{"eth_chainId": "0x171", "eth_call": "0x2a", "eth_getBalance": "0x7"}[q.Method]
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%q}`, q.ID, result)
}

func (q question) refusal(code int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no, %s"}}`, q.ID, code, node.Secret)
}

// rig is a Client with a clock that the test moves, and with everything it tells
// the outside recorded. A secret in any of that fails the test.
type rig struct {
	*Client
	t testing.TB

	mu      sync.Mutex
	time    time.Time
	logged  journal.Journal
	secrets []string
}

// patient has no deadline that a slow machine could meet.
var patient = Limits{Try: time.Minute, Total: time.Minute, Calls: 16, Waiting: 128}

// newRig asks chain 369 through these endpoints.
func newRig(t testing.TB, fronts ...*node.Front) *rig {
	return newRigWith(t, map[Lane]Limits{Partners: patient, Unverified: patient, Wallets: patient}, fronts...)
}

func newRigWith(t testing.TB, limits map[Lane]Limits, fronts ...*node.Front) *rig {
	t.Helper()
	g := &rig{t: t, time: time.Unix(1_800_000_000, 0), secrets: []string{node.Secret}}
	cfg := make(Config)
	for _, f := range fronts {
		cfg[369] = append(cfg[369], SecretURL(f.SecretURL()))
		g.secrets = append(g.secrets, strings.TrimPrefix(strings.TrimPrefix(f.URL, "http://"), "https://"))
	}
	log := slog.New(slog.NewJSONHandler(&g.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := New(cfg, Options{Log: log, Now: g.now, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	g.Client = c
	t.Cleanup(func() {
		c.Close()
		g.hush("the log", g.log())
		g.hush("the health report", fmt.Sprintf("%+v", c.Health(369, ordinary...)))
	})
	return g
}

func (g *rig) note(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *rig) log() string { return g.logged.String() }

// levels are those of the lines logged so far.
func (g *rig) levels() (levels []slog.Level) {
	g.t.Helper()
	for line := range strings.Lines(g.log()) {
		var entry struct {
			Level    slog.Level
			Chain    int
			Endpoint int
			Lane     string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			g.t.Fatal(err)
		}
		if entry.Chain != 369 || entry.Endpoint != 1 || entry.Lane == "" {
			g.t.Errorf("%s does not name endpoint 1 of chain 369, and a lane", line)
		}
		levels = append(levels, entry.Level)
	}
	return levels
}

func (g *rig) now() (now time.Time) {
	g.note(func() { now = g.time })
	return now
}

func (g *rig) pass(d time.Duration) { g.note(func() { g.time = g.time.Add(d) }) }

// hush fails the test when text gives an endpoint away.
func (g *rig) hush(where, text string) {
	g.t.Helper()
	for _, s := range g.secrets {
		if strings.Contains(text, s) {
			g.t.Errorf("%s tells %q: %s", where, s, text)
		}
	}
}

var target = common.HexToAddress("0xC0ffee")

// call calls a contract on chain 369.
func (g *rig) call(ctx context.Context, lane Lane) ([]byte, error) {
	return g.use(ctx, lane, func(ctx context.Context, e *Endpoint) ([]byte, error) { return call(ctx, e, []byte{1}) })
}

func (g *rig) use(ctx context.Context, lane Lane, use func(context.Context, *Endpoint) ([]byte, error)) (output []byte, err error) {
	g.t.Helper()
	err = g.Ask(ctx, 369, lane, func(ctx context.Context, e *Endpoint) (err error) {
		output, err = use(ctx, e)
		if err != nil && !errors.As(err, new(*Failure)) {
			g.t.Errorf("a call returned %T, want a failure", err)
		}
		return err
	})
	for e := err; e != nil; e = errors.Unwrap(e) {
		g.hush("the error", e.Error())
	}
	return output, err
}

// wantAnswer wants a call in the lane to succeed.
func (g *rig) wantAnswer(lane Lane) {
	g.t.Helper()
	if got, err := g.call(context.Background(), lane); err != nil || !bytes.Equal(got, []byte{0x2a}) {
		g.t.Fatalf("%s: got %x, %v, want 2a", lane, got, err)
	}
}

// wantFailure wants a call in the lane to fail for that reason.
func (g *rig) wantFailure(lane Lane, reason Reason) *Failure {
	g.t.Helper()
	_, err := g.call(context.Background(), lane)
	return g.wantReason(lane, err, reason)
}

func (g *rig) wantReason(lane Lane, err error, reason Reason) *Failure {
	g.t.Helper()
	var f *Failure
	if !errors.As(err, &f) || f.Reason != reason {
		g.t.Fatalf("%s: got %v, want the reason %s", lane, err, reason)
	}
	if f.RetryAfter < time.Second || f.RetryAfter > time.Minute {
		g.t.Errorf("%s: retry after %v, want between a second and a minute", lane, f.RetryAfter)
	}
	return f
}

// ordinary are all lanes but that of checks.
var ordinary = []Lane{Partners, Unverified, Wallets, TxLookups, Tracking}

// wantHealth wants chain 369 to be in that state with so many resting endpoints,
// as these lanes see it, or all ordinary ones if none is given.
func (g *rig) wantHealth(state State, resting int, lanes ...Lane) {
	g.t.Helper()
	if len(lanes) == 0 {
		lanes = ordinary
	}
	if got := g.Health(369, lanes...); got.State != state || got.Resting != resting {
		g.t.Errorf("health in %v is %+v, want %s with %d resting", lanes, got, state, resting)
	}
}

func call(ctx context.Context, e *Endpoint, data []byte) ([]byte, error) {
	var output hexutil.Bytes
	err := e.ReadAll(ctx, ReadContract(target, data, &output))
	return output, err
}
