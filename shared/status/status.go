// Package status tracks a swap, given its source transaction. All facts come from the
// chains; the cache only saves calls.
//
//   - A payout is the pool's event in the block that the pool names, with every field
//     compared, and the matching transfer in the same receipt.
//   - What cannot be read is Settling with a reason, or an error that names the chain.
//   - Where a chain has two endpoints, nothing is final that only one of them reports.
//   - Each lookup makes a bounded number of calls, in bounded time.
package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// State is the progress of a swap.
type State string

const (
	NotFound State = "NOT_FOUND"  // no node knows the transaction
	Pending  State = "PENDING"    // not in a block, or not deep enough yet
	Failed   State = "FAILED"     // it reverted; nothing was swapped
	NotASwap State = "NOT_A_SWAP" // it made no swap with this deployment
	Settling State = "SETTLING"   // paid, and not paid out yet
	Settled  State = "SETTLED"    // paid out
)

// States are all states, the least advanced first.
func States() []State { return []State{NotFound, Pending, Failed, NotASwap, Settling, Settled} }

// maxSwaps is how many swaps of one transaction are looked up.
const maxSwaps = 16

// Status is the outcome of a transaction so far. Callers share it and must not change it.
type Status struct {
	State   State // the least advanced one of its swaps
	Final   bool
	Reason  string  // why it failed, if the node returns that, or why more is not known; empty for none
	Source  *Source // nil while it is in no block
	Swaps   []Swap  // in the order of the events, the first maxSwaps
	Omitted int     // how many more there are

	Next time.Duration // when to check again; 0 for never

	Repeated bool // the previous answer, because the caller is over its limit
}

type Source struct {
	Block         uint64    `json:"blockNumber"`
	Confirmations uint64    `json:"confirmations"` // including the block itself
	Time          time.Time `json:"timestamp"`
}

type Swap struct {
	State State
	Final bool
	calldata.Swap
	Reason     string      // why it is not settled, or not known to be; empty for none
	Unread     bool        // its event cannot be read, so that nothing of calldata.Swap is known
	Burn       *Burn       // of a swap that burns USDC
	Settlement *Settlement // nil until it is settled
	Seconds    uint32      // how long it usually takes; 0 if unknown
}

// Burn is the issuer's view of a burn.
type Burn struct {
	Domain uint32
	State  cctp.Attestation
	Nonce  common.Hash // of the attested message; zero until it is attested
	Reason string      // the issuer's code for a delay, or why its view is unknown
}

// Settlement is the payout. As JSON it is encoded through a pointer, as its amounts need.
type Settlement struct {
	ChainID chain.ID    `json:"chainId"`            // a network
	TxHash  common.Hash `json:"txHash,omitzero"`    // zero if it is not known, as of what the issuer minted
	Amount  uint256.Int `json:"amount"`             // in the destination token's smallest unit
	Arrived uint256.Int `json:"arrived"`            // the amount after RAILGUN's fee on shielding
	Time    time.Time   `json:"timestamp,omitzero"` // zero if it is not known
	Note    common.Hash `json:"note,omitzero"`      // the npk of a shield note; zero for an address
	Short   *Short      `json:"short,omitempty"`    // nil if payout and fees equal the swapped amount
}

// Short is a payout that, with its fees, differs from the swapped amount. Both figures are in
// the smallest unit of the token that the pool pays.
type Short struct {
	Swapped uint256.Int `json:"swapped"`
	Paid    uint256.Int `json:"paid"` // with the fees
}

const (
	lookupTime = 9 * time.Second // less than a request may take
	cacheSize  = 4096            // transactions that a node has seen, a few kilobytes each; a quarter as many others
	tooLongAge = time.Minute     // how long an oversized response is not requested again
)

// Issuer reports its progress with the burns of a transaction.
type Issuer interface {
	Configured() bool
	Messages(ctx context.Context, domain uint32, tx common.Hash) ([]cctp.Message, error)
}

type Options struct {
	Now      func() time.Time // nil for time.Now
	Answered func(State)      // called for every answer, with an empty state if there is none
	Log      *slog.Logger     // for bugs alone
}

// Tracker looks transactions up. It is safe for concurrent use.
type Tracker struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	issuer     Issuer
	now        func() time.Time
	answered   func(State)
	timeout    time.Duration // of one lookup
	cache      *cache.Cache[key, entry]
	served     *lru.Cache[common.Hash, servedSwap] // settlements and mints that are final for a swap

	mu        sync.Mutex
	anomalies map[string]bool // pools that named a block in which they cannot have paid
}

// key is a transaction on a network.
type key struct {
	network chain.ID
	tx      common.Hash
}

// servedSwap is a swap of a transaction, by the index of its event.
type servedSwap struct {
	tx    key
	place int
}

// entry is what is cached of a transaction. It belongs to one lookup at a time.
type entry struct {
	status  *Status      // the last one; nil until there is one
	trouble *fault.Error // why the last lookup failed
	since   time.Time    // when the status last changed
	source  *source      // nil until it has its confirmations
}

// New makes a Tracker for the swaps of a deployment.
func New(deployment *chain.Deployment, chains *rpc.Client, issuer Issuer, opts Options) *Tracker {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Answered == nil {
		opts.Answered = func(State) {}
	}
	served, _ := lru.New[common.Hash, servedSwap](cacheSize) // fails for a size below 1
	return &Tracker{
		deployment: deployment,
		chains:     chains,
		issuer:     issuer,
		now:        opts.Now,
		answered:   opts.Answered,
		timeout:    lookupTime,
		cache:      cache.New[key, entry](cacheSize, opts.Now, "looking up a swap", opts.Log),
		served:     served,
		anomalies:  make(map[string]bool),
	}
}

// Ready reports whether every swap can be tracked.
func (t *Tracker) Ready() bool {
	return t.deployment.Tracked() && len(t.Untracked()) == 0 && (t.issuer.Configured() || !t.deployment.UsesIssuer())
}

// Untracked are the chains that tracking needs and that have no endpoint. There are none if
// the deployment does not support tracking.
func (t *Tracker) Untracked() []chain.ID { return t.trackedChains(0) }

// SingleEndpoint are the tracked chains with one endpoint, whose answers nothing can confirm.
func (t *Tracker) SingleEndpoint() []chain.ID { return t.trackedChains(1) }

// trackedChains are those that tracking needs and that have this number of endpoints.
func (t *Tracker) trackedChains(endpoints int) (ids []chain.ID) {
	for _, n := range t.deployment.Networks() {
		if t.deployment.Tracked() && t.chains.Endpoints(n.ID) == endpoints {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// Problems lists pools that do not settle as docs/contracts.md requires.
func (t *Tracker) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.anomalies))
}

// noteAnomaly records whether a pool has named a block in which it cannot have paid.
func (t *Tracker) noteAnomaly(network chain.ID, pool common.Address, found bool) {
	problem := fmt.Sprintf("The pool %s on chain %s names a block in which it settled no swap: "+
		"its settled(id) must return that block's number", pool, network)
	t.mu.Lock()
	defer t.mu.Unlock()
	if found {
		t.anomalies[problem] = true
	} else {
		delete(t.anomalies, problem)
	}
}

// Request identifies the transaction to look up.
type Request struct {
	Chain  chain.ID // that it was sent on
	Tx     common.Hash
	Caller netip.Prefix        // the caller's network, for fair use of the nodes; zero if unknown
	Admit  func() *fault.Error // called before nodes are; why the caller may not use them now; nil for no limit
}

// Status looks up a transaction. Concurrent lookups of one transaction share their calls. The
// error is a fault: StatusUnavailable, ChainUnavailable, or that of Admit.
func (t *Tracker) Status(ctx context.Context, req Request) (*Status, error) {
	k := key{req.Chain.Network(), req.Tx}
	if !t.deployment.Tracked() {
		return nil, fault.New(fault.StatusUnavailable, "Swaps of this deployment cannot be tracked: "+
			"it does not declare how its pools settle. "+
			"Check the transaction on chain %s, or contact the operator", k.network)
	}
	e, ok := t.cache.Get(k)
	if !ok {
		if req.Admit != nil {
			if refused := req.Admit(); refused != nil {
				return t.repeat(k, refused)
			}
		}
		var err error
		e, err = t.cache.Ask(ctx, k, func() (cache.Entry[entry], error) { return t.fetch(req.Caller, k), nil })
		if err != nil {
			late := &rpc.Failure{Reason: rpc.Timeout, Text: err.Error(), RetryAfter: time.Second}
			e.Value.trouble = unavailable(k.network, k.network, late)
		}
	}
	if e.Value.trouble != nil {
		t.answered("")
		trouble := *e.Value.trouble // callers add to it
		return nil, &trouble
	}
	s := *e.Value.status
	t.answered(s.State)
	if s.Next > 0 { // the next lookup is due when this one expires
		s.Next = min(s.Next, max(e.Until.Sub(t.now()), shortestNext))
	}
	return &s, nil
}

// repeat returns the previous answer to a caller that is over its limit, with the time to
// retry. Without a previous answer, the caller is refused.
func (t *Tracker) repeat(k key, refused *fault.Error) (*Status, error) {
	last := t.cache.Last(k).Value.status
	if last == nil {
		return nil, refused
	}
	s := *last
	s.Next = max(s.Next, refused.RetryAfter)
	s.Repeated = true
	t.answered(s.State)
	return &s, nil
}

// fetch looks up a transaction. It runs once for all concurrent lookups of a key, and does not
// end with a caller.
func (t *Tracker) fetch(caller netip.Prefix, k key) cache.Entry[entry] {
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	now := t.now()
	last := t.cache.Last(k)
	l := &lookup{
		Tracker: t, entry: last.Value, key: k, caller: caller, seen: last.Known, issued: make(map[common.Hash]issued),
	}
	s, trouble := l.run(ctx)
	l.trouble = trouble
	until := now
	switch {
	case trouble != nil && trouble.Code == fault.StatusUnavailable: // the response was too long
		until = now.Add(tooLongAge)
	case trouble != nil:
	case s.Final:
		l.status = s
		l.source = nil
		until = now.AddDate(100, 0, 0)
	default:
		if !s.equals(l.status) {
			l.since = now
		}
		s.Next = l.next(s.State)
		l.status = s
		until = now.Add(s.Next)
	}
	return cache.Entry[entry]{Value: l.entry, Until: until, Known: l.seen}
}

// unavailable is the error for a client if a chain could not be read. err is of rpc.Client.Ask.
func unavailable(source, network chain.ID, err error) *fault.Error {
	failure, _ := errors.AsType[*rpc.Failure](err)
	part, role := "on which the swap is paid out", fault.Role(0)
	if network == source {
		part, role = "of the transaction", fault.SourceChain
	}
	why := "did not answer; try again shortly"
	switch failure.Reason {
	case rpc.Behind:
		why = "has no node that is up to date; try again shortly"
	case rpc.Unconfigured:
		why = "has no RPC endpoint configured"
	case rpc.Misconfigured, rpc.Reverted:
		why = "has a contract that does not match the deployment"
	}
	e := fault.New(fault.ChainUnavailable, "The status is unknown: chain %s, %s, %s", network, part, why)
	if failure.Reason != rpc.Unconfigured { // which the operator knows
		e = e.Because(failure)
	}
	e.Role = role
	e.RetryAfter = max(failure.RetryAfter, shortestNext)
	return e
}

// Bounds on when to check again.
const (
	shortestNext = 5 * time.Second
	longestDue   = time.Minute
	longestNext  = 5 * time.Minute
)

// expect records that the status may change after d.
func (l *lookup) expect(d time.Duration) {
	d = min(max(d, shortestNext), longestDue)
	if l.due == 0 || d < l.due {
		l.due = d
	}
}

// next is when to check again: when a change is due, and otherwise less often the longer the
// status stays the same.
func (l *lookup) next(state State) time.Duration {
	unchanged := l.now().Sub(l.since)
	switch {
	case l.blocked > 0:
		return max(l.blocked, shortestNext)
	case l.due > 0:
		return l.due
	case state == NotFound: // it may still reach our nodes
		return min(max(unchanged/10, shortestNext), longestNext)
	}
	return min(max(unchanged/10, l.pace, shortestNext), longestNext)
}

// equals reports whether the status has not changed.
func (s *Status) equals(last *Status) bool {
	same := func(a, b Swap) bool { return a.State == b.State && a.Reason == b.Reason }
	return last != nil && s.State == last.State && s.Reason == last.Reason &&
		slices.EqualFunc(s.Swaps, last.Swaps, same)
}
