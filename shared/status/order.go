package status

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// order is a swap of the transaction, with the data that identifies its settlement.
type order struct {
	swap  Swap
	place int               // index of its event in the receipt
	pool  common.Address    // that received the funds; zero for a burn
	nonce common.Hash       // of the pool's swap, or of the attested message
	burnt *calldata.Message // what the message of a burn must contain

	decimals uint8 // of the token that was paid

	payout  chain.Payout
	forward *chain.CCTP // of a forwarding burn: the issuer's contracts on the destination; or nil
	id      common.Hash // of the settlement; zero until it is known

	messages map[common.Hash]*attested // attested messages of its burns, by transaction; shared with later lookups
}

// Why a swap makes no progress.
const (
	tooManySwaps = "The transaction has more swaps than are tracked, " +
		"so its overall status is unknown"
	invalidEvent = "The pool received funds, but its event cannot be decoded " +
		"or has an invalid recipient. Contact the operator"
	invalidBurn = "The burn is for this service, but its hook data cannot be decoded " +
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
	implausibleFee = "The issuer reports a fee above the burn's maxFee. Contact the operator"
	isShort        = "The payout and its fees do not add up to the swapped amount. Contact the operator"
	beforeSource   = "The payout is older than the swap and may belong to another one. Contact the operator"
	servedAnother  = "This payout was already reported for another swap. Contact the operator"
)

// readOrders reads the swaps from the events of the transaction. Only events of the
// deployment's routers count, whichever contract the transaction was sent to.
func (l *lookup) readOrders(src *source, logs []rpc.Log) {
	for i := range logs {
		router, ok := l.deployment.FindRouter(l.key.network, logs[i].Address)
		if !ok || len(logs[i].Topics) == 0 {
			continue
		}
		o, ok := l.readOrder(&logs[i])
		switch {
		case !ok:
		case len(src.orders) == maxSwaps:
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

// readOrder reads one event of a router. It is false if the event is no swap of this
// deployment. A swap that cannot be settled has a reason.
func (l *lookup) readOrder(log *rpc.Log) (o order, ok bool) {
	if log.Topics[0] == calldata.SwappedTopic {
		swap, nonce, err := calldata.DecodeSwapped(log.Topics, log.Data)
		o.pool = log.Address
		o.nonce = nonce
		if !o.read(&swap, err) {
			o.swap.Reason = invalidEvent
		}
		return o, true
	}
	network, _ := chain.FindNetwork(l.key.network)
	burnt, err := calldata.DecodeBurnt(log.Topics, log.Data)
	to := l.deployment.Settlement
	receiver := common.BytesToHash(to.Receiver.Address[:])
	if err != nil || network.CCTP == nil || burnt.DestinationDomain != to.Domain || burnt.MintRecipient != receiver {
		return o, false
	}
	usdc, _ := chain.FindToken(l.key.network, chain.USDC)
	isUSDC := common.BytesToHash(usdc.Address.Address[:]) == burnt.BurnToken
	if !o.read(calldata.SwapOfHook(&burnt.Amount, burnt.HookData)) || !isUSDC {
		o.swap.Reason = invalidBurn
		return o, true
	}
	burnt.HookData = bytes.Clone(burnt.HookData)
	burnt.SourceDomain = network.CCTP.Domain
	o.burnt = burnt
	o.swap.Burn = &Burn{Domain: network.CCTP.Domain}
	return o, true
}

// read adopts a swap from an event, unless that cannot be decoded. It is false if the swap
// cannot be paid.
func (o *order) read(swap *calldata.Swap, err error) bool {
	o.swap.Unread = err != nil
	if err != nil {
		return false
	}
	fits := cutRecipient(swap)
	o.swap.Swap = *swap
	return fits
}

// noteLength is that of a private recipient, the longest there is.
const noteLength = 160

// cutRecipient reports whether pools and receiver accept the recipient of a swap. It truncates
// and copies the recipient, so that the response it was read from can be freed.
func cutRecipient(s *calldata.Swap) bool {
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

// requested is the swap that a transaction requests, decoded from its input because it has no
// events. There is none if it calls another contract.
func (l *lookup) requested(t *rpc.Transaction, state State) []Swap {
	if t == nil || t.To == nil {
		return nil
	}
	d := l.deployment
	router, ok := d.FindRouter(l.key.network, *t.To)
	if !ok {
		return nil
	}
	swap, err := calldata.DecodeOrder(t.Input, d.Settlement.Receiver.Address)
	if err != nil || !cutRecipient(swap) {
		return nil
	}
	seconds := d.UsualSeconds(router, chain.ID(swap.DstChainID), swap.DstToken)
	return []Swap{{State: state, Swap: *swap, Seconds: seconds}}
}
