package chain

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

// deploymentFile is a deployment as an operator writes it.
type deploymentFile struct {
	Name       string `json:"name"`
	Settlement struct {
		ChainID  ID      `json:"chainId"`
		Receiver *string `json:"receiver"` // without one, no burn is served
	} `json:"settlement"`
	Pools      []poolRow         `json:"pools"`                // what is not there is not served
	Retired    []poolRow         `json:"retired,omitempty"`    // never quoted, never listed
	Registries map[string]string `json:"registries"`           // by pool chain: those that pay out
	Messengers map[string]string `json:"messengers,omitempty"` // by CCTP source chain, if not the issuer's usual one
	Seconds    []secondsRow      `json:"seconds,omitempty"`    // how long swaps usually take
	Railgun    Railgun           `json:"railgun,omitzero"`     // if its rates are not the usual ones
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

const (
	mostName    = 64  // characters
	mostContact = 200 // bytes
)

// ReadDeployment reads an operator's file.
func ReadDeployment(path string) (*Deployment, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, ParseDeployment)
}

// ParseDeployment reads a deployment. The error joins all problems.
func ParseDeployment(data []byte) (*Deployment, error) {
	file := deploymentFile{Railgun: Railgun{ShieldBPS: 25, UnshieldBPS: 25}} // unless it says otherwise
	file.Settlement.ChainID = 8453
	problems := jsonfile.Decode(data, &file)
	b := builder{
		problems: problems,
		Deployment: Deployment{
			Name:       file.Name,
			targets:    make(map[sourceKey]Address),
			registries: make(map[ID]Address),
			uses:       make(map[common.Address][]use),
			seconds:    make(map[pairKey]uint32),
			Explorers:  make(map[ID]string),

			confirmations: make(map[ID]uint64),
		},
	}
	b.name(file.Name)
	b.settlement(file)
	b.pools(file.Pools)
	b.messengers(file.Messengers)
	b.registryRows(file.Registries)
	b.retired(file.Retired)
	b.times(file.Seconds)
	b.railgun(file.Railgun)
	b.explorers(file.Explorers)
	b.tracking(file.Tracking, file.Contact, file.Confirmations)
	b.serve()
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

// problem notes what is wrong at a place of the file, such as pools[2].router.
func (b *builder) problem(at, format string, args ...any) { b.problems.Add(at, format, args...) }

func (b *builder) name(name string) {
	switch {
	case name == "":
		b.problem("name", "missing")
	case utf8.RuneCountInString(name) > mostName || !printable(name):
		b.problem("name", "write at most %d printable characters", mostName)
	}
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (b *builder) settlement(file deploymentFile) {
	id := file.Settlement.ChainID
	network, _ := FindNetwork(id)
	if network.CCTP == nil || network.ID != id || !slices.Contains(PoolChains, id) {
		b.problem("settlement.chainId", "%d is not a pool chain on the issuer's network; use 1 or 8453", id)
	} else {
		b.Settlement.ChainID, b.Settlement.Domain = id, network.CCTP.Domain
	}
	if file.Settlement.Receiver != nil {
		role := use{id, "the receiver of burns on chain " + id.String()}
		b.Settlement.Receiver = b.contract("settlement.receiver", *file.Settlement.Receiver, role)
	}
}

func (b *builder) pools(rows []poolRow) {
	for i, row := range rows {
		at := fmt.Sprintf("pools[%d]", i)
		src := sourceKey{row.ChainID, row.Token}
		needed := slices.ContainsFunc(all.pairs, func(p Pair) bool { return p.source() == src && p.Route == Direct })
		if !needed {
			b.problem(at, "no pair needs a pool for %s", src)
			continue
		}
		if _, repeated := b.targets[src]; repeated {
			b.problem(at, "%s has an earlier row", src)
			continue
		}
		b.targets[src] = b.router(at+".router", row.Router, src)
	}
}

// router reads a router. The privacy pool of a network may share the one of its token
// there, which warnOfSharedRouters tells of.
func (b *builder) router(at, text string, src sourceKey) Address {
	for known, router := range b.targets {
		if router.String() == text && known.symbol == src.symbol && known.id.Network() == src.id.Network() {
			return router
		}
	}
	return b.contract(at, text, use{src.id.Network(), "the router of " + src.String()})
}

func (b *builder) messengers(rows map[string]string) {
	for _, id := range onCCTP {
		b.targets[sourceKey{id, USDC}] = messenger
	}
	b.byChain("messengers", rows, onCCTP, "not a CCTP source chain", func(at string, id ID, text string) {
		if text != messenger.String() {
			b.targets[sourceKey{id, USDC}] = b.contract(at, text, use{id, "the messenger of chain " + id.String()})
		}
	})
}

// byChain reads something of some chains, in the order of their IDs as text.
func (b *builder) byChain(
	field string, rows map[string]string, of []ID, otherwise string, read func(at string, id ID, text string),
) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		at := field + "." + key
		if id := idByText[key]; slices.Contains(of, id) {
			read(at, id, rows[key])
		} else {
			b.problem(at, "%s", otherwise)
		}
	}
}

func (b *builder) registryRows(rows map[string]string) {
	noPool := fmt.Sprintf("not a pool chain; those are %v", PoolChains)
	b.byChain("registries", rows, PoolChains, noPool, func(at string, id ID, text string) {
		b.registries[id] = b.contract(at, text, use{id, "the integrator registry of chain " + id.String()})
	})
}

// retired checks that no retired router is still in use. It may be listed twice.
func (b *builder) retired(rows []poolRow) {
	routers := make([]Address, len(rows))
	for i, row := range rows {
		routers[i] = b.address(fmt.Sprintf("retired[%d].router", i), row.Router, row.retired())
		if t := tokenOf(row.ChainID, row.Token); t != nil {
			b.Deployment.retired = append(b.Deployment.retired, Router{row.ChainID, *t, routers[i]})
		}
	}
	for i, row := range rows {
		b.use(routers[i], row.retired())
	}
}

func (r poolRow) retired() use {
	return use{r.ChainID.Network(), "a retired router of " + sourceKey{r.ChainID, r.Token}.String()}
}

// times fills in how long swaps take. Where several rows match a pair, the last
// counts.
func (b *builder) times(rows []secondsRow) {
	const week = 7 * 24 * 60 * 60
	for i, row := range rows {
		at := fmt.Sprintf("seconds[%d]", i)
		if row.Seconds == 0 || row.Seconds > week {
			b.problem(at+".seconds", "%d is not between 1 and %d, a week", row.Seconds, week)
		}
		matched := false
		for _, p := range all.pairs {
			if row.matches(&p) {
				matched = true
				b.seconds[p.key()] = row.Seconds
			}
		}
		if !matched {
			b.problem(at, "no supported pair matches it; "+
				"type is DIRECT or CCTP_INBOUND, chains are numbers, tokens are symbols")
		}
	}
}

func (r secondsRow) matches(p *Pair) bool {
	return (r.Type == "" || r.Type == p.Route.String()) &&
		(r.SrcChain == 0 || r.SrcChain == p.Src) && (r.SrcToken == "" || r.SrcToken == p.SrcToken.Symbol) &&
		(r.DstChain == 0 || r.DstChain == p.Dst) && (r.DstToken == "" || r.DstToken == p.DstToken.Symbol)
}

func (b *builder) railgun(rates Railgun) {
	const highest = 1000 // 10 %: far above what RAILGUN has ever taken
	b.Railgun = rates
	for name, rate := range map[string]uint16{"shieldBps": rates.ShieldBPS, "unshieldBps": rates.UnshieldBPS} {
		if rate > highest {
			b.problem("railgun."+name, "%d is above %d basis points, which is 10 %%", rate, highest)
		}
	}
}

var sites = regexp.MustCompile(`^https://[\w.:-]+(/[\w.-]+)*$`)

const longestSite = 2048

// explorers are links for people, so each must be a plain https address, or empty for
// none. The clients refuse a listing with another one.
func (b *builder) explorers(rows map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		id, ok := idByText[key]
		isPublic := ok && !id.Private()
		isSite := sites.MatchString(rows[key]) && len(rows[key]) <= longestSite
		if !isPublic || rows[key] != "" && !isSite {
			b.problem("explorers."+key, "%q is not an https address of a public chain, without a slash at its end",
				rows[key])
			continue
		}
		b.Explorers[id] = rows[key]
	}
}

// tracking reads whether the pools let anyone follow a swap, and how many
// confirmations make a transaction final.
func (b *builder) tracking(mode, contact string, confirmations map[string]uint64) {
	b.Contact = contact
	if len(contact) > mostContact || !printable(contact) {
		b.problem("contact", "write one line of at most %d bytes, such as an email address or a URL", mostContact)
	}
	switch mode {
	case "", "none":
	case "reference":
		b.tracked = true
	default:
		b.problem("tracking", "%q is unknown; "+
			"write reference if the pools settle as docs/contracts.md says, and none otherwise", mode)
	}
	for _, key := range slices.Sorted(maps.Keys(confirmations)) {
		id, ok := idByText[key]
		at := "confirmations." + key
		n := confirmations[key]
		switch {
		case !ok || id.Private():
			b.problem(at, "not a supported network")
		case n == 0 || n > mostConfirmations:
			b.problem(at, "%d is not between 1 and %d", n, mostConfirmations)
		default:
			b.confirmations[id] = n
		}
	}
}

// serve finds the pairs that have all their contracts, and checks that these can be
// quoted with an integrator.
func (b *builder) serve() {
	var served []Pair
	for _, p := range all.pairs {
		if b.serves(&p) {
			served = append(served, p)
		}
	}
	b.catalog = newCatalog(served)
	if len(served) == 0 {
		b.problem("pools", "no pair is served: each needs the pool that takes the money and the one that pays out")
	}
	for _, p := range served {
		network := b.FeeChain(p.Dst)
		if _, ok := b.registries[network]; !ok {
			b.problem("registries."+network.String(), "missing; swaps are paid out on that chain")
		}
	}
}

// serves tells whether a pair has the contract that takes the money, the pool that pays
// it out and, for a burn, the receiver.
func (b *builder) serves(p *Pair) bool {
	_, taken := b.targets[p.source()]
	_, paid := b.targets[b.payer(p.Dst, p.DstToken.Symbol)]
	return taken && paid && (p.Route != CCTPInbound || b.Settlement.Receiver != Address{})
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
		b.rows = append(b.rows, Router{src.id, *tokenOf(src.id, src.symbol), target})
	}
	slices.SortFunc(b.rows, func(a, b Router) int {
		return cmp.Or(cmp.Compare(a.ChainID, b.ChainID), cmp.Compare(a.Token.Symbol, b.Token.Symbol))
	})
}

// contract reads the address of a contract and gives it its role.
func (b *builder) contract(at, text string, role use) Address {
	a := b.address(at, text, role)
	b.use(a, role)
	return a
}

func (b *builder) use(a Address, role use) { b.uses[a.Address] = append(b.uses[a.Address], role) }

// address reads the address of a contract, where only EIP-55 text is accepted. One that
// would lose money in its role is refused.
func (b *builder) address(at, text string, role use) Address {
	a, err := ParseAddress(text)
	reason, what := b.Unpayable(a, role.network)
	switch {
	case text == "":
		b.problem(at, "missing")
	case err != nil:
		b.problem(at, "%q %v", text, err)
	case a.Hex() != text:
		b.problem(at, "%q has no EIP-55 checksum; write %s if it is right", text, a.Hex())
	case reason != "":
		b.problem(at, "%s is %s, so it cannot be %s", text, what, role.what)
	}
	return NewAddress(a)
}
