// Package status tells what became of a swap, from its source transaction alone.
// The chains know; what is remembered only saves calls.
//
// What was swapped is read from the events of the transaction, and its settlement
// is found by an ID that follows from those events. A burn is also looked up at the
// issuer.
//
// What it promises:
//   - It never says more than it has read. A final answer rests on the event
//     itself, from the contract that may emit it, with every field compared, in a
//     block with as many confirmations as the deployment demands.
//   - What could not be read is Settling with a reason, or an error that names the
//     chain. It is never final, and never NotFound.
//   - Each look-up makes a bounded number of calls, in bounded time. A search that
//     does not end goes on where it was when the next one comes.
//   - Look-ups of the same transaction at the same time are one. Invented hashes
//     have a lane and a memory of their own.
//   - What an endpoint says is used only if it fits together. Where a chain has two
//     endpoints, nothing is final that only one of them says, that an up-to-date one
//     contradicts, or that rests on one that stands still.
//   - What a node has seen once is never NotFound later.
package status

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
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

// Status is what became of a transaction. It is shared between callers: nobody
// may change it.
type Status struct {
	State   State // the least advanced one of its swaps
	Final   bool
	Reason  string  // why it failed, if the node tells, or why more is not known; empty for none
	Source  *Source // nil while it is in no block
	Swaps   []Swap  // in the order of the events, the first MostSwaps
	Omitted int     // how many more there are

	Next time.Duration // when to ask again; 0 for never
}

type Source struct {
	Block         uint64
	Confirmations uint64 // with the block itself
	Time          time.Time
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
	Reason string      // the issuer's word for a delay, or why its view is unknown
}

// Settlement is the payout, as its event tells.
type Settlement struct {
	ChainID chain.ID // a network
	TxHash  common.Hash
	Amount  uint256.Int // in the destination token's smallest unit
	Arrived uint256.Int // what is left of it once RAILGUN has taken its part of what it shields
	Time    time.Time
	Note    common.Hash // the npk of a shield note; zero for an address
}

const (
	lookupTime = 9 * time.Second // less than a request may take
	cacheSize  = 4096            // transactions that a node has seen, of a few kilobytes each; of others a quarter
	tooLongAge = time.Minute     // how long an answer beyond our bounds is not asked for again
)

// Issuer tells how far it is with the burns of a transaction.
type Issuer interface {
	Configured() bool
	Messages(ctx context.Context, domain uint32, tx common.Hash) ([]cctp.Message, error)
}

type Options struct {
	Now      func() time.Time // nil for time.Now
	Answered func(State)      // called for every answer, with an empty state if there is none
	RanOut   func()           // called when a search for an event did not end within one look-up; set with Answered
	Log      *slog.Logger     // for bugs alone
}

// Tracker looks transactions up. It is safe for concurrent use.
type Tracker struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	issuer     Issuer
	Options
	patience time.Duration // for one look-up
	answers  *memo.Cache[entry]

	mu    sync.Mutex
	nodes map[*rpc.Endpoint]knownNode
}

// entry is what a look-up came to.
type entry struct {
	status  *Status
	trouble *fault.Error // instead of a status
	until   time.Time
	trail   *trail
}

// trail is what is remembered of a transaction between look-ups, so that the next
// one asks only for what is new. It belongs to one look-up at a time.
type trail struct {
	first    time.Time // when it was first asked for
	source   *source   // once it has its confirmations, and two endpoints say so
	checked  time.Time // when its block was last seen to be part of the chain
	troubled time.Time // since when something is missing that may be there in a moment
	searches map[searchKey]*search
	issued   map[memo.Key]*issued
}

// New looks transactions of a deployment up.
func New(deployment *chain.Deployment, chains *rpc.Client, issuer Issuer, opts Options) *Tracker {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Answered == nil {
		opts.Answered = func(State) {}
		opts.RanOut = func() {}
	}
	return &Tracker{
		deployment: deployment, chains: chains, issuer: issuer, Options: opts, patience: lookupTime,
		answers: memo.New[entry](cacheSize, opts.Now, "looking a swap up", opts.Log),
		nodes:   make(map[*rpc.Endpoint]knownNode),
	}
}

// Ready tells whether the status of every swap can be told.
func (t *Tracker) Ready() bool {
	return t.deployment.Tracked() && len(t.Missing()) == 0 && t.issuer.Configured()
}

// Missing are the chains that swaps are followed on, and that have no endpoint. There
// are none if the deployment does not say that swaps can be followed.
func (t *Tracker) Missing() (missing []chain.ID) {
	for _, n := range chain.Networks() {
		if t.deployment.Tracked() && t.chains.Endpoints(n.ID) == 0 {
			missing = append(missing, n.ID)
		}
	}
	return missing
}

// Alone are the chains that swaps are followed on with one endpoint. What it says is
// believed, since there is no other to ask.
func (t *Tracker) Alone() (alone []chain.ID) {
	for _, n := range chain.Networks() {
		if t.deployment.Tracked() && t.chains.Endpoints(n.ID) == 1 {
			alone = append(alone, n.ID)
		}
	}
	return alone
}

// Status tells what became of a transaction that was sent on src. The error is a
// fault: StatusUnavailable or ChainUnavailable.
func (t *Tracker) Status(ctx context.Context, src chain.ID, hash common.Hash) (*Status, error) {
	if !t.deployment.Tracked() {
		return nil, fault.New(fault.StatusUnavailable, "The pools of this deployment cannot be followed: "+
			"its operator has not said that they settle in the documented way. "+
			"Look the transaction up on chain %s, or ask the operator", src.Network())
	}
	k := memo.Key{Network: src.Network(), Name: hash}
	e, ok := t.answers.Get(k)
	if !ok {
		var err error
		e, err = t.answers.Ask(ctx, k, func() memo.Answer[entry] { return t.fetch(rpc.OnBehalf(ctx), k) })
		if err != nil {
			late := &rpc.Failure{Reason: rpc.Timeout, Text: err.Error(), RetryAfter: time.Second}
			e.trouble = unavailable(k.Network, k.Network, late, false)
		}
	}
	if e.trouble != nil {
		t.Answered("")
		trouble := *e.trouble // callers add to it
		return nil, &trouble
	}
	t.Answered(e.status.State)
	s := *e.status
	if s.Next > 0 { // the next look-up is due when this one expires
		s.Next = min(s.Next, max(e.until.Sub(t.Now()), shortestNext))
	}
	return &s, nil
}

// fetch looks a transaction up. It runs once for all look-ups of the same key at the
// same time, and does not end with a caller.
func (t *Tracker) fetch(ctx context.Context, k memo.Key) memo.Answer[entry] {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	now := t.Now()
	e, seen := t.answers.Last(k)
	if e.trail == nil {
		e.trail = &trail{first: now, searches: make(map[searchKey]*search), issued: make(map[memo.Key]*issued)}
	}
	l := &lookup{tracker: t, key: k, seen: seen, trail: e.trail, steps: laterSteps}
	if l.trail.source == nil {
		l.steps = firstSteps
	}
	e.status, e.trouble = l.run(ctx)
	e.until = now
	maps.DeleteFunc(e.trail.issued, func(_ memo.Key, i *issued) bool { return !i.keep })
	switch {
	case e.trouble != nil && e.trouble.Code == fault.StatusUnavailable: // it was too long
		e.until = now.Add(tooLongAge)
	case e.trouble != nil:
	case e.status.Final:
		e.trail = nil
		e.until = now.AddDate(100, 0, 0)
	default:
		e.until = now.Add(e.status.Next)
	}
	return memo.Answer[entry]{Value: e, Until: e.until, Known: l.seen}
}

// unavailable is the error for a client if a chain could not be asked, or if its
// endpoints are behind. err is of rpc.Client.Ask.
func unavailable(source, network chain.ID, err error, behind bool) *fault.Error {
	failure, _ := errors.AsType[*rpc.Failure](err)
	part, role := "on which the swap is paid out", fault.Role(0)
	if network == source {
		part, role = "of the transaction", fault.SourceChain
	}
	why := "did not answer just now; try again shortly"
	switch {
	case behind:
		why = "has no node here that is up to date; try again shortly"
	case failure.Reason == rpc.Unconfigured:
		why = "cannot be asked: this service has no RPC endpoint for it"
	case failure.Reason == rpc.Misconfigured || failure.Reason == rpc.Reverted:
		why = "has a contract there that does not answer as the deployment says"
	}
	e := fault.New(fault.ChainUnavailable, "The status is not known: chain %s, %s, %s", network, part, why)
	if failure.Reason != rpc.Unconfigured { // which is no news to the operator
		e = e.Because(failure)
	}
	e.Role = role
	e.RetryAfter = max(failure.RetryAfter, shortestNext)
	return e
}

// When to ask again. A client has fifteen questions a minute, which is one every four
// seconds; it must not run out of them by doing as it is told.
const (
	shortestNext = 5 * time.Second
	longestNext  = time.Minute
	staleNext    = 5 * time.Minute // for a transaction of hours ago
	issuerSpread = 30 * time.Second

	longestPassing = 5 * time.Minute // what lasts for longer does not pass in a moment
)

// schedule says when to ask again: when there may be something new, and the less often
// the longer it takes.
func (l *lookup) schedule(s *Status) {
	if s.Final {
		return
	}
	since := l.trail.first
	block := l.key.Network.BlockTime()
	if s.Source != nil {
		since = s.Source.Time
	}
	switch {
	case s.State == NotFound:
		block = shortestNext
	case s.State == Settling || s.State == Settled:
		for i := range s.Swaps {
			block = max(block, chain.ID(s.Swaps[i].DstChainID).BlockTime())
		}
	case s.Source != nil: // confirmations are missing
		need := l.tracker.deployment.Confirmations(l.key.Network)
		block *= time.Duration(max(need, s.Source.Confirmations+1) - s.Source.Confirmations)
	}
	if !l.passing {
		l.trail.troubled = time.Time{}
	} else if l.trail.troubled.IsZero() {
		l.trail.troubled = l.tracker.Now()
	}
	waited := l.tracker.Now().Sub(since)
	longest := longestNext
	if waited > 2*time.Hour {
		longest = staleNext
	}
	s.Next = min(max(block, waited/20, shortestNext), longest)
	switch {
	case l.blocked > 0: // those who wait for the issuer do not all come back at once
		spread := time.Duration(l.key.Name[31]) * issuerSpread / 256
		s.Next = max(min(s.Next, l.blocked+spread), shortestNext)
	case l.passing && l.tracker.Now().Sub(l.trail.troubled) < longestPassing:
		s.Next = shortestNext
	}
}
