package chain

import (
	_ "embed"
	"maps"
	"reflect"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Deployment says where an operator's contracts are: the target of every source
// transaction, the settlement chain of burned USDC, the integrator registries.
// It serves the pairs that it has the contracts for: its methods Pairs, FindPair, Tokens,
// IDs and ParseID know no others.
type Deployment struct {
	catalog

	Name       string
	Contact    string // whom a user asks whose swap does not settle; empty if not stated
	Settlement Settlement
	Railgun    Railgun
	Explorers  map[ID]string // by network: instead of the explorer of the table; empty for none
	Warnings   []string      // what is accepted but may not be meant, in words

	targets    map[sourceKey]Address
	registries map[ID]Address
	uses       map[common.Address][]use // of every contract, also of retired routers
	seconds    map[pairKey]uint32

	rows          []Router // the targets, by chain and symbol
	retired       []Router // those whose token is known
	tracked       bool
	confirmations map[ID]uint64 // by network, where the file says so
}

// Railgun is what RAILGUN takes for itself, in basis points. It is not part of
// our fees. Its owner can change it.
type Railgun struct {
	ShieldBPS   uint16 `json:"shieldBps"`   // of what is shielded
	UnshieldBPS uint16 `json:"unshieldBps"` // of what is unshielded
}

// Settlement is where burned USDC is minted again and sent on to the hub.
type Settlement struct {
	ChainID  ID
	Domain   uint32  // the issuer's number for that chain
	Receiver Address // the only contract that can deliver and receive a burn; zero if none are served
}

// Router is one row of the router listing: the contract that must receive the
// source transaction for a token on a routing ID.
type Router struct {
	ChainID ID
	Token   Token
	Router  Address
}

func (r Router) source() sourceKey { return sourceKey{r.ChainID, r.Token.Symbol} }

func (r Router) what() string { return "the router of " + r.source().String() }

//go:embed reference.json
var reference []byte

// ReferenceFile is the text of the embedded deployment, for who changes some of it.
func ReferenceFile() []byte { return slices.Clone(reference) }

// Reference is the embedded deployment, which a local devnet runs.
func Reference() *Deployment {
	d, err := ParseDeployment(reference)
	if err != nil {
		panic("the embedded deployment is invalid: " + err.Error())
	}
	return d
}

// Target is the contract that receives the source transaction of p: a pool, or
// the issuer's messenger.
func (d *Deployment) Target(p *Pair) Address { return d.targets[p.source()] }

// Changes says in what a deployment differs from the one before, in words. It is
// empty only if nothing differs.
func (d *Deployment) Changes(before *Deployment) (changes []string) {
	add := func(differs bool, what string) {
		if differs {
			changes = append(changes, what)
		}
	}
	add(d.Name != before.Name, "the name")
	add(d.Contact != before.Contact, "the contact")
	add(d.Settlement != before.Settlement, "the settlement")
	for _, r := range d.rows {
		add(before.targets[r.source()] != r.Router, r.what())
	}
	for _, r := range before.rows {
		_, kept := d.targets[r.source()]
		add(!kept, r.what())
	}
	for _, id := range PoolChains {
		add(d.registries[id] != before.registries[id], "the registry of chain "+id.String())
	}
	add(!slices.Equal(d.retired, before.retired), "the retired routers")
	add(!maps.Equal(d.seconds, before.seconds), "the usual times")
	add(d.Railgun != before.Railgun, "RAILGUN's rates")
	add(!maps.Equal(d.Explorers, before.Explorers), "the explorers")
	add(d.tracked != before.tracked, "the tracking")
	add(!maps.Equal(d.confirmations, before.confirmations), "the confirmations")
	add(len(changes) == 0 && !reflect.DeepEqual(d, before), "other contracts")
	return changes
}

// Seconds is how long a swap usually takes, 0 if the deployment does not say.
func (d *Deployment) Seconds(p *Pair) uint32 { return d.seconds[p.key()] }

// Local reports whether the contracts exist on local chains only: those of the embedded deployment and of the devnet.
func (d *Deployment) Local() bool { return d.Name == "reference" || d.Name == "devnet" }

// Explorer is where people look up a transaction on a network, empty if nowhere. No public explorer knows a local
// chain.
func (d *Deployment) Explorer(network ID) string {
	if stated, ok := d.Explorers[network]; ok {
		return stated
	}
	if d.Local() {
		return ""
	}
	known, _ := FindNetwork(network)
	return known.Explorer
}

// FeeChain is the network of the pool that pays out a swap to dst. The fees are
// calculated there, and its integrator registry applies.
func (d *Deployment) FeeChain(dst ID) ID {
	if network := dst.Network(); slices.Contains(PoolChains, network) {
		return network
	}
	return d.Settlement.ChainID
}

// Registry is the integrator registry of a pool chain.
func (d *Deployment) Registry(network ID) Address { return d.registries[network] }

// Routers lists the target of every source that is served, virtual IDs included, by
// chain and symbol.
func (d *Deployment) Routers() []Router {
	return d.rowsOf(func(p *Pair, row sourceKey) bool { return p.source() == row })
}

// Contracts lists the routers and the pools that only pay out.
func (d *Deployment) Contracts() []Router {
	return d.rowsOf(func(p *Pair, row sourceKey) bool {
		return p.source() == row || d.payer(p.Dst, p.DstToken.Symbol) == row
	})
}

// rowsOf are the rows that a pair which is served needs.
func (d *Deployment) rowsOf(needs func(p *Pair, row sourceKey) bool) (found []Router) {
	for _, r := range d.rows {
		if slices.ContainsFunc(d.pairs, func(p Pair) bool { return needs(&p, r.source()) }) {
			found = append(found, r)
		}
	}
	return found
}

// Unserved lists the pairs of the table that the deployment does not serve.
func (d *Deployment) Unserved() (pairs []Pair) {
	for _, p := range all.pairs {
		if d.byKey[p.key()] == nil {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// UsesIssuer tells whether a pair that is served goes through the issuer's network.
func (d *Deployment) UsesIssuer() bool {
	return slices.ContainsFunc(d.pairs, func(p Pair) bool {
		return p.Route == CCTPInbound || d.FeeChain(p.Dst) != p.Dst.Network()
	})
}

// Networks lists the chains that the pairs which are served need, by ID: where the money
// comes from, where it goes to and, for burns, the settlement chain.
func (d *Deployment) Networks() (needed []Network) {
	ids := map[ID]bool{}
	for _, p := range d.pairs {
		ids[p.Src.Network()] = true
		ids[p.Dst.Network()] = true
	}
	if d.UsesIssuer() {
		ids[d.Settlement.ChainID] = true
	}
	for _, n := range networks {
		if ids[n.ID] {
			needed = append(needed, n)
		}
	}
	return needed
}

// Tracked tells whether the pools settle swaps as docs/contracts.md says, so that
// anyone can find the settlement of a swap on chain.
func (d *Deployment) Tracked() bool { return d.tracked }

// FindRouter finds the contract at an address of a network that takes source
// transactions, or took them before it was retired. Where a privacy pool shares
// its router with its network, the row of the network counts.
func (d *Deployment) FindRouter(network ID, address common.Address) (Router, bool) {
	for _, rows := range [][]Router{d.rows, d.retired} { // networks come before privacy pools
		for _, r := range rows {
			if r.Router.Address == address && r.ChainID.Network() == network {
				return r, true
			}
		}
	}
	return Router{}, false
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
	paid := tokenAt(dst, token)
	if paid == nil {
		return Payout{}, false
	}
	payer := d.payer(dst, paid.Symbol)
	p := Payout{Network: d.FeeChain(dst), Token: token}
	if p.Network != dst.Network() {
		p.Onward = true
		if t := tokenOf(payer.id, payer.symbol); t != nil {
			p.Token = t.Address.Address
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

// payer is the pool that pays out a token on dst: the one there or, where there are no
// pools, the one of the settlement chain.
func (d *Deployment) payer(dst ID, symbol string) sourceKey {
	if network := d.FeeChain(dst); network != dst.Network() {
		return sourceKey{network, symbol}
	}
	return sourceKey{dst, symbol}
}

// UsualSeconds is how long a swap from a router usually takes, 0 if the deployment
// does not say.
func (d *Deployment) UsualSeconds(from Router, dst ID, token common.Address) uint32 {
	if t := tokenAt(dst, token); t != nil {
		return d.seconds[pairKey{from.ChainID, dst, from.Token.Symbol, t.Symbol}]
	}
	return 0
}
