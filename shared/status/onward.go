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

// A swap to a chain without a pool is settled once the issuer has minted there what the
// pool of the settlement chain has burnt: its transmitter says that the nonce is used.

// mint is a delivery of the issuer.
type mint struct {
	transmitter common.Address
	message     *calldata.Message // as it was attested
	need        uint64            // confirmations
	block       uint64            // that has them, by the first endpoint that knows the mint; 0 until then
	log         *rpc.Log          // of the delivery; nil if it is not among the newest blocks
	fee         uint256.Int
}

// mintReading is what an endpoint says of a mint.
type mintReading struct {
	statement
	firm bool // the nonce was used at the block with the confirmations, or is for as long
}

// settleOnward follows the money of a settled swap to a chain without a pool. final is
// whether the settlement is.
func (l *lookup) settleOnward(ctx context.Context, src *source, o *order, paid *payout, final bool) *fault.Error {
	s := &o.swap
	from, _ := chain.FindNetwork(o.payout.Network)
	to := chain.ID(s.DstChainID)
	burn := paid.money.burn
	burn.SourceDomain = from.CCTP.Domain
	s.Burn = &Burn{Domain: from.CCTP.Domain}
	message := l.attested(ctx, paid.log.TxHash, s.Burn, burn)
	if message == nil {
		return nil
	}
	m := &mint{
		transmitter: o.onward.Transmitter.Address, message: message, fee: message.FeeExecuted,
		need: l.deployment.Confirmations(to),
	}
	sightings, v, err := ask(ctx, l, to, rpc.Tracking, l.neededForNo(src, o, to),
		func(ctx context.Context, e *rpc.Endpoint, _ []mintReading) (mintReading, error) {
			return l.readMint(ctx, e, m)
		})
	switch {
	case len(sightings) == 0:
		return unavailable(l.key.Network, to, err, false)
	case v.choice < 0:
		delete(l.trail.used, message.Nonce)
		l.passing = l.passing || v.upToDate == 0
		return nil
	case m.fee.Gt(&burn.MaxFee) || !m.fee.Lt(&paid.settled.Amount):
		s.Reason = oddFee
		return nil
	}
	if _, known := l.trail.used[message.Nonce]; !known {
		l.trail.used[message.Nonce] = l.Now()
	}
	agreed, doubt := l.isFinal(to, v)
	for _, seen := range sightings {
		if !seen.firm && seen.digest == v.digest {
			agreed = false
			l.expect(time.Duration(m.need) * to.BlockTime())
		}
	}
	final = final && agreed
	if !l.serves(message.Nonce, o, final) {
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

// readMint asks one endpoint: in one request if another knew the mint before, in one more
// if it is the first.
func (l *lookup) readMint(ctx context.Context, e *rpc.Endpoint, m *mint) (seen mintReading, err error) {
	question := calldata.IsUsed(m.message.Nonce)
	var newest, deep hexutil.Bytes
	reads := []rpc.Read{
		rpc.ReadLatest(&seen.head), rpc.ReadContract(m.transmitter, question, &newest),
		rpc.ReadContractAt(m.transmitter, question, m.block, &deep),
	}
	isFirst := m.block == 0
	if isFirst {
		reads = reads[:2]
	}
	if err := e.Batch(ctx, reads); err != nil {
		return seen, err
	}
	for _, read := range reads[:2] {
		if read.Err != nil {
			return seen, read.Err
		}
	}
	switch {
	case seen.head == nil:
		return seen, garbled("it returned no latest block")
	case len(newest) != common.HashLength:
		return seen, &rpc.Failure{Reason: rpc.Misconfigured, Text: "the issuer's contract does not say what is used"}
	case !isOne(newest):
		return seen, nil
	}
	refused := reads[len(reads)-1].Err
	if isFirst {
		head := uint64(seen.head.Number)
		m.block = head - min(head, m.need-1)
		deepRead := rpc.ReadContractAt(m.transmitter, question, m.block, &deep)
		if refused, err = l.readDeep(ctx, e, m, deepRead, head); err != nil {
			return seen, err
		}
	}
	seen.digest = m.message.Nonce
	seen.block = m.block
	seen.swap = true
	seen.firm = isOne(deep)
	if refused != nil { // it does not have that state any more
		since, known := l.trail.used[m.message.Nonce]
		seen.firm = known && l.Now().Sub(since) >= time.Duration(m.need)*e.Network.BlockTime()
	}
	return seen, nil
}

func isOne(output hexutil.Bytes) bool {
	return len(output) == common.HashLength && common.BytesToHash(output) == common.Hash{common.HashLength - 1: 1}
}

// newestBlocks is how many blocks are looked at for the transaction of a mint.
const newestBlocks = 500

// readDeep asks whether the nonce was used at the block with the confirmations, and looks
// for the event of the delivery. Providers may refuse a range this wide: after a failure,
// the event is not looked for again.
func (l *lookup) readDeep(
	ctx context.Context, e *rpc.Endpoint, m *mint, deep rpc.Read, head uint64,
) (refused *rpc.Failure, err error) {
	var logs []rpc.Log
	filter := rpc.Filter{
		Contracts: []common.Address{m.transmitter},
		Topics:    []*common.Hash{&calldata.ReceivedTopic, nil, &m.message.Nonce},
	}
	reads := []rpc.Read{deep, filter.Between(head-min(head, newestBlocks-1), head, &logs)}
	if !l.trail.noLogs {
		err = e.Batch(ctx, reads)
	}
	if l.trail.noLogs || err != nil {
		l.trail.noLogs = true
		err = e.Batch(ctx, reads[:1])
	}
	for i := range logs {
		log := &logs[i]
		received, err := calldata.DecodeReceived(log.Topics, log.Data)
		if err == nil && log.Address == m.transmitter && !log.Removed && received.Delivers(m.message) {
			m.log = log
			m.fee = received.FeeExecuted
		}
	}
	return reads[0].Err, err
}

// longestIssued is how many bytes of messages are remembered of a transaction.
const longestIssued = 32 << 10

// issued is what the issuer says of the burns of a transaction.
type issued struct {
	messages []cctp.Message
	decoded  []*calldata.Message // nil where there is no burn to read
	used     []bool              // whether a swap has been matched with it
	err      error               // why the issuer could not be asked
}

// attested finds the issuer's view of a burn, and the attested message if there is
// one. A message is matched with one burn only, however often it is listed.
func (l *lookup) attested(
	ctx context.Context, tx common.Hash, burn *Burn, want *calldata.Message,
) *calldata.Message {
	i := l.askIssuer(ctx, tx, burn.Domain)
	if i.err != nil {
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
	delete(l.trail.issued, tx) // there is more to learn
	if waiting >= 0 {
		i.used[waiting] = true
		burn.State = cctp.Waiting
		burn.Reason = i.messages[waiting].Delay
	}
	return nil
}

// askIssuer asks once for each transaction, and not again once every burn has found its
// message.
func (l *lookup) askIssuer(ctx context.Context, tx common.Hash, domain uint32) *issued {
	if i := l.issued[tx]; i != nil {
		return i
	}
	i := &issued{messages: l.trail.issued[tx]}
	if i.messages == nil {
		i.messages, i.err = l.issuer.Messages(ctx, domain, tx)
	}
	if i.err != nil {
		l.passing = true
		l.blocked = max(l.blocked, cctp.BlockedFor(i.err))
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
	if size <= longestIssued {
		l.trail.issued[tx] = i.messages
	}
	l.issued[tx] = i
	return i
}
