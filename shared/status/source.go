package status

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

type lookup struct {
	*Tracker
	entry
	key    key
	caller netip.Prefix
	seen   bool                   // a node has the transaction
	issued map[common.Hash]issued // by transaction

	pace    time.Duration // the longest block time of the chains that were read
	due     time.Duration // when the next change may come; 0 if unknown
	blocked time.Duration // how much longer the issuer blocks us
}

// source is a transaction in a block.
type source struct {
	Source
	digest  common.Hash // of all of this
	failed  bool
	tx      *rpc.Transaction // nil if the node does not return it
	orders  []order          // the first maxSwaps; a final one is not looked up again
	omitted int              // how many more there are

	final bool // it has its confirmations, and enough endpoints agree
}

// run looks up the transaction. Once its source is final, that is not read again until the
// swaps are final as well: nothing final may depend on a reorganized block.
func (l *lookup) run(ctx context.Context) (*Status, *fault.Error) {
	if l.source != nil && l.source.final {
		s := new(Status)
		if trouble := l.judgeSwaps(ctx, s, l.source); trouble != nil || !s.Final {
			return s, trouble
		}
	}
	s := &Status{State: NotFound}
	return s, l.judgeSource(ctx, s)
}

// readSource reads from the endpoints of the source chain. It fails if they cannot establish
// whether the transaction exists.
func (l *lookup) readSource(ctx context.Context) ([]statement, verdict, *fault.Error) {
	network := l.key.network
	queue := rpc.TxLookups
	if l.seen {
		queue = rpc.Tracking
	}
	tooLong := false
	all := l.chains.Endpoints(network)
	answers, v, err := l.ask(ctx, network, queue, all,
		func(ctx context.Context, e *rpc.Endpoint, before []statement) (statement, error) {
			s, err := l.readTransaction(ctx, e, before)
			tooLong = tooLong || errors.Is(err, rpc.ErrTooLong)
			return s, err
		})
	switch {
	case slices.ContainsFunc(answers, statement.isKnown):
		l.seen = true
	case tooLong:
		return nil, v, fault.New(fault.StatusUnavailable, "The response about this transaction on chain %s "+
			"exceeds the size limit; use a block explorer", network).Because(err)
	case l.seen && v.upToDate > 0:
		// It is in flight, or was replaced: a node without it is no failure then.
	case len(answers) > v.upToDate:
		return nil, v, unavailable(network, network, l.behind(network, answers, err))
	case v.upToDate < max(all, 1):
		return nil, v, unavailable(network, network, err)
	}
	return answers, v, nil
}

func (s statement) isKnown() bool { return s.known }

// judgeSource sets the state of a transaction from the answers of its chain.
func (l *lookup) judgeSource(ctx context.Context, s *Status) *fault.Error {
	answers, v, trouble := l.readSource(ctx)
	if trouble != nil {
		return trouble
	}
	before := l.source
	l.source = nil
	if v.reportsNothing() {
		l.judgeUnmined(s, answers)
		return nil
	}
	network := l.key.network
	src := v.source
	final, doubt := l.isFinal(network, v)
	s.Reason = doubt
	s.State = Pending
	if !v.swap && doubt != "" && v.differ+v.lag > 0 { // without agreement, no outcome is reported
		s.Swaps = l.requested(src.tx, Pending)
		return nil
	}
	if before != nil && before.digest == src.digest {
		src = before // with its final swaps
	}
	src.Confirmations = v.confirmations
	src.final = final
	switch {
	case !v.swap:
		l.judgeEnd(ctx, s, src)
	case v.confirmations < l.deployment.Confirmations(network):
		s.Source = &src.Source
		s.Omitted = src.omitted
		for _, o := range src.orders {
			o.swap.State = Pending
			s.Swaps = append(s.Swaps, o.swap)
		}
	default:
		src.tx = nil // it may be long
		l.source = src
		return l.judgeSwaps(ctx, s, src)
	}
	return nil
}

// judgeUnmined sets the state of a transaction that is in no block.
func (l *lookup) judgeUnmined(s *Status, answers []statement) {
	if !l.seen {
		return
	}
	s.State = Pending
	s.Reason = seenBefore
	for _, one := range answers {
		if one.tx != nil && s.Swaps == nil {
			s.Swaps = l.requested(one.tx, Pending)
		}
		if one.known && one.doubt == "" {
			s.Reason = ""
		}
	}
}

// judgeEnd sets the state of a transaction that failed, or made no swap.
func (l *lookup) judgeEnd(ctx context.Context, s *Status, src *source) {
	s.Source = &src.Source
	s.Final = src.final
	s.State = NotASwap
	if src.failed {
		s.State = Failed
		l.explain(ctx, s, src)
	}
	s.Swaps = l.requested(src.tx, s.State)
	if len(s.Swaps) > 0 && !src.failed {
		s.Final = false
		s.Reason = noEvents
	}
}

// judgeSwaps sets the state of a transaction that made swaps and has its confirmations.
func (l *lookup) judgeSwaps(ctx context.Context, s *Status, src *source) *fault.Error {
	at := src.Source
	s.Source = &at
	s.State = Settled
	s.Final = src.final && src.omitted == 0
	s.Omitted = src.omitted
	for i, o := range src.orders { // o is a copy: the order of the source changes only once it is final
		if !o.swap.Final {
			if trouble := l.settle(ctx, src, &o); trouble != nil {
				return trouble
			}
		}
		if o.swap.Final {
			src.orders[i] = o
		}
		o.swap.Final = o.swap.Final && src.final
		if o.swap.State != Settled {
			s.State = o.swap.State
		}
		s.Final = s.Final && o.swap.Final
		s.Swaps = append(s.Swaps, o.swap)
	}
	if src.omitted > 0 { // these are not looked up
		s.State = Settling
		s.Reason = tooManySwaps
	}
	return nil
}

// explain adds why a transaction failed, by replaying it on the state before its block.
func (l *lookup) explain(ctx context.Context, s *Status, src *source) {
	if src.tx == nil || src.Block == 0 {
		return
	}
	revert, answered := "", false
	q := rpc.Question{Network: l.key.network, Queue: rpc.Tracking, Caller: l.caller}
	_ = l.chains.Ask(ctx, q, func(ctx context.Context, e *rpc.Endpoint) error {
		reads := []rpc.Read{rpc.ReadReplay(src.tx, src.Block-1)}
		answered = e.Batch(ctx, reads) == nil
		if f := reads[0].Err; f != nil {
			revert = calldata.RevertReason(f.Output)
		}
		return nil // a node that cannot replay is not at fault
	})
	if !answered {
		s.Final = false
	}
	switch {
	case s.Reason == "":
		s.Reason = revert
	case revert != "":
		s.Reason += ". It reverted with: " + revert
	}
}

func garbled(text string) error { return &rpc.Failure{Reason: rpc.Undecodable, Text: text} }

// readTransaction reads from one endpoint: in two requests, or in one if it agrees with an
// earlier endpoint. An endpoint whose nodes are at different heights may have the receipt
// without its block.
func (l *lookup) readTransaction(
	ctx context.Context, e *rpc.Endpoint, before []statement,
) (s statement, err error) {
	hash := l.key.tx
	var receipt *rpc.Receipt
	err = e.ReadAll(ctx, rpc.ReadReceipt(hash, &receipt), rpc.ReadTransaction(hash, &s.tx), rpc.ReadLatest(&s.head))
	switch {
	case err != nil:
		return s, err
	case s.tx != nil && s.tx.Hash != hash:
		return s, garbled("it returned another transaction")
	case receipt == nil:
		s.known = s.tx != nil
		return s, nil
	}
	if err := checkReceipt(receipt, hash); err != nil {
		return s, err
	}
	s.known = true
	digest := l.digest(receipt)
	for _, b := range before {
		if b.digest == digest {
			s.source = b.source
		}
	}
	if s.source == nil {
		var block *rpc.Block
		if err := e.ReadAll(ctx, rpc.ReadBlock(uint64(receipt.BlockNumber), &block)); err != nil {
			return s, err
		}
		if block == nil || block.Hash != receipt.BlockHash || s.head.Number < receipt.BlockNumber {
			s.doubt = seenBefore
			return s, nil
		}
		if block.At().Sub(l.now()) > time.Hour {
			return s, garbled("the block is from the future" + l.chains.Excuse(l.key.network, block, l.now()))
		}
		s.source = &source{
			Source: Source{Block: uint64(receipt.BlockNumber), Time: block.At()},
			digest: digest, failed: *receipt.Status == 0, tx: s.tx,
		}
		l.readOrders(s.source, receipt.Logs)
	}
	s.digest = digest
	s.block = s.source.Block
	s.swap = len(s.source.orders) > 0
	return s, nil
}

// digest covers what a receipt says about swaps: its block, whether it failed, and the events
// of the deployment's routers.
func (l *lookup) digest(r *rpc.Receipt) common.Hash {
	facts := append(r.BlockHash[:], byte(*r.Status))
	for i := range r.Logs {
		if _, ours := l.deployment.FindRouter(l.key.network, r.Logs[i].Address); ours {
			log := digestLog(&r.Logs[i])
			facts = append(facts, log[:]...)
		}
	}
	return calldata.Hash(facts)
}

func digestLog(log *rpc.Log) common.Hash {
	topics := []byte{byte(len(log.Topics))}
	for _, topic := range log.Topics {
		topics = append(topics, topic[:]...)
	}
	return calldata.Hash(log.BlockHash[:], log.TxHash[:], log.Address[:], topics, log.Data)
}

// checkReceipt says why a receipt is not valid.
func checkReceipt(r *rpc.Receipt, hash common.Hash) error {
	switch {
	case r.TxHash != hash:
		return garbled("it returned another transaction")
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
