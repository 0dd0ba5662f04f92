package status

import (
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// paidSwap is a swap of ten minutes ago that was paid out eight minutes ago.
func paidSwap(t testing.TB, r route, endpoints int) *script {
	s := newScript(t, r)
	s.swap(10 * time.Minute)
	s.pay(8 * time.Minute)
	if r.dst == optimism {
		s.mint(6 * time.Minute)
	}
	s.multiply(endpoints)
	return s
}

func (s *script) wantReason(state State, final bool, says string) *Status {
	s.t.Helper()
	got := s.want(s.src, s.tx, state, final)
	reason := got.Reason
	if len(got.Swaps) > 0 && reason == "" {
		reason = got.Swaps[0].Reason
	}
	if (reason == "") != (says == "") || !strings.Contains(reason, says) {
		s.t.Errorf("got the reason %q, want %q", reason, says)
	}
	return got
}

// TestEvidence wants money to be seen before a swap is settled, and each log to prove one
// settlement.
func TestEvidence(t *testing.T) {
	weth := token(hub, chain.WETH)
	for name, test := range map[string]struct {
		route  route
		logs   func(*script) []map[string]any // nil for the right ones
		state  State
		final  bool
		reason string
	}{
		"transfer":        {toHub, nil, Settled, true, ""},
		"native":          {fromHub, func(s *script) []map[string]any { return []map[string]any{s.settled(s.settlement(0))} }, Settled, true, ""},
		"note":            {toNote, nil, Settled, true, ""},
		"no transfer":     {toHub, func(s *script) []map[string]any { return []map[string]any{s.settled(s.settlement(0))} }, Settling, false, noMoney},
		"amount 0":        {toHub, withAmount(0, 0), Settling, false, noMoney},
		"native amount 0": {fromHub, withAmount(0, 0), Settling, false, noMoney},
		"another amount":  {toHub, withAmount(99, 98), Settling, false, noMoney},
		"to another": {toHub, func(s *script) []map[string]any {
			return []map[string]any{transfer(weth, treasury, 99), s.settled(s.settlement(0))}
		}, Settling, false, noMoney},
		"of another token": {toHub, func(s *script) []map[string]any {
			return []map[string]any{transfer(token(hub, chain.USDC), recipient, 99), s.settled(s.settlement(0))}
		}, Settling, false, noMoney},
		"one transfer for two": {toHub, func(s *script) []map[string]any {
			return []map[string]any{transfer(weth, recipient, 99), s.settled(s.settlement(1)), s.settled(s.settlement(0))}
		}, Settling, false, noMoney},
		"two transfers for two": {toHub, func(s *script) []map[string]any {
			one := transfer(weth, recipient, 99)
			return []map[string]any{one, s.settled(s.settlement(1)), maps.Clone(one), s.settled(s.settlement(0))}
		}, Settled, true, ""},
		"note without its fee": {toNote, func(s *script) []map[string]any {
			return []map[string]any{s.shield(97, 1), s.settled(s.settlement(0))}
		}, Settling, false, noMoney},
		"note of another contract": {toNote, func(s *script) []map[string]any {
			log := s.shield(97, 2)
			log["address"] = common.Address{1}
			return []map[string]any{log, s.settled(s.settlement(0))}
		}, Settling, false, noMoney},
		"transfer instead of a note": {toNote, func(s *script) []map[string]any {
			return []map[string]any{transfer(token(s.dst, s.out), recipient, 99), s.settled(s.settlement(0))}
		}, Settling, false, noMoney},
		"short":  {toHub, withAmount(98, 98), Settled, false, isShort},
		"beyond": {toHub, withAmount(100, 100), Settled, false, isShort},
		"another recipient": {toHub, func(s *script) []map[string]any {
			p := s.settlement(0)
			p.Recipient = treasury[:]
			return []map[string]any{transfer(weth, treasury, 99), s.settled(p)}
		}, Settling, false, anotherPayout},
		"another event": {toHub, func(s *script) []map[string]any { return []map[string]any{transfer(weth, recipient, 99)} }, Settling, false, "no node returns that event"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.route)
			s.swap(10 * time.Minute)
			if test.logs == nil {
				s.pay(8 * time.Minute)
			} else {
				s.pay(8*time.Minute, test.logs(s)...)
			}
			s.start()
			got := s.wantReason(test.state, test.final, test.reason)
			if test.state != Settled {
				return
			}
			p := got.Swaps[0].Settlement
			wantArrived := map[bool]uint64{true: 97, false: p.Amount.Uint64()}[test.route.kind == 2]
			if p.Arrived.Uint64() != wantArrived || (p.Short != nil) != (test.reason == isShort) {
				t.Errorf("got %+v, want %d to arrive", p, wantArrived)
			}
			if p.Short != nil && (p.Short.Swapped.Uint64() != 100 || p.Short.Paid.Uint64() != p.Amount.Uint64()+1) {
				t.Errorf("got %+v, want both figures", p.Short)
			}
		})
	}
}

// withAmount is a settlement that says one amount, and pays another.
func withAmount(says, pays int64) func(*script) []map[string]any {
	return func(s *script) []map[string]any {
		p := s.settlement(0)
		p.Amount = big.NewInt(says)
		return []map[string]any{transfer(p.Token, recipient, pays), s.settled(p)}
	}
}

// TestEndpoints wants what is final to be what two endpoints say.
func TestEndpoints(t *testing.T) {
	hide := func(n *scripted) { n.words = map[string]uint64{} }
	fail := func(n *scripted) {
		n.receipts[common.Hash{1}]["status"], n.receipts[common.Hash{1}]["logs"] = "0x0", []any{}
	}
	empty := func(n *scripted) { n.receipts[common.Hash{1}]["logs"] = []any{} }
	unknown := func(n *scripted) { n.instead["eth_getLogs"] = unknownBlock }
	pend := func(n *scripted) { n.receipts[common.Hash{1}] = map[string]any{} }
	forget := func(n *scripted) { n.receipts = map[common.Hash]map[string]any{} }
	back := func(blocks uint64) func(*scripted) { // it lags behind, and does not stand still
		return func(n *scripted) {
			n.head -= blocks
			n.at = n.at.Add(time.Duration(blocks) * n.pace)
		}
	}
	stale := func(n *scripted) { n.head -= uint64(4 * time.Minute / n.pace) }
	fork := func(n *scripted) { // the payout is in another block
		block := uint64(n.receipts[common.Hash{2}]["blockNumber"].(hexutil.Uint64))
		n.forks[block] = 1
		logs := n.receipts[common.Hash{2}]["logs"].([]map[string]any)
		n.include(common.Hash{2}, block, maps.Clone(logs[0]), maps.Clone(logs[1]))
	}
	deaf := func(n *scripted) { n.instead["eth_getLogs"] = "null" }
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
		"payer stands still":         {2, nil, change{1: stale}, Settled, false, alone},
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
		"source stands still":        {2, change{0: stale}, nil, Settled, false, alone},
		"the only payer stands":      {1, nil, change{0: stale}, Settled, true, ""},
		"the only source stands":     {1, change{0: stale}, nil, Settled, true, ""},
		"unknown to all":             {2, change{0: forget, 1: forget}, nil, NotFound, false, ""},
		"lower head decides, source": {2, change{1: back(2400 - 5)}, nil, Pending, false, ""},
		"lower head decides, payer":  {2, nil, change{1: back(48 - 5)}, Settled, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, toHub, test.endpoints)
			for i, n := range s.nodes[robinhood] {
				n.receipts[s.tx] = maps.Clone(n.receipts[s.tx])
				if f := test.source[i]; f != nil {
					f(n)
				}
			}
			for i, n := range s.nodes[hub] {
				if f := test.destination[i]; f != nil {
					f(n)
				}
			}
			s.start()
			s.wantReason(test.state, test.final, test.reason)
		})
	}
}

// TestRequests counts the requests to nodes, a batch being one: for a first answer and for
// the one that makes a swap final, while it settles, and once it is late.
func TestRequests(t *testing.T) {
	for name, test := range map[string]struct {
		route                 route
		endpoints             int
		first, settling, late int
	}{
		"one endpoint":          {toHub, 1, 5, 1, 1},
		"two endpoints":         {toHub, 2, 7, 1, 2},
		"note, one endpoint":    {toNote, 1, 5, 1, 1},
		"note, two endpoints":   {toNote, 2, 7, 1, 2},
		"onward, one endpoint":  {onOnward, 1, 7, 1, 1},
		"onward, two endpoints": {onOnward, 2, 10, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, test.route, test.endpoints)
			count := func(step string, want int) {
				t.Helper()
				got := 0
				for _, nodes := range s.nodes {
					for _, n := range nodes {
						got += n.counted()
					}
				}
				if got != want {
					t.Errorf("%s: got %d requests, want %d", step, got, want)
				}
			}
			start := func(seconds string) {
				s.start(`[{"seconds": 13}]`, `[{"seconds": `+seconds+`}]`)
				s.issuer.say(s.paid, s.attested())
			}
			start("900")
			s.want(s.src, s.tx, Settled, true)
			count("first answer", test.first)
			s.want(s.src, s.tx, Settled, true)
			count("final", 0)

			paid := s.destination().words
			s.words(nil)
			start("900")
			s.want(s.src, s.tx, Settling, false)
			count("first answer of a swap that settles", test.endpoints+1+test.settling)
			s.want(s.src, s.tx, Settling, false)
			count("settling", test.settling)
			s.words(paid)
			s.want(s.src, s.tx, Settled, true)
			count("the last answer", test.first)

			s.words(nil)
			start("60")
			s.want(s.src, s.tx, Settling, false)
			count("first answer of a swap that is late", test.endpoints+1+test.late)
			s.want(s.src, s.tx, Settling, false)
			count("late", test.late)
		})
	}
}

// words has all nodes of the payer say the same of what is settled.
func (s *script) words(words map[string]uint64) {
	for _, n := range s.nodes[s.payer] {
		n.mu.Lock()
		n.words = words
		n.mu.Unlock()
	}
}

// TestProviders wants a payout to be found at providers that give the logs of few blocks,
// however they refuse more, and however old the swap is. It is not found by its
// transaction alone: what the issuer minted is, if the provider lets us look.
func TestProviders(t *testing.T) {
	limits := []uint64{1, 10, 500}
	for i, refusal := range []struct{ status, code int }{
		{400, 0}, {403, 0}, {413, 0}, {429, 0}, {0, -32005}, {0, -32600}, {0, -32614},
	} {
		limit := limits[i%len(limits)]
		t.Run(fmt.Sprint(limit, refusal), func(t *testing.T) {
			for _, r := range []route{toHub, onOnward} {
				s := paidSwap(t, r, 1)
				for _, nodes := range s.nodes {
					nodes[0].limit, nodes[0].status, nodes[0].code = limit, refusal.status, refusal.code
				}
				s.start()
				s.issuer.say(s.paid, s.attested())
				got := s.want(s.src, s.tx, Settled, true).Swaps[0].Settlement
				want := map[bool]common.Hash{true: s.paid, false: {3}}[r.dst == hub]
				if r.dst == optimism && limit < newestBlocks {
					want = common.Hash{}
				}
				if got.TxHash != want {
					t.Errorf("got %+v, want transaction %s", got, want)
				}
				for id := range s.nodes {
					if h := s.Tracker.chains.Health(id, rpc.Tracking); h.Resting > 0 {
						t.Errorf("an endpoint of chain %s rests: %+v", id, h)
					}
				}
			}
		})
	}
}

func TestYearAgo(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, r := range map[string]route{"to the hub": toHub, "from the hub": fromHub, "note": toNote, "onward": onOnward} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, r)
			s.swap(year)
			s.pay(year - time.Minute)
			if r.dst == optimism {
				s.mint(year - 2*time.Minute)
			}
			s.multiply(2)
			s.start()
			s.issuer.say(s.paid, s.attested())
			p := s.want(s.src, s.tx, Settled, true).Swaps[0].Settlement
			isMint := r.dst == optimism
			if (p.TxHash == common.Hash{}) != isMint || p.Time.IsZero() != isMint || isMint && p.Arrived.Uint64() != 97 {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// TestNoSuchBlock wants a pool that does not say in which block it paid to be told of.
func TestNoSuchBlock(t *testing.T) {
	for name, block := range map[string]uint64{"the old mapping": 1, "beyond the head": 600_000_000, "beyond everything": 1<<64 - 1} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, toHub)
			s.swap(10 * time.Minute)
			s.pay(8 * time.Minute)
			id := hexutil.Encode(calldata.SettledIn(s.id()))
			right := s.destination().words[id]
			s.destination().words[id] = block
			s.start()
			s.wantReason(Settling, false, fmt.Sprintf("reports that it settled this swap in block %d, but no node returns", block))
			if got := s.Problems(); len(got) != 1 || !strings.Contains(got[0], poolOf(hub, chain.WETH).Hex()) || !strings.Contains(got[0], "chain 369") {
				t.Errorf("got the problems %q", got)
			}
			s.words(map[string]uint64{id: right})
			s.want(s.src, s.tx, Settled, true)
			if got := s.Problems(); len(got) != 0 {
				t.Errorf("got the problems %q of a pool that is right", got)
			}
		})
	}
}

// TestNotFinal wants a payout that may be another swap's not to be final.
func TestNotFinal(t *testing.T) {
	t.Run("older than its source", func(t *testing.T) {
		s := newScript(t, toHub)
		s.swap(10 * time.Minute)
		s.pay(11*time.Minute + 10*time.Second)
		s.start()
		s.wantReason(Settled, false, beforeSource)
	})
	t.Run("within the error of clocks", func(t *testing.T) {
		s := newScript(t, toHub)
		s.swap(10 * time.Minute)
		s.pay(10*time.Minute + 50*time.Second)
		s.start()
		s.want(s.src, s.tx, Settled, true)
	})
	t.Run("served another transaction", func(t *testing.T) {
		s := paidSwap(t, onOnward, 1)
		second := common.Hash{9}
		s.source().include(second, s.source().block(9*time.Minute), s.swapped(1))
		p := s.settlement(1)
		other := s.settled(p)
		burn := s.money(p)
		id := other["topics"].([]common.Hash)[1]
		data := burn["data"].(hexutil.Bytes)
		copy(data[len(data)-32:], id[:])
		d := s.destination()
		d.include(common.Hash{8}, d.block(7*time.Minute), burn, other)
		d.words[hexutil.Encode(calldata.SettledIn(id))] = d.block(7 * time.Minute)
		s.start()
		s.issuer.say(s.paid, s.attested())
		copied := s.attested() // the issuer names the same nonce again
		copy(copied.Message[len(copied.Message)-32:], id[:])
		s.issuer.say(common.Hash{8}, copied)
		s.want(s.src, s.tx, Settled, true)
		s.tx = second
		s.wantReason(Settled, false, servedAnother)
	})
	t.Run("the same event twice", func(t *testing.T) {
		s := newScript(t, toHub)
		s.source().include(s.tx, s.source().block(10*time.Minute), s.swapped(0), s.swapped(0))
		s.pay(8 * time.Minute)
		s.start()
		for range 2 {
			got := s.want(s.src, s.tx, Settled, false)
			if !got.Swaps[0].Final || got.Swaps[1].Final || got.Swaps[1].Reason != servedAnother {
				t.Errorf("got %+v", got.Swaps)
			}
		}
	})
}

// TestReplacedBlocks wants nothing to be final that rests on a block which is gone.
func TestReplacedBlocks(t *testing.T) {
	for name, endpoints := range map[string]int{"one endpoint": 1, "two endpoints": 2} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, toHub, endpoints)
			s.start()
			paid := s.destination().words
			s.words(nil)
			s.want(s.src, s.tx, Settling, false) // the source is remembered
			s.words(paid)
			for _, n := range s.nodes[s.src] {
				block := n.block(10 * time.Minute)
				n.forks[block] = 1
				n.include(s.tx, block+1, s.swapped(0))
			}
			block := s.source().block(10 * time.Minute)
			if got := s.want(s.src, s.tx, Settled, true); got.Source.Block != block+1 {
				t.Errorf("got the source %+v, want it in the next block", got.Source)
			}

			gone := paidSwap(t, toHub, endpoints)
			gone.start()
			gone.words(nil)
			gone.want(gone.src, gone.tx, Settling, false)
			gone.words(paid)
			for _, n := range gone.nodes[gone.src] {
				delete(n.receipts, gone.tx)
			}
			gone.wantReason(Pending, false, seenBefore)
		})
	}
}

// TestLoadBalancers has two endpoints, behind each of which nodes have different heads.
func TestLoadBalancers(t *testing.T) {
	s := paidSwap(t, toHub, 2)
	turn := uint64(0)
	for _, nodes := range s.nodes {
		for _, n := range nodes {
			n.lag = func() uint64 { turn++; return turn % 3 }
		}
	}
	s.start()
	s.want(s.src, s.tx, Settled, true)

	fresh := newScript(t, toHub) // its payout is in the newest block
	fresh.swap(10 * time.Minute)
	fresh.pay(0)
	fresh.multiply(2)
	for _, n := range fresh.nodes[hub] {
		n.lag = func() uint64 { turn++; return turn % 3 }
	}
	fresh.start()
	for range 20 {
		got := fresh.look(fresh.src, fresh.tx)
		reason := got.Reason + got.Swaps[0].Reason
		if got.Final || got.Next != shortestNext && got.State != Settled || strings.Contains(reason, "disagree") || strings.Contains(reason, "Contact the operator") {
			t.Fatalf("got %s, %q, again in %v", got.State, reason, got.Next)
		}
	}
	if got := fresh.Problems(); len(got) != 0 {
		t.Errorf("got the problems %q of a pool that is right", got)
	}

	for ago, says := range map[time.Duration]string{0: "has the block yet", 2 * paces[robinhood]: "disagree"} {
		failed := newScript(t, toHub) // one of the nodes does not have its receipt
		failed.swap(ago)
		failed.multiply(2)
		receipt := failed.source().receipts[failed.tx]
		receipt["status"], receipt["logs"] = "0x0", []any{}
		failed.nodes[failed.src][1].receipts = nil
		failed.start()
		failed.wantReason(Pending, false, says)
	}
}

// TestSlowWitness wants an endpoint that is slow to count like any other.
func TestSlowWitness(t *testing.T) {
	s := paidSwap(t, toHub, 2)
	for _, nodes := range s.nodes {
		nodes[0].delay = 50 * time.Millisecond
		nodes[1].delay = 50 * time.Millisecond
	}
	s.start()
	s.want(s.src, s.tx, Settled, true)
}

// TestMintWithoutOldState wants a nonce to be seen twice, long enough apart, where nodes
// do not have the state of the block with the confirmations.
func TestMintWithoutOldState(t *testing.T) {
	s := paidSwap(t, onOnward, 2)
	for _, n := range s.nodes[optimism] {
		n.noState = true
	}
	s.start()
	s.issuer.say(s.paid, s.attested())
	now := time.Now()
	s.Now = func() time.Time { return now }
	got := s.want(s.src, s.tx, Settled, false)
	if p := got.Swaps[0].Settlement; p.Arrived.Uint64() != 97 || p.TxHash != (common.Hash{3}) || got.Next > longestNext {
		t.Errorf("got %+v, again in %v", p, got.Next)
	}
	now = now.Add(23 * time.Second)
	s.want(s.src, s.tx, Settled, false)
	now = now.Add(time.Second) // twelve blocks of two seconds
	s.want(s.src, s.tx, Settled, true)
}

// TestNext wants clients to be told to ask when there may be something new, the less often
// the longer a swap takes.
func TestNext(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*script)
		want   time.Duration
	}{
		"confirmations of the source":            {func(s *script) { s.swap(0) }, 22 * time.Second},
		"settles":                                {func(s *script) { s.swap(time.Minute) }, 10 * time.Second},
		"settles for an hour":                    {func(s *script) { s.swap(time.Hour) }, time.Minute},
		"settles for a day":                      {func(s *script) { s.swap(24 * time.Hour) }, 5 * time.Minute},
		"confirmations of the payout, for a day": {func(s *script) { s.swap(24 * time.Hour); s.pay(90 * time.Second) }, 20 * time.Second},
		"no node shows it": {func(s *script) {
			s.swap(24 * time.Hour)
			s.pay(time.Hour, transfer(recipient, recipient, 1))
		}, shortestNext},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, toHub)
			test.change(s)
			s.start()
			now := time.Now()
			s.Now = func() time.Time { return now }
			if got := s.look(s.src, s.tx); got.Next != test.want {
				t.Errorf("got %s, again in %v, want %v: %+v", got.State, got.Next, test.want, got)
			}
		})
	}
	slow := newScript(t, fromHub)
	slow.start()
	if got := slow.look(slow.src, slow.tx); got.State != NotFound || got.Next != shortestNext {
		t.Errorf("got %s, again in %v on a chain of slow blocks, want %v", got.State, got.Next, shortestNext)
	}
	l := &lookup{Tracker: &Tracker{Options: Options{Now: time.Now}}, trail: &progress{}, blocked: 5 * time.Minute}
	s := &Status{State: Settling, Source: &Source{Time: time.Now()}}
	if l.schedule(s); s.Next != 5*time.Minute {
		t.Errorf("the issuer cannot be asked for five minutes, and clients ask in %v", s.Next)
	}
}
