package status

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

type lookup struct {
	*Tracker
	entry
	key    cache.Key
	seen   bool                   // a node knows the transaction
	issued map[common.Hash]issued // by transaction

	pace    time.Duration // the longest block time of the chains that were asked
	due     time.Duration // when what is under way may be there; 0 if nothing is
	blocked time.Duration // for how long the issuer cannot be asked
}

// source is a transaction in a block.
type source struct {
	Source
	digest  common.Hash // of all of this
	failed  bool
	tx      *rpc.Transaction // nil if the node does not say
	orders  []order          // the first MostSwaps; a final one is not looked up again
	omitted int              // how many more there are

	final bool // it has its confirmations, and enough endpoints say so
}

// run looks the transaction up. Once its source is final, that is not read again until the
// swaps are final as well: nothing final may rest on a block that is gone.
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

// readSource asks the endpoints of the source chain. It fails if they cannot establish
// whether the transaction exists.
func (l *lookup) readSource(ctx context.Context) ([]statement, verdict, *fault.Error) {
	network := l.key.Network
	lane := rpc.TxLookups
	if l.seen {
		lane = rpc.Tracking
	}
	tooLong := false
	all := l.chains.Endpoints(network)
	said, v, err := l.ask(ctx, network, lane, all,
		func(ctx context.Context, e *rpc.Endpoint, before []statement) (statement, error) {
			s, err := l.readTransaction(ctx, e, before)
			tooLong = tooLong || errors.Is(err, rpc.ErrTooLong)
			return s, err
		})
	switch {
	case slices.ContainsFunc(said, statement.isKnown):
		l.seen = true
	case tooLong:
		return nil, v, fault.New(fault.StatusUnavailable, "The response about this transaction on chain %s "+
			"exceeds the size limit; use a block explorer", network).Because(err)
	case l.seen && v.upToDate > 0:
		// It is on its way, or was replaced: a node that does not know it is no failure then.
	case len(said) > v.upToDate:
		return nil, v, unavailable(network, network, &rpc.Failure{Reason: rpc.Behind, Text: err.Error()})
	case v.upToDate < max(all, 1):
		return nil, v, unavailable(network, network, err)
	}
	return said, v, nil
}

func (s statement) isKnown() bool { return s.known }

// judgeSource sets the state of a transaction by what the nodes of its chain say.
func (l *lookup) judgeSource(ctx context.Context, s *Status) *fault.Error {
	said, v, trouble := l.readSource(ctx)
	if trouble != nil {
		return trouble
	}
	before := l.source
	l.source = nil
	if v.reportsNothing() {
		l.judgeUnmined(s, said)
		return nil
	}
	network := l.key.Network
	src := v.source
	final, doubt := l.isFinal(network, v)
	s.Reason = doubt
	s.State = Pending
	if !v.swap && doubt != "" && v.differ+v.lag > 0 { // without agreement, no outcome is reported
		s.Swaps = l.asked(src.tx, Pending)
		return nil
	}
	if before != nil && before.digest == src.digest {
		src = before // with its swaps that are final
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

// judgeUnmined sets the state of a transaction that no node has in a block.
func (l *lookup) judgeUnmined(s *Status, said []statement) {
	if !l.seen {
		return
	}
	s.State = Pending
	s.Reason = seenBefore
	for _, one := range said {
		if one.tx != nil && s.Swaps == nil {
			s.Swaps = l.asked(one.tx, Pending)
		}
		if one.known && !one.unsure {
			s.Reason = ""
		}
	}
}

// judgeEnd sets the state of a transaction that failed, or has swapped nothing.
func (l *lookup) judgeEnd(ctx context.Context, s *Status, src *source) {
	s.Source = &src.Source
	s.Final = src.final
	s.State = NotASwap
	if src.failed {
		s.State = Failed
		l.explain(ctx, s, src)
	}
	s.Swaps = l.asked(src.tx, s.State)
	if len(s.Swaps) > 0 && !src.failed {
		s.Final = false
		s.Reason = noEvents
	}
}

// judgeSwaps sets the state of a transaction that has swapped something and has its
// confirmations.
func (l *lookup) judgeSwaps(ctx context.Context, s *Status, src *source) *fault.Error {
	at := src.Source
	s.Source = &at
	s.State = Settled
	s.Final = src.final && src.omitted == 0
	s.Omitted = src.omitted
	for i, o := range src.orders { // those of the source stay as they are until they are final
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

// explain adds why a transaction failed, by repeating it on the state before its block.
func (l *lookup) explain(ctx context.Context, s *Status, src *source) {
	if src.tx == nil || src.Block == 0 {
		return
	}
	revert, answered := "", false
	_ = l.chains.Ask(ctx, l.key.Network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
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

// readTransaction asks one endpoint: in two requests, or in one if it says what another has
// said. An endpoint whose nodes are at different heights may have the receipt without its
// block.
func (l *lookup) readTransaction(
	ctx context.Context, e *rpc.Endpoint, before []statement,
) (s statement, err error) {
	hash := common.Hash(l.key.Name)
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
			s.unsure = true
			return s, nil
		}
		if block.At().Sub(l.Now()) > time.Hour {
			return s, garbled("the block is of the future")
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

// digest is what a receipt says of swaps: its block, whether it failed, and the events
// of the deployment's routers.
func (l *lookup) digest(r *rpc.Receipt) common.Hash {
	said := append(r.BlockHash[:], byte(*r.Status))
	for i := range r.Logs {
		if _, ours := l.deployment.FindRouter(l.key.Network, r.Logs[i].Address); ours {
			log := digestLog(&r.Logs[i])
			said = append(said, log[:]...)
		}
	}
	return calldata.Hash(said)
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

// order is a swap of the transaction, with what its settlement is found by.
type order struct {
	swap  Swap
	place int               // of its event in the receipt
	pool  common.Address    // that took the money; zero for a burn
	nonce common.Hash       // of the pool's swap, or of the attested message
	burnt *calldata.Message // what the message of a burn must say

	decimals uint8 // of the token that was paid

	payout chain.Payout
	onward *chain.CCTP // the issuer's contracts where it carries the money on; nil where it does not
	id     common.Hash // of the settlement; zero until it is known

	messages map[common.Hash]*attested // of its burns, by transaction; shared with later look-ups
}

// Why a swap stays where it is.
const (
	tooManySwaps = "The transaction has more swaps than are tracked, " +
		"so its overall status is unknown"
	oddEvent = "The pool received funds, but its event cannot be decoded " +
		"or has an invalid recipient. Contact the operator"
	oddBurn = "The burn is for this service, but its hook data cannot be decoded " +
		"or its token is not USDC. Contact the operator"
	noPayer    = "No pool of this deployment pays that token on that chain. Contact the operator"
	seenBefore = "The transaction was seen before, and no node has it now: " +
		"nodes are out of sync, or its block was reorganized"
	noEvents = "The swap call succeeded, but the node returned no event; " +
		"check a block explorer"
	notThere = "The pool on chain %s reports that it settled this swap in block %d, " +
		"but no node returns that event. Contact the operator"
	notEverywhere = "The pool on chain %s reports that it settled this swap in block %d, " +
		"which not every node has yet"
	noneUpToDate  = "It may already be paid out: chain %s has no node that is up to date"
	anotherPayout = "The pool reports that it settled this swap, " +
		"but its event has another recipient, token or source. Contact the operator"
	noMoney = "The pool reports that it settled this swap, " +
		"but its transaction has no matching transfer. Contact the operator"
	oddFee        = "The issuer reports a fee above the burn's maxFee. Contact the operator"
	isShort       = "The payout and its fees do not add up to the swapped amount. Contact the operator"
	beforeSource  = "The payout is older than the swap and may belong to another one. Contact the operator"
	servedAnother = "This payout was already reported for another swap. Contact the operator"
)

// readOrders reads the swaps out of the events of the transaction. Only events of the
// deployment's routers count, whichever contract the transaction was sent to.
func (l *lookup) readOrders(src *source, logs []rpc.Log) {
	for i := range logs {
		router, ok := l.deployment.FindRouter(l.key.Network, logs[i].Address)
		if !ok || len(logs[i].Topics) == 0 {
			continue
		}
		o, ok := l.readOrder(&logs[i])
		switch {
		case !ok:
		case len(src.orders) == MostSwaps:
			src.omitted++
		default:
			o.swap.Seconds = l.deployment.UsualSeconds(router, chain.ID(o.swap.DstChainID), o.swap.DstToken)
			o.swap.State = Settling
			o.place = i
			o.decimals = router.Token.Decimals
			o.messages = make(map[common.Hash]*attested)
			src.orders = append(src.orders, o)
		}
	}
}

// readOrder reads one event of a router. It is false if no money was taken for us.
// A swap that cannot be settled has a reason.
func (l *lookup) readOrder(log *rpc.Log) (o order, ok bool) {
	if log.Topics[0] == calldata.SwappedTopic {
		swap, nonce, err := calldata.DecodeSwapped(log.Topics, log.Data)
		o.pool = log.Address
		o.nonce = nonce
		if !o.read(&swap, err) {
			o.swap.Reason = oddEvent
		}
		return o, true
	}
	network, _ := chain.FindNetwork(l.key.Network)
	burnt, err := calldata.DecodeBurnt(log.Topics, log.Data)
	to := l.deployment.Settlement
	receiver := common.BytesToHash(to.Receiver.Address[:])
	if err != nil || network.CCTP == nil || burnt.DestinationDomain != to.Domain || burnt.MintRecipient != receiver {
		return o, false
	}
	usdc, _ := chain.FindToken(l.key.Network, chain.USDC)
	isUSDC := common.BytesToHash(usdc.Address.Address[:]) == burnt.BurnToken
	if !o.read(calldata.SwapOfHook(&burnt.Amount, burnt.HookData)) || !isUSDC {
		o.swap.Reason = oddBurn
		return o, true
	}
	burnt.HookData = bytes.Clone(burnt.HookData)
	burnt.SourceDomain = network.CCTP.Domain
	o.burnt = burnt
	o.swap.Burn = &Burn{Domain: network.CCTP.Domain}
	return o, true
}

// read takes a swap over from an event, unless that cannot be decoded. It is false if the
// swap cannot be paid.
func (o *order) read(swap *calldata.Swap, err error) bool {
	o.swap.Unread = err != nil
	if err != nil {
		return false
	}
	fits := keepRecipient(swap)
	o.swap.Swap = *swap
	return fits
}

// noteLength is that of a private recipient, the longest there is.
const noteLength = 160

// keepRecipient tells whether pools and receiver accept the recipient of a swap. It is cut to
// the longest one, and copied, so that the response it was read from can be freed.
func keepRecipient(s *calldata.Swap) bool {
	length := len(s.Recipient)
	s.Recipient = bytes.Clone(s.Recipient[:min(length, noteLength)])
	switch s.RecipientType {
	case calldata.RecipientEVM:
		return length == common.AddressLength
	case calldata.RecipientPrivate:
		return length == noteLength
	}
	return false
}

// asked is the swap that a transaction asks for, read from its input because it
// has no events. There is none if it calls another contract.
func (l *lookup) asked(t *rpc.Transaction, state State) []Swap {
	if t == nil || t.To == nil {
		return nil
	}
	d := l.deployment
	router, ok := d.FindRouter(l.key.Network, *t.To)
	if !ok {
		return nil
	}
	swap, err := calldata.DecodeOrder(t.Input, d.Settlement.Receiver.Address)
	if err != nil || !keepRecipient(swap) {
		return nil
	}
	seconds := d.UsualSeconds(router, chain.ID(swap.DstChainID), swap.DstToken)
	return []Swap{{State: state, Swap: *swap, Seconds: seconds}}
}
