package status

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
)

type lookup struct {
	tracker *Tracker
	key     memo.Key
	seen    bool // a node knows the transaction
	trail   *trail
	steps   int // how many questions it may still ask in search of events

	transaction *rpc.Transaction // as a node knows it that has it in no block
	source      *source          // nil while the transaction is in no block
	tried       rpc.Asked        // the endpoints of the source chain that were asked for it
	unknown     int              // how many endpoints are up to date and do not know it
	behind      bool             // an endpoint stands still
	uneven      bool             // an endpoint has the receipt, and not the block it is in
	tooLong     bool

	passing bool          // what is missing may be there in a moment
	blocked time.Duration // for how long the issuer cannot be asked
}

// source is what the source chain says of a transaction that is in a block.
type source struct {
	Source
	hash     common.Hash // of the block
	failed   bool
	replayed bool    // it is known why it failed, or that nobody tells
	revert   string  // why it failed
	asked    []Swap  // what it asks for, where it has no events
	orders   []order // the first MostSwaps
	omitted  int     // how many more there are

	from         *rpc.Endpoint
	digest       common.Hash // of what the endpoint says; see lookup.digest
	stale        bool        // the endpoint stands still
	agreed       bool        // another endpoint says the same, or there is no other
	contradicted bool        // another endpoint says something else
	doubt        string      // why it is not final; empty for no reason
}

// sourceAge is how long a confirmed source is used before its block is looked at again.
const sourceAge = time.Hour

func (l *lookup) run(ctx context.Context) (*Status, *fault.Error) {
	if l.trail.source != nil && l.tracker.Now().Sub(l.trail.checked) > sourceAge {
		if stands, err := l.stands(ctx); err == nil && !stands {
			l.trail.source = nil
		}
	}
	l.source = l.trail.source
	if l.source == nil {
		if trouble := l.readSource(ctx); trouble != nil {
			return nil, trouble
		}
		if l.source != nil {
			l.witness(ctx)
		}
	}
	s := &Status{State: NotFound}
	switch {
	case l.source == nil && l.transaction == nil && l.seen:
		s.State = Pending
		s.Reason = seenBefore
		l.passing = l.uneven
	case l.source == nil && l.transaction == nil:
	case l.source == nil:
		s.State = Pending
		s.Swaps = l.asked(l.transaction, Pending)
	default:
		if trouble := l.judge(ctx, s); trouble != nil {
			return nil, trouble
		}
	}
	l.schedule(s)
	return s, nil
}

// judge sets the state of a transaction that is in a block.
func (l *lookup) judge(ctx context.Context, s *Status) *fault.Error {
	src := l.source
	s.Reason = src.doubt
	if src.contradicted && (src.stale || !src.isSwap()) { // where nobody knows, nothing is told
		s.State = Pending
		for _, swap := range src.asked {
			swap.State = Pending
			s.Swaps = append(s.Swaps, swap)
		}
		return nil
	}
	s.Source = &src.Source
	deep := src.Confirmations >= l.tracker.deployment.Confirmations(l.key.Network)
	believed := src.agreed && src.doubt == ""
	s.Final = deep && believed
	switch {
	case src.failed:
		s.State = Failed
		s.Final = s.Final && src.replayed
		s.Swaps = src.asked
		s.Reason = cmp.Or(src.doubt, src.revert)
		if src.doubt != "" && src.revert != "" {
			s.Reason = src.doubt + ". It reverted with: " + src.revert
		}
		return nil
	case len(src.orders) == 0:
		s.State = NotASwap
		return nil
	}
	return l.judgeSwaps(ctx, s, deep, believed)
}

// judgeSwaps sets the state of a transaction that has swapped something. deep is
// whether it has its confirmations, and believed whether endpoints agree on it.
func (l *lookup) judgeSwaps(ctx context.Context, s *Status, deep, believed bool) *fault.Error {
	src := l.source
	s.State = Pending
	s.Omitted = src.omitted
	orders := slices.Clone(src.orders) // those of the trail stay as they are
	again := l.trail.source != nil     // it was read by an earlier look-up
	if deep {
		if believed && !again {
			l.trail.source = src
			l.trail.checked = l.tracker.Now()
		}
		if trouble := l.settle(ctx, orders); trouble != nil {
			return trouble
		}
		s.State = Settled
	}
	for i := range orders {
		swap := orders[i].swap
		if !deep {
			swap.State = Pending
		}
		if swap.State != Settled {
			s.State = swap.State
		}
		swap.Final = swap.Final && believed
		s.Final = s.Final && swap.Final
		s.Swaps = append(s.Swaps, swap)
	}
	if src.omitted > 0 { // nobody looks at these
		s.Final = false
		s.Reason = tooManySwaps
		if s.State == Settled {
			s.State = Settling
		}
	}
	if s.Final && again {
		l.lookBack(ctx, s)
	}
	return nil
}

// lookBack has a status not become final if the source that it rests on, which an
// earlier look-up has read, is not part of the chain any more.
func (l *lookup) lookBack(ctx context.Context, s *Status) {
	stands, err := l.stands(ctx)
	switch {
	case err != nil:
		s.Reason = fmt.Sprintf("Chain %s could not be asked whether the source still stands; it is asked again",
			l.key.Network)
	case !stands:
		s.Reason = "The block of the source was replaced; the transaction is looked up again"
		l.trail.source = nil
	default:
		return
	}
	l.passing = true
	s.Final = false
	for i := range s.Swaps {
		s.Swaps[i].Final = false
	}
}

// readSource asks the endpoints of the source chain in order. One that does not
// know the receipt may lag behind another that does.
func (l *lookup) readSource(ctx context.Context) *fault.Error {
	network := l.key.Network
	lane := rpc.Sightings
	if l.seen {
		lane = rpc.Tracking
	}
	err := l.tracker.chains.AskAnother(ctx, network, lane, &l.tried, func(ctx context.Context, e *rpc.Endpoint) error {
		err := l.readFrom(ctx, e)
		l.tooLong = l.tooLong || errors.Is(err, rpc.ErrTooLong)
		return err
	})
	l.seen = l.seen || l.source != nil || l.transaction != nil || l.uneven
	nobodyKnows := l.unknown > 0 && l.unknown == l.tracker.chains.Endpoints(network)
	// What was seen once is on its way, or was replaced: a node that does not know it is
	// no failure then.
	missed := l.uneven || l.seen && l.unknown > 0
	if l.source != nil || !l.tooLong && (l.transaction != nil || nobodyKnows || missed) {
		return nil
	}
	if l.tooLong {
		return fault.New(fault.StatusUnavailable, "What a node of chain %s answers about the transaction "+
			"is longer than this service reads; look it up there yourself", network).Because(err)
	}
	return unavailable(network, network, err, l.behind)
}

// These have the next endpoint asked. No endpoint rests because of them.
var (
	errUnknown = &rpc.Failure{Reason: rpc.Declined, Text: "the transaction is in no block that it knows"}
	errBehind  = &rpc.Failure{Reason: rpc.Declined, Text: "its latest block is old"}

	errReplaced = &rpc.Failure{Reason: rpc.Declined, Text: "the block was replaced meanwhile"}
)

func garbled(text string) error { return &rpc.Failure{Reason: rpc.Undecodable, Text: text} }

func (l *lookup) readFrom(ctx context.Context, e *rpc.Endpoint) error {
	hash := common.Hash(l.key.Name)
	var (
		receipt *rpc.Receipt
		tx      *rpc.Transaction
	)
	if err := e.ReadAll(ctx, rpc.ReadReceipt(hash, &receipt), rpc.ReadTransaction(hash, &tx)); err != nil {
		return err
	}
	switch {
	case tx != nil && tx.Hash != hash:
		return garbled("it answers about another transaction")
	case receipt == nil && tx == nil:
		if err := l.upToDate(ctx, e); err != nil {
			return err
		}
		l.unknown++
		return errUnknown
	case receipt == nil:
		l.transaction = tx
		return errUnknown
	}
	src, err := l.sourceOf(ctx, e, receipt, tx)
	if err != nil {
		return err
	}
	switch {
	case src.stale:
		l.behind = true
		l.source = cmp.Or(l.source, src) // others may have more
		return errBehind
	case src.doubt != "":
		l.source = cmp.Or(l.source, src)
		return errDoubtful
	}
	l.source = src
	return nil
}

// sourceOf is what an endpoint says of a transaction that is in a block. tx may be nil.
func (l *lookup) sourceOf(
	ctx context.Context, e *rpc.Endpoint, receipt *rpc.Receipt, tx *rpc.Transaction,
) (*source, error) {
	if err := checkReceipt(receipt, common.Hash(l.key.Name)); err != nil {
		return nil, err
	}
	latest, at, err := l.readHeads(ctx, e, receipt)
	if err != nil {
		return nil, err
	}
	block := uint64(receipt.BlockNumber)
	src := &source{
		Source:   Source{block, uint64(latest.Number) - block + 1, at},
		hash:     receipt.BlockHash,
		failed:   *receipt.Status == 0,
		replayed: true,
		from:     e,
		digest:   l.digest(receipt),
		stale:    latest.TooOld(l.key.Network, l.tracker.Now()),
	}
	if src.failed {
		src.asked = l.asked(tx, Failed)
		l.replay(ctx, e, tx, src)
	} else {
		l.readOrders(src, receipt.Logs)
	}
	if !src.failed && len(src.orders) == 0 {
		src.asked = l.asked(tx, NotASwap)
		src.doubt = contradiction(src, receipt)
	}
	return src, nil
}

// replay finds out why a transaction failed, on the state before its block. If it does
// not fail there, the node contradicts itself, or another transaction of that block has
// changed something: nobody here can tell.
func (l *lookup) replay(ctx context.Context, e *rpc.Endpoint, tx *rpc.Transaction, src *source) {
	if tx == nil || src.Block == 0 {
		return
	}
	output, succeeded, err := e.Replay(ctx, tx, src.Block-1)
	src.revert = calldata.RevertReason(output)
	src.replayed = err == nil
	if succeeded {
		src.doubt = failedInVain
	}
	if err != nil {
		l.passing = true
	}
}

// contradiction says what speaks against a transaction that has swapped nothing, by its
// receipt.
func contradiction(src *source, receipt *rpc.Receipt) string {
	switch {
	case receipt.HidesLogs():
		return hiddenEvents
	case len(src.asked) > 0:
		return noEvents
	}
	return ""
}

// checkReceipt says why a receipt is none.
func checkReceipt(r *rpc.Receipt, hash common.Hash) error {
	switch {
	case r.TxHash != hash:
		return garbled("it answers about another transaction")
	case r.Status == nil || *r.Status > 1:
		return garbled("the receipt does not say whether the transaction succeeded")
	case r.Logs == nil || *r.Status == 0 && len(r.Logs) > 0:
		return garbled("the receipt does not list the events")
	}
	for i := range r.Logs {
		log := &r.Logs[i]
		ours := log.TxHash == hash && log.BlockHash == r.BlockHash && log.BlockNumber == r.BlockNumber
		if !ours || log.Removed {
			return garbled("the receipt has events of another transaction")
		}
	}
	return nil
}

// readHeads reads the latest block, and the time of the receipt's. Behind a load
// balancer another node may answer, which is a block or two behind the receipt: it is
// asked again.
func (l *lookup) readHeads(
	ctx context.Context, e *rpc.Endpoint, receipt *rpc.Receipt,
) (latest *rpc.Block, at time.Time, err error) {
	for range 2 {
		var block *rpc.Block
		latest = nil
		err = e.ReadAll(ctx, rpc.ReadLatest(&latest), rpc.ReadBlock(uint64(receipt.BlockNumber), &block))
		if err != nil {
			return nil, at, err
		}
		if latest != nil && latest.Number >= receipt.BlockNumber && block != nil {
			l.tracker.remember(e, latest)
			at, err = blockTime(block, uint64(receipt.BlockNumber), receipt.BlockHash)
			l.uneven = l.uneven || errors.Is(err, errReplaced)
			return latest, at, err
		}
	}
	l.uneven = true
	return nil, at, &rpc.Failure{Reason: rpc.Declined, Text: "the receipt is of a block that it does not have"}
}

// blockTime is the time of a block, which must be that very one.
func blockTime(block *rpc.Block, number uint64, hash common.Hash) (at time.Time, err error) {
	const farFuture = 1 << 40 // in seconds; the year 36,812
	switch {
	case block == nil || block.Hash != hash || uint64(block.Number) != number:
		return at, errReplaced
	case block.Time >= farFuture:
		return at, garbled("the block has no time")
	}
	return time.Unix(int64(block.Time), 0).UTC(), nil
}

// upToDate fails if the endpoint stands still. It asks every few seconds only.
func (l *lookup) upToDate(ctx context.Context, e *rpc.Endpoint) error {
	const recently = 5 * time.Second
	t := l.tracker
	known := t.known(e)
	if known.latest == nil || t.Now().Sub(known.asked) > recently {
		known.latest = nil // others may read the old one
		if err := e.ReadAll(ctx, rpc.ReadLatest(&known.latest)); err != nil {
			return err
		}
		if known.latest == nil {
			return garbled("it has no latest block")
		}
		t.remember(e, known.latest)
	}
	if known.latest.TooOld(e.Network, t.Now()) {
		l.behind = true
		return errBehind
	}
	return nil
}

// knownNode is what is known of an endpoint.
type knownNode struct {
	latest  *rpc.Block // when it was last asked
	old     bool       // it was too old then
	asked   time.Time
	rung    int       // which of the ranges of logs it answers
	refused time.Time // when it refused a wider one
}

func (t *Tracker) known(e *rpc.Endpoint) knownNode { return t.learn(e, func(*knownNode) {}) }

// learn changes what is known of an endpoint, and returns it.
func (t *Tracker) learn(e *rpc.Endpoint, change func(*knownNode)) knownNode {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[e]
	change(&n)
	t.nodes[e] = n
	return n
}

func (t *Tracker) remember(e *rpc.Endpoint, latest *rpc.Block) {
	t.learn(e, func(n *knownNode) {
		n.latest = latest
		n.old = latest.TooOld(e.Network, t.Now())
		n.asked = t.Now()
	})
}

// order is a swap of the transaction, with what its settlement is found by.
type order struct {
	swap  Swap
	pool  common.Address    // that took the money; zero for a burn
	nonce common.Hash       // of the pool's swap, or of the attested message
	burnt *calldata.Message // what the message of a burn must say

	payout chain.Payout
	id     common.Hash // of the settlement; zero until it is known
}

// Why a swap stays where it is.
const (
	tooManySwaps = "The transaction has more swaps than are looked up, " +
		"so that nobody can tell when all of them are settled"
	oddEvent     = "The pool has taken money, and its event cannot be read; ask the operator"
	oddRecipient = "The pool has taken the money for a recipient of a form that no pool pays; ask the operator"
	oddHook      = "The burn is for this service, and its hook names no swap that can be read; ask the operator"
	oddToken     = "The burn is for this service, and of another token than USDC; ask the operator"
	noPayer      = "No pool of this deployment pays that token on that chain; ask the operator"
	seenBefore   = "A node knew the transaction before, and none knows it now: " +
		"nodes are at different heights, or its block was replaced"
	failedInVain = "The node says that it failed, and the same call succeeds on the block before; " +
		"look it up on the chain yourself"
	hiddenEvents = "The node lists no event, and its receipt says that there are some; " +
		"look it up on the chain yourself"
	noEvents = "The transaction asks a pool for a swap and succeeded, and the node lists no event; " +
		"look it up on the chain yourself"
	anotherPayout = "The pool says that it settled this swap, " +
		"and its event is about another recipient, token or source; ask the operator"
)

// readOrders reads the swaps out of the events of the transaction. Only events of the
// deployment's routers count, whichever contract the transaction was sent to.
func (l *lookup) readOrders(src *source, logs []rpc.Log) {
	for i := range logs {
		router, ok := l.tracker.deployment.FindRouter(l.key.Network, logs[i].Address)
		if !ok || len(logs[i].Topics) == 0 {
			continue
		}
		o, ok := l.readOrder(&logs[i])
		switch {
		case !ok:
		case len(src.orders) == MostSwaps:
			src.omitted++
		default:
			o.swap.Seconds = l.tracker.deployment.UsualSeconds(router, chain.ID(o.swap.DstChainID), o.swap.DstToken)
			o.swap.State = Settling
			src.orders = append(src.orders, o)
		}
	}
}

// readOrder reads one event of a router. It is false if no money was taken for us.
// A swap that cannot be settled has a reason.
func (l *lookup) readOrder(log *rpc.Log) (o order, ok bool) {
	var err error
	if log.Topics[0] == calldata.SwappedTopic {
		o.pool = log.Address
		o.swap.Swap, o.nonce, err = calldata.DecodeSwapped(log.Topics, log.Data)
		if err != nil {
			o.swap.Unread = true
			o.swap.Reason = oddEvent
			return o, true
		}
		if !payable(&o.swap.Swap) {
			o.swap.Reason = oddRecipient
		}
		cutLoose(&o.swap.Swap)
		return o, true
	}
	network, _ := chain.FindNetwork(l.key.Network)
	burnt, err := calldata.DecodeBurnt(log.Topics, log.Data)
	to := l.tracker.deployment.Settlement
	receiver := common.BytesToHash(to.Receiver.Address[:])
	if err != nil || network.CCTP == nil || burnt.DestinationDomain != to.Domain || burnt.MintRecipient != receiver {
		return o, false
	}
	swap, err := calldata.SwapOfHook(&burnt.Amount, burnt.HookData)
	if err != nil {
		o.swap.Unread = true
		o.swap.Reason = oddHook
		return o, true
	}
	fits := payable(swap)
	cutLoose(swap)
	o.swap.Swap = *swap
	usdc, err := chain.FindToken(l.key.Network, chain.USDC)
	switch {
	case !fits:
		o.swap.Reason = oddHook
	case err != nil || common.BytesToHash(usdc.Address.Address[:]) != burnt.BurnToken:
		o.swap.Reason = oddToken
	default:
		burnt.HookData = bytes.Clone(burnt.HookData)
		burnt.SourceDomain = network.CCTP.Domain
		o.burnt = burnt
		o.swap.Burn = &Burn{Domain: network.CCTP.Domain}
	}
	return o, true
}

// noteLength is that of a private recipient, the longest there is.
const noteLength = 160

// payable tells whether a swap has a recipient that pools and receiver accept.
func payable(s *calldata.Swap) bool {
	switch s.RecipientType {
	case calldata.RecipientEVM:
		return len(s.Recipient) == common.AddressLength
	case calldata.RecipientPrivate:
		return len(s.Recipient) == noteLength
	}
	return false
}

// cutLoose copies the recipient out of the answer that it was read from, which may be
// long. What is longer than any recipient is cut.
func cutLoose(s *calldata.Swap) {
	s.Recipient = bytes.Clone(s.Recipient[:min(len(s.Recipient), noteLength)])
}

// asked is the swap that a transaction asks for, read from its input because it
// has no events. There is none if it calls another contract.
func (l *lookup) asked(t *rpc.Transaction, state State) []Swap {
	if t == nil || t.To == nil {
		return nil
	}
	d := l.tracker.deployment
	router, ok := d.FindRouter(l.key.Network, *t.To)
	if !ok {
		return nil
	}
	swap, err := calldata.DecodeOrder(t.Input, d.Settlement.Receiver.Address)
	if err != nil || !payable(swap) {
		return nil
	}
	cutLoose(swap)
	seconds := d.UsualSeconds(router, chain.ID(swap.DstChainID), swap.DstToken)
	return []Swap{{State: state, Swap: *swap, Seconds: seconds}}
}
