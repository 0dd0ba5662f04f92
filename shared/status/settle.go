package status

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
)

// settle finds out which of the confirmed swaps were paid out. Those that are paid out
// on the same chain are looked up together.
func (l *lookup) settle(ctx context.Context, orders []order) *fault.Error {
	byNetwork := make(map[chain.ID][]*order)
	for i := range orders {
		if o := &orders[i]; l.name(ctx, o) {
			byNetwork[o.payout.Network] = append(byNetwork[o.payout.Network], o)
		}
	}
	for _, network := range slices.Sorted(maps.Keys(byNetwork)) {
		if trouble := l.settleOn(ctx, network, byNetwork[network]); trouble != nil {
			return trouble
		}
	}
	return nil
}

// name finds the id of an order's settlement, and the pools that pay it. It is false
// if there is nothing to look up yet.
func (l *lookup) name(ctx context.Context, o *order) (ok bool) {
	s := &o.swap
	if s.Reason != "" {
		return false
	}
	if o.payout, ok = l.tracker.deployment.Payout(chain.ID(s.DstChainID), s.DstToken); !ok {
		s.Reason = noPayer
		return false
	}
	if o.burnt == nil {
		o.id = calldata.SwapID(uint64(l.key.Network), o.pool, o.nonce)
		return true
	}
	s.Burn = &Burn{Domain: s.Burn.Domain} // that of the trail stays as it is
	message := l.attested(ctx, l.key, s.Burn, o.burnt)
	if message == nil {
		return false
	}
	o.nonce = message.Nonce
	o.id = calldata.BurnID(message.SourceDomain, message.Nonce)
	return true
}

// settleOn finds out which of the orders were paid out on a chain.
func (l *lookup) settleOn(ctx context.Context, network chain.ID, orders []*order) *fault.Error {
	questions := make([]question, len(orders))
	for i, o := range orders {
		questions[i] = question{o.payout.Pools, calldata.IsSettled(o.id)}
	}
	said, trouble := l.confirm(ctx, network, questions)
	if trouble != nil {
		return trouble
	}
	find := l.searchFor(network, orders, said)
	hits := l.search(ctx, &find)
	payouts := make([]*calldata.Settled, len(orders)) // nil where there is none that fits
	var deep []*found
	for i, o := range orders {
		if !said.yes[i] {
			o.swap.Reason = said.doubt
			continue
		}
		hit := hits[o.id]
		payouts[i] = l.readPayout(o, &find, hit)
		if payouts[i] != nil && l.deep(network, find.head, hit) {
			deep = append(deep, hit)
		}
	}
	doubt := l.witnessPayouts(ctx, &find, deep)
	for i, o := range orders {
		if payouts[i] == nil {
			continue
		}
		hit := hits[o.id]
		if l.deep(network, find.head, hit) && !hit.witnessed {
			o.swap.Reason = doubt
		}
		if !o.payout.Onward {
			l.pay(&o.swap, network, hit, payouts[i].Amount, hit.witnessed)
		} else if trouble := l.settleOnward(ctx, o, payouts[i], hit); trouble != nil {
			return trouble
		}
	}
	return nil
}

// searchFor is a search for the events of the orders that the pools say they have
// settled.
func (l *lookup) searchFor(network chain.ID, orders []*order, said *answers) searching {
	find := searching{
		key:  searchKey{network: network, topic: calldata.SettledTopic},
		head: said.head, since: l.source.Time, place: 1,
	}
	for i, o := range orders {
		if said.yes[i] {
			find.names = append(find.names, o.id)
			find.contracts = append(find.contracts, o.payout.Pools...)
		}
	}
	slices.SortFunc(find.contracts, common.Address.Cmp)
	find.contracts = slices.Compact(find.contracts)
	return find
}

// readPayout reads the event of a settlement, which is nil if it was not found. Where
// there is none that fits, the swap gets the reason.
func (l *lookup) readPayout(o *order, find *searching, hit *found) *calldata.Settled {
	if hit == nil {
		o.swap.Reason = fmt.Sprintf("The pool on chain %s says that it has settled this swap. %s",
			find.key.network, find.told)
		return nil
	}
	settled, err := calldata.DecodeSettled(hit.log.Topics, hit.log.Data)
	if err != nil || !l.fits(o, settled, hit.log.Address) {
		o.swap.Reason = anotherPayout
		find.search.reject(o.id)
		return nil
	}
	return settled
}

// fits compares the event of a settlement with the swap.
func (l *lookup) fits(o *order, settled *calldata.Settled, pool common.Address) bool {
	from := uint64(l.key.Network)
	if o.burnt != nil {
		from = uint64(o.swap.Burn.Domain)
	}
	return slices.Contains(o.payout.Pools, pool) && settled.ID == o.id &&
		settled.Source.IsUint64() && settled.Source.Uint64() == from &&
		settled.SrcPool == o.pool && settled.Nonce == o.nonce && settled.Token == o.payout.Token &&
		settled.RecipientType == o.swap.RecipientType && bytes.Equal(settled.Recipient, o.swap.Recipient)
}

// pay says that a swap is settled.
func (l *lookup) pay(s *Swap, network chain.ID, hit *found, amount uint256.Int, final bool) {
	s.State = Settled
	s.Final = final
	s.Settlement = &Settlement{
		ChainID: network, TxHash: hit.log.TxHash, Time: hit.time, Amount: amount, Arrived: amount,
	}
	if s.RecipientType == calldata.RecipientPrivate {
		copy(s.Settlement.Note[:], s.Recipient)
		bps := uint256.NewInt(uint64(l.tracker.deployment.Railgun.ShieldBPS))
		taken := new(uint256.Int)
		taken.MulDivOverflow(&amount, bps, uint256.NewInt(10_000))
		s.Settlement.Arrived.Sub(&amount, taken)
	}
}

// deep tells whether an event has the confirmations of its chain.
func (l *lookup) deep(network chain.ID, head *rpc.Block, hit *found) bool {
	if head.Number < hit.log.BlockNumber {
		return false
	}
	confirmations := uint64(head.Number-hit.log.BlockNumber) + 1
	return confirmations >= l.tracker.deployment.Confirmations(network)
}

// settleOnward follows the money of a settled swap to a chain without a pool: the
// pool has burnt it, and the issuer mints it there.
func (l *lookup) settleOnward(ctx context.Context, o *order, settled *calldata.Settled, burn *found) *fault.Error {
	s := &o.swap
	from, _ := chain.FindNetwork(o.payout.Network)
	to, _ := chain.FindNetwork(chain.ID(s.DstChainID))
	if from.CCTP == nil || to.CCTP == nil {
		s.Reason = noPayer
		return nil
	}
	s.Burn = &Burn{Domain: from.CCTP.Domain}
	tx := memo.Key{Network: from.ID, Name: burn.log.TxHash}
	message := l.attested(ctx, tx, s.Burn, &calldata.Message{
		SourceDomain: from.CCTP.Domain, DestinationDomain: to.CCTP.Domain, HookData: o.id[:], Amount: settled.Amount,
		MintRecipient: common.BytesToHash(s.Recipient), BurnToken: common.BytesToHash(o.payout.Token[:]),
		Depositor: common.BytesToHash(burn.log.Address[:]),
	})
	if message == nil {
		return nil
	}
	transmitter := []common.Address{to.CCTP.Transmitter.Address}
	said, trouble := l.confirm(ctx, to.ID, []question{{transmitter, calldata.IsUsed(message.Nonce)}})
	if trouble != nil {
		return trouble
	}
	if !said.yes[0] {
		s.Reason = said.doubt
		return nil
	}
	find := searching{
		key:  searchKey{network: to.ID, topic: calldata.ReceivedTopic, name: message.Nonce},
		head: said.head, since: burn.time, contracts: transmitter, names: []common.Hash{message.Nonce}, place: 2,
	}
	hit := l.search(ctx, &find)[message.Nonce]
	if hit == nil {
		s.Reason = fmt.Sprintf("The issuer's contract on chain %s says that it has minted the money. %s",
			to.ID, find.told)
		return nil
	}
	received, err := calldata.DecodeReceived(hit.log.Topics, hit.log.Data)
	if err != nil || !received.Delivers(message) || received.FeeExecuted.Gt(&received.Amount) {
		s.Reason = anotherPayout
		find.search.reject(message.Nonce)
		return nil
	}
	var amount uint256.Int
	amount.Sub(&received.Amount, &received.FeeExecuted)
	var doubt string
	if l.deep(to.ID, find.head, hit) {
		doubt = l.witnessPayouts(ctx, &find, []*found{hit})
	}
	s.Reason = cmp.Or(s.Reason, doubt)
	l.pay(s, to.ID, hit, amount, burn.witnessed && hit.witnessed)
	return nil
}

// question is one of yes or no to some contracts. The first of them must answer; the
// others may be gone.
type question struct {
	contracts []common.Address
	data      []byte
}

// answers are what the contracts of a chain say.
type answers struct {
	yes   []bool     // for each question, whether one of its contracts says so
	head  *rpc.Block // at that time
	doubt string     // why no is not to be believed; empty if it is
}

// What contracts say: a bool, or a number that is 0 or 1.
var no, yes = common.Hash{}, common.Hash{common.HashLength - 1: 1}

// confirm asks questions of yes or no, all at the same endpoint in one round trip.
func (l *lookup) confirm(ctx context.Context, network chain.ID, questions []question) (said *answers, _ *fault.Error) {
	passing := l.passing
	err := l.tracker.chains.Ask(ctx, network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
		a := &answers{yes: make([]bool, len(questions))}
		reads := []rpc.Read{rpc.ReadLatest(&a.head)}
		for _, q := range questions {
			for _, contract := range q.contracts {
				reads = append(reads, rpc.ReadContract(contract, q.data, new(hexutil.Bytes)))
			}
		}
		if err := e.Batch(ctx, reads); err != nil {
			return err
		}
		if reads[0].Err != nil {
			return reads[0].Err
		}
		if a.head == nil {
			return garbled("it has no latest block")
		}
		l.tracker.remember(e, a.head)
		if failure := a.read(questions, reads[1:]); failure != nil {
			return failure
		}
		if !a.head.TooOld(network, l.tracker.Now()) {
			l.passing = passing
			said = a
			return nil
		}
		l.passing = true
		a.doubt = fmt.Sprintf("It may be paid out already: chain %s has no node here that is up to date", network)
		said = cmp.Or(said, a)
		return errBehind
	})
	if said == nil {
		return nil, unavailable(l.key.Network, network, err, false)
	}
	return said, nil
}

// read takes the answers out of the reads, which are in the order of the questions and
// their contracts. It fails if the first contract of a question does not answer it.
func (a *answers) read(questions []question, reads []rpc.Read) *rpc.Failure {
	at := 0
	for i, q := range questions {
		for n, contract := range q.contracts {
			read := reads[at]
			at++
			output := *read.Result.(*hexutil.Bytes)
			answer := common.BytesToHash(output)
			isWord := len(output) == len(answer)
			switch {
			case n == 0 && read.Err != nil:
				return read.Err
			case n == 0 && (!isWord || answer != yes && answer != no):
				text := "the contract at " + contract.Hex() + " does not say what is settled"
				return &rpc.Failure{Reason: rpc.Misconfigured, Text: text}
			}
			if read.Err == nil && isWord && answer == yes {
				a.yes[i] = true
			}
		}
	}
	return nil
}

// longestIssued is how many bytes of messages are remembered of a transaction.
const longestIssued = 32 << 10

// issued is what the issuer says of the burns of a transaction.
type issued struct {
	messages []cctp.Message
	decoded  []*calldata.Message // nil where there is no burn to read
	used     []bool              // whether a swap has been matched with it
	asked    *lookup             // by which look-up
	keep     bool                // it is short enough to be remembered
	enough   bool                // every burn has found its message, so that there is nothing more to learn
	err      error               // why the issuer could not be asked; messages are then what it said before
}

// attested finds the issuer's view of a burn, and the attested message if there is
// one. A message is matched with one burn only, however often it is listed.
func (l *lookup) attested(ctx context.Context, tx memo.Key, burn *Burn, want *calldata.Message) *calldata.Message {
	i := l.askIssuer(ctx, tx, burn.Domain)
	if i.err != nil && len(i.messages) == 0 {
		burn.State = cctp.Unknown
		burn.Reason = "The issuer's view is unknown: " + i.err.Error()
		return nil
	}
	burn.State = cctp.Unseen
	waiting := -1
	for n, m := range i.messages {
		d := i.decoded[n]
		switch {
		case i.used[n] || d != nil && !d.Matches(want):
		case m.State == cctp.Waiting && waiting < 0: // it may have no content to match
			waiting = n
		case m.State == cctp.Complete && d != nil && d.Nonce != (common.Hash{}):
			for other, same := range i.decoded {
				i.used[other] = i.used[other] || same != nil && same.Nonce == d.Nonce
			}
			burn.State = cctp.Complete
			burn.Nonce = d.Nonce
			return d
		}
	}
	i.enough = false
	if waiting >= 0 {
		i.used[waiting] = true
		burn.State = cctp.Waiting
		burn.Reason = i.messages[waiting].Delay
	}
	return nil
}

// askIssuer asks once for each transaction, and not again once it has all. If the issuer
// cannot be asked, what it said before is used.
func (l *lookup) askIssuer(ctx context.Context, tx memo.Key, domain uint32) *issued {
	before := l.trail.issued[tx]
	if before != nil && before.asked == l {
		return before
	}
	if before != nil && before.enough {
		return before.again(l)
	}
	i := &issued{asked: l}
	i.messages, i.err = l.tracker.issuer.Messages(ctx, domain, tx.Name)
	if i.err != nil {
		l.passing = true
		l.blocked = max(l.blocked, cctp.BlockedFor(i.err))
	}
	if i.err != nil && before != nil && len(before.messages) > 0 {
		before.err = i.err
		return before.again(l)
	}
	i.decoded = make([]*calldata.Message, len(i.messages))
	i.used = make([]bool, len(i.messages))
	size := 0
	for n, m := range i.messages {
		size += len(m.Message)
		if d, err := calldata.DecodeMessage(m.Message); err == nil {
			i.decoded[n] = d
		}
	}
	i.enough = i.err == nil && size <= longestIssued
	i.keep = i.enough
	l.trail.issued[tx] = i
	return i
}

// again has what an earlier look-up was told matched with the swaps of this one.
func (i *issued) again(l *lookup) *issued {
	clear(i.used)
	i.asked = l
	return i
}
