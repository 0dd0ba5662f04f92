package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// TestEndpoints: only what two endpoints report is final.
func TestEndpoints(t *testing.T) {
	source, payment := common.Hash{1}, common.Hash{2}
	hide := func(n *scripted) { n.words = nil }
	fail := func(n *scripted) {
		n.receipts[source]["status"] = "0x0"
		n.receipts[source]["logs"] = []any{}
	}
	empty := func(n *scripted) { n.receipts[source]["logs"] = []any{} }
	unknown := func(n *scripted) {
		n.hooks["eth_getLogs"] = constant(node.Error{Code: -32000, Message: "unknown block"})
	}
	pend := func(n *scripted) { n.receipts[source] = object{} }
	forget := func(n *scripted) { n.receipts = nil }
	back := func(blocks uint64) func(*scripted) { // it lags behind, and does not stand still
		return func(n *scripted) {
			n.head -= blocks
			n.at = n.at.Add(time.Duration(blocks) * n.pace)
		}
	}
	stale := func(n *scripted) { n.head -= uint64(4 * time.Minute / n.pace) }
	fork := func(n *scripted) { // the payout is in another block
		block := uint64(n.receipts[payment]["blockNumber"].(hexutil.Uint64))
		n.forks[block] = 1
		n.include(payment, block, n.receipts[payment]["logs"].([]object)...)
	}
	deaf := func(n *scripted) { n.hooks["eth_getLogs"] = constant(nil) }
	type change map[int]func(*scripted) // by endpoint
	const disagree, lags, alone = "disagree", "has the block yet", "Only one node"
	for name, test := range map[string]struct {
		endpoints           int
		source, destination change
		state               State
		final               bool
		reason              string
	}{
		"one":                        {1, nil, nil, Settled, true, ""},
		"two agree":                  {2, nil, nil, Settled, true, ""},
		"first hides":                {2, nil, change{0: hide}, Settled, false, disagree},
		"second hides":               {2, nil, change{1: hide}, Settled, false, disagree},
		"first of three hides":       {3, nil, change{0: hide}, Settled, true, ""},
		"second of three hides":      {3, nil, change{1: hide}, Settled, true, ""},
		"two of three hide":          {3, nil, change{0: hide, 1: hide}, Settling, false, ""},
		"another block":              {2, nil, change{1: fork}, Settled, false, disagree},
		"no list of logs":            {2, nil, change{0: deaf}, Settled, false, alone},
		"one of three has no list":   {3, nil, change{0: deaf}, Settled, true, ""},
		"no such block at one":       {2, nil, change{1: unknown}, Settled, false, disagree},
		"payer one block apart":      {2, nil, change{1: back(1)}, Settled, true, ""},
		"payer has stalled":          {2, nil, change{1: stale}, Settled, false, alone},
		"source two blocks apart":    {2, change{1: back(2)}, nil, Settled, true, ""},
		"one source failed":          {2, change{0: fail}, nil, Settled, false, disagree},
		"other source failed":        {2, change{1: fail}, nil, Settled, false, disagree},
		"one of three failed":        {3, change{0: fail}, nil, Settled, true, ""},
		"both failed":                {2, change{0: fail, 1: fail}, nil, Failed, true, ""},
		"failed and pending":         {2, change{0: fail, 1: pend}, nil, Pending, false, disagree},
		"pending and failed":         {2, change{0: pend, 1: fail}, nil, Pending, false, disagree},
		"two failed, one pending":    {3, change{0: pend, 1: fail, 2: fail}, nil, Pending, false, disagree},
		"failed and unknown":         {2, change{0: fail, 1: forget}, nil, Pending, false, disagree},
		"no swap and swap":           {2, change{0: empty}, nil, Settled, false, disagree},
		"no swap and failed":         {2, change{0: empty, 1: fail}, nil, Pending, false, disagree},
		"both without a swap":        {2, change{0: empty, 1: empty}, nil, NotASwap, true, ""},
		"source unknown to one":      {2, change{0: forget}, nil, Settled, false, disagree},
		"source below the block":     {2, change{1: back(3000)}, nil, Settled, false, lags},
		"source has stalled":         {2, change{0: stale}, nil, Settled, false, alone},
		"the only payer stands":      {1, nil, change{0: stale}, Settled, true, ""},
		"the only source stands":     {1, change{0: stale}, nil, Settled, true, ""},
		"unknown to all":             {2, change{0: forget, 1: forget}, nil, NotFound, false, ""},
		"lower head decides, source": {2, change{1: back(2400 - 5)}, nil, Pending, false, ""},
		"lower head decides, payer":  {2, nil, change{1: back(48 - 5)}, Settled, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, toHub, test.endpoints)
			for i, f := range test.source {
				f(s.nodes[robinhood][i])
			}
			for i, f := range test.destination {
				f(s.nodes[hub][i])
			}
			s.start()
			s.wantReason(test.state, test.final, test.reason)
		})
	}
	early := paidSwap(t, toHub, 2) // one that names a block without the event is not the last to be called
	unknown(early.nodes[hub][0])
	early.start(`[{"seconds": 13}]`, `[{"seconds": 900}]`)
	early.wantReason(Settled, false, disagree)
}

// TestRequests counts the requests to nodes, a batch being one: for a first answer and for
// the one that makes a swap final, while it settles, and once it is late.
func TestRequests(t *testing.T) {
	for name, test := range map[string]struct {
		route                 route
		endpoints             int
		first, settling, late int
	}{
		"one endpoint":             {toHub, 1, 5, 1, 1},
		"two endpoints":            {toHub, 2, 7, 1, 2},
		"note, one endpoint":       {toNote, 1, 5, 1, 1},
		"note, two endpoints":      {toNote, 2, 7, 1, 2},
		"forwarded, one endpoint":  {forwarded, 1, 7, 1, 1},
		"forwarded, two endpoints": {forwarded, 2, 10, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, test.route, test.endpoints)
			paid := s.destination().words
			start := func(seconds string) { s.start(`[{"seconds": 13}]`, `[{"seconds": `+seconds+`}]`) }
			step := func(name string, state State, want int) {
				t.Helper()
				s.want(state, state == Settled)
				got := 0
				for _, nodes := range s.nodes {
					for _, n := range nodes {
						got += n.counted()
					}
				}
				if got != want {
					t.Errorf("%s: got %d requests, want %d", name, got, want)
				}
			}
			start("900")
			step("first answer", Settled, test.first)
			step("final", Settled, 0)
			s.words(nil)
			start("900")
			step("first answer of a swap that settles", Settling, test.endpoints+1+test.settling)
			step("settling", Settling, test.settling)
			s.words(paid)
			step("the last answer", Settled, test.first)
			s.words(nil)
			start("60")
			step("first answer of a swap that is late", Settling, test.endpoints+1+test.late)
			step("late", Settling, test.late)
		})
	}
}

// TestReplacedBlocks: nothing is final that depends on a reorganized block.
func TestReplacedBlocks(t *testing.T) {
	for name, endpoints := range map[string]int{"one endpoint": 1, "two endpoints": 2} {
		t.Run(name, func(t *testing.T) {
			remembered := func() (s *script, paid map[string]uint64) {
				s = paidSwap(t, toHub, endpoints)
				s.start()
				paid = s.destination().words
				s.words(nil)
				s.want(Settling, false) // the source is remembered
				return s, paid
			}
			s, paid := remembered()
			s.words(paid)
			block := s.source().block(10 * time.Minute)
			for _, n := range s.nodes[s.src] {
				n.forks[block] = 1
				n.include(s.tx, block+1, s.swapped(0))
			}
			if got := s.want(Settled, true); got.Source.Block != block+1 {
				t.Errorf("got the source %+v, want it in the next block", got.Source)
			}

			s, paid = remembered()
			s.words(paid)
			for _, n := range s.nodes[s.src] {
				delete(n.receipts, s.tx)
			}
			s.wantReason(Pending, false, seenBefore)
		})
	}
	s := newScript(t, toHub)
	s.swap(10 * time.Minute)
	s.pay(30 * time.Second)
	s.start()
	s.want(Settled, false)
	delete(s.destination().receipts, s.paid)
	s.words(map[string]uint64{})
	if got := s.want(Settling, false); got.Swaps[0].Settlement != nil {
		t.Errorf("got the settlement %+v of a block that is gone", got.Swaps[0].Settlement)
	}
	s.paid = common.Hash{22}
	s.pay(3 * time.Minute)
	if got := s.want(Settled, true); got.Swaps[0].Settlement.TxHash != s.paid {
		t.Errorf("got %s, want the settlement that stayed", got.Swaps[0].Settlement.TxHash)
	}
}

// TestLoadBalancers has two endpoints, behind each of which nodes have different heads.
func TestLoadBalancers(t *testing.T) {
	call := uint64(0)
	lag := func() uint64 {
		call++
		return call % 3
	}
	s := paidSwap(t, toHub, 2)
	for _, nodes := range s.nodes {
		nodes[0].lag = lag
		nodes[1].lag = lag
	}
	s.start()
	s.want(Settled, true)

	fresh := newScript(t, toHub) // its payout is in the newest block
	fresh.swap(10 * time.Minute)
	fresh.pay(0)
	fresh.multiply(2)
	for _, n := range fresh.nodes[hub] {
		n.lag = lag
	}
	fresh.start()
	for range 20 {
		got := fresh.look()
		reason := got.Reason + got.Swaps[0].Reason
		lags := strings.Contains(reason, "which not every node has yet")
		if got.Final || got.State != Settled && !lags || strings.Contains(reason, "disagree") || strings.Contains(reason, "Contact") {
			t.Fatalf("got %s, %q, again in %v", got.State, reason, got.Next)
		}
	}
	if got := fresh.Problems(); len(got) != 0 {
		t.Errorf("got the problems %q of a pool that is right", got)
	}

	for ago, says := range map[time.Duration]string{0: "has the block yet", 2 * paces[robinhood]: "disagree"} {
		failed := newScript(t, toHub) // one of the nodes does not have its receipt
		failed.source().include(failed.tx, failed.source().block(ago))
		failed.source().receipts[failed.tx]["status"] = "0x0"
		failed.multiply(2)
		failed.nodes[failed.src][1].receipts = nil
		failed.start()
		failed.wantReason(Pending, false, says)
	}
}

// TestNext: clients check again when a change may be due, and less often the longer nothing
// changes.
func TestNext(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*script)
		want   time.Duration
	}{
		"unknown":                     {func(*script) {}, shortestNext},
		"confirmations of the source": {func(s *script) { s.swap(0) }, 22 * time.Second},
		"settles":                     {func(s *script) { s.swap(time.Minute) }, 10 * time.Second},
		"confirmations of the payout, for a day": {func(s *script) {
			s.swap(24 * time.Hour)
			s.pay(90 * time.Second)
		}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, toHub)
			test.change(s)
			s.start()
			now := time.Now()
			s.now = func() time.Time { return now }
			if got := s.look(); got.Next != test.want {
				t.Errorf("got %s, again in %v, want %v: %+v", got.State, got.Next, test.want, got)
			}
		})
	}
	s := newScript(t, toHub)
	s.swap(time.Minute)
	s.start()
	now := time.Now()
	s.now = func() time.Time { return now }
	s.look()
	now = now.Add(110 * time.Second)
	if got := s.look(); got.Next != 11*time.Second {
		t.Errorf("nothing new for 110 seconds: again in %v", got.Next)
	}
	s.pay(0)
	s.destination().hooks["eth_getLogs"] = constant([]object{})
	if got := s.look(); got.Swaps[0].Reason == "" || got.Next != 10*time.Second {
		t.Errorf("after news: again in %v", got.Next)
	}
	for unchanged, want := range map[time.Duration]time.Duration{
		0: shortestNext, time.Minute: 6 * time.Second, 50 * time.Minute: longestNext, 24 * time.Hour: longestNext,
	} {
		l := &lookup{Tracker: s.Tracker, entry: entry{since: now.Add(-unchanged)}}
		l.pace = time.Second
		next := []time.Duration{l.next(Settling)}
		l.pace = 12 * time.Second
		next = append(next, l.next(NotFound), l.next(Settling))
		l.expect(time.Hour)
		next = append(next, l.next(Settling))
		l.blocked = 7 * time.Minute
		next = append(next, l.next(Settling))
		if all := []time.Duration{want, want, max(want, l.pace), longestDue, l.blocked}; !slices.Equal(next, all) {
			t.Errorf("unchanged for %v: got %v, want %v", unchanged, next, all)
		}
	}
}

// TestRefusals: failing endpoints are a fault with the chain, and the next one is called.
func TestRefusals(t *testing.T) {
	refusing := func(endpoints int) *script {
		s := newScript(t, toHub)
		s.swap(10 * time.Minute)
		s.multiply(endpoints)
		s.start()
		return s
	}
	for name, handler := range map[string]http.HandlerFunc{
		"status 500": node.Status(500),
		"over quota": node.Limited("7"),
		"endless":    node.Pours,
		"null":       node.Says("null"),
	} {
		s := refusing(2)
		s.source().handler = handler
		s.want(Settling, false)
		alone := refusing(1)
		alone.source().handler = handler
		if name == "endless" {
			alone.wantFault(fault.StatusUnavailable, "chain 4663")
			continue
		}
		if f := alone.wantFault(fault.ChainUnavailable, "chain 4663"); f.RetryAfter < time.Second {
			t.Errorf("%s: retry after %v", name, f.RetryAfter)
		}
	}
	both := refusing(2)
	both.source().head -= uint64(time.Hour / both.source().pace)
	both.source().receipts = nil
	both.nodes[robinhood][1].handler = node.Status(502)
	stalled := both.wantFault(fault.ChainUnavailable, "has no node that is up to date")
	wantCause := regexp.MustCompile(`^behind: endpoint 1: its latest block is of 20\S+Z; endpoint 2: HTTP status 502$`)
	if cause := fmt.Sprint(errors.Unwrap(stalled)); !wantCause.MatchString(cause) {
		t.Errorf("got %s, want both endpoints named", cause)
	}
	wrong := refusing(1)
	wrong.destination().hooks["eth_call"] = constant("0x02")
	wrong.wantFault(fault.ChainUnavailable, "has a contract that does not match the deployment")
	wrong.chains.Close()
	wrong.wantFault(fault.ChainUnavailable, "did not answer")
}

// Nodes that seem late because of this machine's clock do not suffice, and the log says why.
func TestClockIsAhead(t *testing.T) {
	for excuse, ahead := range map[string]time.Duration{
		"": 0, ", but this machine's clock is 15 minutes ahead: synchronise it by NTP": 15 * time.Minute,
	} {
		s := paidSwap(t, toHub, 2)
		for _, n := range s.nodes[s.src] {
			n.receipts = nil
			n.head -= uint64(5 * time.Minute / n.pace) // wantFault lets ten minutes pass
		}
		s.start()
		others := time.Now().Add(-ahead)
		s.clock.ReadDatabase(others)
		s.clock.ReadHead(1, 1, others)
		s.clock.ReadHead(10, 1, others)
		f := s.wantFault(fault.ChainUnavailable, "has no node that is up to date")
		want := regexp.MustCompile(`^behind: endpoint 1: its latest block is of 20\S+Z` + excuse + `; endpoint 2: .*Z` + excuse + `$`)
		if cause := fmt.Sprint(errors.Unwrap(f)); !want.MatchString(cause) {
			t.Errorf("got the cause %q, want %q", cause, want)
		}
	}
}

func TestNoEndpoint(t *testing.T) {
	s := paidSwap(t, toHub, 1)
	nodes := maps.Clone(s.nodes)
	delete(s.nodes, hub)
	s.start()
	const says = "has no RPC endpoint configured"
	f := s.wantFault(fault.ChainUnavailable, "chain 369, on which the swap is paid out, "+says)
	if f.Role != 0 {
		t.Errorf("got %+v, want no parameter blamed", f)
	}
	s.nodes = nil
	s.start()
	f = s.wantFault(fault.ChainUnavailable, "chain 4663, of the transaction, "+says)
	if f.Role != fault.SourceChain || f.RetryAfter != time.Minute {
		t.Errorf("got %+v", f)
	}
	nodes[hub] = append(nodes[hub], nodes[hub][0].another(t))
	s.nodes = nodes
	s.start()
	if got := s.SingleEndpoint(); !slices.Equal(got, []chain.ID{robinhood}) {
		t.Errorf("the only endpoints are those of %v, want of 4663", got)
	}
	if s.Ready() || len(s.Untracked()) == 0 || slices.Contains(s.Untracked(), hub) {
		t.Errorf("the chains without an endpoint are %v", s.Untracked())
	}
	s.start(`"tracking": "reference"`, `"tracking": "none"`)
	s.src = chain.PrivacyEthereum
	s.wantFault(fault.StatusUnavailable, "on chain 1, or contact the operator")
}

// TestOneLookup: concurrent lookups are one, and callers that leave do not end it. Its result is
// not requested again before it expires.
func TestOneLookup(t *testing.T) {
	s := newScript(t, toHub)
	s.swap(time.Minute)
	s.start()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = s.Status(gone, Request{Chain: s.src, Tx: s.tx})
	var callers sync.WaitGroup
	ask := func() {
		if got, err := s.Status(t.Context(), Request{Chain: s.src, Tx: s.tx}); err != nil || got.State != Settling {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	for range 20 {
		callers.Go(ask)
	}
	callers.Wait()
	step := func(name string, source, destination int) {
		t.Helper()
		ask()
		gotSource, gotDestination := s.source().counted(), s.destination().counted()
		if gotSource != source || gotDestination != destination {
			t.Errorf("%s: got %d and %d requests, want %d and %d", name, gotSource, gotDestination, source, destination)
		}
	}
	step("at the same time", 2, 1)
	s.pass(9 * time.Second) // less than nextCheckSeconds
	step("too early", 0, 0)
	s.pass(2 * time.Second)
	step("when it is time", 0, 1) // the source is confirmed
}

// TestCallersShareTheQueue: the caller's network has its share of the queue, and no more.
func TestCallersShareTheQueue(t *testing.T) {
	s := newScript(t, toHub)
	s.start()
	asked := make(chan struct{}, 9)
	front := node.NewFront(t, node.Answers(func(c node.Call) any { return hexutil.Uint64(s.src) }))
	front.Instead(node.Batch, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		node.Hangs(w, r)
	})
	var err error
	s.chains, err = rpc.New(rpc.Config{s.src: {rpc.SecretURL(front.URL)}}, rpc.Options{
		Limits: map[rpc.Queue]rpc.Limits{rpc.TxLookups: {Try: time.Minute, Total: 10 * time.Second, Calls: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.chains.Close)
	status := func(network string, n byte) error {
		_, err := s.Status(t.Context(), Request{Chain: s.src, Tx: common.Hash{n}, Caller: netip.MustParsePrefix(network)})
		return err
	}
	go status("203.0.113.0/24", 1)
	<-asked
	refused := status("203.0.113.0/24", 2)
	if f, _ := errors.AsType[*rpc.Failure](refused); f == nil || f.Reason != rpc.Busy {
		t.Errorf("a second question of one network: got %v, want %s", refused, rpc.Busy)
	}
	go status("198.51.100.0/24", 3)
	<-asked
}

// TestNextOfCached: a client checks again when its cached answer expires, and not later.
func TestNextOfCached(t *testing.T) {
	s := newScript(t, toHub)
	s.start()
	now := s.now().Add(time.Hour) // what is kept has not expired yet, however slow this test is
	s.now = func() time.Time { return now }
	for rest, want := range map[time.Duration]time.Duration{
		40 * time.Second: 40 * time.Second, 2 * time.Second: shortestNext, -time.Second: shortestNext, time.Hour: time.Minute,
	} {
		k := key{s.src.Network(), common.Hash{byte(rest / time.Second)}}
		_, _ = s.cache.Ask(t.Context(), k, func() (cache.Entry[entry], error) {
			kept := entry{status: &Status{State: Settling, Next: time.Minute}}
			return cache.Entry[entry]{Value: kept, Until: now.Add(rest)}, nil
		})
		if got, err := s.Status(t.Context(), Request{Chain: s.src, Tx: k.tx}); err != nil || got.Next != want {
			t.Errorf("it expires in %v: got %+v, %v, want to be asked again in %v", rest, got, err, want)
		}
	}
}

// TestFinalIsCached: even while invented hashes are looked up.
func TestFinalIsCached(t *testing.T) {
	s := paidSwap(t, toHub, 1)
	s.start()
	first := s.want(Settled, true)
	asked := s.source().counted()
	for i := range 2 * cacheSize {
		k := key{robinhood, common.Hash{byte(i), byte(i >> 8)}}
		s.cache.Ask(t.Context(), k, func() (cache.Entry[entry], error) { return cache.Entry[entry]{}, nil })
	}
	s.pass(365 * 24 * time.Hour)
	again := s.want(Settled, true)
	if asked == 0 || s.source().counted() != 0 || again.Swaps[0].Settlement != first.Swaps[0].Settlement {
		t.Error("a final answer was looked up again")
	}
}

// TestLimit: a caller over its limit gets the previous answer, or is refused.
func TestLimit(t *testing.T) {
	s := newScript(t, toHub)
	s.swap(time.Minute)
	s.start()
	limited := Request{Chain: s.src, Tx: s.tx, Admit: func() *fault.Error {
		return &fault.Error{Code: fault.RateLimited, RetryAfter: 40 * time.Second}
	}}
	if _, err := s.Status(t.Context(), limited); fault.From(err).Code != fault.RateLimited {
		t.Errorf("got %v, want the limit's refusal", err)
	}
	s.want(Settling, false)
	got, err := s.Status(t.Context(), limited)
	if err != nil || got.State != Settling || !got.Repeated || got.Next != 40*time.Second {
		t.Errorf("got %+v, %v, want the last answer", got, err)
	}
}
