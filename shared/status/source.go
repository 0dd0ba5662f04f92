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
	"github.com/quotegate/quotegate/shared/rpc"
)

// lookup is one look-up of a transaction.
type lookup struct {
	*Tracker
	key
	steps int // how many ranges of logs it may still ask for

	// What the source chain says.
	transaction *rpc.Transaction
	receipt     *rpc.Receipt // nil while the transaction is in no block
	head        uint64
	time        time.Time // of the block
	revert      []byte    // with what the transaction reverted
	tooLong     bool

	messages map[key]*issued // what the issuer says, by network and transaction
}

// run looks the transaction up.
func (l *lookup) run(ctx context.Context) (*Status, *trouble) {
	if trouble := l.readSource(ctx); trouble != nil {
		return nil, trouble
	}
	s := &Status{State: NotFound}
	switch {
	case l.receipt == nil && l.transaction == nil:
	case l.receipt == nil:
		s.State = Pending
		s.Swaps = l.asked(Pending)
	default:
		s.Source = &Source{Block: uint64(l.receipt.BlockNumber), Time: l.time}
		s.Source.Confirmations = l.head - s.Source.Block + 1
		if trouble := l.judge(ctx, s); trouble != nil {
			return nil, trouble
		}
	}
	l.schedule(s)
	return s, nil
}

// judge sets the state of a transaction that is in a block.
func (l *lookup) judge(ctx context.Context, s *Status) *trouble {
	deep := s.Source.Confirmations >= l.deployment.Confirmations(l.network)
	if l.receipt.Status != 1 {
		s.State, s.Final, s.Reason = Failed, deep, calldata.RevertReason(l.revert)
		s.Swaps = l.asked(Failed)
		return nil
	}
	orders := l.orders()
	if len(orders) > MostSwaps {
		s.Omitted = len(orders) - MostSwaps
		orders = orders[:MostSwaps]
	}
	switch {
	case len(orders) == 0:
		s.State, s.Final = NotASwap, deep
		return nil
	case !deep:
		s.State = Pending
		for i := range orders {
			orders[i].swap.State = Pending
			s.Swaps = append(s.Swaps, orders[i].swap)
		}
		return nil
	}
	s.State, s.Final = Settled, true
	for i := range orders {
		if trouble := l.settle(ctx, &orders[i]); trouble != nil {
			return trouble
		}
		swap := orders[i].swap
		if swap.State.advance() < s.State.advance() {
			s.State = swap.State
		}
		s.Final = s.Final && swap.Final
		s.Swaps = append(s.Swaps, swap)
	}
	return nil
}

// readSource asks the endpoints of the source chain in order. One that does not
// know the receipt may lag behind another that does.
func (l *lookup) readSource(ctx context.Context) *trouble {
	answered := false
	err := l.chains.Ask(ctx, l.network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
		seen, err := l.readFrom(ctx, e)
		answered = answered || seen
		l.tooLong = l.tooLong || errors.Is(err, rpc.ErrTooLong)
		return err
	})
	if err == nil || answered && !l.tooLong {
		return nil
	}
	t := newTrouble(l.network, err)
	t.tooLong = l.tooLong
	return t
}

// errUnknown has the next endpoint asked.
var errUnknown = &rpc.Failure{Reason: rpc.Declined, Text: "the transaction is in no block that it knows"}

func garbled(text string) error { return &rpc.Failure{Reason: rpc.Undecodable, Text: text} }

// readFrom reads the transaction from one endpoint. seen is true if the endpoint
// has answered properly, even if that is that it knows no receipt.
func (l *lookup) readFrom(ctx context.Context, e *rpc.Endpoint) (seen bool, err error) {
	var (
		receipt     *rpc.Receipt
		transaction *rpc.Transaction
		head        hexutil.Uint64
	)
	reads := []rpc.Read{rpc.ReadReceipt(l.hash, &receipt), rpc.ReadTransaction(l.hash, &transaction), rpc.ReadHead(&head)}
	if err := e.ReadAll(ctx, reads); err != nil {
		return false, err
	}
	switch {
	case transaction != nil && transaction.Hash != l.hash || receipt != nil && receipt.TxHash != l.hash:
		return false, garbled("it answers about another transaction")
	case receipt == nil:
		if transaction != nil {
			l.transaction = transaction
		}
		return true, errUnknown
	case uint64(receipt.BlockNumber) > uint64(head):
		return false, garbled("the receipt is of a block that it does not have")
	}
	block, err := readBlock(ctx, e, uint64(receipt.BlockNumber), receipt.BlockHash)
	if err != nil {
		return false, err
	}
	l.receipt, l.transaction, l.head, l.time = receipt, transaction, uint64(head), block
	if receipt.Status != 1 && transaction != nil {
		l.revert, _ = e.Replay(ctx, transaction, uint64(receipt.BlockNumber)) // without it there is no reason to tell
	}
	return true, nil
}

// readBlock reads the time of a block, which must have that hash.
func readBlock(ctx context.Context, e *rpc.Endpoint, number uint64, hash common.Hash) (time.Time, error) {
	var block *rpc.Block
	if err := e.ReadAll(ctx, []rpc.Read{rpc.ReadBlock(number, &block)}); err != nil {
		return time.Time{}, err
	}
	if block == nil || block.Hash != hash || uint64(block.Number) != number {
		return time.Time{}, &rpc.Failure{Reason: rpc.Declined, Text: "the block was replaced meanwhile"}
	}
	const farFuture = 1 << 40 // in seconds; the year 36,812
	if block.Time >= farFuture {
		return time.Time{}, garbled("the block has no time")
	}
	return time.Unix(int64(block.Time), 0).UTC(), nil
}

// order is a swap of the transaction, with what its settlement is found by.
type order struct {
	swap  Swap
	id    common.Hash     // of a pool's swap
	burnt *calldata.Burnt // of a burn
}

// orders reads the swaps out of the events of the transaction. Only events of the
// deployment's routers count, whichever contract the transaction was sent to.
func (l *lookup) orders() (orders []order) {
	network, _ := chain.FindNetwork(l.network)
	for i := range l.receipt.Logs {
		log := &l.receipt.Logs[i]
		router, ok := l.deployment.FindRouter(l.network, log.Address)
		if !ok || log.Removed {
			continue
		}
		var o order
		if swapped, err := calldata.DecodeSwapped(log.Topics, log.Data); err == nil {
			o.swap.Swap = swapped.Swap
			o.id = calldata.SwapID(uint64(l.network), log.Address, &swapped.Nonce)
		} else if burnt, err := calldata.DecodeBurnt(log.Topics, log.Data); err == nil && network.CCTP != nil && l.ours(burnt) {
			swap, err := calldata.SwapOfHook(&burnt.Amount, burnt.HookData)
			if err != nil {
				continue // the receiver refuses it; the operator never sees a swap
			}
			o.swap.Swap, o.burnt = *swap, burnt
			o.swap.Burn = &Burn{Domain: network.CCTP.Domain}
		} else {
			continue
		}
		if !keepable(&o.swap.Swap) {
			continue
		}
		o.swap.Seconds = l.deployment.UsualSeconds(router, chain.ID(o.swap.DstChainID), o.swap.DstToken)
		orders = append(orders, o)
	}
	return orders
}

// keepable tells whether a swap has a recipient that pools and receiver accept.
// It also cuts the recipient loose from the answer that it was read from, which may
// be long.
func keepable(s *calldata.Swap) bool {
	length := map[uint8]int{calldata.RecipientEVM: common.AddressLength, calldata.RecipientPrivate: 160}[s.RecipientType]
	s.Recipient = bytes.Clone(s.Recipient[:min(len(s.Recipient), length+1)])
	return length > 0 && len(s.Recipient) == length
}

// ours tells whether a burn is for the receiver of the deployment.
func (l *lookup) ours(b *calldata.Burnt) bool {
	s := l.deployment.Settlement
	return b.DestinationDomain == s.Domain && b.MintRecipient == common.BytesToHash(s.Receiver.Address[:])
}

// asked is the swap that the transaction asks for, read from its input because it
// has no events. There is none if it calls another contract.
func (l *lookup) asked(state State) []Swap {
	t := l.transaction
	if t == nil || t.To == nil {
		return nil
	}
	router, ok := l.deployment.FindRouter(l.network, *t.To)
	if !ok {
		return nil
	}
	swap, err := calldata.DecodeOrder(t.Input, l.deployment.Settlement.Receiver.Address)
	if err != nil || !keepable(swap) {
		return nil
	}
	seconds := l.deployment.UsualSeconds(router, chain.ID(swap.DstChainID), swap.DstToken)
	return []Swap{{State: state, Swap: *swap, Seconds: seconds}}
}
