package selfcheck

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// A change is logged once, and a failed test counts until it passes.
func TestWatch(t *testing.T) {
	messenger := find(t, optimism, "messenger")
	front := node.NewFront(t, newEVM(t, optimism, types.GenesisAlloc{messenger: {}}))
	g := newRig(t, map[chain.ID][]*node.Front{optimism: {front}})
	w := NewWatch(deployment, g.Client, g.logger())
	if len(w.Results()) != 0 || w.Problems() != nil {
		t.Errorf("before the first round: got %v and %v", w.Results(), w.Problems())
	}
	const (
		fails, passes = "self-check: a test fails", "self-check: a test that failed passes now"
		noContract    = "there is no contract at this address"
	)
	problem := "Chain 10, messenger " + messenger.Hex() + ": " + noContract
	for _, round := range []struct {
		name            string
		change          func()
		problems        []string
		failed, passing int // lines so far
	}{
		{"no contract", func() {}, []string{problem}, 1, 0},
		{"the same", func() {}, []string{problem}, 1, 0},
		{"the endpoint is down", func() { front.Instead("eth_chainId", node.Status(500)) }, []string{"Chain 10, endpoint 1: HTTP status 500", problem}, 2, 0},
		{"down in another way", func() { front.Instead("eth_chainId", node.Status(502)) }, []string{"Chain 10, endpoint 1: HTTP status 502", problem}, 3, 0},
		{"up again", func() { front.Instead("eth_chainId", nil) }, []string{problem}, 3, 1},
		{"a contract", func() { front.Instead("eth_getCode", node.Results(`"0x60"`)) }, nil, 3, 2},
		{"the same again", func() {}, nil, 3, 2},
	} {
		round.change()
		w.test(t.Context())
		if got := w.Problems(); !slices.Equal(got, round.problems) {
			t.Errorf("%s: got the problems %q, want %q", round.name, got, round.problems)
		}
		if failed, passing := g.log.Count(fails), g.log.Count(passes); failed != round.failed || passing != round.passing {
			t.Errorf("%s: got %d and %d lines, want %d and %d:\n%s", round.name, failed, passing, round.failed, round.passing, g.log.String())
		}
		g.hush(strings.Join(w.Problems(), "\n"))
		// A missing contract stays missing until an endpoint reports otherwise.
		if got, want := w.Missing(optimism, messenger), slices.Contains(round.problems, problem); got != want {
			t.Errorf("%s: missing is %v, want %v", round.name, got, want)
		}
	}
}

// A contract is missing if the endpoints that answer agree on it, and no other is.
func TestMissing(t *testing.T) {
	messenger, token := find(t, optimism, "messenger"), find(t, optimism, "token USDC")
	there := newEVM(t, optimism, nil)
	without := func(address common.Address, account types.Account) *node.EVM {
		return newEVM(t, optimism, types.GenesisAlloc{address: account})
	}
	fronts := func(nodes ...*node.EVM) (list []*node.Front) {
		for _, n := range nodes {
			list = append(list, node.NewFront(t, n))
		}
		return list
	}
	empty := without(messenger, types.Account{})
	down := node.NewFront(t, there)
	down.Instead("eth_chainId", node.Status(500))
	for _, c := range []struct {
		name             string
		endpoints        []*node.Front
		messenger, token bool
	}{
		{"all is there", fronts(there), false, false},
		{"no endpoint", nil, false, false},
		{"none answers", []*node.Front{down}, false, false},
		{"no messenger", fronts(empty), true, false},
		{"no token", fronts(without(token, types.Account{})), false, true},
		{"an EIP-7702 account", fronts(without(messenger, delegated())), true, false},
		{"the one that answers", append(fronts(empty), down), true, false},
		{"they agree", fronts(empty, without(messenger, delegated())), true, false},
		{"they differ", fronts(there, empty), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, map[chain.ID][]*node.Front{optimism: c.endpoints})
			w := NewWatch(deployment, g.Client, g.logger())
			w.test(t.Context())
			after := NewWatch(deployment, g.Client, g.logger())
			after.Inherit(w)
			for _, w := range []*Watch{w, after} {
				if m, tok := w.Missing(optimism, messenger), w.Missing(optimism, token); m != c.messenger || tok != c.token {
					t.Errorf("got messenger %v and token %v, want %v and %v", m, tok, c.messenger, c.token)
				}
				if sooner := w.pause() == time.Minute; sooner != (c.messenger || c.token) {
					t.Errorf("the next round is in %s", w.pause())
				}
				if w.Missing(base, messenger) || w.Missing(optimism, common.Address{}) {
					t.Error("what is not tested is missing")
				}
			}
		})
	}
}

// A reload keeps a missing contract while no endpoint answers, except where none is configured.
func TestInherit(t *testing.T) {
	messenger := find(t, optimism, "messenger")
	missing := node.NewFront(t, newEVM(t, optimism, types.GenesisAlloc{messenger: {}}))
	down := node.NewFront(t, newEVM(t, optimism, nil))
	down.Instead("eth_chainId", node.Status(500))
	g := newRig(t, map[chain.ID][]*node.Front{optimism: {missing}})
	before := NewWatch(deployment, g.Client, g.logger())
	before.test(t.Context())
	for _, fronts := range [][]*node.Front{{down}, nil} {
		g := newRig(t, map[chain.ID][]*node.Front{optimism: fronts})
		after := NewWatch(deployment, g.Client, g.logger())
		after.Inherit(before)
		if got := after.Results(); len(got) != len(fronts) {
			t.Errorf("%d endpoints: inherited %v", len(fronts), got)
		}
		after.test(t.Context())
		if got := after.Missing(optimism, messenger); got != (len(fronts) > 0) {
			t.Errorf("%d endpoints: missing is %v", len(fronts), got)
		}
	}
}

// A cancelled round changes nothing. Run makes the first one at once.
func TestWatchRuns(t *testing.T) {
	g := newRig(t, nil)
	w := NewWatch(deployment, g.Client, g.logger())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ctx)
	if got := w.Results(); len(got) != 0 || g.log.String() != "" {
		t.Errorf("got %v and the log %s", got, g.log.String())
	}
	ctx, cancel = context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		w.Run(ctx)
		close(ended)
	}()
	for deadline := time.Now().Add(time.Minute); len(w.Results()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was tested within a minute")
		}
	}
	cancel()
	<-ended
}

// broken is a context that panics at the first call of an endpoint.
type broken struct{ context.Context }

func (broken) Deadline() (time.Time, bool) { panic("a bug") }

// A panic in the test of an endpoint fails that test, and is logged.
func TestBugAtAnEndpoint(t *testing.T) {
	g := newRig(t, map[chain.ID][]*node.Front{optimism: {node.NewFront(t, newEVM(t, optimism, nil))}})
	before := safego.Panics()
	var found Result
	for _, r := range OnChain(broken{t.Context()}, deployment, g.Client, g.logger()) {
		if r.What == Endpoint && r.Chain == optimism {
			found = r
		}
	}
	if found.Outcome != Failed || found.Detail != bug || safego.Panics() != before+1 {
		t.Errorf("got %+v and %d panics", found, safego.Panics()-before)
	}
	if !strings.Contains(g.log.String(), "testing an endpoint") {
		t.Errorf("the log is %s", g.log.String())
	}
}

// TestBugInATest: a panic in the test of a chain fails that test, and is logged. There
// is one for every chain here, as there is no client.
func TestBugInATest(t *testing.T) {
	var out journal.Journal
	before := safego.Panics()
	results := OnChain(t.Context(), deployment, nil, slog.New(slog.NewTextHandler(&out, nil)))
	if len(results) != len(chain.Networks()) || int(safego.Panics()-before) != len(results) {
		t.Errorf("got %d results and %d panics", len(results), safego.Panics()-before)
	}
	for _, r := range results {
		if r.Outcome != Failed || !strings.Contains(r.Detail, "internal error") {
			t.Errorf("got %+v, want a failure", r)
		}
	}
	if !strings.Contains(out.String(), "testing a chain") {
		t.Errorf("the log is %s", out.String())
	}
}
