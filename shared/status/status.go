// Package status reports what became of a swap, given its source transaction. All facts
// come from the chains; the cache only saves calls.
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

// State is how far a swap is.
type State string

const (
	NotFound State = "NOT_FOUND"  // no node knows the transaction
	Pending  State = "PENDING"    // not in a block, or not deep enough yet
	Failed   State = "FAILED"     // it reverted; nothing was swapped
	NotASwap State = "NOT_A_SWAP" // it swapped nothing with this deployment
	Settling State = "SETTLING"   // paid, and not paid out yet
	Settled  State = "SETTLED"    // paid out
)

func States() []State { return []State{NotFound, Pending, Failed, NotASwap, Settling, Settled} }

// MostSwaps is how many swaps of one transaction are looked up.
const MostSwaps = 16

// Status is what became of a transaction. Callers share it and must not change it.
type Status struct {
	State   State // the least advanced one of its swaps
	Final   bool
	Reason  string  // why it failed, if the node tells, or why more is not known; empty for none
	Source  *Source // nil while it is in no block
	Swaps   []Swap  // in the order of the events, the first MostSwaps
	Omitted int     // how many more there are

	Next time.Duration // when to ask again; 0 for never

	Repeated bool // the last answer once more, since the caller may not ask the nodes now
}

type Source struct {
	Block         uint64    `json:"blockNumber"`
	Confirmations uint64    `json:"confirmations"` // with the block itself
	Time          time.Time `json:"timestamp"`
}

type Swap struct {
	State State
	Final bool
	calldata.Swap
	Reason     string      // why it is not settled, or not known to be; empty for none
	Unread     bool        // its event cannot be read, so that nothing of calldata.Swap is known
	Burn       *Burn       // where the issuer carries the money
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
	Arrived uint256.Int `json:"arrived"`            // what is left once RAILGUN has taken its part of what it shields
	Time    time.Time   `json:"timestamp,omitzero"` // zero if it is not known
	Note    common.Hash `json:"note,omitzero"`      // the npk of a shield note; zero for an address
	Short   *Short      `json:"short,omitempty"`    // nil if what was paid is what was swapped
}

// Short is a payout that, with its fees, is not what was swapped. Both figures are in the
// smallest unit of the token that the pool pays with.
type Short struct {
	Swapped uint256.Int `json:"swapped"`
	Paid    uint256.Int `json:"paid"` // with the fees
}

const (
	lookupTime = 9 * time.Second // less than a request may take
	cacheSize  = 4096            // transactions that a node has seen, of a few kilobytes each; of others a quarter
	tooLongAge = time.Minute     // how long an oversized response is not requested again
)

// Issuer tells how far it is with the burns of a transaction.
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
	patience   time.Duration // for one lookup
	cache      *cache.Cache[key, entry]
	served     *lru.Cache[common.Hash, servedSwap] // settlements and mints that are final for a swap

	mu        sync.Mutex
	anomalies map[string]bool // problems of pools that have named a block in which they cannot have paid
}

// key is a transaction on a network.
type key struct {
	network chain.ID
	tx      common.Hash
}

// servedSwap is a swap of a transaction, by the place of its event.
type servedSwap struct {
	tx    key
	place int
}

// entry is what is remembered of a transaction. It belongs to one lookup at a time.
type entry struct {
	status  *Status      // the last one; nil until there is one
	trouble *fault.Error // why the last lookup came to none
	since   time.Time    // when the status became what it is
	source  *source      // nil until it has its confirmations
}

// New looks transactions of a deployment up.
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
		patience:   lookupTime,
		cache:      cache.New[key, entry](cacheSize, opts.Now, "looking a swap up", opts.Log),
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

// Problems lists pools that were seen not to settle as docs/contracts.md requires.
func (t *Tracker) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.anomalies))
}

// noteAnomaly remembers whether a pool has named a block in which it cannot have paid.
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

// Request asks what became of a transaction.
type Request struct {
	Chain  chain.ID // that it was sent on
	Tx     common.Hash
	Caller netip.Prefix        // the network of the caller, which nodes are asked for; zero for unknown
	Admit  func() *fault.Error // says why the nodes must not be asked now, before they are; nil for no limit
}

// Status reports what became of a transaction. Concurrent lookups of one transaction share
// their calls. The error is a fault: StatusUnavailable, ChainUnavailable, or that of Admit.
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

// repeat returns the last answer to a caller that is over its limit, with the time to
// retry. Without a last answer, the caller is refused.
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

// fetch looks a transaction up. It runs once for all lookups of the same key at the
// same time, and does not end with a caller.
func (t *Tracker) fetch(caller netip.Prefix, k key) cache.Entry[entry] {
	ctx, cancel := context.WithTimeout(context.Background(), t.patience)
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
	case trouble != nil && trouble.Code == fault.StatusUnavailable: // it was too long
		until = now.Add(tooLongAge)
	case trouble != nil:
	case s.Final:
		l.status = s
		l.source = nil
		until = now.AddDate(100, 0, 0)
	default:
		if !s.repeats(l.status) {
			l.since = now
		}
		s.Next = l.next(s.State)
		l.status = s
		until = now.Add(s.Next)
	}
	return cache.Entry[entry]{Value: l.entry, Until: until, Known: l.seen}
}

// unavailable is the error for a client if a chain could not be asked. err is of
// rpc.Client.Ask.
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
	if failure.Reason != rpc.Unconfigured { // which is no news to the operator
		e = e.Because(failure)
	}
	e.Role = role
	e.RetryAfter = max(failure.RetryAfter, shortestNext)
	return e
}

// When to ask again.
const (
	shortestNext = 5 * time.Second
	longestDue   = time.Minute
	longestNext  = 5 * time.Minute
)

// expect notes that news may arrive after d.
func (l *lookup) expect(d time.Duration) {
	d = min(max(d, shortestNext), longestDue)
	if l.due == 0 || d < l.due {
		l.due = d
	}
}

// next is when to ask again: when news is due, and otherwise less often the longer the
// status stays the same.
func (l *lookup) next(state State) time.Duration {
	unchanged := l.now().Sub(l.since)
	switch {
	case l.blocked > 0:
		return max(l.blocked, shortestNext)
	case l.due > 0:
		return l.due
	case state == NotFound: // it may be on its way to our nodes
		return min(max(unchanged/10, shortestNext), longestNext)
	}
	return min(max(unchanged/10, l.pace, shortestNext), longestNext)
}

// repeats tells whether the status is what it was.
func (s *Status) repeats(last *Status) bool {
	same := func(a, b Swap) bool { return a.State == b.State && a.Reason == b.Reason }
	return last != nil && s.State == last.State && s.Reason == last.Reason &&
		slices.EqualFunc(s.Swaps, last.Swaps, same)
}
