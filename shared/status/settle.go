package status

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
)

// settle finds out which of the confirmed swaps were paid out. Those that are paid out
// on the same chain are looked up together.
func (l *lookup) settle(ctx context.Context, orders []order) *trouble {
	byNetwork := make(map[chain.ID][]*order)
	var networks []chain.ID
	for i := range orders {
		o := &orders[i]
		if l.name(ctx, o); o.id == (common.Hash{}) {
			continue
		}
		if byNetwork[o.payout.Network] == nil {
			networks = append(networks, o.payout.Network)
		}
		byNetwork[o.payout.Network] = append(byNetwork[o.payout.Network], o)
	}
	for _, network := range networks {
		if trouble := l.settleOn(ctx, network, byNetwork[network]); trouble != nil {
			return trouble
		}
	}
	return nil
}

// name finds the id of an order's settlement, and the pools that pay it.
func (l *lookup) name(ctx context.Context, o *order) {
	s := &o.swap
	if o.lost {
		return
	}
	var ok bool
	if o.payout, ok = l.tracker.deployment.Payout(chain.ID(s.DstChainID), s.DstToken); !ok {
		s.Reason = noPayer
		return
	}
	if o.burnt == nil {
		o.id = calldata.SwapID(uint64(l.key.Network), o.pool, new(uint256.Int).SetBytes(o.nonce[:]))
		return
	}
	s.Burn = &Burn{Domain: s.Burn.Domain} // that of the trail stays as it is
	message := l.attested(ctx, l.key, s.Burn, func(m *calldata.Message) bool {
		return m.SourceDomain == s.Burn.Domain && o.burnt.Matches(m)
	})
	if message != nil {
		o.nonce, o.id = message.Nonce, calldata.BurnID(message.SourceDomain, message.Nonce)
	}
}

// settleOn finds out which of the orders were paid out on a chain.
func (l *lookup) settleOn(ctx context.Context, network chain.ID, orders []*order) *trouble {
	questions := make([]question, len(orders))
	for i, o := range orders {
		questions[i] = question{o.payout.Pools, calldata.IsSettled(o.id)}
	}
	answers, err := l.confirm(ctx, network, questions)
	if err != nil {
		return newTrouble(network, err)
	}
	find := searching{key: searchKey{network: network, topic: calldata.SettledTopic}, head: answers[0].head, since: l.source.time, place: 1}
	for i, o := range orders {
		if o.paid = &answers[i]; o.paid.yes {
			find.names = append(find.names, o.id)
			for _, pool := range o.payout.Pools {
				if !slices.Contains(find.contracts, pool) {
					find.contracts = append(find.contracts, pool)
				}
			}
		}
	}
	hits := l.search(ctx, &find)
	for _, o := range orders {
		if !o.paid.yes {
			if o.paid.behind {
				o.swap.Reason = standsStill(network)
			}
			continue
		}
		hit := hits[o.id]
		if hit == nil {
			o.swap.Reason = fmt.Sprintf("The pool on chain %s says that it has settled this swap. %s", network, find.told)
			continue
		}
		settled, err := calldata.DecodeSettled(hit.log.Topics, hit.log.Data)
		if err != nil || !l.fits(o, settled, hit.log.Address) {
			o.swap.Reason = anotherPayout
			find.search.reject(o.id)
			continue
		}
		if o.payout.Onward {
			if trouble := l.settleOnward(ctx, o, settled, hit); trouble != nil {
				return trouble
			}
			continue
		}
		l.pay(&o.swap, network, hit, settled.Amount, l.deep(network, find.head, hit))
	}
	return nil
}

// fits compares the event of a settlement with the swap.
func (l *lookup) fits(o *order, settled *calldata.Settled, pool common.Address) bool {
	from := uint64(l.key.Network)
	if o.burnt != nil {
		from = uint64(o.swap.Burn.Domain)
	}
	return slices.Contains(o.payout.Pools, pool) && settled.ID == o.id && settled.Source.IsUint64() && settled.Source.Uint64() == from &&
		settled.SrcPool == o.pool && settled.Nonce == o.nonce && settled.Token == o.payout.Token &&
		settled.RecipientType == o.swap.RecipientType && bytes.Equal(settled.Recipient, o.swap.Recipient)
}

// pay says that a swap is settled.
func (l *lookup) pay(s *Swap, network chain.ID, hit *found, amount uint256.Int, final bool) {
	s.State, s.Final = Settled, final
	s.Settlement = &Settlement{ChainID: network, TxHash: hit.log.TxHash, Time: hit.time, Amount: amount, Arrived: amount}
	if s.RecipientType == calldata.RecipientPrivate {
		copy(s.Settlement.Note[:], s.Recipient)
		taken, bps := new(uint256.Int), uint256.NewInt(uint64(l.tracker.deployment.Railgun.ShieldBPS))
		taken.MulDivOverflow(&amount, bps, uint256.NewInt(10_000))
		s.Settlement.Arrived.Sub(&amount, taken)
	}
}

// deep tells whether an event has the confirmations of its chain.
func (l *lookup) deep(network chain.ID, head *rpc.Block, hit *found) bool {
	return head.Number >= hit.log.BlockNumber && uint64(head.Number-hit.log.BlockNumber)+1 >= l.tracker.deployment.Confirmations(network)
}

// settleOnward follows the money of a settled swap to a chain without a pool: the
// pool has burnt it, and the issuer mints it there.
func (l *lookup) settleOnward(ctx context.Context, o *order, settled *calldata.Settled, burn *found) *trouble {
	s := &o.swap
	from, _ := chain.FindNetwork(o.payout.Network)
	to, _ := chain.FindNetwork(chain.ID(s.DstChainID))
	if from.CCTP == nil || to.CCTP == nil {
		s.Reason = noPayer
		return nil
	}
	s.Burn = &Burn{Domain: from.CCTP.Domain}
	tx := memo.Key{Network: from.ID, Name: burn.log.TxHash}
	message := l.attested(ctx, tx, s.Burn, func(m *calldata.Message) bool {
		return m.SourceDomain == from.CCTP.Domain && m.DestinationDomain == to.CCTP.Domain && bytes.Equal(m.HookData, o.id[:]) &&
			m.MintRecipient == common.BytesToHash(s.Recipient) && m.Amount == settled.Amount &&
			m.BurnToken == common.BytesToHash(o.payout.Token[:]) && m.Depositor == common.BytesToHash(burn.log.Address[:])
	})
	if message == nil {
		return nil
	}
	transmitter := []common.Address{to.CCTP.Transmitter.Address}
	answers, err := l.confirm(ctx, to.ID, []question{{transmitter, calldata.IsUsed(message.Nonce)}})
	if err != nil {
		return newTrouble(to.ID, err)
	}
	if used := answers[0]; !used.yes {
		if used.behind {
			s.Reason = standsStill(to.ID)
		}
		return nil
	}
	find := searching{
		key:  searchKey{network: to.ID, topic: calldata.ReceivedTopic, name: message.Nonce},
		head: answers[0].head, since: burn.time, contracts: transmitter, names: []common.Hash{message.Nonce}, place: 2,
	}
	hit := l.search(ctx, &find)[message.Nonce]
	if hit == nil {
		s.Reason = fmt.Sprintf("The issuer's contract on chain %s says that it has minted the money. %s", to.ID, find.told)
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
	l.pay(s, to.ID, hit, amount, l.deep(to.ID, find.head, hit) && l.deep(from.ID, o.paid.head, burn))
	return nil
}

func standsStill(network chain.ID) string {
	return fmt.Sprintf("It may be paid out already: chain %s has no node here that is up to date", network)
}

// question is one of yes or no to some contracts. The first of them must answer; the
// others may be gone.
type question struct {
	contracts []common.Address
	data      []byte
}

// answer is yes if one of the contracts says so.
type answer struct {
	yes    bool
	head   *rpc.Block // at that time
	behind bool       // the head is old, so that no is not to be believed
}

// confirm asks questions of yes or no, all at the same endpoint in one round trip.
func (l *lookup) confirm(ctx context.Context, network chain.ID, questions []question) (answers []answer, err error) {
	err = l.tracker.chains.Ask(ctx, network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
		var head *rpc.Block
		reads := []rpc.Read{rpc.ReadLatest(&head)}
		var outputs []*hexutil.Bytes
		for _, q := range questions {
			for _, contract := range q.contracts {
				outputs = append(outputs, new(hexutil.Bytes))
				reads = append(reads, rpc.ReadContract(contract, q.data, outputs[len(outputs)-1]))
			}
		}
		if err := e.Batch(ctx, reads); err != nil {
			return err
		}
		if reads[0].Err != nil {
			return reads[0].Err
		}
		if head == nil {
			return garbled("it has no latest block")
		}
		l.tracker.remember(network, e, head)
		behind := l.tracker.old(network, head)
		read, list := 0, make([]answer, len(questions))
		for i, q := range questions {
			list[i] = answer{head: head, behind: behind}
			for n, contract := range q.contracts {
				yes, ok := truth(*outputs[read])
				failure := reads[1+read].Err
				switch {
				case failure != nil && n == 0:
					return failure
				case !ok && n == 0:
					return &rpc.Failure{Reason: rpc.Misconfigured, Text: "the contract at " + contract.Hex() + " does not say what is settled"}
				}
				list[i].yes = list[i].yes || failure == nil && yes
				read++
			}
		}
		if behind && answers != nil {
			return errBehind
		}
		if answers = list; behind {
			return errBehind
		}
		return nil
	})
	if answers != nil {
		return answers, nil
	}
	return nil, err
}

// truth reads a bool, or a number that is 0 or 1.
func truth(output []byte) (yes, ok bool) {
	var n uint256.Int
	if len(output) != 32 || n.SetBytes(output).GtUint64(1) {
		return false, false
	}
	return !n.IsZero(), true
}

// longestIssued is how many bytes of messages are remembered of a transaction.
const longestIssued = 32 << 10

// issued is what the issuer says of the burns of a transaction.
type issued struct {
	messages []cctp.Message
	decoded  []*calldata.Message // nil where there is no burn to read
	used     []bool              // whether a swap has been matched with it
	asked    *lookup             // by which look-up
	enough   bool                // every burn has found its message, so that there is nothing more to learn
	err      error
}

// attested finds the issuer's view of a burn, and the attested message if there is
// one. A message is matched with one burn only, however often it is listed.
func (l *lookup) attested(ctx context.Context, tx memo.Key, burn *Burn, matches func(*calldata.Message) bool) *calldata.Message {
	i := l.askIssuer(ctx, tx, burn.Domain)
	if i.err != nil {
		burn.State, burn.Reason = cctp.Unknown, "The issuer's view is unknown: "+i.err.Error()
		return nil
	}
	burn.State = cctp.Unseen
	for n, m := range i.messages {
		d := i.decoded[n]
		if d == nil || m.State != cctp.Complete || i.used[n] || d.Nonce == (common.Hash{}) || !matches(d) {
			continue
		}
		for other, same := range i.decoded {
			i.used[other] = i.used[other] || same != nil && same.Nonce == d.Nonce
		}
		burn.State, burn.Nonce = cctp.Complete, d.Nonce
		return d
	}
	i.enough = false
	for n, m := range i.messages {
		// A message that waits may have no content to match.
		if d := i.decoded[n]; m.State == cctp.Waiting && !i.used[n] && (d == nil || matches(d)) {
			i.used[n] = true
			burn.State, burn.Reason = cctp.Waiting, m.Delay
			return nil
		}
	}
	return nil
}

// askIssuer asks once for each transaction, and not again once it has all.
func (l *lookup) askIssuer(ctx context.Context, tx memo.Key, domain uint32) *issued {
	i := l.trail.issued[tx]
	switch {
	case i != nil && i.asked == l:
		return i
	case i != nil && i.enough:
		clear(i.used)
		i.asked = l
		return i
	}
	i = &issued{asked: l}
	i.messages, i.err = l.tracker.issuer.Messages(ctx, domain, tx.Name)
	i.decoded, i.used = make([]*calldata.Message, len(i.messages)), make([]bool, len(i.messages))
	size := 0
	for n, m := range i.messages {
		size += len(m.Message)
		if d, err := calldata.DecodeMessage(m.Message); err == nil {
			i.decoded[n] = d
		}
	}
	i.enough = i.err == nil && size <= longestIssued
	l.trail.issued[tx] = i
	return i
}
