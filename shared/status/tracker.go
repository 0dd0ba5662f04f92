package status

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/rpc"
)

const (
	lookupTime = 9 * time.Second // less than a request may take
	cacheSize  = 4096            // of each cache; an answer has about a kilobyte
	finalAge   = 24 * time.Hour  // how long clients may keep a final answer
	tooLongAge = time.Minute     // how long an answer beyond our bounds is not asked for again
)

// Issuer tells how far it is with the burns of a transaction.
type Issuer interface {
	Messages(ctx context.Context, domain uint32, tx common.Hash) ([]cctp.Message, error)
}

// Tracker looks transactions up. It is safe for concurrent use.
type Tracker struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	issuer     Issuer
	now        func() time.Time
	patience   time.Duration // for one look-up

	flights singleflight.Group
	// Final answers have a cache of their own, so that a flood of invented hashes
	// evicts only other invented hashes.
	final, recent *lru.Cache[key, entry]

	mu    sync.Mutex
	spans map[chain.ID]uint64 // how many blocks an endpoint last gave the logs of
}

type key struct {
	network chain.ID
	hash    common.Hash
}

// text is the key as singleflight needs it.
func (k key) text() string {
	return string(append(binary.BigEndian.AppendUint64(nil, uint64(k.network)), k.hash[:]...))
}

// entry is what a look-up came to.
type entry struct {
	status  *Status
	trouble *trouble // instead of a status
	until   time.Time
}

// New looks transactions of a deployment up. now is nil for time.Now.
func New(deployment *chain.Deployment, chains *rpc.Client, issuer Issuer, now func() time.Time) *Tracker {
	if now == nil {
		now = time.Now
	}
	t := &Tracker{deployment: deployment, chains: chains, issuer: issuer, now: now, patience: lookupTime, spans: make(map[chain.ID]uint64)}
	for _, cache := range []**lru.Cache[key, entry]{&t.final, &t.recent} {
		var err error
		if *cache, err = lru.New[key, entry](cacheSize); err != nil {
			panic(err) // only for a size below 1
		}
	}
	return t
}

// Status tells what became of a transaction that was sent on src. The error is a
// fault: StatusUnavailable or ChainUnavailable.
func (t *Tracker) Status(ctx context.Context, src chain.ID, hash common.Hash) (*Status, error) {
	if !t.deployment.Tracked() {
		return nil, fault.New(fault.StatusUnavailable, "The pools of this deployment cannot be followed: its operator has not said that they settle in the documented way. Look the transaction up on chain %s, or ask the operator", src.Network())
	}
	k := key{src.Network(), hash}
	if e, ok := t.cached(k); ok {
		return e.result(k.network)
	}
	select {
	case flight := <-t.flights.DoChan(k.text(), func() (any, error) { return t.fetch(k), nil }):
		return flight.Val.(entry).result(k.network)
	case <-ctx.Done():
		gaveUp := &trouble{network: k.network, failure: &rpc.Failure{Reason: rpc.Timeout, Text: "the caller gave up", RetryAfter: time.Second}}
		return nil, gaveUp.fault(k.network)
	}
}

func (t *Tracker) cached(k key) (entry, bool) {
	if e, ok := t.final.Get(k); ok {
		return e, true
	}
	e, ok := t.recent.Get(k)
	return e, ok && t.now().Before(e.until)
}

// fetch looks a transaction up and caches the answer. It runs once for all
// look-ups of the same key at the same time, and not in a caller's context.
func (t *Tracker) fetch(k key) (e entry) {
	defer func() {
		if p := recover(); p != nil { // singleflight would end the process
			e = entry{trouble: &trouble{network: k.network, failure: &rpc.Failure{Reason: rpc.Undecodable, Text: guard.Caught(p).Error(), RetryAfter: time.Minute}}}
		}
	}()
	// The previous fetch may have ended between this look-up's first check of
	// the cache and now.
	if e, ok := t.cached(k); ok {
		return e
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.patience)
	defer cancel()
	asked := t.now()
	l := &lookup{Tracker: t, key: k, steps: mostSteps}
	s, trouble := l.run(ctx)
	switch {
	case trouble != nil && trouble.tooLong:
		e = entry{trouble: trouble, until: asked.Add(tooLongAge)}
		t.recent.Add(k, e)
	case trouble != nil:
		e = entry{trouble: trouble}
	case s.Next == 0: // final, and nothing is missing from it
		e = entry{status: s}
		t.final.Add(k, e)
		t.recent.Remove(k)
	default:
		e = entry{status: s, until: asked.Add(s.Keep)}
		t.recent.Add(k, e)
	}
	return e
}

func (e entry) result(source chain.ID) (*Status, error) {
	if e.trouble != nil {
		return nil, e.trouble.fault(source)
	}
	return e.status, nil
}

// trouble is why there is no status.
type trouble struct {
	network chain.ID     // the chain that could not be asked
	failure *rpc.Failure // why
	tooLong bool         // its answer is longer than we read
}

// newTrouble is the trouble with a chain, nil if err is nil.
func newTrouble(network chain.ID, err error) *trouble {
	if err == nil {
		return nil
	}
	var f *rpc.Failure
	if !errors.As(err, &f) {
		f = &rpc.Failure{Reason: rpc.Undecodable, Text: err.Error(), RetryAfter: time.Second}
	}
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
	switch p.failure.Reason {
	case rpc.Unconfigured:
		why = "cannot be asked: this service has no RPC endpoint for it"
	case rpc.Misconfigured, rpc.Reverted:
		why = "has a contract there that does not answer as the deployment says"
	}
	e := fault.New(fault.ChainUnavailable, "The status is not known: chain %s, %s, %s", p.network, part, why)
	if p.failure.Reason != rpc.Unconfigured { // which is no news to the operator
		e = e.Because(p.failure)
	}
	e.Role, e.RetryAfter = role, p.failure.RetryAfter
	return e
}
