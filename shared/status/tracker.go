package status

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
)

const (
	lookupTime = 9 * time.Second // less than a request may take
	cacheSize  = 4096            // transactions that a node has seen, and as many others; one has a few kilobytes
	tooLongAge = time.Minute     // how long an answer beyond our bounds is not asked for again
)

// Issuer tells how far it is with the burns of a transaction.
type Issuer interface {
	Configured() bool
	Messages(ctx context.Context, domain uint32, tx common.Hash) ([]cctp.Message, error)
}

// Options of a Tracker. All are optional.
type Options struct {
	Now      func() time.Time // nil for time.Now
	Answered func(State)      // called for every answer, with an empty state if there is none
	RanOut   func()           // called when a search for an event did not end within one look-up
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
	trouble *trouble // instead of a status
	until   time.Time
	first   time.Time // when the transaction was first asked for
	trail   *trail
}

// trail is what is remembered of a transaction between look-ups, so that the next
// one asks only for what is new. It belongs to one look-up at a time.
type trail struct {
	source   *source // once it has its confirmations
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
	}
	if opts.RanOut == nil {
		opts.RanOut = func() {}
	}
	return &Tracker{
		deployment: deployment, chains: chains, issuer: issuer, Options: opts, patience: lookupTime,
		answers: memo.New[entry](cacheSize, opts.Now), nodes: make(map[*rpc.Endpoint]knownNode),
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

// Status tells what became of a transaction that was sent on src. The error is a
// fault: StatusUnavailable or ChainUnavailable.
func (t *Tracker) Status(ctx context.Context, src chain.ID, hash common.Hash) (*Status, error) {
	if !t.deployment.Tracked() {
		return nil, fault.New(fault.StatusUnavailable, "The pools of this deployment cannot be followed: its operator has not said that they settle in the documented way. Look the transaction up on chain %s, or ask the operator", src.Network())
	}
	k := memo.Key{Network: src.Network(), Name: hash}
	e, ok := t.answers.Get(k)
	if !ok {
		var err error
		if e, err = t.answers.Ask(ctx, k, func() memo.Answer[entry] { return t.fetch(k) }); err != nil {
			e.trouble = &trouble{network: k.Network, failure: &rpc.Failure{Reason: rpc.Timeout, Text: err.Error(), RetryAfter: time.Second}}
		}
	}
	if e.trouble != nil {
		t.Answered("")
		return nil, e.trouble.fault(k.Network)
	}
	t.Answered(e.status.State)
	s := *e.status
	if s.Next > 0 { // the next look-up is due when this one expires
		s.Next = min(s.Next, max(e.until.Sub(t.Now()), shortestNext))
	}
	return &s, nil
}

// fetch looks a transaction up. It runs once for all look-ups of the same key at the
// same time, and not in a caller's context.
func (t *Tracker) fetch(k memo.Key) memo.Answer[entry] {
	ctx, cancel := context.WithTimeout(context.Background(), t.patience)
	defer cancel()
	now := t.Now()
	e, seen := t.answers.Last(k)
	if e.first.IsZero() {
		e.first = now
	}
	l := &lookup{tracker: t, key: k, seen: seen, first: e.first, trail: e.trail, steps: laterSteps}
	if l.trail == nil {
		l.trail = &trail{searches: make(map[searchKey]*search), issued: make(map[memo.Key]*issued)}
	}
	if l.trail.source == nil {
		l.steps = firstSteps
	}
	e.status, e.trouble = l.run(ctx)
	e.trail, e.until = l.trail, now
	maps.DeleteFunc(e.trail.issued, func(_ memo.Key, i *issued) bool { return !i.enough })
	switch {
	case e.trouble != nil && e.trouble.tooLong:
		e.until = now.Add(tooLongAge)
	case e.trouble != nil:
	case e.status.Final:
		e.trail, e.until = nil, now.AddDate(100, 0, 0)
	default:
		e.until = now.Add(e.status.Next)
	}
	return memo.Answer[entry]{Value: e, Until: e.until, Known: l.seen}
}

// trouble is why there is no status.
type trouble struct {
	network chain.ID     // the chain that could not be asked
	failure *rpc.Failure // why
	tooLong bool         // its answer is longer than we read
	behind  bool         // its endpoints stand still
}

// newTrouble is the trouble with a chain. err is of rpc.Client.Ask.
func newTrouble(network chain.ID, err error) *trouble {
	f, _ := errors.AsType[*rpc.Failure](err)
	return &trouble{network: network, failure: f}
}

// fault is the error for a client. It is a new one each time, because callers add
// to it.
func (p *trouble) fault(source chain.ID) error {
	if p.tooLong {
		return fault.New(fault.StatusUnavailable, "The transaction did so much that its receipt on chain %s is longer than this service reads; look it up there yourself", p.network).Because(p.failure)
	}
	part, role := "on which the swap is paid out", fault.Role(0)
	if p.network == source {
		part, role = "of the transaction", fault.SourceChain
	}
	why := "did not answer just now; try again shortly"
	switch {
	case p.behind:
		why = "has no node here that is up to date; try again shortly"
	case p.failure.Reason == rpc.Unconfigured:
		why = "cannot be asked: this service has no RPC endpoint for it"
	case p.failure.Reason == rpc.Misconfigured || p.failure.Reason == rpc.Reverted:
		why = "has a contract there that does not answer as the deployment says"
	}
	e := fault.New(fault.ChainUnavailable, "The status is not known: chain %s, %s, %s", p.network, part, why)
	if p.failure.Reason != rpc.Unconfigured { // which is no news to the operator
		e = e.Because(p.failure)
	}
	e.Role, e.RetryAfter = role, max(p.failure.RetryAfter, shortestNext)
	return e
}

// When to ask again. A client has fifteen questions a minute, which is one every four
// seconds; it must not run out of them by doing as it is told.
const (
	shortestNext = 5 * time.Second
	longestNext  = time.Minute
	staleNext    = 5 * time.Minute // for a transaction of hours ago
)

// schedule says when to ask again: when there may be something new, and the less often
// the longer it takes.
func (l *lookup) schedule(s *Status) {
	if s.Final {
		return
	}
	since, block := l.first, l.key.Network.BlockTime()
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
	waited, longest := l.tracker.Now().Sub(since), longestNext
	if waited > 2*time.Hour {
		longest = staleNext
	}
	s.Next = min(max(block, waited/20, shortestNext), longest)
}
