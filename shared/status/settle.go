package status

import (
	"bytes"
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Why a swap stays where it is.
const (
	noPayer        = "No pool of this deployment pays that token on that chain; ask its operator"
	otherRecipient = "The pool settled this swap to another recipient than it names; ask its operator"
)

// settle finds out whether a confirmed swap was paid out.
func (l *lookup) settle(ctx context.Context, o *order) *trouble {
	s := &o.swap
	s.State = Settling
	payout, ok := l.deployment.Payout(chain.ID(s.DstChainID), s.DstToken)
	if !ok {
		s.Reason = noPayer
		return nil
	}
	id := o.id
	if o.burnt != nil {
		message := l.attested(ctx, l.key, s.Burn, func(m *calldata.Message) bool {
			return m.SourceDomain == s.Burn.Domain && o.burnt.Matches(m)
		})
		if message == nil {
			return nil
		}
		id = calldata.BurnID(message.SourceDomain, message.Nonce)
	}
	paid, err := l.confirm(ctx, payout.Network, payout.Pools, calldata.IsSettled(id))
	if err != nil || !paid.yes {
		return newTrouble(payout.Network, err)
	}
	topics := []*common.Hash{&calldata.SettledTopic, &id}
	event := l.find(ctx, payout.Network, payout.Pools, topics, paid.head, l.time)
	var settled *calldata.Settled
	if event != nil {
		if settled, err = calldata.DecodeSettled(event.log.Topics, event.log.Data); err != nil {
			event = nil // of a pool that settles in another way
		} else if !s.pays(settled) {
			s.Reason = otherRecipient
			return nil
		}
	}
	if payout.Onward {
		return l.settleOnward(ctx, s, payout.Network, id, event)
	}
	s.State, s.Final = Settled, paid.deep
	s.Settlement = &Settlement{ChainID: payout.Network, Note: note(&s.Swap)}
	if event != nil {
		s.Settlement.TxHash, s.Settlement.Time, s.Settlement.Amount = event.log.TxHash, event.time, settled.Amount
		s.Final = s.Final || l.deep(payout.Network, paid.head, uint64(event.log.BlockNumber))
	}
	return nil
}

// settleOnward follows the money of a settled swap to a chain without a pool: the
// pool has burnt it, and the issuer mints it there.
func (l *lookup) settleOnward(ctx context.Context, s *Swap, network chain.ID, id common.Hash, event *found) *trouble {
	from, _ := chain.FindNetwork(network)
	to, _ := chain.FindNetwork(chain.ID(s.DstChainID))
	if event == nil || from.CCTP == nil || to.CCTP == nil {
		return nil // without the transaction nobody can tell the nonce
	}
	s.Burn = &Burn{Domain: from.CCTP.Domain}
	message := l.attested(ctx, key{network, event.log.TxHash}, s.Burn, func(m *calldata.Message) bool {
		return m.SourceDomain == from.CCTP.Domain && m.DestinationDomain == to.CCTP.Domain &&
			bytes.Equal(m.HookData, id[:]) && m.MintRecipient == common.BytesToHash(s.Recipient)
	})
	if message == nil {
		return nil
	}
	transmitter := []common.Address{to.CCTP.Transmitter.Address}
	used, err := l.confirm(ctx, to.ID, transmitter, calldata.IsUsed(message.Nonce))
	if err != nil || !used.yes {
		return newTrouble(to.ID, err)
	}
	s.State, s.Final = Settled, used.deep
	s.Settlement = &Settlement{ChainID: to.ID}
	topics := []*common.Hash{&calldata.ReceivedTopic, nil, &message.Nonce}
	event = l.find(ctx, to.ID, transmitter, topics, used.head, event.time)
	if event == nil {
		return nil
	}
	if domain, err := calldata.DecodeReceived(event.log.Topics, event.log.Data); err != nil || domain != message.SourceDomain {
		return nil
	}
	s.Settlement.TxHash, s.Settlement.Time = event.log.TxHash, event.time
	if message.FeeExecuted.Lt(&message.Amount) {
		s.Settlement.Amount.Sub(&message.Amount, &message.FeeExecuted)
	}
	s.Final = s.Final || l.deep(to.ID, used.head, uint64(event.log.BlockNumber))
	return nil
}

// pays tells whether a settlement is to the recipient of the swap.
func (s *Swap) pays(settled *calldata.Settled) bool {
	return settled.RecipientType == s.RecipientType && bytes.Equal(settled.Recipient, s.Recipient)
}

// deep tells whether a block has the confirmations of its chain.
func (l *lookup) deep(network chain.ID, head, block uint64) bool {
	return block <= head && head-block+1 >= l.deployment.Confirmations(network)
}

// confirmed is what some contracts answer to a question of yes or no.
type confirmed struct {
	yes  bool // one of them says yes
	deep bool // it did so when the chain was shorter by the confirmations
	head uint64
}

// confirm asks contracts a question of yes or no, all at the same endpoint. The
// first of them must answer; the others may be gone.
func (l *lookup) confirm(ctx context.Context, network chain.ID, contracts []common.Address, question []byte) (c confirmed, err error) {
	depth := l.deployment.Confirmations(network) - 1
	err = l.chains.Ask(ctx, network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
		var head hexutil.Uint64
		outputs := make([]hexutil.Bytes, len(contracts))
		reads := []rpc.Read{rpc.ReadHead(&head)}
		for i, contract := range contracts {
			reads = append(reads, rpc.ReadContract(contract, question, &outputs[i]))
		}
		if err := e.Batch(ctx, reads); err != nil {
			return err
		}
		if reads[0].Err != nil {
			return reads[0].Err
		}
		c = confirmed{head: uint64(head)}
		for i := range outputs {
			answer, ok := truth(outputs[i])
			switch {
			case reads[1+i].Err != nil && i == 0:
				return reads[1+i].Err
			case !ok && i == 0:
				return &rpc.Failure{Reason: rpc.Misconfigured, Text: "the contract at " + contracts[i].Hex() + " does not say what is settled"}
			case !answer:
				continue
			}
			c.yes, c.deep = true, depth == 0
			if depth > 0 && c.head >= depth {
				var before hexutil.Bytes
				read := []rpc.Read{rpc.ReadContractAt(contracts[i], question, c.head-depth, &before)}
				if e.ReadAll(ctx, read) == nil { // nodes need not keep earlier states
					c.deep, _ = truth(before)
				}
			}
			return nil
		}
		return nil
	})
	return c, err
}

// truth reads a bool, or a number that is 0 or 1.
func truth(output []byte) (yes, ok bool) {
	var n uint256.Int
	if len(output) != 32 || n.SetBytes(output).GtUint64(1) {
		return false, false
	}
	return !n.IsZero(), true
}
