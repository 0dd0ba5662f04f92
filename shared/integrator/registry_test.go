package integrator

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestLookupFollowsTheChain(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	g := newRig(t, 1)
	registry := g.nodes[0]
	asleep := contracts.Integrator{Wallet: wallet(2), FeeBPS: 40}

	g.wantFault(2, fault.IntegratorUnregistered)
	registry.list(partner(2, 25))
	g.Advance(ttl - 1)
	g.wantFault(2, fault.IntegratorUnregistered)
	g.Advance(1)
	g.wantFee(2, 25)

	registry.list(partner(2, 40))
	g.Advance(ttl/2 - 1)
	g.wantFee(2, 25)
	g.Advance(ttl/2 + 1)
	g.wantFee(2, 40)
	k := key{hub, calldata.IntegratorIDOf(wallet(2))}
	if !g.cache.Last(k).Known {
		t.Error("an active integrator does not count as a partner")
	}

	registry.list(asleep)
	g.Advance(ttl/2 - 1)
	g.wantFee(2, 40)
	g.Advance(ttl/2 + 1)
	g.wantFault(2, fault.IntegratorInactive)
	if g.cache.Last(k).Known {
		t.Error("an inactive integrator counts as a partner")
	}
	if g.count("hit") != 3 || g.count("miss") != 4 || g.count("asked") != 4 || len(g.counts) != 3 {
		t.Errorf("hooks heard %v; want 3 hits, 4 misses, 4 questions and no failure", g.counts)
	}

	g.chains.Close()
	g.wantFault(2, fault.IntegratorInactive) // still remembered
	g.wantUnverified(3, rpc.Closed)
}

// An integrator in use is refreshed ahead of time, in the background: no quote waits for it,
// and none uses an answer that is about to expire.
func TestRenewedAhead(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	registry := g.nodes[0]
	g.wantFee(1, 25)
	g.Advance(15 * time.Second) // half of 30
	release := make(chan struct{})
	registry.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		<-release
		registry.meter.ServeHTTP(w, r)
	})
	for range 3 {
		g.wantFee(1, 25) // at once, although the registry does not answer yet
	}
	close(release)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		got, err := g.lookup(1)
		if err == nil && got.CheckedAt.Equal(g.Now()) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("it was never read again: %+v, %v", got, err)
		}
	}
	if got := g.calls(); got != 2 {
		t.Errorf("%d calls, want one more", got)
	}
	misses := g.count("miss")
	g.Advance(29 * time.Second) // more than 30 after the first answer
	got, err := g.lookup(1)
	if err != nil || g.count("miss") != misses || got.GoodUntil.Sub(g.Now()) < validity/2 {
		t.Errorf("got %+v, %v, want it vouched for half a minute more", got, err)
	}
	// While the registry cannot be read, the last answer is used until it expires.
	registry.Instead("eth_call", node.Status(500))
	g.Advance(time.Second)
	g.wantUnverified(1, rpc.Refused)
}

func TestEveryChainHasItsOwnRegistry(t *testing.T) {
	t.Parallel()
	base := newRegistry(t, 8453, time.Now)
	base.list(partner(1, 10))
	unlisted := newRegistry(t, 10, time.Now) // a chain without a registry
	g := newRigWith(t, 1, config, patient, rpc.Config{
		8453: {rpc.SecretURL(base.SecretURL())}, 10: {rpc.SecretURL(unlisted.SecretURL())},
	})
	g.wantFee(1, 25)
	got, err := g.Lookup(t.Context(), netip.Prefix{}, 8453, calldata.IntegratorIDOf(wallet(1)))
	if err != nil || got.FeeBPS != 10 {
		t.Errorf("on 8453: got %+v, %v, want a fee of 10", got, err)
	}
	for _, id := range []chain.ID{10, 1, chain.PrivacyEthereum, 0, 1 << 63} {
		_, err := g.Lookup(t.Context(), netip.Prefix{}, id, calldata.IntegratorIDOf(wallet(1)))
		if e := fault.From(err); e.Code != fault.IntegratorUnverified || e.RetryAfter != time.Minute {
			t.Errorf("chain %s: got %v, want %s", id, err, fault.IntegratorUnverified)
		}
	}
	if got := unlisted.Count("eth_chainId"); got != 0 || g.count("asked") != 2 {
		t.Errorf("%d calls of a chain without a registry, and %v", got, g.counts)
	}

	var want []rpc.Health
	for _, id := range chain.PoolChains {
		h := rpc.Health{Network: id, State: rpc.NoEndpoint}
		if id == hub || id == 8453 {
			h.State = rpc.Working
			h.Endpoints = 1
		}
		want = append(want, h)
	}
	if got := g.Health(); !slices.Equal(got, want) {
		t.Errorf("health %+v, want %+v", got, want)
	}
}

func TestFeesAreBounded(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	asleep := contracts.Integrator{Wallet: wallet(5), FeeBPS: 1001}
	g.nodes[0].list(partner(1, 0), partner(2, 1000), partner(3, 1001), partner(4, 65535), asleep)
	g.wantFee(1, 0)
	g.wantFee(2, 1000)
	e := g.wantFault(3, fault.IntegratorFeeTooHigh)
	const says = "on chain 369 with a fee of 1001 basis points, and this service accepts 1000 at most"
	if !strings.Contains(e.Message, says) || e.RetryAfter != 0 {
		t.Errorf("got %+v", e)
	}
	g.wantFault(4, fault.IntegratorFeeTooHigh)
	g.wantFault(5, fault.IntegratorInactive)

	calls := g.calls()
	g.wantFault(3, fault.IntegratorFeeTooHigh)
	if got := g.calls() - calls; got != 0 {
		t.Errorf("%d calls for a fee that was refused before, want 0: waiting does not lower it", got)
	}
}

// However an endpoint misbehaves, there is no fee and nothing is cached, until it answers
// correctly. Package rpc tests more ways in which a call fails.
func TestMisbehavingEndpoint(t *testing.T) {
	t.Parallel()
	words := func(wallet, fee, active string) http.HandlerFunc {
		return node.Results(fmt.Sprintf(`"0x%064s%064s%064s"`, wallet, fee, active))
	}
	zeros := func(digits int) http.HandlerFunc { return node.Results(`"0x` + strings.Repeat("0", digits) + `"`) }
	good := fmt.Sprintf("%x", wallet(1))
	for name, test := range map[string]struct {
		instead http.HandlerFunc
		reason  rpc.Reason
		retry   time.Duration // what a contract says does not get better at once
	}{
		"internal error":       {node.Status(500), rpc.Refused, time.Second},
		"revert":               {node.RPCError(3), rpc.Reverted, time.Minute},
		"garbage":              {node.Says("garbage"), rpc.Undecodable, time.Second},
		"no contract":          {zeros(0), rpc.Undecodable, time.Minute},
		"two words":            {zeros(128), rpc.Undecodable, time.Minute},
		"a byte short":         {zeros(190), rpc.Undecodable, time.Minute},
		"four words":           {zeros(256), rpc.Undecodable, time.Minute},
		"more than an address": {words("1"+good, "19", "1"), rpc.Undecodable, time.Minute},
		"more than a uint16":   {words(good, "10000", "1"), rpc.Undecodable, time.Minute},
		"more than a bool":     {words(good, "19", "2"), rpc.Undecodable, time.Minute},
		"far more than a bool": {words(good, "19", "1"+strings.Repeat("0", 63)), rpc.Undecodable, time.Minute},
		"another wallet":       {words(fmt.Sprintf("%x", wallet(3)), "19", "1"), rpc.Misconfigured, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, 1)
			g.nodes[0].Instead("eth_call", test.instead)
			if e := g.wantUnverified(1, test.reason); e.RetryAfter != test.retry {
				t.Errorf("retry after %v, want %v", e.RetryAfter, test.retry)
			}
			g.nodes[0].Instead("eth_call", nil)
			g.Advance(time.Second)
			g.wantFee(1, 25)
		})
	}
}

// If no endpoint answers, RetryAfter is when the first of them is tried again.
func TestFirstRetry(t *testing.T) {
	t.Parallel()
	for soon := range 2 {
		g := newRig(t, 2)
		g.nodes[soon].Instead(node.Batch, node.Drops)
		g.nodes[1-soon].Instead(node.Batch, node.Limited("30"))
		if e := g.wantUnverified(1, rpc.Unreachable); e.RetryAfter != time.Second {
			t.Errorf("retry after %v, want a second", e.RetryAfter)
		}
	}
}

// The cost of a lookup: the first, one with a known chain, and one from the cache.
func TestCallsOfALookup(t *testing.T) {
	t.Parallel()
	type cost struct{ calls, requests int }
	for endpoints, costs := range map[int][3]cost{
		1: {{2, 2}, {1, 1}, {0, 0}},
		2: {{6, 4}, {4, 2}, {0, 0}},
	} {
		g := newRig(t, endpoints)
		for again, want := range costs {
			g.wantFee(1, 25)
			var got cost
			for _, n := range g.nodes {
				calls, requests := n.meter.Read()
				got.calls += calls
				got.requests += requests
			}
			if got != want {
				t.Errorf("%d endpoints, time %d: got %+v, want %+v", endpoints, again+1, got, want)
			}
			if again == 0 {
				g.Advance(config.CacheTTL) // the answer has ended
			}
		}
	}
}

// The log says at most every ten minutes that endpoints differ, and what each answered.
func TestDifferencesAreLoggedAtTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		heard := 0
		hooks := Hooks{Differ: func(chain.ID) { heard++ }}
		r, _ := New(config, deployment, nil, Options{Hooks: hooks, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for _, step := range []struct {
			after time.Duration
			lines int
		}{{0, 1}, {10*time.Minute - 1, 1}, {1, 2}, {time.Minute, 2}} {
			time.Sleep(step.after)
			r.differ(key{}, []reading{
				{endpoint: 4, failure: &rpc.Failure{Reason: rpc.Resting}}, {endpoint: 2}, {endpoint: 3, invalid: errPanicked},
				{endpoint: 1, registration: registration{active: true}},
			})
			const want = `answers="[endpoint 1: 0 basis points, active true endpoint 2: 0 basis points, active false ` +
				`endpoint 3: the contract's answer is invalid (undecodable) endpoint 4: no answer (resting)]"`
			if got := strings.Count(log.String(), want); got != step.lines {
				t.Errorf("%d lines after %v more, want %d", got, step.after, step.lines)
			}
		}
		if heard != 4 {
			t.Errorf("the hook heard of %d differences, want all 4", heard)
		}
	})
}

// The caller's network has its share of the queue, and no more.
func TestCallersShareTheQueue(t *testing.T) {
	t.Parallel()
	limits := rpc.Limits{Try: time.Minute, Total: 10 * time.Second, Calls: 4}
	g := newRigWith(t, 1, config, limits, nil)
	asked := make(chan struct{}, 9)
	g.nodes[0].Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		node.Hangs(w, r)
	})
	lookup := func(network string, n uint64) error {
		_, err := g.Lookup(t.Context(), netip.MustParsePrefix(network), hub, calldata.IntegratorIDOf(wallet(n)))
		return err
	}
	go lookup("203.0.113.0/24", 1)
	<-asked
	err := lookup("203.0.113.0/24", 2)
	if f, _ := errors.AsType[*rpc.Failure](err); f == nil || f.Reason != rpc.Busy {
		t.Errorf("a second question of one network: got %v, want %s", err, rpc.Busy)
	}
	go lookup("198.51.100.0/24", 3)
	<-asked
}

// Invented IDs evict no partner from the cache. With their queue full of hanging calls, one
// more is refused, while a partner whose registration has expired is looked up at once.
func TestInventedIDs(t *testing.T) {
	t.Parallel()
	limits := patient
	limits.Calls = 2
	limits.Waiting = 3
	g := newRigWith(t, 1, Config{CacheSize: 2, CacheTTL: config.CacheTTL}, limits, nil)
	registry := g.nodes[0]
	g.wantFee(1, 25)
	for n := range uint64(50) {
		g.wantFault(100+n, fault.IntegratorUnregistered)
	}
	calls := g.calls()
	g.wantFee(1, 25)
	g.wantFault(149, fault.IntegratorUnregistered)
	if got := g.calls() - calls; got != 0 {
		t.Errorf("%d calls, want 0: the partner and the last invented ID are cached", got)
	}

	release := make(chan struct{})
	registry.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if id := calldata.IntegratorIDOf(wallet(1)); !bytes.Contains(body, []byte(hex.EncodeToString(id[:]))) {
			<-release
		}
		registry.meter.ServeHTTP(w, r)
	})
	places := int(limits.Calls + limits.Waiting)
	ended := make(chan error, places+1)
	for n := range uint64(places + 1) {
		go func() {
			_, err := g.lookup(200 + n)
			ended <- err
		}()
	}
	if e := fault.From(<-ended); e.Code != fault.IntegratorUnverified || g.count(string(rpc.Busy)) != 1 {
		t.Errorf("the invented ID without a place got %v", e)
	}
	calls = g.calls()
	g.Advance(config.CacheTTL)
	g.wantFee(1, 25)
	g.wantUnverified(300, rpc.Busy)
	if got := g.calls() - calls; got > 1+int(limits.Calls) {
		t.Errorf("%d calls, want at most %d for invented IDs and 1 for the partner", got, limits.Calls)
	}
	close(release)
	for range places {
		if e := fault.From(<-ended); e.Code != fault.IntegratorUnregistered {
			t.Errorf("an invented ID that waited got %v, want %s", e, fault.IntegratorUnregistered)
		}
	}
}

// Callers that share a failure each get a fault of their own: lookup adds to each, and
// the race detector watches.
func TestSharedFailure(t *testing.T) {
	t.Parallel()
	g := newRig(t, 1)
	g.nodes[0].Instead("eth_call", node.Says("garbage"))
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

// A lookup ends with its caller and in bounded time, which is no failure of the chain. A lookup
// that panics has no answer.
func TestLookupEnds(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx    context.Context
		change func(*rig)
		cause  *rpc.Failure
		retry  time.Duration
	}{
		"the caller left": {gone, func(*rig) {}, errLate, time.Second},
		"out of time":     {t.Context(), func(g *rig) { g.timeout = 50 * time.Millisecond }, errLate, time.Second},
		"panic": {
			t.Context(), func(g *rig) { g.Registry.hooks.Latency = func(chain.ID, time.Duration) { panic("a bug") } },
			errPanicked, time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, 1)
			release := make(chan struct{})
			if test.cause == errLate {
				g.nodes[0].Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
					<-release
					g.nodes[0].meter.ServeHTTP(w, r)
				})
			}
			test.change(g)
			_, err := g.lookupIn(test.ctx, 1)
			close(release)
			e := fault.From(err)
			if e.Code != fault.IntegratorUnverified || e.RetryAfter != test.retry || strings.Contains(e.Message, "a bug") ||
				!errors.Is(err, test.cause) {
				t.Errorf("got %v, retry after %v", err, e.RetryAfter)
			}
			for _, reason := range rpc.Reasons() {
				if test.cause == errLate && g.count(string(reason)) > 0 {
					t.Errorf("hooks heard of the failure %s, want none of the chain", reason)
				}
			}
		})
	}
}

// One registry that has an integrator is enough. That none has it is certain only if all answer.
func TestRegisteredOnAnyChain(t *testing.T) {
	t.Parallel()
	const active, dear, inactive, nobody = 1, 2, 3, 4
	endpoints := rpc.Config{}
	want := func(n uint64, want, known bool) {
		t.Helper()
		chains, err := rpc.New(endpoints, rpc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer chains.Close()
		hooks := (&rig{counts: make(map[string]int)}).hooks()
		r, err := New(config, deployment, chains, Options{Hooks: hooks, Log: slog.Default(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Registered(t.Context(), wallet(n).Hex())
		if got != want || (err == nil) != known {
			t.Errorf("%d: got %v, %v, want %v", n, got, err, want)
		}
	}
	add := func(id chain.ID) *registry {
		node := newRegistry(t, id, time.Now)
		endpoints[id] = []rpc.SecretURL{rpc.SecretURL(node.SecretURL())}
		return node
	}
	add(8453).list(partner(active, 10), partner(dear, 5000), contracts.Integrator{Wallet: wallet(inactive), FeeBPS: 10})
	want(active, true, true)
	want(dear, true, true)
	want(inactive, false, false)
	want(nobody, false, false)
	for _, id := range []chain.ID{1, 56, 369, 4663} {
		add(id)
	}
	want(active, true, true)
	want(inactive, false, true)
	want(nobody, false, true)
}
