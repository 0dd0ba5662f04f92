package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// trio is a swap of an hour ago that is paid out, at so many equal nodes of its source
// and of its destination.
func trio(t testing.TB, sources, destinations int, edit ...string) (s *script, from, to []*scripted) {
	s = newScript(t, edit...)
	s.source.transaction = map[string]any{"to": robinPool, "input": hexutil.Bytes(orderOf(100))}
	s.swap(time.Hour, 1)
	s.pay(50*time.Minute, 0, settlement(0))
	from, to = []*scripted{s.source}, []*scripted{s.destination}
	for len(from) < sources {
		from = append(from, s.source.another(t))
	}
	for len(to) < destinations {
		to = append(to, s.destination.another(t))
	}
	s.use(t, endpoints(from, to), edit...)
	return s, from, to
}

// orderOf is the input of a transaction that asks the pool for a swap.
func orderOf(amount int64) []byte {
	weth, _ := chain.FindToken(hub, chain.WETH)
	swap := calldata.Swap{DstChainID: uint64(hub), DstToken: weth.Address.Address, Recipient: recipient[:]}
	swap.Amount.SetUint64(uint64(amount))
	return swap.Encode()
}

// says changes fields of the receipt that a node shows.
func (s *script) says(n *scripted, with map[string]any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := maps.Clone(n.receipts[s.tx])
	maps.Copy(r, with)
	n.receipts[s.tx] = r
}

var reverts = `{"code":3,"message":"execution reverted","data":"0x"}`

// fails has nodes say that the transaction reverted, and that it does so when it is
// repeated.
func (s *script) fails(nodes ...*scripted) {
	for _, n := range nodes {
		s.says(n, map[string]any{"status": "0x0", "logs": []any{}})
		n.instead = func(method string) (any, string) {
			if method == "eth_call" {
				return nil, reverts
			}
			return nil, ""
		}
	}
}

func (s *script) forgets(n *scripted) { delete(n.receipts, s.tx) }

// keepsPending has a node know the transaction, and have it in no block.
func keepsPending(n *scripted) {
	n.instead = func(method string) (any, string) {
		if method == "eth_getTransactionReceipt" {
			return json.RawMessage("null"), ""
		}
		return nil, ""
	}
}

func down(n *scripted) { n.status = http.StatusBadGateway }

// What one endpoint says is not final where there are several, and what an up-to-date
// one contradicts is not told.
func TestFinalTakesTwoSources(t *testing.T) {
	empty := map[string]any{"logs": []any{}}
	other := map[string]any{"blockHash": common.Hash{9}, "logs": []any{}}
	for name, test := range map[string]struct {
		nodes  int
		change func(s *script, n []*scripted)
		state  State
		final  bool
		reason string
	}{
		"all agree":                           {2, func(*script, []*scripted) {}, Settled, true, ""},
		"one alone":                           {1, func(*script, []*scripted) {}, Settled, true, ""},
		"one alone, failed":                   {1, func(s *script, n []*scripted) { s.fails(n[0]) }, Failed, true, ""},
		"both say failed":                     {2, func(s *script, n []*scripted) { s.fails(n...) }, Failed, true, ""},
		"the first says failed":               {2, func(s *script, n []*scripted) { s.fails(n[0]) }, Pending, false, disagree(robinhood)},
		"the second says failed":              {2, func(s *script, n []*scripted) { s.fails(n[1]) }, Settled, false, disagree(robinhood)},
		"no events at the second":             {2, func(s *script, n []*scripted) { s.says(n[1], empty) }, Settled, false, disagree(robinhood)},
		"pending, and the second says failed": {2, func(s *script, n []*scripted) { keepsPending(n[0]); s.fails(n[1]) }, Pending, false, disagree(robinhood)},
		"unknown, and the second says failed": {2, func(s *script, n []*scripted) { s.forgets(n[0]); s.fails(n[1]) }, Pending, false, disagree(robinhood)},
		"failed, and unknown to the second":   {2, func(s *script, n []*scripted) { s.forgets(n[1]); s.fails(n[0]) }, Pending, false, disagree(robinhood)},
		"failed, and the second is down":      {2, func(s *script, n []*scripted) { s.fails(n[0]); down(n[1]) }, Failed, false, alone(robinhood)},
		"a swap, and the second is down":      {2, func(s *script, n []*scripted) { down(n[1]) }, Settled, false, alone(robinhood)},
		"a swap, and the first is down":       {2, func(s *script, n []*scripted) { down(n[0]) }, Settled, false, alone(robinhood)},
		"a swap, and unknown to the first":    {2, func(s *script, n []*scripted) { s.forgets(n[0]) }, Settled, false, disagree(robinhood)},
		"the first lies, of three":            {3, func(s *script, n []*scripted) { s.fails(n[0]) }, Settled, true, ""},
		"the second lies, of three":           {3, func(s *script, n []*scripted) { s.fails(n[1]) }, Settled, true, ""},
		"all three differ": {3, func(s *script, n []*scripted) {
			s.fails(n[0])
			s.says(n[1], other)
		}, Pending, false, disagree(robinhood)},
		"failed, with a reason, and the second is down": {2, func(s *script, n []*scripted) {
			s.fails(n[0])
			n[0].instead = func(method string) (any, string) {
				if method == "eth_call" {
					return nil, `{"code":3,"message":"execution reverted","data":"0x08c379a0` + strings.Repeat("0", 62) + `20` + strings.Repeat("0", 63) + `26e6f` + strings.Repeat("0", 60) + `"}`
				}
				return nil, ""
			}
			down(n[1])
		}, Failed, false, alone(robinhood) + ". It reverted with: no"},
		"the second stands still": {2, func(s *script, n []*scripted) { n[1].at = n[1].at.Add(-10 * time.Minute) }, Settled, false, alone(robinhood)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, from, _ := trio(t, test.nodes, 1)
			test.change(s, from)
			got := s.want(robinhood, s.tx, test.state, test.final)
			if got.Reason != test.reason {
				t.Errorf("got the reason %q, want %q", got.Reason, test.reason)
			}
			if !test.final && got.Next != shortestNext {
				t.Errorf("it is asked again in %v", got.Next)
			}
			if test.state == Pending && (got.Source != nil || len(got.Swaps) == 1 && got.Swaps[0].State != Pending) {
				t.Errorf("got %+v with %+v, want nothing of what is contradicted", got.Source, got.Swaps)
			}
			if pinned := lastTrail(s); !test.final && pinned != nil && pinned.source != nil {
				t.Error("the source is not read again, although nobody else says so")
			}
		})
	}
}

// lastTrail is what is remembered of the transaction.
func lastTrail(s *script) *trail {
	e, _ := s.answers.Last(keyOf(s))
	return e.trail
}

// A payout is final once another endpoint has the same event in the same block.
func TestFinalTakesTwoPayouts(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  int
		change func(n []*scripted)
		final  bool
		reason string
	}{
		"all agree":               {2, func([]*scripted) {}, true, ""},
		"one alone":               {1, func([]*scripted) {}, true, ""},
		"only the first has it":   {2, func(n []*scripted) { n[1].logs = nil }, false, disagree(hub)},
		"another says it is down": {2, func(n []*scripted) { down(n[1]) }, false, alone(hub)},
		"in another block": {2, func(n []*scripted) {
			log := maps.Clone(n[1].logs[0])
			log["blockHash"] = common.Hash{9}
			n[1].logs = []map[string]any{log}
		}, false, disagree(hub)},
		"in another transaction": {2, func(n []*scripted) {
			log := maps.Clone(n[1].logs[0])
			log["transactionHash"] = common.Hash{9}
			n[1].logs = []map[string]any{log}
		}, false, disagree(hub)},
		"the third has it": {3, func(n []*scripted) { n[1].logs = nil }, true, ""},
		"the second stands still": {2, func(n []*scripted) {
			n[1].at = n[1].at.Add(-time.Hour)
		}, false, alone(hub)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, to := trio(t, 1, test.nodes)
			test.change(to)
			got := s.want(robinhood, s.tx, Settled, test.final)
			if got.Swaps[0].Reason != test.reason || got.Swaps[0].Settlement == nil || got.Swaps[0].Final != test.final {
				t.Errorf("got %+v, want %q", got.Swaps[0], test.reason)
			}
		})
	}
}

// A payout that was read before it had its confirmations is read again once it has them:
// its block may have been replaced in between.
func TestPayoutIsReadWhenDeep(t *testing.T) {
	s, _, to := trio(t, 1, 1, `"369": 1`, `"369": 3`)
	to[0].logs = nil
	s.pay(0, 0, settlement(0))
	s.want(robinhood, s.tx, Settled, false)
	to[0].logs = nil
	s.paidIn = common.Hash{3}
	to[0].head += 9
	s.pay(50*time.Second, 0, settlement(0))
	if got := s.want(robinhood, s.tx, Settled, true); got.Swaps[0].Settlement.TxHash != s.paidIn {
		t.Errorf("got %+v, want the payout that stayed", got.Swaps[0].Settlement)
	}
}

// A head that is higher than that of another endpoint makes nothing final.
func TestHighHead(t *testing.T) {
	edit := []string{`"4663": 1`, `"4663": 12`, `"369": 1`, `"369": 12`}
	s, from, _ := trio(t, 2, 2, edit...)
	s.swap(time.Second, 1) // five confirmations
	from[1].receipts = s.source.receipts
	from[0].head += 15
	got := s.want(robinhood, s.tx, Pending, false)
	if got.Source.Confirmations != 5 || got.Reason != disagree(robinhood) {
		t.Errorf("got %d confirmations and %q, want those of the lower head", got.Source.Confirmations, got.Reason)
	}
	from[1].head += 15
	s.want(robinhood, s.tx, Settled, true)

	// What failed a moment ago is told, with its own reason, although the second is not
	// there yet; and it is not told if the second is there and says something else.
	s, from, _ = trio(t, 2, 1, edit...)
	s.swap(time.Second, 1)
	from[1].receipts = maps.Clone(s.source.receipts)
	s.fails(from[0])
	from[1].head -= 10
	if got := s.want(robinhood, s.tx, Failed, false); got.Reason != "" || got.Source.Confirmations != 5 {
		t.Errorf("got %+v, want it told as it is", got)
	}
	from[1].head += 10
	s.use(t, endpoints(from, []*scripted{s.destination}), edit...)
	s.want(robinhood, s.tx, Pending, false)

	s, _, to := trio(t, 1, 2, edit...)
	for _, n := range to {
		n.logs = nil
	}
	s.pay(50*time.Second, 0, settlement(0))
	to[1].logs = s.destination.logs
	to[0].head += 15
	if got := s.want(robinhood, s.tx, Settled, false); got.Swaps[0].Reason != disagree(hub) {
		t.Errorf("got %+v, want that the heads differ", got.Swaps[0])
	}
	to[1].head += 15
	s.want(robinhood, s.tx, Settled, true)
}

// What contradicts itself is never final, also if it is the only endpoint.
func TestContradictions(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *script, n *scripted)
		state  State
		reason string
	}{
		"a swap was asked for, and no event": {func(s *script, n *scripted) { s.says(n, map[string]any{"logs": []any{}}) }, NotASwap, noEvents},
		"no events, and a bloom filter": {func(s *script, n *scripted) {
			n.transaction = nil
			s.says(n, map[string]any{"logs": []any{}, "logsBloom": "0x" + strings.Repeat("0", 500) + "10"})
		}, NotASwap, hiddenEvents},
		"failed, and succeeds before": {func(s *script, n *scripted) {
			s.fails(n)
			n.instead = nil
		}, Failed, failedInVain},
	} {
		for _, nodes := range []int{1, 2} {
			s, from, _ := trio(t, nodes, 1)
			for _, n := range from {
				test.change(s, n)
			}
			for range 2 {
				if got := s.want(robinhood, s.tx, test.state, false); got.Reason != test.reason {
					t.Errorf("%s, %d nodes: got %q", name, nodes, got.Reason)
				}
			}
			if nodes == 1 {
				continue
			}
			// The other one is right, and is believed for the time being.
			s, from, _ = trio(t, nodes, 1)
			test.change(s, from[0])
			s.want(robinhood, s.tx, Settled, false)
		}
	}
	// Whoever has asked for nothing has no swap, and that is final.
	s, from, _ := trio(t, 2, 1)
	for _, n := range from {
		n.transaction = nil
		s.says(n, map[string]any{"logs": []any{}, "logsBloom": "0x" + strings.Repeat("0", 512)})
	}
	s.want(robinhood, s.tx, NotASwap, true)
}

// A node on a dead fork stands still, and has a transaction that the chain does not have.
func TestDeadFork(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		s, from, _ := trio(t, 2, 1)
		from[0].at = from[0].at.Add(-30 * time.Minute)
		s.forgets(from[1])
		s.use(t, endpoints([]*scripted{from[order[0]], from[order[1]]}, []*scripted{s.destination}))
		for range 2 {
			got := s.want(robinhood, s.tx, Pending, false)
			if got.Reason != disagree(robinhood) || got.Source != nil || lastTrail(s).source != nil {
				t.Errorf("got %+v", got)
			}
		}
	}
}

// A source that was confirmed and is gone later makes nothing final.
func TestSourceGone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *script, n *scripted)
		reason string
	}{
		"replaced": {func(s *script, n *scripted) {
			s.forgets(n)
			n.instead = func(method string) (any, string) {
				if method == "eth_getBlockByNumber" {
					return map[string]any{"number": hexutil.Uint64(n.block(time.Hour)), "hash": common.Hash{9}, "timestamp": hexutil.Uint64(n.at.Unix())}, ""
				}
				return nil, ""
			}
		}, "was replaced"},
		"not answered": {func(s *script, n *scripted) { down(n) }, "could not be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			s, from, to := trio(t, 1, 1)
			logs, paid := to[0].logs, to[0].settled
			to[0].logs, to[0].settled = nil, map[string]bool{}
			s.want(robinhood, s.tx, Settling, false)
			to[0].logs, to[0].settled = logs, paid
			test.change(s, from[0])
			got := s.want(robinhood, s.tx, Settled, false)
			if !strings.Contains(got.Reason, test.reason) || got.Swaps[0].Final || got.Next != shortestNext {
				t.Errorf("got %+v", got)
			}
			if name == "replaced" {
				if got := s.want(robinhood, s.tx, Pending, false); got.Reason != seenBefore {
					t.Errorf("got %+v once its block is gone", got)
				}
				return
			}
			from[0].status = 0
			for range 40 { // until the endpoint has rested
				s.pass(10 * time.Minute)
				if got, err := s.Status(t.Context(), robinhood, s.tx); err == nil && got.Final {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Error("it is not final although the source stands")
		})
	}
}

// While a swap waits, the block of its source is looked at once an hour.
func TestSourceIsLookedAtAgain(t *testing.T) {
	s, from, to := trio(t, 1, 1)
	to[0].logs, to[0].settled = nil, map[string]bool{}
	now := time.Now()
	s.Tracker.Now = func() time.Time { return now }
	s.want(robinhood, s.tx, Settling, false)
	from[0].reset()
	now = now.Add(time.Minute)
	s.want(robinhood, s.tx, Settling, false)
	if got := from[0].count(); got != 0 {
		t.Errorf("%d calls of the source within the hour", got)
	}
	now = now.Add(time.Hour)
	s.pass(2 * time.Hour)
	from[0].at, to[0].at = now, now
	s.want(robinhood, s.tx, Settling, false)
	if got := from[0].count(); got != 1 {
		t.Errorf("%d calls of the source after an hour, want one", got)
	}
	now = now.Add(2 * time.Hour)
	s.pass(4 * time.Hour)
	s.forgets(from[0])
	from[0].at, to[0].at = now, now
	from[0].head += 7 * 14400 // another block at that height
	from[0].id++
	from[0].instead = func(method string) (any, string) {
		if method == "eth_chainId" {
			return hexutil.Uint64(robinhood), ""
		}
		return nil, ""
	}
	if got := s.want(robinhood, s.tx, Pending, false); got.Reason != seenBefore {
		t.Errorf("got %+v", got)
	}
}

// The words and statuses with which providers refuse a range of logs. Each makes the
// search ask for less, at that endpoint alone, and the payout is found.
func TestRangesOfProviders(t *testing.T) {
	refuse := func(most uint64, status int, body string) func(uint64) (int, string) {
		return func(blocks uint64) (int, string) {
			if blocks <= most {
				return 0, ""
			}
			return status, body
		}
	}
	says := func(code int, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":%q}}`, code, message)
	}
	for name, test := range map[string]struct {
		refuse func(uint64) (int, string)
		most   int // questions
	}{
		"Alchemy":   {refuse(10, 400, says(-32600, "You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1, 0xa]")), 5},
		"QuickNode": {refuse(500, 413, says(-32614, "eth_getLogs is limited to a 500 range")), 3},
		"forbidden": {refuse(10, 403, "Forbidden"), 5},
		"Infura":    {refuse(100, 200, says(-32005, "query returned more than 10000 results. Try with this block range [0x1, 0x2].")), 3},
		"dRPC":      {refuse(100, 200, says(35, "ranges over 100 blocks are not supported on freetier")), 3},
		"broken":    {refuse(1000, 503, "upstream connect error"), 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			s.destination.pace = 2 * time.Second
			s.swap(time.Hour, 1)
			s.pay(time.Hour-20*time.Second, 0, settlement(0))
			to := []*scripted{s.destination}
			to[0].refuse = test.refuse
			asked := 0
			for ; asked < test.most; asked++ {
				if got := s.look(robinhood, s.tx); got.Final {
					break
				} else if got.State != Settling || got.Swaps[0].Reason == "" {
					t.Fatalf("got %+v", got.Swaps[0])
				}
				if name == "broken" { // the lane rests for a while
					time.Sleep(2100 * time.Millisecond)
				}
			}
			if asked == test.most {
				t.Errorf("not found with %d questions; it asked for %v blocks", asked, to[0].asked)
			}
			if len(to[0].asked) < 2 {
				t.Errorf("it asked for %v blocks, which refuses nothing", to[0].asked)
			}
		})
	}
}

// A provider that is too slow with many blocks is asked for fewer, and is found to be quick.
func TestSlowLogs(t *testing.T) {
	s := newScript(t)
	s.destination.pace = 2 * time.Second
	s.swap(time.Hour, 1)
	s.pay(time.Hour-20*time.Second, 0, settlement(0))
	s.destination.hang = func(blocks uint64) bool { return blocks > 1000 }
	client, err := rpc.New(endpoints([]*scripted{s.source}, []*scripted{s.destination}), rpc.Options{Limits: map[rpc.Lane]rpc.Limits{
		rpc.Sightings: patient, rpc.Tracking: patient, rpc.Searches: {Try: slowLogs + 100*time.Millisecond, Total: time.Minute, Calls: 8, Waiting: 8},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.rig.use(New(s.Tracker.deployment, client, s.issuer, Options{}))
	for range 20 {
		if s.look(robinhood, s.tx).Final {
			return
		}
		time.Sleep(500 * time.Millisecond) // until the lane has rested
	}
	t.Error("it is not found")
}

// A quota, and logs that are not there, do not make the search ask for less.
func TestWhatIsNoRange(t *testing.T) {
	for name, problem := range map[string]string{
		"quota":         `{"code":-32005,"message":"limit exceeded"}`,
		"quota, words":  `{"code":-32007,"message":"15/second request limit reached"}`,
		"not available": `{"code":-32000,"message":"logs are not available for this block range"}`,
		"pruned":        `{"code":4444,"message":"pruned history unavailable"}`,
		"late node":     `{"code":-32602,"message":"block range extends beyond current head block"}`,
	} {
		s, _, to := trio(t, 1, 1)
		to[0].instead = func(method string) (any, string) {
			if method == "eth_getLogs" {
				return nil, problem
			}
			return nil, ""
		}
		for range 3 {
			s.pass(10 * time.Minute)
			if got, err := s.Status(t.Context(), robinhood, s.tx); err == nil && got.Final {
				t.Errorf("%s: got %+v", name, got)
			}
		}
		s.Tracker.mu.Lock()
		for _, n := range s.Tracker.nodes {
			if n.rung != 0 {
				t.Errorf("%s: the search asks for %d blocks from now on", name, rungs[n.rung])
			}
		}
		s.Tracker.mu.Unlock()
	}
}

// What was learned of an endpoint is its own, is tried again after some minutes, and is
// back to the widest range with a few answers.
func TestRangesGrowBack(t *testing.T) {
	now := time.Now()
	tracker := &Tracker{Options: Options{Now: func() time.Time { return now }}, nodes: map[*rpc.Endpoint]knownNode{}}
	slow, other := &rpc.Endpoint{Network: hub, Place: 1}, &rpc.Endpoint{Network: hub, Place: 2}
	tooWide := &rpc.Failure{Reason: rpc.TooWide}
	for _, blocks := range []uint64{10_000, 2_000, 1_000, 500, 100} {
		if got := tracker.widest(slow); got != blocks {
			t.Fatalf("asks for %d blocks, want %d", got, blocks)
		}
		if !tracker.narrow(slow, blocks, tooWide, 0) {
			t.Error("fewer blocks are not asked for at once")
		}
	}
	if got := tracker.widest(other); got != 10_000 {
		t.Errorf("another endpoint is asked for %d blocks", got)
	}
	now = now.Add(rungAge - time.Second)
	tracker.answered(slow, 10)
	if got := tracker.widest(slow); got != 10 {
		t.Errorf("asks for %d blocks within minutes", got)
	}
	now = now.Add(2 * time.Second)
	if got := tracker.widest(slow); got != 100 {
		t.Errorf("asks for %d blocks after minutes, want to try more", got)
	}
	tracker.narrow(slow, 100, tooWide, 0) // it still refuses
	if got := tracker.widest(slow); got != 10 {
		t.Errorf("asks for %d blocks after it refused again", got)
	}
	now = now.Add(rungAge + time.Second)
	for _, blocks := range []uint64{100, 500, 1_000, 2_000, 10_000} {
		if got := tracker.widest(slow); got != blocks {
			t.Fatalf("asks for %d blocks, want %d", got, blocks)
		}
		tracker.answered(slow, blocks)
	}
	for reason, narrows := range map[rpc.Reason]bool{
		rpc.Timeout: true, rpc.Refused: true, rpc.Limited: false, rpc.Declined: false, rpc.Unreachable: false, rpc.Undecodable: false,
	} {
		n := &rpc.Endpoint{Network: hub}
		if tracker.narrow(n, 10_000, &rpc.Failure{Reason: reason}, 3*time.Second) || (tracker.widest(n) == 2_000) != narrows {
			t.Errorf("%s: asks for %d blocks", reason, tracker.widest(n))
		}
	}
	if tracker.narrow(other, 10_000, &rpc.Failure{Reason: rpc.Timeout}, time.Second) || tracker.widest(other) != 10_000 {
		t.Error("an endpoint that was not waited for is asked for less")
	}
	if !tracker.narrow(other, 10_000, rpc.ErrTooLong, 0) || tracker.widest(other) != 2_000 {
		t.Error("an answer that is too long does not narrow the range")
	}
}

// The first range begins minutes before the source, and any topic is null.
func TestFirstRange(t *testing.T) {
	s, _, to := trio(t, 1, 1)
	to[0].logs, to[0].pace, to[0].limit = nil, time.Second, 10
	s.pay(time.Hour+100*time.Second, 0, settlement(0)) // by the clock of the hub, before the source
	if last, asked := s.follow(8); !last.Final {
		t.Errorf("got %+v after %d questions", last.Swaps[0], asked)
	}
	f := &searching{key: searchKey{topic: common.Hash{1}}, names: []common.Hash{{2}}, place: 2}
	if topics := f.topics(); topics[1] != nil {
		t.Errorf("got the topics %v, want any in the middle", topics)
	}
	if slices.ContainsFunc(to[0].topics, func(topic json.RawMessage) bool { return string(topic) == "[]" }) {
		t.Errorf("got the topics %s", to[0].topics)
	}
}

// Behind one URL are nodes at different heights. A transaction that one of them has shown
// is never unknown later, and is never a failure of the chain.
func TestReplicas(t *testing.T) {
	s, from, _ := trio(t, 1, 1)
	found, chance := 0, rand.New(rand.NewPCG(1, 2))
	from[0].lag = func() uint64 { // every third answer is of a node that is far behind
		if chance.IntN(3) == 0 {
			return 20_000
		}
		return 0
	}
	seen := false
	for range 60 {
		s.use(t, endpoints(from, []*scripted{s.destination}))
		for range 3 {
			s.pass(10 * time.Minute)
			got, err := s.Status(t.Context(), robinhood, s.tx)
			if err != nil {
				if seen || fault.From(err).Code != fault.ChainUnavailable {
					t.Fatalf("got %v of a transaction that was seen", err)
				}
				continue
			}
			if got.State == NotFound && seen {
				t.Fatal("a transaction that was seen is unknown")
			}
			if got.State == Pending && len(got.Swaps) == 0 && got.Reason != seenBefore { // no node has shown it just now
				t.Fatalf("got %+v, want the reason", got)
			}
			seen = seen || got.State != NotFound
			if got.State == Settled {
				found++
			}
		}
		seen = false
	}
	if found < 60 {
		t.Errorf("it was found %d times of 180", found)
	}
}

// What fails in passing is asked for again soon, however old the swap is.
func TestPassingFailures(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *script, to *scripted)
		next   time.Duration
	}{
		"nothing fails": {func(s *script, to *scripted) { to.settled = map[string]bool{} }, 5 * time.Minute},
		"logs, for a second": {func(s *script, to *scripted) {
			to.refuse = func(uint64) (int, string) { return 502, "bad gateway" }
		}, shortestNext},
		"logs, over quota": {func(s *script, to *scripted) {
			to.refuse = func(uint64) (int, string) { return 429, "" }
		}, shortestNext},
		"logs, a late node": {func(s *script, to *scripted) {
			to.refuse = func(uint64) (int, string) {
				return 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"block range extends beyond current head block"}}`
			}
		}, shortestNext},
		"logs that nobody has": {func(s *script, to *scripted) {
			to.refuse = func(uint64) (int, string) {
				return 200, `{"jsonrpc":"2.0","id":1,"error":{"code":4444,"message":"pruned history unavailable"}}`
			}
		}, 5 * time.Minute},
		"stands still": {func(s *script, to *scripted) {
			to.settled = map[string]bool{}
			to.at = to.at.Add(-time.Hour)
		}, shortestNext},
	} {
		s, from, to := trio(t, 1, 1)
		for _, n := range from {
			n.logs, n.receipts = nil, map[common.Hash]map[string]any{}
		}
		s.swap(3*time.Hour, 1)
		to[0].logs = nil
		s.pay(170*time.Minute, 0, settlement(0))
		test.change(s, to[0])
		if got := s.want(robinhood, s.tx, Settling, false); got.Next.Round(time.Second) != test.next {
			t.Errorf("%s: asked again in %v, want %v: %+v", name, got.Next, test.next, got.Swaps[0])
		}
	}
}

// Logs that are empty up to the head are asked for once more before the search goes back.
func TestEmptyLogsOnceMore(t *testing.T) {
	s, _, to := trio(t, 1, 1)
	logs := to[0].logs
	to[0].logs = nil
	got := s.want(robinhood, s.tx, Settling, false)
	if got.Next != shortestNext || !strings.Contains(got.Swaps[0].Reason, "the last of them are searched again") {
		t.Errorf("got %+v, in %v", got.Swaps[0], got.Next)
	}
	first := to[0].asked
	to[0].logs = logs
	s.want(robinhood, s.tx, Settled, true)
	if second := to[0].asked[len(first):]; len(first) != 1 || len(second) != 1 || second[0] != first[0] {
		t.Errorf("asked for the logs of %v blocks, and then of %v", first, second)
	}
	// In vain again: now it begins an hour earlier.
	s, _, to = trio(t, 1, 1)
	to[0].logs = nil
	for range 3 {
		s.want(robinhood, s.tx, Settling, false)
	}
	asked := to[0].asked
	if len(asked) != 3 || asked[1] != asked[0] || asked[2] < asked[0]+300 {
		t.Errorf("asked for the logs of %v blocks, want the same twice and then an hour more", asked)
	}
}

// What the issuer said before is told while it cannot be asked, and those who wait for it
// do not come back at once.
func TestIssuerSaidBefore(t *testing.T) {
	burn := calldata.Message{SourceDomain: 2}
	tracker := &Tracker{issuer: &issuer{answers: map[common.Hash][]cctp.Message{{5}: {{State: cctp.Waiting, Delay: "insufficient_fee"}}}}}
	from := tracker.issuer.(*issuer)
	tx := keyFor(optimism, common.Hash{5})
	trail := &trail{issued: map[memoKey]*issued{}}
	ask := func() (*Burn, *lookup) {
		l := &lookup{tracker: tracker, trail: trail, key: tx}
		b := &Burn{}
		l.attested(t.Context(), tx, b, &burn)
		return b, l
	}
	if b, l := ask(); b.State != cctp.Waiting || b.Reason != "insufficient_fee" || l.passing {
		t.Errorf("got %+v", b)
	}
	from.err = fmt.Errorf("status 500")
	from.answers = nil
	for range 2 {
		if b, l := ask(); b.State != cctp.Waiting || b.Reason != "insufficient_fee" || !l.passing {
			t.Errorf("got %+v, want what was known", b)
		}
	}
	from.err = nil
	if b, _ := ask(); b.State != cctp.Unseen {
		t.Errorf("got %+v, want what the issuer says now", b)
	}
	from.err = fmt.Errorf("status 500")
	if b, _ := ask(); b.State != cctp.Unknown || !strings.Contains(b.Reason, "status 500") {
		t.Errorf("got %+v, want that it is unknown", b)
	}
}
