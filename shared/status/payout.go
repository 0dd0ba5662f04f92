package status

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/rpc"
)

// settle looks up whether a confirmed swap was paid out.
func (l *lookup) settle(ctx context.Context, src *source, o *order) *fault.Error {
	if !l.identify(ctx, src, o) {
		return nil
	}
	network := o.payout.Network
	answers, v, err := l.ask(ctx, network, rpc.Tracking, l.neededForNo(src, o, network),
		func(ctx context.Context, e *rpc.Endpoint, before []statement) (statement, error) {
			return l.readPayout(ctx, e, src, o, before)
		})
	if v.paid != nil {
		final, doubt := l.judgePayout(src, o, v)
		o.swap.Reason = doubt
		if o.forward != nil {
			return l.settleForwarded(ctx, src, o, v.paid, final)
		}
		l.pay(o, network, v.paid, final)
		return nil
	}
	if len(answers) == 0 {
		return unavailable(l.key.network, network, err)
	}
	for _, answer := range answers {
		o.swap.Reason = cmp.Or(answer.doubt, o.swap.Reason)
	}
	if v.upToDate == 0 && o.swap.Reason == "" {
		o.swap.Reason = fmt.Sprintf(noneUpToDate, network)
	}
	return nil
}

// identify finds the id of an order's settlement, and the pools that pay it. It is false if
// there is nothing to look up yet.
func (l *lookup) identify(ctx context.Context, src *source, o *order) (ok bool) {
	s := &o.swap
	if s.Reason != "" {
		return false
	}
	o.payout, ok = l.deployment.Payout(chain.ID(s.DstChainID), s.DstToken)
	if o.payout.Onward {
		to, _ := chain.FindNetwork(chain.ID(s.DstChainID))
		o.forward = to.CCTP
		ok = to.CCTP != nil
	}
	if !ok {
		s.Reason = noPayer
		return false
	}
	if o.burnt == nil {
		o.id = calldata.SwapID(uint64(l.key.network), o.pool, o.nonce)
		return true
	}
	message := l.attested(ctx, l.key.tx, src, o, o.burnt)
	if message == nil {
		return false
	}
	o.nonce = message.Nonce
	o.id = calldata.BurnID(message.SourceDomain, message.Nonce)
	return true
}

// neededForNo is how many endpoints must report that a swap is not paid out: one as long as it
// is not late.
func (l *lookup) neededForNo(src *source, o *order, network chain.ID) int {
	const usual = 5 * time.Minute // where the deployment does not say
	seconds := cmp.Or(time.Duration(o.swap.Seconds)*time.Second, usual)
	if l.now().Sub(src.Time) < seconds {
		return 1
	}
	return l.needed(network)
}

// clockError is how far the clocks of two chains may be apart.
const clockError = time.Minute

// judgePayout reports whether a payout is final, or why not.
func (l *lookup) judgePayout(src *source, o *order, v verdict) (final bool, doubt string) {
	final, doubt = l.isFinal(o.payout.Network, v)
	switch {
	case l.short(o, v.paid.settled) != nil:
		doubt = isShort
	case v.paid.block.At().Before(src.Time.Add(-clockError)):
		doubt = beforeSource
	case !l.claim(o.id, o, final):
		doubt = servedAnother
	}
	return final && doubt == "", doubt
}

// claim is false if a settlement or a mint was already reported as final for another swap, as
// far as the cache remembers.
func (l *lookup) claim(name common.Hash, o *order, final bool) bool {
	own := servedSwap{l.key, o.place}
	by, known := l.served.Peek(name)
	if !known && final {
		by, known, _ = l.served.PeekOrAdd(name, own)
	}
	return !known || by == own
}

// pay sets a swap to settled.
func (l *lookup) pay(o *order, network chain.ID, paid *payout, final bool) {
	s := &o.swap
	s.State = Settled
	s.Final = final
	s.Settlement = &Settlement{
		ChainID: network, TxHash: paid.log.TxHash, Time: paid.block.At(),
		Amount: paid.settled.Amount, Arrived: paid.money.arrived, Short: l.short(o, paid.settled),
	}
	if s.RecipientType == calldata.RecipientPrivate {
		copy(s.Settlement.Note[:], s.Recipient)
	}
}

// short is nil if a payout and its fees equal the swapped amount.
func (l *lookup) short(o *order, settled *calldata.Settled) *Short {
	dst := chain.ID(o.swap.DstChainID)
	if o.payout.Onward {
		dst = o.payout.Network
	}
	short := new(Short)
	if token, err := chain.FindToken(dst, o.payout.Token.Hex()); err == nil {
		short.Swapped = fee.Convert(&o.swap.Amount, o.decimals, token.Decimals)
	}
	_, tooMuch := short.Paid.AddOverflow(&settled.Amount, &settled.ProtocolFee)
	_, far := short.Paid.AddOverflow(&short.Paid, &settled.IntegratorFee)
	if short.Paid == short.Swapped && !tooMuch && !far {
		return nil
	}
	return short
}

// payout is a settlement that an endpoint has shown.
type payout struct {
	log     *rpc.Log
	block   *rpc.Block
	settled *calldata.Settled
	money   *money
}

// digest is what endpoints must agree on.
func (p *payout) digest() common.Hash {
	event := digestLog(p.log)
	arrived := p.money.arrived.Bytes32()
	return calldata.Hash(event[:], arrived[:])
}

// evidence is an endpoint's data about the block in which a pool reports a settlement.
type evidence struct {
	logs    []rpc.Log
	block   *rpc.Block
	receipt *rpc.Receipt // of the transaction that paid
}

func (e *evidence) reads(o *order, block uint64) []rpc.Read {
	topics := []*common.Hash{&calldata.SettledTopic, &o.id}
	return []rpc.Read{rpc.ReadLogs(o.payout.Pools(), topics, block, block, &e.logs), rpc.ReadBlock(block, &e.block)}
}

// readPayout reads from one endpoint: in one request if it agrees with an earlier endpoint, in
// three if it is the first to report a payout.
func (l *lookup) readPayout(
	ctx context.Context, e *rpc.Endpoint, src *source, o *order, before []statement,
) (s statement, err error) {
	var shown evidence
	var known *payout // by the answers of others
	for _, b := range before {
		known = cmp.Or(known, b.paid)
	}
	reads := []rpc.Read{rpc.ReadLatest(&s.head)}
	for _, pool := range o.payout.Pools() {
		reads = append(reads, rpc.ReadContract(pool, calldata.SettledIn(o.id), new(hexutil.Bytes)))
	}
	pools := len(reads) // behind the last of them
	if known != nil {
		reads = append(reads, shown.reads(o, uint64(known.log.BlockNumber))...)
		reads = append(reads, rpc.ReadReceipt(known.log.TxHash, &shown.receipt))
	}
	if err := e.Batch(ctx, reads); err != nil {
		return s, err
	}
	if reads[0].Err != nil {
		return s, reads[0].Err
	}
	pool, block, err := readPools(o.payout.Pools(), reads[1:pools])
	if err != nil || block == 0 {
		return s, err
	}
	reads = reads[pools:]
	if known == nil || uint64(known.log.BlockNumber) != block {
		shown = evidence{}
		reads = shown.reads(o, block)
		if err := e.Batch(ctx, reads); err != nil {
			return s, err
		}
	}
	if reads[0].Err == nil && shown.logs == nil {
		return s, garbled("it gives no list of events")
	}
	log := findLog(o, block, shown.logs)
	if log == nil {
		s.doubt = l.lacksEvent(src, o.payout.Network, pool, block, uint64(s.head.Number), shown.block)
		return s, nil
	}
	if shown.receipt == nil || shown.receipt.TxHash != log.TxHash {
		if err := e.ReadAll(ctx, rpc.ReadReceipt(log.TxHash, &shown.receipt)); err != nil {
			return s, err
		}
	}
	s.paid, s.doubt, err = l.prove(o, log, &shown)
	if s.paid != nil {
		s.digest = s.paid.digest()
		s.block = block
		s.swap = true
	}
	return s, err
}

// readPools finds the pool that reports a settlement, and its block; 0 if none does. The first
// pool must answer; the others may no longer exist.
func readPools(pools []common.Address, reads []rpc.Read) (pool common.Address, block uint64, err error) {
	for i, read := range reads {
		output := *read.Result.(*hexutil.Bytes)
		isWord := read.Err == nil && len(output) == common.HashLength
		switch number := new(uint256.Int).SetBytes(output); {
		case i == 0 && read.Err != nil:
			return pool, 0, read.Err
		case i == 0 && !isWord:
			text := "the contract at " + pools[0].Hex() + " does not say what is settled"
			return pool, 0, &rpc.Failure{Reason: rpc.Misconfigured, Text: text}
		case !isWord || number.IsZero():
		case number.IsUint64():
			return pools[i], number.Uint64(), nil
		default:
			return pools[i], math.MaxUint64, nil // no chain has as many
		}
	}
	return pool, 0, nil
}

// findLog finds the event of an order's settlement; nil if it is not there.
func findLog(o *order, block uint64, logs []rpc.Log) *rpc.Log {
	for i := range logs {
		log := &logs[i]
		isEvent := slices.Contains(o.payout.Pools(), log.Address) && len(log.Topics) == 2 &&
			log.Topics[0] == calldata.SettledTopic && log.Topics[1] == o.id
		if isEvent && uint64(log.BlockNumber) == block && !log.Removed {
			return log
		}
	}
	return nil
}

// lacksEvent explains why the block that a pool names does not have its event.
func (l *lookup) lacksEvent(
	src *source, network chain.ID, pool common.Address, number, head uint64, block *rpc.Block,
) string {
	if number > head && number-head > headsApart || block != nil && block.At().Before(src.Time.Add(-clockError)) {
		l.noteAnomaly(network, pool, true)
		return fmt.Sprintf(notThere, network, number)
	}
	if number+headsApart > head { // another node of the endpoint may have it
		return fmt.Sprintf(notEverywhere, network, number)
	}
	return fmt.Sprintf(notThere, network, number)
}

// prove reads the event of a settlement and the transfer in the receipt, or says what is
// missing. It fails if the endpoint contradicts itself.
func (l *lookup) prove(o *order, log *rpc.Log, shown *evidence) (paid *payout, doubt string, err error) {
	network := o.payout.Network
	receipt := shown.receipt
	if shown.block == nil || shown.block.Hash != log.BlockHash || receipt == nil || receipt.BlockHash != log.BlockHash {
		return nil, fmt.Sprintf(notEverywhere, network, uint64(log.BlockNumber)), nil
	}
	if err := checkReceipt(receipt, log.TxHash); err != nil {
		return nil, "", err
	}
	settled, err := calldata.DecodeSettled(log.Topics, log.Data)
	if err != nil || !l.fits(o, settled) {
		return nil, anotherPayout, nil
	}
	l.noteAnomaly(network, log.Address, false)
	m := l.findMoney(network, receipt.Logs, log)
	if m == nil || !m.goesTo(o.forward) {
		return nil, noMoney, nil
	}
	return &payout{log: log, block: shown.block, settled: settled, money: m}, "", nil
}

// fits compares the event of a settlement with the swap.
func (l *lookup) fits(o *order, settled *calldata.Settled) bool {
	from := uint64(l.key.network)
	if o.burnt != nil {
		from = uint64(o.swap.Burn.Domain)
	}
	return settled.Source.IsUint64() && settled.Source.Uint64() == from &&
		settled.SrcPool == o.pool && settled.Nonce == o.nonce && settled.Token == o.payout.Token &&
		settled.RecipientType == o.swap.RecipientType && bytes.Equal(settled.Recipient, o.swap.Recipient)
}

// money is a transfer, a note or a burn in the logs of a receipt.
type money struct {
	token   common.Address
	to      common.Hash // an address, or the npk of a note
	amount  uint256.Int
	arrived uint256.Int
	isNote  bool
	burn    *calldata.Message // of a forwarding burn; or nil
	spent   bool              // it already proves a settlement
}

// pays reports whether the money is the payout of a settlement.
func (m *money) pays(s *calldata.Settled, pool common.Address) bool {
	to := common.BytesToHash(s.Recipient)
	isNote := s.RecipientType == calldata.RecipientPrivate
	if isNote && len(s.Recipient) >= common.HashLength {
		to = common.Hash(s.Recipient)
	}
	if m.burn != nil && (!bytes.Equal(m.burn.HookData, s.ID[:]) || m.burn.Depositor != common.BytesToHash(pool[:])) {
		return false
	}
	return !m.spent && m.isNote == isNote && m.token == s.Token && m.to == to && m.amount == s.Amount
}

// goesTo reports whether the money is a forwarding burn to the chain of these contracts; nil
// means no forwarding burn.
func (m *money) goesTo(forward *chain.CCTP) bool {
	if m.burn == nil || forward == nil {
		return m.burn == nil && forward == nil
	}
	return m.burn.DestinationDomain == forward.Domain
}

// findMoney finds the payout of the settlement of an event; nil if there is none. Earlier
// settlements of the same transaction are matched first: each log proves one settlement.
func (l *lookup) findMoney(network chain.ID, logs []rpc.Log, event *rpc.Log) *money {
	all := readMoney(network, logs)
	want := digestLog(event)
	for i := range logs {
		_, ours := l.deployment.FindRouter(network, logs[i].Address)
		settled, err := calldata.DecodeSettled(logs[i].Topics, logs[i].Data)
		if err != nil || !ours || settled.Amount.IsZero() {
			continue
		}
		found := &money{arrived: settled.Amount} // native coins leave no log
		if settled.Token != chain.Native.Address {
			n := slices.IndexFunc(all, func(m money) bool { return m.pays(settled, logs[i].Address) })
			if n < 0 {
				continue
			}
			found = &all[n]
			found.spent = true
		}
		if digestLog(&logs[i]) == want {
			return found
		}
	}
	return nil
}

// readMoney reads the transfers, notes and burns in the logs of a receipt.
func readMoney(network chain.ID, logs []rpc.Log) (all []money) {
	n, _ := chain.FindNetwork(network)
	for i := range logs {
		topics, data := logs[i].Topics, logs[i].Data
		if to, amount, ok := calldata.DecodeTransfer(topics, data); ok {
			m := money{token: logs[i].Address, to: common.BytesToHash(to[:]), amount: amount, arrived: amount}
			all = append(all, m)
		}
		if n.CCTP != nil && logs[i].Address == n.CCTP.Messenger.Address {
			if burn, err := calldata.DecodeBurnt(topics, data); err == nil {
				m := money{to: burn.MintRecipient, amount: burn.Amount, arrived: burn.Amount, burn: burn}
				m.token = common.BytesToAddress(burn.BurnToken[:])
				all = append(all, m)
			}
		}
		if n.Railgun == nil || logs[i].Address != n.Railgun.Proxy.Address {
			continue
		}
		notes, _ := calldata.DecodeShield(topics, data)
		for _, note := range notes {
			m := money{token: note.Token, to: note.NPK, arrived: note.Value, isNote: true}
			if _, overflow := m.amount.AddOverflow(&note.Value, &note.Fee); !overflow {
				all = append(all, m)
			}
		}
	}
	return all
}
