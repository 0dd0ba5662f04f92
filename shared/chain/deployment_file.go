package chain

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

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
	Messengers map[string]string `json:"messengers,omitempty"` // by CCTP source chain, if not the issuer's usual address
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

// Confirmations that a deployment demands of a network it does not name, and the
// most it can demand.
const (
	defaultConfirmations = 12
	mostConfirmations    = 10_000
	mostContact          = 200
)

// ReadDeployment reads an operator's file.
func ReadDeployment(path string) (*Deployment, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, ParseDeployment)
}

// ParseDeployment reads a deployment. The error joins all problems.
func ParseDeployment(data []byte) (*Deployment, error) {
	var file deploymentFile
	b := builder{
		problems: jsonfile.Decode(data, &file),
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
		b.problem("settlement.chainId: %d is not a pool chain on the issuer's network; use 1 or 8453", file.Settlement.ChainID)
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
		switch _, repeated := b.targets[src]; {
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
	for _, id := range onCCTP {
		network, _ := FindNetwork(id)
		b.targets[sourceKey{id, USDC}] = network.CCTP.Messenger
		b.contracts[network.CCTP.Messenger.Address] = true
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		at := fmt.Sprintf("messengers[%q]", key)
		id := idByText[key]
		if !slices.Contains(onCCTP, id) {
			b.problem("%s: not a CCTP source chain", at)
			continue
		}
		b.targets[sourceKey{id, USDC}] = b.address(at, rows[key])
	}
}

func (b *builder) registryRows(rows map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		at := fmt.Sprintf("registries[%q]", key)
		id := idByText[key]
		if !slices.Contains(PoolChains, id) {
			b.problem("%s: not a pool chain; those are %v", at, PoolChains)
			continue
		}
		b.registries[id] = b.address(at, rows[key])
	}
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
			b.problem("seconds[%d]: no supported pair matches it; type is DIRECT or CCTP_INBOUND, chains are numbers, tokens are symbols", i)
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
		if !ok || id.Private() || err != nil || at.Scheme != "https" || at.Host == "" || at.RawQuery != "" || strings.HasSuffix(rows[key], "/") {
			b.problem("explorers[%q]: %q is not an https address of a public chain, without a slash at its end", key, rows[key])
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
		b.problem("tracking: %q is unknown; write reference if the pools settle as docs/pool.md says, and none otherwise", mode)
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
			"%s on %s and on %s share the router %s: a swap out of the privacy pool cannot be told from an ordinary one on chain, and pays the ordinary fee instead of the quoted one; give %s a router of its own",
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
