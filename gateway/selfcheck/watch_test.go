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
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/testdata/journal"
	"github.com/quotegate/quotegate/testdata/node"
)

// The log tells of a change once, and a failed test counts until it passes.
func TestWatch(t *testing.T) {
	messenger := find(t, optimism, "messenger")
	front := node.NewFront(t, newEVM(t, optimism, types.GenesisAlloc{messenger: {}}))
	g := newRig(t, map[chain.ID][]*node.Front{optimism: {front}})
	w := NewWatch(deployment, g.Client, g.logger())
	if w.Results() == nil || w.Problems() != nil {
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
		w.round(t.Context())
		if got := w.Problems(); !slices.Equal(got, round.problems) {
			t.Errorf("%s: got the problems %q, want %q", round.name, got, round.problems)
		}
		if failed, passing := g.log.Count(fails), g.log.Count(passes); failed != round.failed || passing != round.passing {
			t.Errorf("%s: got %d and %d lines, want %d and %d:\n%s", round.name, failed, passing, round.failed, round.passing, g.log.String())
		}
		g.hush(strings.Join(w.Problems(), "\n"))
	}
}

// A round that is given up changes nothing.
func TestWatchGivesUp(t *testing.T) {
	front := node.NewFront(t, newEVM(t, optimism, types.GenesisAlloc{common.Address{1}: {}}))
	g := newRig(t, map[chain.ID][]*node.Front{optimism: {front}})
	w := NewWatch(deployment, g.Client, g.logger())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ctx)
	if got := w.Results(); len(got) != 0 || g.log.String() != "" {
		t.Errorf("got %v and the log %s", got, g.log.String())
	}
}

func TestWatchRuns(t *testing.T) {
	g := newRig(t, nil)
	w := NewWatch(deployment, g.Client, g.logger())
	ctx, cancel := context.WithCancel(t.Context())
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

// TestBugInATest: a panic in the test of a chain fails that test, and is logged. There
// is one for every chain here, as there is no client to ask through.
func TestBugInATest(t *testing.T) {
	var out journal.Journal
	before := guard.Total()
	results := OnChain(t.Context(), deployment, nil, slog.New(slog.NewTextHandler(&out, nil)))
	if len(results) != len(chain.Networks()) || int(guard.Total()-before) != len(results) {
		t.Errorf("got %d results and %d panics", len(results), guard.Total()-before)
	}
	for _, r := range results {
		if r.Outcome != Failed || !strings.Contains(r.Detail, "bug") {
			t.Errorf("got %+v, want a failure", r)
		}
	}
	if !strings.Contains(out.String(), "testing a chain") {
		t.Errorf("the log is %s", out.String())
	}
}
