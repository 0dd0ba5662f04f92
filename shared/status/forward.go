package status

import (
	"cmp"
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// A swap to a chain without a pool ends with a forwarding burn: the pool of the settlement
// chain burns USDC, and the issuer mints it at the destination. It is settled once the
// transmitter there reports that the nonce is used.

// mint is a delivery of the issuer.
type mint struct {
	*attested
	transmitter common.Address
	need        uint64   // confirmations
	block       uint64   // with that many confirmations, by the first endpoint that has the mint; 0 until then
	log         *rpc.Log // of the delivery; nil if it is not among the newest blocks
	fee         uint256.Int
}

// settleForwarded tracks the forwarding burn of a settled swap. final is whether the settlement
// is.
func (l *lookup) settleForwarded(ctx context.Context, src *source, o *order, paid *payout, final bool) *fault.Error {
	s := &o.swap
	from, _ := chain.FindNetwork(o.payout.Network)
	to := chain.ID(s.DstChainID)
	burn := paid.money.burn
	burn.SourceDomain = from.CCTP.Domain
	message := l.attested(ctx, paid.log.TxHash, src, o, burn)
	if message == nil {
		return nil
	}
	m := &mint{
		attested: message, transmitter: o.forward.Transmitter.Address, fee: message.FeeExecuted,
		need: l.deployment.Confirmations(to),
	}
	answers, v, err := l.ask(ctx, to, rpc.Tracking, l.neededForNo(src, o, to),
		func(ctx context.Context, e *rpc.Endpoint, _ []statement) (statement, error) {
			return l.readMint(ctx, e, m)
		})
	switch {
	case len(answers) == 0:
		return unavailable(l.key.network, to, err)
	case v.reportsNothing():
		message.usedSince = time.Time{}
		return nil
	case m.fee.Gt(&burn.MaxFee) || !m.fee.Lt(&paid.settled.Amount):
		s.Reason = implausibleFee
		return nil
	}
	if message.usedSince.IsZero() {
		message.usedSince = l.now()
	}
	agreed, doubt := l.isFinal(to, v)
	final = final && agreed
	if !l.claim(message.Nonce, o, final) {
		doubt = servedAnother
	}
	s.Reason = cmp.Or(s.Reason, doubt)
	l.pay(o, to, paid, final && doubt == "")
	m.correct(s.Settlement)
	return nil
}

// correct makes a settlement describe the mint instead of the burn.
func (m *mint) correct(s *Settlement) {
	s.Amount.Sub(&s.Amount, &m.fee)
	s.Arrived = s.Amount
	s.TxHash = common.Hash{}
	s.Time = time.Time{}
	if m.log == nil {
		return
	}
	s.TxHash = m.log.TxHash
	if at := m.log.Time; at != nil {
		s.Time = (&rpc.Block{Time: *at}).At()
	}
}

// readMint reads from one endpoint: in one request if another had the mint before, in one more
// if it is the first. The mint is deep enough if the nonce is used at the block with the
// confirmations or, if the node lacks that state, has been used for as long. Until then, it
// counts as part of the newest block.
func (l *lookup) readMint(ctx context.Context, e *rpc.Endpoint, m *mint) (s statement, err error) {
	question := calldata.IsUsed(m.Nonce)
	var newest, deep hexutil.Bytes
	reads := []rpc.Read{rpc.ReadLatest(&s.head), rpc.ReadContract(m.transmitter, question, &newest)}
	if m.block > 0 {
		reads = append(reads, rpc.ReadContractAt(m.transmitter, question, m.block, &deep))
	}
	if err := e.Batch(ctx, reads); err != nil {
		return s, err
	}
	for _, read := range reads[:2] {
		if read.Err != nil {
			return s, read.Err
		}
	}
	if len(newest) != common.HashLength {
		return s, &rpc.Failure{Reason: rpc.Misconfigured, Text: "the issuer's contract does not say what is used"}
	}
	if !isOne(newest) {
		return s, nil
	}
	head := uint64(s.head.Number)
	if m.block == 0 {
		m.block = head - min(head, m.need-1)
		reads = []rpc.Read{rpc.ReadContractAt(m.transmitter, question, m.block, &deep)}
		if err := m.findLog(ctx, e, reads, head); err != nil {
			return s, err
		}
	}
	isDeep := isOne(deep)
	if reads[len(reads)-1].Err != nil { // the node no longer has that state
		depth := time.Duration(m.need) * e.Network.BlockTime()
		isDeep = !m.usedSince.IsZero() && l.now().Sub(m.usedSince) >= depth
	}
	s.digest = m.Nonce
	s.swap = true
	s.block = head
	if isDeep {
		s.block = m.block
	}
	return s, nil
}

func isOne(output hexutil.Bytes) bool {
	return len(output) == common.HashLength && common.BytesToHash(output) == common.Hash{common.HashLength - 1: 1}
}

// newestBlocks is how many blocks are searched for the transaction of a mint.
const newestBlocks = 500

// findLog makes reads and, in the same batch, looks for the event of the delivery. If the
// provider refuses a range this wide, the reads are repeated without it.
func (m *mint) findLog(ctx context.Context, e *rpc.Endpoint, reads []rpc.Read, head uint64) error {
	var logs []rpc.Log
	topics := []*common.Hash{&calldata.ReceivedTopic, nil, &m.Nonce}
	first := head - min(head, newestBlocks-1)
	all := append(reads, rpc.ReadLogs([]common.Address{m.transmitter}, topics, first, head, &logs))
	if err := e.Batch(ctx, all); err != nil {
		return e.Batch(ctx, reads)
	}
	copy(reads, all)
	for i := range logs {
		log := &logs[i]
		received, err := calldata.DecodeReceived(log.Topics, log.Data)
		if err == nil && log.Address == m.transmitter && !log.Removed && received.Delivers(m.Message) {
			m.log = log
			m.fee = received.FeeExecuted
		}
	}
	return nil
}

// attested is a message that the issuer has signed.
type attested struct {
	*calldata.Message
	usedSince time.Time // when its nonce was first seen as used; zero if it is not
}

// issued is the issuer's answer about a transaction, or why there is none.
type issued struct {
	messages []cctp.Message
	err      error
}

// attested finds the issuer's view of a burn, and the attested message if there is one. It
// makes one request for each transaction.
func (l *lookup) attested(
	ctx context.Context, tx common.Hash, src *source, o *order, want *calldata.Message,
) *attested {
	burn := &Burn{Domain: want.SourceDomain, State: cctp.Unseen}
	o.swap.Burn = burn
	found := o.messages[tx]
	if found == nil {
		answer, ok := l.issued[tx]
		if !ok {
			answer.messages, answer.err = l.issuer.Messages(ctx, burn.Domain, tx)
			l.issued[tx] = answer
		}
		found = l.match(answer, src, burn, want)
	}
	if found == nil {
		return nil
	}
	o.messages[tx] = found
	burn.State = cctp.Complete
	burn.Reason = ""
	burn.Nonce = found.Nonce
	return found
}

// match finds the attested message of a burn. A message is matched with one burn only,
// however often it is listed.
func (l *lookup) match(answer issued, src *source, burn *Burn, want *calldata.Message) *attested {
	if answer.err != nil {
		l.blocked = max(l.blocked, cctp.BlockedFor(answer.err))
		burn.State = cctp.Unknown
		burn.Reason = "The issuer's view is unknown: " + answer.err.Error()
		return nil
	}
	for _, m := range answer.messages {
		d, err := calldata.DecodeMessage(m.Message)
		switch {
		case err == nil && (!d.Matches(want) || src.hasNonce(d.Nonce)):
		case m.State == cctp.Complete && err == nil && d.Nonce != (common.Hash{}):
			return &attested{Message: d}
		case m.State == cctp.Waiting && burn.State == cctp.Unseen: // it may have no content to match
			burn.State = cctp.Waiting
			burn.Reason = m.Delay
		}
	}
	return nil
}

// hasNonce reports whether a burn was matched with the message of that nonce.
func (s *source) hasNonce(nonce common.Hash) bool {
	for _, o := range s.orders {
		for _, m := range o.messages {
			if m.Nonce == nonce {
				return true
			}
		}
	}
	return false
}
