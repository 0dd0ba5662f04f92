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

	"github.com/quotegate/quotegate/shared/fault"
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

	RPCURLs       map[string][]string `json:"rpcUrls,omitempty"`       // by network: public nodes, for wallets
	Contact       string              `json:"contact,omitempty"`       // whom a user asks whose swap does not settle
	Tracking      string              `json:"tracking,omitempty"`      // "reference" or "none"
	Confirmations map[string]uint64   `json:"confirmations,omitempty"` // by network
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
	mostName          = 64  // characters
	mostContact       = 200 // bytes
	mostConfirmations = 10_000
	mostSeconds       = 7 * 24 * 60 * 60 // a week
	mostRailgunBPS    = 1000             // 10 %: far above what RAILGUN has ever taken
	longestExplorer   = 2048
	mostRPCURLs       = 5   // of a network
	longestRPCURL     = 200 // characters

	trackingReference = "reference" // the value of tracking
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
	b := builder{problems, &Deployment{
		Name:       file.Name,
		Contact:    file.Contact,
		Railgun:    file.Railgun,
		file:       file,
		registries: make(map[ID]Address),
		uses:       othersUses(),
	}}
	b.checkValues(&file)
	b.settlement(file)
	b.pools(file.Pools)
	b.messengers(file.Messengers)
	byChain(b, "registries", file.Registries, PoolChains, func(at string, id ID, text string) {
		b.registries[id] = b.contract(at, text, id, "the integrator registry of chain "+id.String())
	})
	b.retire(file.Retired)
	slices.SortFunc(b.rows, func(a, b Router) int {
		return cmp.Or(cmp.Compare(a.ChainID, b.ChainID), cmp.Compare(a.Token.Symbol, b.Token.Symbol))
	})
	b.serve()
	if err := b.Err(); err != nil {
		return nil, err
	}
	return b.Deployment, nil
}

// builder fills a deployment from a file and collects the problems. Add notes one at a place of the file, such as
// pools[2].router.
type builder struct {
	*jsonfile.Problems
	*Deployment
}

// byChain reads a field by chain, in the order of their IDs as text.
func byChain[V any](b builder, field string, rows map[string]V, of []ID, read func(at string, id ID, value V)) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		at := field + "." + key
		if id := idByText[key]; slices.Contains(of, id) {
			read(at, id, rows[key])
		} else {
			b.Add(at, "not one of the chains %v", of)
		}
	}
}

// checkValues checks what stands for itself.
func (b builder) checkValues(file *deploymentFile) {
	switch {
	case file.Name == "":
		b.Add("name", "missing")
	case utf8.RuneCountInString(file.Name) > mostName || !printable(file.Name):
		b.Add("name", "write at most %d printable characters", mostName)
	}
	if len(file.Contact) > mostContact || !printable(file.Contact) {
		b.Add("contact", "write one line of at most %d bytes, such as an email address or a URL", mostContact)
	}
	if !slices.Contains([]string{"", "none", trackingReference}, file.Tracking) {
		b.Add("tracking", "%q is unknown; "+
			"write reference if the pools settle as docs/contracts.md says, and none otherwise", file.Tracking)
	}
	if rate := file.Railgun.ShieldBPS; rate > mostRailgunBPS {
		b.Add("railgun.shieldBps", "%d is above %d basis points", rate, mostRailgunBPS)
	}
	if rate := file.Railgun.UnshieldBPS; rate > mostRailgunBPS {
		b.Add("railgun.unshieldBps", "%d is above %d basis points", rate, mostRailgunBPS)
	}
	for i, row := range file.Seconds {
		at := fmt.Sprintf("seconds[%d]", i)
		if row.Seconds == 0 || row.Seconds > mostSeconds {
			b.Add(at+".seconds", "%d is not between 1 and %d, a week", row.Seconds, mostSeconds)
		}
		if !slices.ContainsFunc(all, func(p Pair) bool { return row.matches(&p) }) {
			b.Add(at, "no supported pair matches it; "+
				"type is DIRECT or CCTP_INBOUND, chains are numbers, tokens are symbols")
		}
	}
	byChain(b, "confirmations", file.Confirmations, public, func(at string, _ ID, n uint64) {
		if n == 0 || n > mostConfirmations {
			b.Add(at, "%d is not between 1 and %d", n, mostConfirmations)
		}
	})
	b.warnOfConfirmations(file.Confirmations)
	// Explorers are links for people. The clients refuse a listing with another address.
	byChain(b, "explorers", file.Explorers, public, func(at string, _ ID, site string) {
		if site != "" && !explorers.MatchString(site) || len(site) > longestExplorer {
			b.Add(at, "%q is not an https address without a slash at its end", site)
		}
	})
	byChain(b, "rpcUrls", file.RPCURLs, public, b.checkRPCURLs)
}

// warnOfConfirmations warns of chains where a transaction is final in its own block, as on the simulated chains of the
// reference deployment.
func (b builder) warnOfConfirmations(confirmations map[string]uint64) {
	var single []string
	for _, id := range public {
		if confirmations[id.String()] == 1 {
			single = append(single, id.String())
		}
	}
	if single != nil && !b.IsReference() {
		const warning = "confirmations is 1 for chain %s: a swap counts as final although its block may still be " +
			"replaced; leave the chain out for its default, or write how many blocks make it final"
		b.Warnings = append(b.Warnings, fmt.Sprintf(warning, strings.Join(single, ", ")))
	}
}

var explorers = regexp.MustCompile(`^https://[\w.:-]+(/[\w.-]+)*$`)

// checkRPCURLs checks the nodes of a network that anyone may ask. The clients refuse a listing with other addresses.
func (b builder) checkRPCURLs(at string, _ ID, urls []string) {
	if len(urls) == 0 || len(urls) > mostRPCURLs {
		b.Add(at, "%d addresses; list 1 to %d, or leave the chain out", len(urls), mostRPCURLs)
	}
	for i, url := range urls {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case len(url) > longestRPCURL || !rpcURLs.MatchString(url):
			b.Add(at, "%q is not an address such as https://rpc.example.org/eth: write https (http only for localhost "+
				"and 127.0.0.1), host and path, without user, query and fragment, in at most %d characters",
				url, longestRPCURL)
		case slices.Contains(urls[:i], url):
			b.Add(at, "%q is there twice; list it once", url)
		}
	}
}

var rpcURLs = regexp.MustCompile(`^(https://[\w.-]+|http://(localhost|127\.0\.0\.1))(:\d{1,5})?(/[\w.~-]*)*$`)

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (b builder) settlement(file deploymentFile) {
	id := file.Settlement.ChainID
	network, _ := FindNetwork(id)
	if network.CCTP == nil || !slices.Contains(PoolChains, id) {
		b.Add("settlement.chainId", "%d is not a pool chain on the issuer's network; use 1 or 8453", id)
	} else {
		b.Settlement.ChainID, b.Settlement.Domain = id, network.CCTP.Domain
	}
	if file.Settlement.Receiver != nil {
		b.Settlement.Receiver = b.contract(
			"settlement.receiver", *file.Settlement.Receiver, id, "the receiver of burns on chain "+id.String())
	}
}

func (b builder) pools(rows []poolRow) {
	for i, row := range rows {
		at := fmt.Sprintf("pools[%d]", i)
		src := row.source()
		switch {
		case !slices.ContainsFunc(all, func(p Pair) bool { return p.source() == src && p.Route == Direct }):
			b.Add(at, "no pair needs a pool for %s", src)
		case slices.ContainsFunc(b.rows, func(r Router) bool { return r.source() == src }):
			b.Add(at, "%s has an earlier row", src)
		default:
			b.addRow(src, b.router(at+".router", row.Router, src))
		}
	}
}

func (b builder) addRow(src end, target Address) {
	b.rows = append(b.rows, Router{src.id, *tokenOf(src.id, src.symbol), target})
}

// router reads a router. The privacy pool of a network may share the one of its token
// there, with a warning: on chain its swaps look like ordinary ones, which cost another fee.
func (b builder) router(at, text string, src end) Address {
	network := src.id.Network()
	for _, r := range b.rows {
		if r.Router.String() == text && r.Token.Symbol == src.symbol && r.Token.ChainID == network {
			b.Warnings = append(b.Warnings, fmt.Sprintf(
				"%s on %s and on %s share the router %s: a swap out of the privacy pool cannot be told from an "+
					"ordinary one on chain, and pays the ordinary fee instead of the quoted one; "+
					"give the privacy pool a router of its own",
				src.symbol, src.id, r.ChainID, text))
			return r.Router
		}
	}
	return b.contract(at, text, network, "the router of "+src.String())
}

func (b builder) messengers(rows map[string]string) {
	own := map[ID]Address{}
	byChain(b, "messengers", rows, onCCTP, func(at string, id ID, text string) {
		if text != messenger.String() {
			own[id] = b.contract(at, text, id, "the messenger of chain "+id.String())
		}
	})
	for _, id := range onCCTP {
		b.addRow(end{id, USDC}, cmp.Or(own[id], messenger))
	}
}

// retire checks that no retired router is still in use. It may be listed twice.
func (b builder) retire(rows []poolRow) {
	routers := make([]Address, len(rows))
	for i, row := range rows {
		at := fmt.Sprintf("retired[%d].router", i)
		routers[i] = b.address(at, row.Router, row.ChainID.Network(), row.retired())
		if t := tokenOf(row.ChainID, row.Token); t != nil {
			b.retired = append(b.retired, Router{row.ChainID, *t, routers[i]})
		}
	}
	for i, row := range rows {
		b.use(routers[i], row.ChainID.Network(), row.retired())
	}
}

func (r poolRow) source() end { return end{r.ChainID, r.Token} }

func (r poolRow) retired() string { return "a retired router of " + r.source().String() }

func (r secondsRow) matches(p *Pair) bool {
	return (r.Type == "" || r.Type == p.Route.String()) &&
		(r.SrcChain == 0 || r.SrcChain == p.Src) && (r.SrcToken == "" || r.SrcToken == p.SrcToken.Symbol) &&
		(r.DstChain == 0 || r.DstChain == p.Dst) && (r.DstToken == "" || r.DstToken == p.DstToken.Symbol)
}

// serve finds the pairs that have all their contracts, and checks that these can be
// quoted with an integrator.
func (b builder) serve() {
	for _, p := range all {
		if b.serves(&p) {
			b.catalog = append(b.catalog, p)
		}
	}
	if len(b.catalog) == 0 {
		b.Add("pools", "no pair is served: each needs the pool that takes the money and the one that pays out")
	}
	for _, p := range b.catalog {
		network := b.FeeChain(p.Dst)
		if _, ok := b.registries[network]; !ok {
			b.Add("registries."+network.String(), "missing; swaps are paid out on that chain")
		}
	}
}

// serves tells whether a pair has the contract that takes the money, the pool that pays
// it out and, for a burn, the receiver.
func (b builder) serves(p *Pair) bool {
	none := Address{}
	return b.Target(p) != none && b.target(b.payer(p.destination())) != none &&
		(p.Route != CCTPInbound || b.Settlement.Receiver != none)
}

// contract reads the address of a contract and gives it its role on a network.
func (b builder) contract(at, text string, network ID, role string) Address {
	a := b.address(at, text, network, role)
	b.use(a, network, role)
	return a
}

func (b builder) use(a Address, network ID, role string) {
	b.uses[a.Address] = append(b.uses[a.Address], use{network, fault.Contract, role})
}

// address reads the address of a contract, where only EIP-55 text is accepted. One that
// would lose money in its role is refused.
func (b builder) address(at, text string, network ID, role string) Address {
	a, err := ParseAddress(text)
	reason, what := b.Unpayable(a, network)
	switch {
	case text == "":
		b.Add(at, "missing")
	case err != nil:
		b.Add(at, "%q %v", text, err)
	case a.Hex() != text:
		b.Add(at, "%q has no EIP-55 checksum; write %s if it is right", text, a.Hex())
	case reason != "":
		b.Add(at, "%s is %s, so it cannot be %s", text, what, role)
	}
	return NewAddress(a)
}
