package status

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
)

// lookup is one look-up of a transaction.
type lookup struct {
	tracker *Tracker
	key     memo.Key
	seen    bool      // a node knows the transaction
	first   time.Time // when it was first asked for
	trail   *trail
	steps   int // how many questions it may still ask in search of events

	transaction *rpc.Transaction // as a node knows it that has it in no block
	source      *source          // nil while the transaction is in no block
	unknown     int              // how many endpoints are up to date and do not know it
	behind      bool             // an endpoint stands still
	tooLong     bool
}

// source is what the source chain says of a transaction that is in a block.
type source struct {
	block, head uint64
	time        time.Time
	failed      bool
	replayed    bool    // it is known why it failed, or that nobody tells
	revert      string  // why it failed
	asked       []Swap  // what it asks for, where it has no events
	orders      []order // the first MostSwaps
	omitted     int     // how many more there are
}

func (s *source) confirmations() uint64 { return s.head - s.block + 1 }

// run looks the transaction up.
func (l *lookup) run(ctx context.Context) (*Status, *trouble) {
	if l.source = l.trail.source; l.source == nil {
		if trouble := l.readSource(ctx); trouble != nil {
			return nil, trouble
		}
	}
	s := &Status{State: NotFound}
	switch {
	case l.source == nil && l.transaction == nil:
	case l.source == nil:
		s.State, s.Swaps = Pending, l.asked(l.transaction, Pending)
	default:
		if trouble := l.judge(ctx, s); trouble != nil {
			return nil, trouble
		}
	}
	l.schedule(s)
	return s, nil
}

// judge sets the state of a transaction that is in a block.
func (l *lookup) judge(ctx context.Context, s *Status) *trouble {
	src := l.source
	s.Source = &Source{Block: src.block, Confirmations: src.confirmations(), Time: src.time}
	deep := src.confirmations() >= l.tracker.deployment.Confirmations(l.key.Network)
	switch {
	case src.failed:
		s.State, s.Final, s.Reason, s.Swaps = Failed, deep && src.replayed, src.revert, src.asked
		return nil
	case len(src.orders) == 0:
		s.State, s.Final = NotASwap, deep
		return nil
	}
	s.State, s.Final, s.Omitted = Pending, deep, src.omitted
	orders := append([]order(nil), src.orders...) // those of the trail stay as they are
	if deep {
		l.trail.source = src
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
		if swap.State.advance() < s.State.advance() {
			s.State = swap.State
		}
		s.Final = s.Final && swap.Final
		s.Swaps = append(s.Swaps, swap)
	}
	if src.omitted > 0 { // nobody looks at these
		s.Final, s.Reason = false, tooManySwaps
		if s.State == Settled {
			s.State = Settling
		}
	}
	return nil
}

// readSource asks the endpoints of the source chain in order. One that does not
// know the receipt may lag behind another that does.
func (l *lookup) readSource(ctx context.Context) *trouble {
	network, lane := l.key.Network, rpc.Sightings
	if l.seen {
		lane = rpc.Tracking
	}
	err := l.tracker.chains.Ask(ctx, network, lane, func(ctx context.Context, e *rpc.Endpoint) error {
		err := l.readFrom(ctx, e)
		l.tooLong = l.tooLong || errors.Is(err, rpc.ErrTooLong)
		return err
	})
	l.seen = l.seen || l.source != nil || l.transaction != nil
	switch {
	case err == nil || l.source != nil:
		return nil
	case l.tooLong:
	case l.transaction != nil || l.unknown == l.tracker.chains.Endpoints(network) && l.unknown > 0:
		return nil
	}
	t := newTrouble(network, err)
	t.tooLong, t.behind = l.tooLong, l.behind
	return t
}

// These have the next endpoint asked. No endpoint rests because of them.
var (
	errUnknown = &rpc.Failure{Reason: rpc.Declined, Text: "the transaction is in no block that it knows"}
	errBehind  = &rpc.Failure{Reason: rpc.Declined, Text: "its latest block is old"}
)

func garbled(text string) error { return &rpc.Failure{Reason: rpc.Undecodable, Text: text} }

// readFrom reads the transaction from one endpoint.
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
	if err := checkReceipt(receipt, hash); err != nil {
		return err
	}
	var latest *rpc.Block
	at, err := l.readHeads(ctx, e, receipt, &latest)
	if err != nil {
		return err
	}
	src := &source{block: uint64(receipt.BlockNumber), head: uint64(latest.Number), time: at, failed: *receipt.Status == 0, replayed: true}
	if src.failed {
		src.asked = l.asked(tx, Failed)
		if tx != nil {
			output, err := e.Replay(ctx, tx, src.block)
			src.revert, src.replayed = calldata.RevertReason(output), err == nil
		}
	} else {
		l.readOrders(src, receipt.Logs)
	}
	if l.old(latest) {
		if l.behind = true; l.source == nil {
			l.source = src // what it has is true, even if others have more
		}
		return errBehind
	}
	l.source = src
	return nil
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
		if log := &r.Logs[i]; log.TxHash != hash || log.BlockHash != r.BlockHash || log.BlockNumber != r.BlockNumber || log.Removed {
			return garbled("the receipt has events of another transaction")
		}
	}
	return nil
}

// readHeads reads the latest block, and the time of the receipt's. Behind a load
// balancer another node may answer, which is a block or two behind the receipt: it is
// asked again.
func (l *lookup) readHeads(ctx context.Context, e *rpc.Endpoint, receipt *rpc.Receipt, latest **rpc.Block) (at time.Time, err error) {
	for range 2 {
		*latest = nil
		var block *rpc.Block
		if err := e.ReadAll(ctx, rpc.ReadLatest(latest), rpc.ReadBlock(uint64(receipt.BlockNumber), &block)); err != nil {
			return at, err
		}
		if *latest == nil || (*latest).Number < receipt.BlockNumber || block == nil {
			err = &rpc.Failure{Reason: rpc.Declined, Text: "the receipt is of a block that it does not have"}
			continue
		}
		l.tracker.remember(l.key.Network, e, *latest)
		return blockTime(block, uint64(receipt.BlockNumber), receipt.BlockHash)
	}
	return at, err
}

// blockTime is the time of a block, which must be that very one.
func blockTime(block *rpc.Block, number uint64, hash common.Hash) (at time.Time, err error) {
	const farFuture = 1 << 40 // in seconds; the year 36,812
	switch {
	case block == nil || block.Hash != hash || uint64(block.Number) != number:
		return at, &rpc.Failure{Reason: rpc.Declined, Text: "the block was replaced meanwhile"}
	case block.Time >= farFuture:
		return at, garbled("the block has no time")
	}
	return time.Unix(int64(block.Time), 0).UTC(), nil
}

// old tells whether a block is too old to be the latest one of its chain.
func (l *lookup) old(latest *rpc.Block) bool {
	return l.tracker.old(l.key.Network, latest)
}

func (t *Tracker) old(network chain.ID, latest *rpc.Block) bool {
	at := time.Unix(int64(min(latest.Time, hexutil.Uint64(1<<40))), 0)
	return t.Now().Sub(at) > network.UsualGap()
}

// upToDate fails if the endpoint stands still. It asks every few seconds only.
func (l *lookup) upToDate(ctx context.Context, e *rpc.Endpoint) error {
	const recently = 5 * time.Second
	t := l.tracker
	t.mu.Lock()
	known := *t.node(l.key.Network, e)
	t.mu.Unlock()
	if known.latest == nil || t.Now().Sub(known.asked) > recently {
		var latest *rpc.Block
		if err := e.ReadAll(ctx, rpc.ReadLatest(&latest)); err != nil {
			return err
		}
		if latest == nil {
			return garbled("it has no latest block")
		}
		t.remember(l.key.Network, e, latest)
		known.latest = latest
	}
	if l.old(known.latest) {
		l.behind = true
		return errBehind
	}
	return nil
}

// place is that of an endpoint.
type place struct {
	network chain.ID
	number  int
}

// knownNode is what is known of an endpoint.
type knownNode struct {
	latest *rpc.Block // when it was last asked
	old    bool       // it was too old then
	asked  time.Time
	rung   int       // which of the ranges of logs it answers
	rungAt time.Time // when it refused a wider one
}

// node is what is known of an endpoint. The caller holds the lock.
func (t *Tracker) node(network chain.ID, e *rpc.Endpoint) *knownNode {
	k := place{network, e.Place}
	if t.nodes[k] == nil {
		t.nodes[k] = &knownNode{}
	}
	return t.nodes[k]
}

func (t *Tracker) remember(network chain.ID, e *rpc.Endpoint, latest *rpc.Block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.node(network, e)
	n.latest, n.old, n.asked = latest, t.old(network, latest), t.Now()
}

// order is a swap of the transaction, with what its settlement is found by.
type order struct {
	swap  Swap
	lost  bool            // it cannot be settled, for the reason that the swap has
	pool  common.Address  // that took the money; zero for a burn
	nonce common.Hash     // of the pool's swap, or of the attested message
	burnt *calldata.Burnt // of a burn

	payout chain.Payout
	id     common.Hash // of the settlement; zero until it is known
	paid   *answer     // what the pools say; nil if they were not asked
}

// Why a swap stays where it is.
const (
	tooManySwaps  = "The transaction has more swaps than are looked up, so that nobody can tell when all of them are settled"
	oddEvent      = "The pool has taken money, and its event cannot be read; ask the operator"
	oddRecipient  = "The pool has taken the money for a recipient of a form that no pool pays; ask the operator"
	oddHook       = "The burn is for this service, and its hook names no swap that can be read; ask the operator"
	oddToken      = "The burn is for this service, and of another token than USDC; ask the operator"
	noPayer       = "No pool of this deployment pays that token on that chain; ask the operator"
	anotherPayout = "The pool says that it settled this swap, and its event is about another recipient, token or source; ask the operator"
)

// readOrders reads the swaps out of the events of the transaction. Only events of the
// deployment's routers count, whichever contract the transaction was sent to.
func (l *lookup) readOrders(src *source, logs []rpc.Log) {
	for i := range logs {
		log := &logs[i]
		router, ok := l.tracker.deployment.FindRouter(l.key.Network, log.Address)
		if !ok || len(log.Topics) == 0 {
			continue
		}
		o, ok := l.readOrder(log)
		if !ok {
			continue
		}
		if len(src.orders) == MostSwaps {
			src.omitted++
			continue
		}
		o.swap.Seconds = l.tracker.deployment.UsualSeconds(router, chain.ID(o.swap.DstChainID), o.swap.DstToken)
		o.swap.State = Settling
		src.orders = append(src.orders, o)
	}
}

// readOrder reads one event of a router. It is false if no money was taken for us.
func (l *lookup) readOrder(log *rpc.Log) (o order, ok bool) {
	lose := func(reason string) {
		o.lost, o.swap.Reason = true, reason
	}
	network, _ := chain.FindNetwork(l.key.Network)
	if log.Topics[0] == calldata.SwappedTopic {
		o.pool = log.Address
		swapped, err := calldata.DecodeSwapped(log.Topics, log.Data)
		if err != nil {
			lose(oddEvent)
			o.swap.Unread = true
			return o, true
		}
		o.swap.Swap, o.nonce = swapped.Swap, common.Hash(swapped.Nonce.Bytes32())
		if !keepable(&o.swap.Swap) {
			lose(oddRecipient)
		}
		return o, true
	}
	burnt, err := calldata.DecodeBurnt(log.Topics, log.Data)
	to := l.tracker.deployment.Settlement
	if err != nil || network.CCTP == nil || burnt.DestinationDomain != to.Domain || burnt.MintRecipient != common.BytesToHash(to.Receiver.Address[:]) {
		return o, false
	}
	swap, err := calldata.SwapOfHook(&burnt.Amount, burnt.HookData)
	if err != nil {
		lose(oddHook)
		o.swap.Unread = true
		return o, true
	}
	o.swap.Swap = *swap
	if !keepable(&o.swap.Swap) {
		lose(oddHook)
		return o, true
	}
	if usdc, err := chain.FindToken(l.key.Network, chain.USDC); err != nil || usdc.Address.Address != burnt.Token {
		lose(oddToken)
		return o, true
	}
	burnt.HookData = bytes.Clone(burnt.HookData)
	o.burnt, o.swap.Burn = burnt, &Burn{Domain: network.CCTP.Domain}
	return o, true
}

// keepable tells whether a swap has a recipient that pools and receiver accept.
// It also cuts the recipient loose from the answer that it was read from, which may
// be long.
func keepable(s *calldata.Swap) bool {
	const longest = 160
	length := len(s.Recipient)
	s.Recipient = bytes.Clone(s.Recipient[:min(length, longest)])
	switch s.RecipientType {
	case calldata.RecipientEVM:
		return length == common.AddressLength
	case calldata.RecipientPrivate:
		return length == longest
	}
	return false
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
	if err != nil || !keepable(swap) {
		return nil
	}
	return []Swap{{State: state, Swap: *swap, Seconds: d.UsualSeconds(router, chain.ID(swap.DstChainID), swap.DstToken)}}
}
