package chain_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// partial is the reference deployment without the pools that a test leaves out.
func partial(t *testing.T, without func(id chain.ID, token string) bool, change func(file map[string]any)) []byte {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(chain.ReferenceFile(), &file); err != nil {
		t.Fatal(err)
	}
	file["pools"] = slices.DeleteFunc(file["pools"].([]any), func(row any) bool {
		pool := row.(map[string]any)
		return without(chain.ID(pool["chainId"].(float64)), pool["token"].(string))
	})
	if change != nil {
		change(file)
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func noReceiver(file map[string]any) { delete(file["settlement"].(map[string]any), "receiver") }

func none(chain.ID, string) bool { return false }

// issuerChains have no pool, so that USDC goes there by burns.
func issuerChains() (ids []chain.ID) {
	for _, network := range chain.Networks() {
		if !slices.Contains(chain.PoolChains, network.ID) {
			ids = append(ids, network.ID)
		}
	}
	return ids
}

// specified counts the pairs of the six tokens that the specification began with.
func specified(pairs []chain.Pair) int {
	began := []string{chain.USDC, chain.USDT, chain.DAI, chain.USD1, chain.ETH, chain.WETH}
	count := 0
	for _, p := range pairs {
		if slices.Contains(began, p.SrcToken.Symbol) && slices.Contains(began, p.DstToken.Symbol) {
			count++
		}
	}
	return count
}

// TestADeploymentServesWhatItHas counts what is left by the tables of the specification.
func TestADeploymentServesWhatItHas(t *testing.T) {
	onlyUSDC := func(id chain.ID, token string) bool { return token != chain.USDC || id != 1 && id != chain.Hub }
	without := func(gone ...chain.ID) func(chain.ID, string) bool {
		return func(id chain.ID, _ string) bool {
			return slices.Contains(gone, id.Network()) || slices.Contains(gone, id)
		}
	}
	noRegistry := func(network string) func(map[string]any) {
		return func(file map[string]any) { delete(file["registries"].(map[string]any), network) }
	}
	for _, tt := range []struct {
		name    string
		without func(chain.ID, string) bool
		change  func(map[string]any)
		pairs   int    // beside those of the issuer's chains
		burns   int    // pairs of each of the issuer's chains
		gone    string // one of the pairs that are not served
		kept    string // one that still is
		ids     int    // beside the issuer's chains
	}{
		{"everything", none, nil, 54, 2, "", "USDC 1 USDC 369", 7},
		{"no privacy pools", without(chain.PrivacyEthereum, chain.PrivacyBNB), nil, 16, 2, "USDC 1 USDC 69696969", "DAI 1 USDC 369", 5},
		{"no USDC pool on the settlement chain", func(id chain.ID, token string) bool { return id == 8453 && token == chain.USDC }, nil,
			48, 1, "USDC 369 USDC 10", "USDC 10 USDC 369", 7},
		{"no receiver", none, noReceiver, 54, 1, "USDC 10 USDC 369", "USDC 369 USDC 10", 7},
		{"no settlement", none, func(file map[string]any) { delete(file, "settlement") }, 54, 1, "USDC 137 USDC 369", "USDC 369 USDC 137", 7},
		{"no USDC pool on the hub", func(id chain.ID, token string) bool { return id == chain.Hub && token == chain.USDC }, nil,
			40, 0, "USDC 10 USDC 369", "USDC 56 USDC 69696969", 7},
		{"no Robinhood Chain", without(4663), noRegistry("4663"), 52, 2, "ETH 4663 WETH 369", "WETH 369 ETH 1", 6},
		{"no BNB Smart Chain", without(56), noRegistry("56"), 26, 2, "USDC 369 USDC 56", "USDC 8453 USDC 69696969", 5},
		{"no DAI", func(_ chain.ID, token string) bool { return token == chain.DAI }, nil, 49, 2, "DAI 1 USDC 369", "USDT 1 USDC 369", 7},
		{"no WETH in a privacy pool", func(id chain.ID, token string) bool { return id == chain.PrivacyBNB && token == chain.WETH }, nil,
			48, 2, "WETH 369 WETH 96969696", "WETH 369 WETH 69696969", 7},
		{"USDC on two chains, and burns", onlyUSDC, nil, 2, 1, "USDC 369 USDC 10", "USDC 10 USDC 369", 2},
		{"USDC on two chains", onlyUSDC, noReceiver, 2, 0, "USDC 10 USDC 369", "USDC 369 USDC 1", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := chain.ParseDeployment(partial(t, tt.without, tt.change))
			if err != nil {
				t.Fatal(err)
			}
			pairs, ids := tt.pairs+tt.burns*len(issuerChains()), tt.ids
			if tt.burns > 0 {
				ids += len(issuerChains())
			}
			served, unserved := specified(d.Pairs()), specified(d.Unserved())
			others := specified(chain.Pairs()) - pairs
			if served != pairs || unserved != others || len(d.IDs()) != ids {
				t.Errorf("got %d pairs, %d others and %d IDs, want %d, %d and %d",
					served, unserved, len(d.IDs()), pairs, others, ids)
			}
			if _, err := find(d, tt.kept); err != nil {
				t.Errorf("got %v for %s", err, tt.kept)
			}
			if tt.gone != "" {
				wantUnsupported(t, d, tt.gone)
			}
			wantServed(t, d)
		})
	}
}

func find(d *chain.Deployment, pair string) (*chain.Pair, error) {
	part := strings.Fields(pair)
	src, _ := chain.ParseID(part[1])
	dst, _ := chain.ParseID(part[3])
	return d.FindPair(src, part[0], dst, part[2])
}

func nameOf(p *chain.Pair) string {
	return strings.Join([]string{p.SrcToken.Symbol, p.Src.String(), p.DstToken.Symbol, p.Dst.String()}, " ")
}

// wantUnsupported wants a pair refused, and only pairs that are served in its place.
func wantUnsupported(t *testing.T, d *chain.Deployment, pair string) {
	t.Helper()
	_, err := find(d, pair)
	e := fault.From(err)
	if e.Code != fault.UnsupportedPair || !strings.HasPrefix(e.Message, "Unsupported swap pair: ") ||
		!strings.HasSuffix(e.Message, "; this deployment does not serve it") {
		t.Errorf("%s: got %v", pair, err)
	}
	part := strings.Fields(pair)
	for _, a := range e.Alternatives {
		if _, err := find(d, part[0]+" "+part[1]+" "+a.Token+" "+a.Chain); err != nil {
			t.Errorf("%s: the alternative %v is not served: %v", pair, a, err)
		}
	}
}

// wantServed wants every pair to have all that a quote of it needs, and every list to have the same pairs.
func wantServed(t *testing.T, d *chain.Deployment) {
	t.Helper()
	sources, ends := map[string]bool{}, map[string]bool{}
	needed := map[common.Address]bool{}
	for _, p := range d.Pairs() {
		if found, err := find(d, nameOf(&p)); err != nil || *found != p {
			t.Errorf("%s is listed, and finding it gives %v and %v", nameOf(&p), found, err)
		}
		payout, paid := d.Payout(p.Dst, p.DstToken.Address.Address)
		if (d.Target(&p) == chain.Address{}) || !paid || len(payout.Retired) != 0 || (d.Registry(d.FeeChain(p.Dst)) == chain.Address{}) {
			t.Errorf("%s lacks a contract", nameOf(&p))
		}
		needed[d.Target(&p).Address] = true
		needed[payout.Pool] = true
		if p.Route == chain.CCTPInbound && (d.Settlement.Receiver == chain.Address{}) {
			t.Errorf("%s has no receiver", nameOf(&p))
		}
		sources[p.SrcToken.Symbol+" "+p.Src.String()] = true
		ends[p.SrcToken.Symbol+" "+p.Src.String()] = true
		ends[p.DstToken.Symbol+" "+p.Dst.String()] = true
	}
	for _, p := range d.Unserved() {
		wantUnsupported(t, d, nameOf(&p))
	}
	rows := d.Routers()
	for _, r := range rows {
		if !sources[r.Token.Symbol+" "+r.ChainID.String()] {
			t.Errorf("the router of %s on %d is listed, and nothing is served from there", r.Token.Symbol, r.ChainID)
		}
	}
	if len(rows) != len(sources) {
		t.Errorf("got %d routers, want %d", len(rows), len(sources))
	}
	contracts := map[common.Address]bool{}
	for _, r := range d.Contracts() {
		contracts[r.Router.Address] = true
	}
	if !maps.Equal(contracts, needed) {
		t.Errorf("got the contracts %v, want %v", contracts, needed)
	}
	tokens, list := 0, []string{}
	for _, id := range d.IDs() {
		list = append(list, id.String())
		for _, token := range d.Tokens(id) {
			tokens++
			if !ends[token.Symbol+" "+id.String()] {
				t.Errorf("%s on %d is listed, and no pair has it", token.Symbol, id)
			}
		}
	}
	if tokens != len(ends) {
		t.Errorf("got %d tokens, want %d", tokens, len(ends))
	}
	_, err := d.ParseID("5")
	if want := "Chain 5 is not supported; supported chain IDs are " + strings.Join(list, ", "); fault.From(err).Message != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWhatIsServedIsComplete: what is there must be all that its quotes need.
func TestWhatIsServedIsComplete(t *testing.T) {
	onlyDAI := func(_ chain.ID, token string) bool { return token != chain.DAI }
	const nothing = "no pair is served: each needs the pool that takes the money and the one that pays out"
	for name, tt := range map[string]struct {
		without func(chain.ID, string) bool
		change  func(map[string]any)
		says    string
	}{
		"no pools":               {func(chain.ID, string) bool { return true }, nil, "pools: " + nothing},
		"nothing that pays out":  {onlyDAI, nil, "pools: " + nothing},
		"the settlement chain's": {none, func(f map[string]any) { delete(f["registries"].(map[string]any), "8453") }, "registries.8453: missing"},
		"no registries at all":   {none, func(f map[string]any) { delete(f, "registries") }, "registries.369: missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chain.ParseDeployment(partial(t, tt.without, tt.change))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
		})
	}
}

// TestErrorsOfAPartialDeployment name only what it has.
func TestErrorsOfAPartialDeployment(t *testing.T) {
	d, err := chain.ParseDeployment(partial(t, func(id chain.ID, token string) bool { return id == 8453 || token == chain.DAI }, noReceiver))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		src, dst chain.ID
		from, to string
		code     fault.Code
		says     string
	}{
		{1, 369, "DAI", "USDC", fault.UnsupportedPair, "Unsupported swap pair: DAI on chain 1 to USDC on chain 369; this deployment does not serve it"},
		{1, 56, "DAI", "USDC", fault.UnsupportedPair, "; this deployment does not serve DAI on chain 1"},
		{1, 369, "SHIB", "USDC", fault.UnsupportedToken, "supported there: USDC, ETH, USDT, WETH"},
		{8453, 369, "SHIB", "USDC", fault.UnsupportedToken, "That token is not supported on chain 8453; supported there: none"},
		{8453, 369, "ETH", "WETH", fault.UnsupportedPair, "; this deployment does not serve it"},
		{1, 8453, "USDC", "USDC", fault.UnsupportedPair, "Unsupported swap pair: USDC on chain 1 to USDC on chain 8453"},
	} {
		_, err := d.FindPair(tt.src, tt.from, tt.dst, tt.to)
		if e := fault.From(err); e.Code != tt.code || !strings.HasSuffix(e.Message, tt.says) {
			t.Errorf("%s on %d to %s on %d: got %v, want %s saying %q", tt.from, tt.src, tt.to, tt.dst, err, tt.code, tt.says)
		}
	}
}

// TestNetworksInUse are those that need a node.
func TestNetworksInUse(t *testing.T) {
	if got := len(chain.Reference().Networks()); got != len(chain.Networks()) || !chain.Reference().UsesIssuer() {
		t.Errorf("got %d networks for the reference deployment", got)
	}
	for _, tt := range []struct {
		pools  []chain.ID
		change func(map[string]any)
		want   []chain.ID
		issuer bool
	}{
		{[]chain.ID{1, chain.Hub}, noReceiver, []chain.ID{1, chain.Hub}, false},
		{[]chain.ID{chain.Hub, chain.PrivacyBNB}, noReceiver, []chain.ID{56, chain.Hub}, false},
		{[]chain.ID{56, chain.Hub}, nil, append(issuerChains(), 56, chain.Hub, 8453), true},
	} {
		d, err := chain.ParseDeployment(partial(t, func(id chain.ID, _ string) bool { return !slices.Contains(tt.pools, id) }, tt.change))
		if err != nil {
			t.Fatal(err)
		}
		var got []chain.ID
		for _, n := range d.Networks() {
			got = append(got, n.ID)
		}
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) || d.UsesIssuer() != tt.issuer {
			t.Errorf("pools on %v: got %v, issuer %v, want %v, %v", tt.pools, got, d.UsesIssuer(), tt.want, tt.issuer)
		}
	}
}
