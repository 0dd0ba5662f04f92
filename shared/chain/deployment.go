package chain

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Deployment says where an operator's contracts are: the target of every source
// transaction, the settlement chain of burned USDC, the integrator registries.
// ParseDeployment guarantees that it covers every supported pair.
type Deployment struct {
	Name       string
	Contact    string // whom a user asks whose swap does not settle; empty if not stated
	Settlement Settlement
	Railgun    Railgun
	Explorers  map[ID]string // by network: where people look a transaction up, if stated
	Warnings   []string      // what is accepted but may not be meant, in words

	targets    map[sourceKey]Address
	registries map[ID]Address
	contracts  map[common.Address]bool // all there are: targets, registries, the receiver, retired routers
	seconds    map[pairKey]uint32

	routers       []Router // the targets, by chain and symbol
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
	Receiver Address // the only contract that can deliver and receive a burn
}

// Router is one row of the router listing: the contract that must receive the
// source transaction for a token on a routing ID.
type Router struct {
	ChainID ID
	Token   Token
	Router  Address
}

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
	for _, r := range d.routers {
		old := before.targets[sourceKey{r.ChainID, r.Token.Symbol}]
		add(old != r.Router, "the router of "+r.Token.Symbol+" on chain "+r.ChainID.String())
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

// Owns tells whether an address is a contract of the deployment, or a messenger
// of the issuer's.
func (d *Deployment) Owns(a common.Address) bool { return d.contracts[a] }

// Routers lists the target of every source there is, virtual IDs included, by
// chain and symbol.
func (d *Deployment) Routers() []Router { return slices.Clone(d.routers) }

// Tracked tells whether the pools settle swaps as docs/pool.md says, so that
// anyone can find the settlement of a swap on chain.
func (d *Deployment) Tracked() bool { return d.tracked }

// FindRouter finds the contract at an address of a network that takes source
// transactions, or took them before it was retired. Where a privacy pool shares
// its router with its network, the row of the network counts.
func (d *Deployment) FindRouter(network ID, address common.Address) (Router, bool) {
	for _, rows := range [][]Router{d.routers, d.retired} { // networks come before privacy pools
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
	payer := sourceKey{dst, paid.Symbol}
	p := Payout{Network: d.FeeChain(dst), Token: token}
	if p.Network != dst.Network() {
		p.Onward = true
		payer.id = p.Network
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

// UsualSeconds is how long a swap from a router usually takes, 0 if the deployment
// does not say.
func (d *Deployment) UsualSeconds(from Router, dst ID, token common.Address) uint32 {
	if t := tokenAt(dst, token); t != nil {
		return d.seconds[pairKey{from.ChainID, dst, from.Token.Symbol, t.Symbol}]
	}
	return 0
}

// deploymentFile is a deployment as an operator writes it.
type deploymentFile struct {
	Name       string `json:"name"`
	Settlement struct {
		ChainID  ID     `json:"chainId"`
		Receiver string `json:"receiver"`
	} `json:"settlement"`
	Pools      []poolRow         `json:"pools"`
	Retired    []poolRow         `json:"retired,omitempty"`    // never quoted, never listed
	Registries map[string]string `json:"registries"`           // by pool chain
	Messengers map[string]string `json:"messengers,omitempty"` // by CCTP source chain, if not the issuer's usual one
	Seconds    []secondsRow      `json:"seconds,omitempty"`    // how long swaps usually take
	Railgun    *Railgun          `json:"railgun,omitempty"`    // if its rates are not the usual ones
	Explorers  map[string]string `json:"explorers,omitempty"`  // by network: an address before /tx/ and /address/

	Contact       string            `json:"contact,omitempty"`       // whom a user asks whose swap does not settle
	Tracking      string            `json:"tracking,omitempty"`      // "reference" or "none"
	Confirmations map[string]uint64 `json:"confirmations,omitempty"` // by network
}

// secondsRow states the time of all pairs that match what it names.
type secondsRow struct {
	Type     string `json:"type,omitempty"`
	SrcChain ID     `json:"srcChain,omitempty"`
	SrcToken string `json:"srcToken,omitempty"`
	DstChain ID     `json:"dstChain,omitempty"`
	DstToken string `json:"dstToken,omitempty"`
	Seconds  uint32 `json:"seconds"`
}

type poolRow struct {
	ChainID ID     `json:"chainId"` // a routing ID: privacy pools have rows of their own
	Token   string `json:"token"`
	Router  string `json:"router"`
}

const mostContact = 200 // bytes

// ReadDeployment reads an operator's file.
func ReadDeployment(path string) (*Deployment, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, ParseDeployment)
}

// ParseDeployment reads a deployment. The error joins all problems.
func ParseDeployment(data []byte) (*Deployment, error) {
	var file deploymentFile
	problems := jsonfile.Decode(data, &file)
	b := builder{
		problems: problems,
		Deployment: Deployment{
			Name:       file.Name,
			targets:    make(map[sourceKey]Address),
			registries: make(map[ID]Address),
			contracts:  make(map[common.Address]bool),
			seconds:    make(map[pairKey]uint32),
			Explorers:  make(map[ID]string),

			confirmations: make(map[ID]uint64),
		},
	}
	if file.Name == "" {
		b.problem("name: missing")
	}
	b.settlement(file)
	b.pools(file.Pools)
	b.messengers(file.Messengers)
	b.registryRows(file.Registries)
	b.retired(file.Retired)
	b.times(file.Seconds)
	b.railgun(file.Railgun)
	b.explorers(file.Explorers)
	b.tracking(file.Tracking, file.Contact, file.Confirmations)
	b.coverage()
	b.warnOfSharedRouters()
	b.list()
	if err := b.problems.Err(); err != nil {
		return nil, err
	}
	return &b.Deployment, nil
}

// builder fills a deployment from a file and collects the problems.
type builder struct {
	Deployment
	problems *jsonfile.Problems
}

func (b *builder) problem(format string, args ...any) { b.problems.Add("", format, args...) }

func (b *builder) settlement(file deploymentFile) {
	network, _ := FindNetwork(file.Settlement.ChainID)
	if network.CCTP == nil || network.ID != file.Settlement.ChainID || !slices.Contains(PoolChains, network.ID) {
		b.problem("settlement.chainId: %d is not a pool chain on the issuer's network; use 1 or 8453",
			file.Settlement.ChainID)
	} else {
		b.Settlement.ChainID, b.Settlement.Domain = network.ID, network.CCTP.Domain
	}
	b.Settlement.Receiver = b.address("settlement.receiver", file.Settlement.Receiver)
}

func (b *builder) pools(rows []poolRow) {
	for i, row := range rows {
		at := fmt.Sprintf("pools[%d] (%s on %d)", i, row.Token, row.ChainID)
		src := sourceKey{row.ChainID, row.Token}
		router := b.address(at+".router", row.Router)
		_, repeated := b.targets[src]
		switch {
		case !slices.ContainsFunc(allPairs, func(p Pair) bool { return p.source() == src && p.Route == Direct }):
			b.problem("%s: no supported pair needs a pool for this token on this chain", at)
		case repeated:
			b.problem("%s: repeats an earlier row", at)
		default:
			b.targets[src] = router
		}
	}
}

func (b *builder) messengers(rows map[string]string) {
	b.contracts[messenger.Address] = true
	for _, id := range onCCTP {
		b.targets[sourceKey{id, USDC}] = messenger
	}
	b.addresses("messengers", rows, onCCTP, "not a CCTP source chain", func(id ID, a Address) {
		b.targets[sourceKey{id, USDC}] = a
	})
}

// addresses reads the contracts of some chains.
func (b *builder) addresses(field string, rows map[string]string, of []ID, otherwise string, set func(ID, Address)) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		at := fmt.Sprintf("%s[%q]", field, key)
		if id := idByText[key]; slices.Contains(of, id) {
			set(id, b.address(at, rows[key]))
		} else {
			b.problem("%s: %s", at, otherwise)
		}
	}
}

func (b *builder) registryRows(rows map[string]string) {
	noPool := fmt.Sprintf("not a pool chain; those are %v", PoolChains)
	b.addresses("registries", rows, PoolChains, noPool, func(id ID, a Address) { b.registries[id] = a })
	for _, id := range PoolChains {
		if _, ok := rows[id.String()]; !ok {
			b.problem("registries: chain %s is missing", id)
		}
	}
}

// retired checks that no retired router is still in use.
func (b *builder) retired(rows []poolRow) {
	for i, row := range rows {
		at := fmt.Sprintf("retired[%d] (%s on %d)", i, row.Token, row.ChainID)
		router := b.address(at+".router", row.Router)
		for src, target := range b.targets {
			if target == router && target != (Address{}) && src.id.Network() == row.ChainID.Network() {
				b.problem("%s: the same router is the current one of %s on %s", at, src.symbol, src.id)
			}
		}
		if t := tokenOf(row.ChainID, row.Token); t != nil {
			b.Deployment.retired = append(b.Deployment.retired, Router{row.ChainID, *t, router})
		}
	}
}

// times fills in how long swaps take. Where several rows match a pair, the last
// counts.
func (b *builder) times(rows []secondsRow) {
	const week = 7 * 24 * 60 * 60
	for i, row := range rows {
		if row.Seconds == 0 || row.Seconds > week {
			b.problem("seconds[%d].seconds: %d is not between 1 and %d, a week", i, row.Seconds, week)
		}
		matched := false
		for _, p := range allPairs {
			if row.matches(&p) {
				matched = true
				b.seconds[p.key()] = row.Seconds
			}
		}
		if !matched {
			b.problem("seconds[%d]: no supported pair matches it; "+
				"type is DIRECT or CCTP_INBOUND, chains are numbers, tokens are symbols", i)
		}
	}
}

func (r secondsRow) matches(p *Pair) bool {
	return (r.Type == "" || r.Type == p.Route.String()) &&
		(r.SrcChain == 0 || r.SrcChain == p.Src) && (r.SrcToken == "" || r.SrcToken == p.SrcToken.Symbol) &&
		(r.DstChain == 0 || r.DstChain == p.Dst) && (r.DstToken == "" || r.DstToken == p.DstToken.Symbol)
}

func (b *builder) railgun(rates *Railgun) {
	const highest = 1000 // 10 %: far above what RAILGUN has ever taken
	b.Railgun = Railgun{ShieldBPS: 25, UnshieldBPS: 25}
	if rates == nil {
		return
	}
	b.Railgun = *rates
	for name, rate := range map[string]uint16{"shieldBps": rates.ShieldBPS, "unshieldBps": rates.UnshieldBPS} {
		if rate > highest {
			b.problem("railgun.%s: %d is above %d basis points, which is 10 %%", name, rate, highest)
		}
	}
}

// explorers are links for people, so each must be a plain https address.
func (b *builder) explorers(rows map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		id, ok := idByText[key]
		at, err := url.Parse(rows[key])
		isPublic := ok && !id.Private()
		isSite := err == nil && at.Scheme == "https" && at.Host != "" && at.RawQuery == ""
		if !isPublic || !isSite || strings.HasSuffix(rows[key], "/") {
			b.problem("explorers[%q]: %q is not an https address of a public chain, without a slash at its end",
				key, rows[key])
			continue
		}
		b.Explorers[id] = rows[key]
	}
}

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
		b.problem("tracking: %q is unknown; "+
			"write reference if the pools settle as docs/pool.md says, and none otherwise", mode)
	}
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

// coverage checks that every pair's source token has a target.
func (b *builder) coverage() {
	reported := map[sourceKey]bool{}
	for _, p := range allPairs {
		src := p.source()
		if _, ok := b.targets[src]; !ok && !reported[src] {
			reported[src] = true
			b.problem("pools: no row for %s on chain %s, which supported pairs need", src.symbol, src.id)
		}
	}
}

// warnOfSharedRouters tells of privacy pools without routers of their own. On
// chain their swaps look like ordinary ones, which cost another fee.
func (b *builder) warnOfSharedRouters() {
	for src, router := range b.targets {
		public := src.id.Network()
		if !src.id.Private() || b.targets[sourceKey{public, src.symbol}] != router {
			continue
		}
		b.Warnings = append(b.Warnings, fmt.Sprintf(
			"%s on %s and on %s share the router %s: a swap out of the privacy pool cannot be told from an ordinary "+
				"one on chain, and pays the ordinary fee instead of the quoted one; give %s a router of its own",
			src.symbol, src.id, public, router, src.id))
	}
	slices.Sort(b.Warnings)
}

// list sorts the targets.
func (b *builder) list() {
	for src, target := range b.targets {
		b.routers = append(b.routers, Router{src.id, *tokenOf(src.id, src.symbol), target})
	}
	slices.SortFunc(b.routers, func(a, b Router) int {
		return cmp.Or(cmp.Compare(a.ChainID, b.ChainID), cmp.Compare(a.Token.Symbol, b.Token.Symbol))
	})
}

// address reads an address from the file, where only EIP-55 text is accepted.
func (b *builder) address(at, text string) Address {
	a, err := ParseAddress(text)
	switch {
	case text == "":
		b.problem("%s: missing", at)
	case err != nil:
		b.problem("%s: %q %v", at, text, err)
	case a.Hex() != text:
		b.problem("%s: %q has no EIP-55 checksum; write %s if it is right", at, text, a.Hex())
	case a == (common.Address{}):
		b.problem("%s: the zero address is no contract", at)
	}
	b.contracts[a] = true
	return NewAddress(a)
}
