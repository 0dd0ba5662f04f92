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

// A question that wants more than one answer gets that of the next endpoint, and none of
// those that have answered counts as failed.
func TestAskMore(t *testing.T) {
	t.Parallel()
	g := newRig(t, 3)
	g.fronts[0].Instead("eth_call", node.Drops)
	var answered []int
	err := g.use(t.Context(), Wallets, func(ctx context.Context, e *Endpoint) error {
		if err := e.ReadAll(ctx, ReadContract(target, nil, new(hexutil.Bytes))); err != nil {
			return err
		}
		answered = append(answered, e.Place)
		return ErrMore
	})
	if err == nil || !slices.Equal(answered, []int{2, 3}) {
		t.Errorf("got %v after the answers of %v, want those of 2 and 3", err, answered)
	}
	g.wantHealth(Working, 1, Wallets)
}

// check reads the code of a contract from one endpoint.
func (g *rig) check(place int) error {
	g.t.Helper()
	var code hexutil.Bytes
	err := g.AskOne(context.Background(), 369, place, Checks, func(ctx context.Context, e *Endpoint) error {
		return e.ReadAll(ctx, ReadCode(target, &code))
	})
	if err != nil {
		g.hush("the error", err.Error())
	} else if !bytes.Equal(code, []byte{0x60}) {
		g.t.Errorf("endpoint %d: got the code %s, want 60", place, code)
	}
	return err
}

// A check asks the endpoint that it names, and always for its chain. One that fails is no
// reason to skip the endpoint, not even for the next check, and is not logged.
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
	for _, place := range []int{-1, 0, 3} {
		g.wantReason(g.check(place), Unconfigured)
	}
	g.wantReason(g.AskOne(t.Context(), 1, 1, Checks, nil), Unconfigured)
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

	// Over a quota, checks give way, and so do others.
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
	// What a check learns of the chain holds for all lanes.
	front.Instead("eth_chainId", node.Results(`"0x1"`))
	g.wantAnswer(Partners) // which it was asked before
	g.wantReason(g.check(1), WrongChain)
	g.wantFailure(Partners, WrongChain)
}

// from is the context of a caller in a network.
func from(network string) context.Context {
	return context.WithValue(context.Background(), CallerNetwork{}, netip.MustParsePrefix(network))
}

func TestTurns(t *testing.T) {
	turns := newTurns(Limits{Calls: 1, Waiting: 1})
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ctx := range []context.Context{context.Background(), from("203.0.113.0/24")} {
		for range 2 { // a place given back can be taken again
			leave, f := turns.enter(ctx)
			if f != nil {
				t.Fatal(f)
			}
			if _, f := turns.enter(gone); f == nil || f.Reason != Busy {
				t.Errorf("whose time ran out before its turn got %v, want %s", f, Busy)
			}
			leave()
		}
	}
	if len(turns.shares) != 0 {
		t.Errorf("%d networks are remembered, want none", len(turns.shares))
	}
}

// One network holds a quarter of a lane, of its calls and of its places to wait. The
// others find the rest free, and take their turns before it.
func TestOneNetworkHoldsAQuarter(t *testing.T) {
	for lane, l := range defaultLimits {
		synctest.Test(t, func(t *testing.T) {
			turns := newTurns(l)
			full, cancel := context.WithCancel(from("2001:db8:1::/48"))
			var underWay, refused, waited atomic.Int64
			var asking sync.WaitGroup
			all := 2 * (l.Calls + l.Waiting)
			for range all {
				asking.Go(func() {
					leave, f := turns.enter(full)
					switch {
					case f == nil:
						underWay.Add(1)
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
			if underWay.Load() != l.Calls/4 || refused.Load() != all-l.Calls/4-l.Waiting/4 {
				t.Errorf("%s: %d of %d under way and %d refused", Lane(lane), underWay.Load(), all, refused.Load())
			}
			for i := range l.Calls - l.Calls/4 { // others in other networks, at once
				_, f := turns.enter(from(fmt.Sprintf("203.0.%d.0/24", i)))
				if f != nil {
					t.Fatalf("%s: another network: %v", Lane(lane), f)
				}
			}
			cancel()
			asking.Wait()
			if waited.Load() != l.Waiting/4 {
				t.Errorf("%s: %d have waited, want %d", Lane(lane), waited.Load(), l.Waiting/4)
			}
		})
	}
}

// What goes on without its caller has the caller's network, and not its end.
func TestOnBehalf(t *testing.T) {
	ctx, cancel := context.WithCancel(from("203.0.113.0/24"))
	cancel()
	if got := OnBehalf(ctx); got.Err() != nil || callerNetwork(got) != callerNetwork(ctx) {
		t.Errorf("got %v and %v", got.Err(), callerNetwork(got))
	}
	if got := OnBehalf(context.Background()); callerNetwork(got).IsValid() {
		t.Errorf("got the network %v of nobody", callerNetwork(got))
	}
}

// A caller that gives up blames no endpoint.
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

// Close ends the questions under way and those that wait, and waits for them.
func TestClose(t *testing.T) {
	t.Parallel()
	one := Limits{Try: time.Minute, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, 1, map[Lane]Limits{Partners: one})
	g.wantAnswer(Partners)
	asked := make(chan struct{})
	g.fronts[0].Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		node.Hangs(w, r)
	})
	waiting := make(chan error)
	for range 2 { // one of them waits for its turn
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
		t.Error("closed while a question was under way")
	default:
	}
	c.running.RUnlock()
	<-closed
}
