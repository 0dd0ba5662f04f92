package rpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestTurns(t *testing.T) {
	turns := newTurns(Limits{Calls: 1, Waiting: 1})
	gone := canceled(context.Canceled)
	for _, background := range []context.Context{context.Background(), from("203.0.113.0/24")} {
		for range 2 { // a place given back can be taken again
			leave, f := turns.enter(background)
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

// from is the context of a caller in a network.
func from(network string) context.Context {
	return context.WithValue(context.Background(), CallerNetwork{}, netip.MustParsePrefix(network))
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
			for range 2 * (l.Calls + l.Waiting) {
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
			places := l.Calls/4 + l.Waiting/4
			if underWay.Load() != l.Calls/4 || refused.Load() != 2*(l.Calls+l.Waiting)-places {
				t.Errorf("%s: %d under way and %d refused, want %d under way and %d waiting", Lane(lane), underWay.Load(), refused.Load(), l.Calls/4, l.Waiting/4)
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

func canceled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// An endpoint that is too slow for wallets is used for partners all the same, and
// is no failure of the registries.
func TestSlowForWallets(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"0xfe"`)) {
			node.Hangs(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		simple(w, r)
	})
	short := Limits{Try: 50 * time.Millisecond, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, map[Lane]Limits{Partners: patient, Unverified: patient, Wallets: short}, front)
	g.wantAnswer(Partners)
	_, err := g.use(context.Background(), Wallets, func(ctx context.Context, e *Endpoint) ([]byte, error) {
		return call(ctx, e, []byte{0xfe})
	})
	g.wantReason(Wallets, err, Timeout)
	g.wantFailure(Wallets, Resting)
	g.wantHealth(Failing, 1)
	g.wantHealth(Working, 0, Partners, Unverified)
	g.wantAnswer(Partners)
	g.wantAnswer(Unverified)
	g.wantHealth(Failing, 1, Wallets)
}

// Who gives up blames no endpoint.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	ctx, giveUp := context.WithCancel(context.Background())
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		giveUp()
		node.Hangs(w, r)
	})
	g := newRig(t, front)
	_, err := g.call(ctx, Wallets)
	g.wantReason(Wallets, err, Timeout)
	g.wantHealth(Unused, 0)
	front.Instead("eth_call", nil)
	g.wantAnswer(Wallets)
}

func TestUnconfigured(t *testing.T) {
	g := newRig(t)
	if f := g.wantFailure(Partners, Unconfigured); f.RetryAfter != time.Minute {
		t.Errorf("retry after %v, want a minute", f.RetryAfter)
	}
	if got, want := g.Health(369, ordinary...), (Health{Network: 369, State: NoEndpoint}); got != want {
		t.Errorf("health %+v, want %+v", got, want)
	}
}

func TestCloseWaits(t *testing.T) {
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

func TestClose(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	one := Limits{Try: time.Minute, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, map[Lane]Limits{Partners: one}, front)
	g.wantAnswer(Partners)
	asked := make(chan struct{})
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
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
	g.wantReason(Partners, <-waiting, Closed)
	g.wantReason(Partners, <-waiting, Closed)
	g.wantFailure(Partners, Closed)
	if got := front.Count("eth_call"); got != 2 {
		t.Errorf("%d calls, want none after the end", got)
	}
	g.wantHealth(Working, 0) // the end is not blamed on the endpoint
	g.Close()
}
