package rpc

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

// A loop that continues gets all endpoints that answer, and none of those counts as failed.
// Err is the failure of the last one that failed, and nil if the loop was left.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		broken int // this endpoint drops the connection
		until  int // this endpoint ends the loop
		want   []int
		err    bool
	}{
		"all answer":             {0, 0, []int{1, 2, 3}, false},
		"the first fails":        {1, 0, []int{2, 3}, true},
		"the last fails":         {3, 0, []int{1, 2}, true},
		"the second is enough":   {0, 2, []int{1, 2}, false},
		"enough after a failure": {1, 2, []int{2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 3)
			if test.broken > 0 {
				g.fronts[test.broken-1].Instead("eth_call", node.Drops)
			}
			var answered []int
			attempts := g.Try(Question{Network: 369, Queue: Wallets})
			for ctx, e := range attempts.Each(t.Context()) {
				if err := e.ReadAll(ctx, ReadContract(target, nil, new(hexutil.Bytes))); err != nil {
					attempts.Failed(err)
					continue
				}
				answered = append(answered, e.Place)
				if e.Place == test.until {
					break
				}
			}
			if !slices.Equal(answered, test.want) {
				t.Errorf("got the answers of %v, want those of %v", answered, test.want)
			}
			if err := attempts.Err(); test.err {
				g.wantReason(err, Unreachable)
			} else if err != nil {
				t.Error(err)
			}
			g.wantHealth(Working, min(test.broken, 1), Wallets)
		})
	}
}

// If the time of a question is up after an answer, the other endpoints are not called, and Err
// says so.
func TestNoTimeForTheOthers(t *testing.T) {
	t.Parallel()
	g := newRig(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	attempts := g.Try(Question{Network: 369, Queue: Wallets})
	asked := 0
	for range attempts.Each(ctx) {
		asked++
		cancel()
	}
	g.wantReason(attempts.Err(), Timeout)
	if asked != 1 {
		t.Errorf("asked %d endpoints, want 1", asked)
	}
	g.wantHealth(Working, 0)
}

// check reads the code of a contract from one endpoint.
func (g *rig) check(place int) error {
	g.t.Helper()
	var code hexutil.Bytes
	err := g.Ask(context.Background(), Question{Network: 369, Queue: Checks, Endpoint: place}, func(ctx context.Context, e *Endpoint) error {
		return e.ReadAll(ctx, ReadCode(target, &code))
	})
	if err != nil {
		g.hush("the error", err.Error())
	} else if !bytes.Equal(code, []byte{0x60}) {
		g.t.Errorf("endpoint %d: got the code %s, want 60", place, code)
	}
	return err
}

// A check calls the endpoint that it names, and always verifies its chain. If it fails, the
// endpoint is not skipped, not even by the next check, and nothing is logged.
func TestCheck(t *testing.T) {
	t.Parallel()
	g := newRig(t, 2)
	front := g.fronts[1]
	for range 2 {
		if err := g.check(2); err != nil {
			t.Error(err)
		}
	}
	if first, second := g.fronts[0].Count("eth_chainId"), front.Count("eth_chainId"); first != 0 || second != 2 {
		t.Errorf("the endpoints were asked %d and %d times for their chain, want the second every time", first, second)
	}
	for _, place := range []int{-1, 3} {
		g.wantReason(g.check(place), Unconfigured)
	}
	g.wantReason(g.Ask(t.Context(), Question{Network: 1, Queue: Checks, Endpoint: 1}, nil), Unconfigured)
	for _, bad := range []struct {
		answer http.HandlerFunc
		want   Reason
	}{{node.Status(500), Refused}, {node.Drops, Unreachable}, {node.Results("null"), Undecodable}} {
		front.Instead("eth_getCode", bad.answer)
		g.wantReason(g.check(2), bad.want)
		g.wantReason(g.check(2), bad.want)
	}
	g.wantHealth(Unused, 0) // checks are not counted
	if got := g.log.String(); got != "" {
		t.Errorf("the log says %s, want it left to the caller", got)
	}

	// After rate limiting, checks yield, and so do others.
	g = newRig(t, 1)
	front = g.fronts[0]
	front.Instead("eth_getCode", node.Limited(""))
	g.wantReason(g.check(1), Limited)
	front.Instead("eth_getCode", nil)
	g.wantReason(g.check(1), Resting)
	if got := front.Count("eth_getCode"); got != 1 {
		t.Errorf("asked %d times, want none while it rests", got)
	}
	g.wantFailure(Unverified, Resting)
	g.wantAnswer(Partners)
	g.Advance(time.Minute)
	if err := g.check(1); err != nil {
		t.Error(err)
	}
	// The result of a check of the chain holds for all queues.
	front.Instead("eth_chainId", node.Results(`"0x1"`))
	g.wantAnswer(Partners) // which it was asked before
	g.wantReason(g.check(1), WrongChain)
	g.wantFailure(Partners, WrongChain)
}

func TestSlots(t *testing.T) {
	slots := newSlots(Limits{Calls: 1, Waiting: 1})
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, caller := range []netip.Prefix{{}, netip.MustParsePrefix("203.0.113.0/24")} {
		for range 2 { // a slot given back can be used again
			leave, f := slots.enter(t.Context(), caller)
			if f != nil {
				t.Fatal(f)
			}
			if _, f := slots.enter(gone, caller); f == nil || f.Reason != Busy {
				t.Errorf("whose time ran out in the queue got %v, want %s", f, Busy)
			}
			leave()
		}
	}
	if len(slots.shares) != 0 {
		t.Errorf("%d networks are remembered, want none", len(slots.shares))
	}
}

// One network holds a quarter of a queue, of its calls and of its waiting places. The others
// can use the rest, and get slots before it.
func TestOneNetworkHoldsAQuarter(t *testing.T) {
	for queue, l := range defaultLimits {
		synctest.Test(t, func(t *testing.T) {
			slots := newSlots(l)
			full, cancel := context.WithCancel(context.Background())
			network := netip.MustParsePrefix("2001:db8:1::/48")
			var inProgress, refused, waited atomic.Int64
			var asking sync.WaitGroup
			all := 2 * (l.Calls + l.Waiting)
			for range all {
				asking.Go(func() {
					leave, f := slots.enter(full, network)
					switch {
					case f == nil:
						inProgress.Add(1)
						<-full.Done()
						leave()
					case full.Err() == nil:
						refused.Add(1)
					default:
						waited.Add(1)
					}
				})
			}
			synctest.Wait()
			if inProgress.Load() != l.Calls/4 || refused.Load() != all-l.Calls/4-l.Waiting/4 {
				t.Errorf("%s: %d of %d in progress and %d refused", Queue(queue), inProgress.Load(), all, refused.Load())
			}
			for i := range l.Calls - l.Calls/4 { // others in other networks, at once
				_, f := slots.enter(t.Context(), netip.MustParsePrefix(fmt.Sprintf("203.0.%d.0/24", i)))
				if f != nil {
					t.Fatalf("%s: another network: %v", Queue(queue), f)
				}
			}
			cancel()
			asking.Wait()
			if waited.Load() != l.Waiting/4 {
				t.Errorf("%s: %d have waited, want %d", Queue(queue), waited.Load(), l.Waiting/4)
			}
		})
	}
}

// If the caller gives up, no endpoint counts as failed.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	ctx, giveUp := context.WithCancel(t.Context())
	g.fronts[0].Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		giveUp()
		node.Hangs(w, r)
	})
	_, err := g.call(ctx, Wallets)
	g.wantReason(err, Timeout)
	g.wantHealth(Unused, 0)
	g.fronts[0].Instead("eth_call", nil)
	g.wantAnswer(Wallets)
}

func TestUnconfigured(t *testing.T) {
	g := newRig(t, 0)
	g.wantRetry(Partners, Unconfigured, time.Minute)
	g.wantHealth(NoEndpoint, 0)
}

// Close cancels the questions in progress and in the queue, and waits for them.
func TestClose(t *testing.T) {
	t.Parallel()
	one := Limits{Try: time.Minute, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, 1, map[Queue]Limits{Partners: one})
	g.wantAnswer(Partners)
	asked := make(chan struct{})
	g.fronts[0].Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		node.Hangs(w, r)
	})
	waiting := make(chan error)
	for range 2 { // one of them waits for a slot
		go func() {
			_, err := g.call(context.Background(), Partners)
			waiting <- err
		}()
	}
	<-asked
	g.Close()
	g.wantReason(<-waiting, Closed)
	g.wantReason(<-waiting, Closed)
	g.wantFailure(Partners, Closed)
	g.wantReason(g.check(1), Closed)
	if got := g.calls(0); got != 2 {
		t.Errorf("%d calls, want none after the end", got)
	}
	g.wantHealth(Working, 0) // the end is not blamed on the endpoint
	g.Close()

	c, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.running.RLock() // as a question does
	closed := make(chan struct{})
	go func() {
		c.Close()
		close(closed)
	}()
	for c.running.TryRLock() { // until Close waits
		c.running.RUnlock()
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("closed while a question was in progress")
	default:
	}
	c.running.RUnlock()
	<-closed
}
