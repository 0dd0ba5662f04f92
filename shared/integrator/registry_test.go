package integrator

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

func partner(n uint64, fee uint16) contracts.Integrator {
	return contracts.Integrator{Wallet: wallet(n), FeeBPS: fee, Active: true}
}

func TestLookupFollowsTheChain(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369)
	g := newRig(t, newFront(t, node))
	id := contracts.IntegratorID(wallet(1))
	ttl := 30 * time.Second

	g.wantFault(1, fault.IntegratorUnregistered)
	node.send("register", wallet(1), uint16(25))
	g.pass(ttl - 1)
	g.wantFault(1, fault.IntegratorUnregistered)
	g.pass(1)
	g.wantFee(1, 25)

	node.send("setFee", id, uint16(40))
	g.pass(ttl/2 - 1)
	g.wantFee(1, 25)
	g.pass(ttl/2 + 1)
	g.wantFee(1, 40)

	node.send("setActive", id, false)
	g.pass(ttl/2 - 1)
	g.wantFee(1, 40)
	g.pass(ttl/2 + 1)
	g.wantFault(1, fault.IntegratorInactive)

	node.send("setActive", id, true)
	g.pass(ttl - 1)
	g.wantFault(1, fault.IntegratorInactive)
	g.pass(1)
	g.wantFee(1, 40)

	if g.hits != 4 || g.misses != 5 || g.asked != 5 || len(g.failed) != 0 {
		t.Errorf("hooks heard %d hits, %d misses, %d latencies and %v; want 4, 5, 5 and no failures", g.hits, g.misses, g.asked, g.failed)
	}
}

// An integrator in use is read again ahead of time, in the background: no quote waits
// for it, and none is made with an answer about to end.
func TestRenewedAhead(t *testing.T) {
	t.Parallel()
	chain := newEVM(t, 369, partner(1, 25))
	front := newFront(t, chain)
	g := newRig(t, front)
	g.wantFee(1, 25)
	g.pass(15 * time.Second) // half of 30
	release := make(chan struct{})
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		<-release
		chain.ServeHTTP(w, r)
	})
	for range 3 {
		g.wantFee(1, 25) // at once, although the registry does not answer yet
	}
	close(release)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		got, err := g.lookup(1)
		if err != nil {
			t.Fatal(err)
		}
		if got.CheckedAt.Equal(g.now()) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it was never read again: %+v", got)
		}
	}
	if got := front.Count("eth_call"); got != 2 {
		t.Errorf("%d calls, want one more", got)
	}
	misses := g.misses
	g.pass(29 * time.Second) // more than 30 after the first answer
	got, err := g.lookup(1)
	if err != nil || g.misses != misses || got.GoodUntil.Sub(g.now()) < validity/2 {
		t.Errorf("got %+v, %v after %d misses, want it vouched for half a minute more", got, err, g.misses-misses)
	}
	// While the registry cannot be read, the last answer counts for its time, and no longer.
	front.Instead("eth_call", node.Status(500))
	g.pass(time.Second)
	g.wantUnverified(1, rpc.Refused)
}

func TestEveryChainHasItsOwnRegistry(t *testing.T) {
	t.Parallel()
	base, hub := newFront(t, newEVM(t, 8453, partner(1, 10))), newFront(t, newEVM(t, 369, partner(1, 20)))
	chains := endpoints(hub)
	chains[8453] = []rpc.SecretURL{rpc.SecretURL(base.SecretURL())}
	g := newRigWith(t, config, chains, patient)
	g.wantFee(1, 20)
	got, err := g.Lookup(context.Background(), 8453, idOf(wallet(1)))
	if err != nil || got.FeeBPS != 10 {
		t.Errorf("on 8453: got %+v, %v, want a fee of 10", got, err)
	}
}

func TestFeesAreBounded(t *testing.T) {
	t.Parallel()
	asleep := partner(5, 1001)
	asleep.Active = false
	front := newFront(t, newEVM(t, 369, partner(1, 0), partner(2, 1000), partner(3, 1001), partner(4, 65535), asleep))
	g := newRig(t, front)
	g.wantFee(1, 0)
	g.wantFee(2, 1000)
	if e := g.wantFault(3, fault.IntegratorFeeTooHigh); !strings.Contains(e.Message, "on chain 369 with a fee of 1001 basis points, and this service accepts 1000 at most") || e.RetryAfter != 0 {
		t.Errorf("got %+v", e)
	}
	g.wantFault(4, fault.IntegratorFeeTooHigh)
	g.wantFault(5, fault.IntegratorInactive)

	calls := front.Count("eth_call")
	g.wantFault(3, fault.IntegratorFeeTooHigh)
	if got := front.Count("eth_call") - calls; got != 0 {
		t.Errorf("%d calls for a fee that was refused before, want 0: waiting does not lower it", got)
	}
	if got := g.Health()[2].State; got != rpc.Working {
		t.Errorf("state is %s, want %s: the endpoint answered", got, rpc.Working)
	}
}

// Callers that share a failure each get a fault of their own: lookup adds to
// each, and the race detector watches.
func TestConcurrentLookupsShareOneFailure(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369))
	front.Instead("eth_call", node.Says("garbage"))
	g := newRig(t, front)
	var done sync.WaitGroup
	for range 100 {
		done.Go(func() {
			if _, err := g.lookup(1); fault.From(err).Code != fault.IntegratorUnverified {
				t.Errorf("got %v, want %s", err, fault.IntegratorUnverified)
			}
		})
	}
	done.Wait()
}

func TestLookupEndsInTime(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	asked, release := make(chan struct{}), make(chan struct{})
	front.Instead("eth_call", func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	})
	g := newRig(t, front)
	g.timeout = 50 * time.Millisecond
	_, err := g.lookup(1)
	<-asked
	close(release)
	if e := fault.From(err); e.Code != fault.IntegratorUnverified || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %s because of %v", err, fault.IntegratorUnverified, context.DeadlineExceeded)
	}
}

func TestGivingUpLeavesTheCallToOthers(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369, partner(1, 25))
	front := newFront(t, node)
	asked, release := make(chan struct{}), make(chan struct{})
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-release
		node.ServeHTTP(w, r)
	})
	g := newRig(t, front)

	ctx, giveUp := context.WithCancel(context.Background())
	gaveUp := make(chan error)
	go func() {
		_, err := g.lookupIn(ctx, 1)
		gaveUp <- err
	}()
	<-asked
	patient := make(chan error)
	go func() {
		_, err := g.lookup(1)
		patient <- err
	}()
	giveUp()
	err := <-gaveUp
	if e := fault.From(err); e.Code != fault.IntegratorUnverified || !errors.Is(err, context.Canceled) || e.RetryAfter != time.Second {
		t.Errorf("who gave up got %v, retry after %v, want %s because of %v", err, e.RetryAfter, fault.IntegratorUnverified, context.Canceled)
	}
	close(release)
	if err := <-patient; err != nil {
		t.Errorf("who waited got %v", err)
	}
	g.wantFee(1, 25)
	if got := front.Count("eth_call"); got != 1 {
		t.Errorf("%d calls, want 1", got)
	}
	if len(g.failures()) != 0 {
		t.Errorf("reported %v, want no failure of the chain", g.failures())
	}
}

func TestUnconfiguredChain(t *testing.T) {
	t.Parallel()
	other := newFront(t, newEVM(t, 10))
	g := newRigWith(t, config, rpc.Config{10: {rpc.SecretURL(other.SecretURL())}}, patient)
	if e := g.wantUnverified(1, rpc.Unconfigured); e.RetryAfter != time.Minute {
		t.Errorf("retry after %v, want a minute", e.RetryAfter)
	}
	if g.asked != 0 {
		t.Errorf("hooks heard %d latencies of a chain that nobody was asked about", g.asked)
	}
	// Chains without a registry, real or invented, are no different, even if they
	// have an endpoint.
	for _, id := range []chain.ID{10, chain.PrivacyEthereum, 0, 1 << 63} {
		_, err := g.Lookup(context.Background(), id, idOf(wallet(1)))
		if fault.From(err).Code != fault.IntegratorUnverified {
			t.Errorf("chain %s: got %v, want %s", id, err, fault.IntegratorUnverified)
		}
	}
	if got := other.Count("eth_chainId"); got != 0 {
		t.Errorf("%d calls of a chain without a registry, want 0", got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	g.wantFee(1, 25)

	asked := make(chan struct{})
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		node.Hangs(w, r)
	})
	waiting := make(chan error)
	go func() {
		_, err := g.lookup(2)
		waiting <- err
	}()
	<-asked
	g.chains.Close()
	var f *rpc.Failure
	if err := <-waiting; !errors.As(err, &f) || f.Reason != rpc.Closed {
		t.Errorf("the look-up under way got %v, want %s", err, rpc.Closed)
	}
	g.wantFee(1, 25) // still remembered
	g.wantFault(3, fault.IntegratorUnverified)
	if got := front.Count("eth_call"); got != 2 {
		t.Errorf("%d calls, want none after the end", got)
	}
	if got := g.Health()[2]; got.State != rpc.Working || got.Resting != 0 {
		t.Errorf("health %+v: the end was blamed on the endpoint", got)
	}
}

// TestPanicEndsOneLookup: the look-up fails like one that had no answer, and the
// process goes on.
func TestPanicEndsOneLookup(t *testing.T) {
	g := newRig(t, newFront(t, newEVM(t, 369, partner(1, 25))))
	before := safego.Panics()
	g.Hooks.Latency = func(chain.ID, time.Duration) { panic("a bug") }
	_, err := g.Lookup(t.Context(), 369, idOf(wallet(1)))
	if e := fault.From(err); e.Code != fault.IntegratorUnverified || strings.Contains(e.Message, "a bug") {
		t.Errorf("got %v, want the integrator unverified", err)
	} else if !strings.Contains(e.Message, "could not be verified on chain 369") || e.RetryAfter != time.Minute {
		t.Errorf("got %q, again in %v, of a caller that did not give up", e.Message, e.RetryAfter)
	}
	if got := safego.Panics() - before; got != 1 {
		t.Errorf("%d panics were counted, want one", got)
	}
}
