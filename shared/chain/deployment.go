package chain

import (
	"bytes"
	"cmp"
	_ "embed"
	"reflect"
	"slices"
	"strings"

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
	Warnings   []string // what is accepted but may not be meant, in words

	file       deploymentFile
	registries map[ID]Address
	uses       map[common.Address][]use // of every contract, also of retired routers
	rows       []Router                 // the target of each source, by chain and symbol
	retired    []Router                 // those whose token is known
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

func (r Router) source() end { return end{r.ChainID, r.Token.Symbol} }

//go:embed reference.json
var reference []byte

// ReferenceFile is the text of the embedded deployment, for who changes some of it.
func ReferenceFile() []byte { return slices.Clone(reference) }

// ReferenceAs is that text under another name, for who has its contracts or does as if: the devnet, tests and tools.
func ReferenceAs(name string) []byte {
	return bytes.Replace(reference, []byte(`"name": "reference"`), []byte(`"name": "`+name+`"`), 1)
}

// Reference is the embedded deployment, which a local devnet runs.
func Reference() *Deployment {
	d, err := ParseDeployment(reference)
	if err != nil {
		panic("the embedded deployment is invalid: " + err.Error())
	}
	return d
}

// IsReference tells whether the contracts exist on local test chains only. The name says so, whatever file has it.
func (d *Deployment) IsReference() bool { return d.Name == "reference" }

// Unsignable says why no quote of the deployment may be signed. It is empty if quotes may be.
func (d *Deployment) Unsignable() string {
	if !d.IsReference() {
		return ""
	}
	return "the contracts of the reference deployment exist only on local test chains"
}

// Target is the contract that receives the source transaction of p: a pool, or
// the issuer's messenger.
func (d *Deployment) Target(p *Pair) Address { return d.target(p.source()) }

// target is the contract that takes a token, zero for none.
func (d *Deployment) target(src end) Address {
	for i := range d.rows {
		if d.rows[i].source() == src {
			return d.rows[i].Router
		}
	}
	return Address{}
}

// Changes names the fields of the file in which a deployment differs from the one before.
func (d *Deployment) Changes(before *Deployment) (changed []string) {
	now, then := reflect.ValueOf(d.file), reflect.ValueOf(before.file)
	for i := range now.NumField() {
		if !reflect.DeepEqual(now.Field(i).Interface(), then.Field(i).Interface()) {
			name, _, _ := strings.Cut(now.Type().Field(i).Tag.Get("json"), ",")
			changed = append(changed, name)
		}
	}
	return changed
}

// Seconds is how long a swap usually takes, 0 if the deployment does not say. Of the
// rows that match, the last counts.
func (d *Deployment) Seconds(p *Pair) uint32 {
	for _, row := range slices.Backward(d.file.Seconds) {
		if row.matches(p) {
			return row.Seconds
		}
	}
	return 0
}

// Explorer is where people look up a transaction on a network, empty if nowhere. No public explorer knows the local
// chains of the embedded deployment and of the devnet.
func (d *Deployment) Explorer(network ID) string {
	if stated, ok := d.file.Explorers[network.String()]; ok {
		return stated
	}
	if d.IsReference() || d.Name == "devnet" {
		return ""
	}
	known, _ := FindNetwork(network)
	return known.Explorer
}

// RPCURLs are the public nodes of a network that a wallet may use to add it, nil if not stated. They are not the nodes
// that the gateway asks.
func (d *Deployment) RPCURLs(network ID) []string { return d.file.RPCURLs[network.String()] }

// Confirmations is how many blocks make a transaction on a network final. The
// block of the transaction is the first.
func (d *Deployment) Confirmations(network ID) uint64 {
	const ofUnknown = 300 // as many as the fastest network of the table needs
	known, _ := FindNetwork(network)
	return cmp.Or(d.file.Confirmations[network.String()], known.Confirmations, ofUnknown)
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
	return d.rowsOf(func(p *Pair, row end) bool { return p.source() == row })
}

// Contracts lists the routers and the pools that only pay out.
func (d *Deployment) Contracts() []Router {
	return d.rowsOf(func(p *Pair, row end) bool {
		return p.source() == row || d.payer(p.destination()) == row
	})
}

// rowsOf are the rows that a pair which is served needs.
func (d *Deployment) rowsOf(needs func(p *Pair, row end) bool) (found []Router) {
	for _, r := range d.rows {
		if slices.ContainsFunc(d.catalog, func(p Pair) bool { return needs(&p, r.source()) }) {
			found = append(found, r)
		}
	}
	return found
}

// Unserved lists the pairs of the table that the deployment does not serve.
func (d *Deployment) Unserved() (pairs []Pair) {
	for _, p := range all {
		if d.pair(p.source(), p.destination()) == nil {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// UsesIssuer tells whether a pair that is served goes through the issuer's network.
func (d *Deployment) UsesIssuer() bool {
	return slices.ContainsFunc(d.catalog, func(p Pair) bool {
		return p.Route == CCTPInbound || d.FeeChain(p.Dst) != p.Dst.Network()
	})
}

// Networks lists the chains that the pairs which are served need, by ID: where the money
// comes from, where it goes to and, for burns, the settlement chain.
func (d *Deployment) Networks() (needed []Network) {
	ids := map[ID]bool{}
	for _, p := range d.catalog {
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
func (d *Deployment) Tracked() bool { return d.file.Tracking == trackingReference }

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
	Network ID               // of the pools
	Pool    common.Address   // the one in use
	Retired []common.Address // those before it
	Token   common.Address   // that they pay with
	// Onward is set where the destination has no pool: the pool of the
	// settlement chain burns the money there, and the issuer mints it.
	Onward bool
}

// Pools are all pools that may have paid, the one in use first.
func (p *Payout) Pools() []common.Address { return append([]common.Address{p.Pool}, p.Retired...) }

// Payout finds the pools that can pay a token on dst: the one in use, then the
// retired ones. It is false if no pair has that destination.
func (d *Deployment) Payout(dst ID, token common.Address) (Payout, bool) {
	paid := tokenAt(dst, token)
	if paid == nil {
		return Payout{}, false
	}
	payer := d.payer(end{dst, paid.Symbol})
	current := d.target(payer)
	if current == (Address{}) {
		return Payout{}, false
	}
	p := Payout{
		Network: payer.id.Network(),
		Pool:    current.Address,
		Token:   tokenOf(payer.id, payer.symbol).Address.Address,
		Onward:  payer.id != dst,
	}
	for _, r := range d.retired {
		if r.source() == payer {
			p.Retired = append(p.Retired, r.Router.Address)
		}
	}
	return p, true
}

// payer is the pool that pays out a destination: the one there or, where there are no
// pools, the one of the settlement chain.
func (d *Deployment) payer(dst end) end {
	if network := d.FeeChain(dst.id); network != dst.id.Network() {
		return end{network, dst.symbol}
	}
	return dst
}

// UsualSeconds is how long a swap from a router usually takes, 0 if the deployment
// does not say.
func (d *Deployment) UsualSeconds(from Router, dst ID, token common.Address) uint32 {
	t := tokenAt(dst, token)
	if t == nil {
		return 0
	}
	if p := all.pair(from.source(), end{dst, t.Symbol}); p != nil {
		return d.Seconds(p)
	}
	return 0
}
