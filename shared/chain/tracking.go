package chain

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ethereum/go-ethereum/common"
)

// Confirmations that a deployment demands of a network it does not name, and the
// most it can demand.
const (
	defaultConfirmations = 12
	mostConfirmations    = 10_000
	mostContact          = 200
)

// tracking reads whether the pools let anyone follow a swap, and how many
// confirmations make a transaction final.
func (b *builder) tracking(mode, contact string, confirmations map[string]uint64) {
	b.Contact = contact
	if len(contact) > mostContact || strings.ContainsFunc(contact, func(r rune) bool { return !unicode.IsPrint(r) }) {
		b.problem("contact: write one line of at most %d letters, such as an address of mail or of a page", mostContact)
	}
	switch mode {
	case "", "none":
	case "reference":
		b.tracked = true
	default:
		b.problem("tracking: %q is unknown; write reference if the pools settle as docs/pool.md says, and none otherwise", mode)
	}
	b.confirmations = make(map[ID]uint64, len(confirmations))
	for _, key := range slices.Sorted(maps.Keys(confirmations)) {
		id, ok := idByText[key]
		n := confirmations[key]
		switch {
		case !ok || id.Private():
			b.problem("confirmations[%q]: not a supported network", key)
		case n == 0 || n > mostConfirmations:
			b.problem("confirmations[%q]: %d is not between 1 and %d", key, n, mostConfirmations)
		default:
			b.confirmations[id] = n
		}
	}
}

// BlockTime is about how long a block takes: those of two networks are slow, and
// those of all others take two seconds at most.
func (id ID) BlockTime() time.Duration {
	switch id.Network() {
	case 1:
		return 12 * time.Second
	case Hub:
		return 10 * time.Second
	}
	return 2 * time.Second
}

// UsualGap is how old the latest block of a network is at most, unless the node that
// tells of it stands still.
func (id ID) UsualGap() time.Duration { return max(20*id.BlockTime(), 2*time.Minute) }

// Tracked tells whether the pools settle swaps as docs/pool.md says, so that
// anyone can find the settlement of a swap on chain.
func (d *Deployment) Tracked() bool { return d.tracked }

// Confirmations is how many blocks make a transaction on a network final. The
// block of the transaction is the first.
func (d *Deployment) Confirmations(network ID) uint64 {
	if n := d.confirmations[network]; n > 0 {
		return n
	}
	return defaultConfirmations
}

// routerKey is a contract on a network.
type routerKey struct {
	network ID
	address common.Address
}

// index prepares FindRouter.
func (b *builder) index() {
	b.byAddress = make(map[routerKey]Router)
	for _, r := range slices.Concat(b.Routers(), b.Deployment.retired) {
		key := routerKey{r.ChainID.Network(), r.Router.Address}
		if _, known := b.byAddress[key]; !known { // networks come before privacy pools
			b.byAddress[key] = r
		}
	}
}

// FindRouter finds the contract at an address of a network that takes source
// transactions, or took them before it was retired. Where a privacy pool shares
// its router with its network, the row of the network counts.
func (d *Deployment) FindRouter(network ID, address common.Address) (Router, bool) {
	r, ok := d.byAddress[routerKey{network, address}]
	return r, ok
}

// Payout is where a swap is paid out.
type Payout struct {
	Network ID // of the pools
	Pools   []common.Address
	Token   common.Address // that they pay with
	// Onward is set where the destination has no pool: the pool of the
	// settlement chain burns the money there, and the issuer mints it.
	Onward bool
}

// Payout finds the pools that can pay a token on dst: the one in use, then the
// retired ones. It is false if no pair has that destination.
func (d *Deployment) Payout(dst ID, token common.Address) (Payout, bool) {
	i := slices.IndexFunc(tokensOf[dst], func(t *Token) bool { return t.Address.Address == token })
	if i < 0 {
		return Payout{}, false
	}
	payer := sourceKey{dst, tokensOf[dst][i].Symbol}
	p := Payout{Network: d.FeeChain(dst), Token: token}
	if p.Network != dst.Network() {
		p.Onward, payer.id = true, p.Network
		for _, t := range tokensOf[payer.id] {
			if t.Symbol == payer.symbol {
				p.Token = t.Address.Address
			}
		}
	}
	current, ok := d.targets[payer]
	if !ok {
		return Payout{}, false
	}
	p.Pools = []common.Address{current.Address}
	for _, r := range d.retired {
		if r.ChainID == payer.id && r.Token.Symbol == payer.symbol {
			p.Pools = append(p.Pools, r.Router.Address)
		}
	}
	return p, true
}

// UsualSeconds is how long a swap from a router usually takes, 0 if the deployment
// does not say.
func (d *Deployment) UsualSeconds(from Router, dst ID, token common.Address) uint32 {
	for _, t := range tokensOf[dst] {
		if t.Address.Address == token {
			return d.seconds[pairKey{from.ChainID, dst, from.Token.Symbol, t.Symbol}]
		}
	}
	return 0
}
