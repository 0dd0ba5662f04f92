package chain_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

func TestFeeChain(t *testing.T) {
	d := chain.Reference()
	for dst, want := range map[chain.ID]chain.ID{
		369: 369, 1: 1, 56: 56, 8453: 8453, 4663: 4663,
		chain.PrivacyEthereum: 1, chain.PrivacyBNB: 56,
		43114: 8453, 137: 8453, 25: 8453,
	} {
		if got := d.FeeChain(dst); got != want {
			t.Errorf("to %d: got %d, want %d", dst, got, want)
		}
	}
}

// edit gives the reference deployment with one text replaced.
func edit(t *testing.T, old, new string) []byte {
	t.Helper()
	data, err := os.ReadFile("reference.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("the reference deployment has no %q", old)
	}
	return []byte(strings.Replace(string(data), old, new, 1))
}

// parse reads the reference deployment with one text replaced.
func parse(t *testing.T, old, new string) *chain.Deployment {
	t.Helper()
	d, err := chain.ParseDeployment(edit(t, old, new))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeploymentProblems(t *testing.T) {
	const poolETH = `{"chainId": 1, "token": "ETH", "router": "0xD98c74c52e2bb6641982271AE856fF685F8726AA"},`
	tests := []struct{ name, old, new, says string }{
		{"repeated row", poolETH, poolETH + poolETH, "pools[2]: ETH on chain 1 has an earlier row"},
		{"unknown field", `"name": "reference"`, `"name": "reference", "owner": "me"`, "owner: unknown field"},
		{"unknown field in a row", `"token": "ETH"`, `"token": "ETH", "fee": 3`, "fee: unknown field"},
		{"bad checksum", "0xD98c74c5", "0xd98c74c5", "checksum does not match"},
		{"no checksum", "0xD98c74c52e2bb6641982271AE856fF685F8726AA", "0xd98c74c52e2bb6641982271ae856ff685f8726aa", "has no EIP-55 checksum; write 0xD98c74c52e2bb6641982271AE856fF685F8726AA"},
		{"a pool nobody needs", `"chainId": 4663, "token": "ETH"`, `"chainId": 4663, "token": "USDC"`, "no pair needs a pool for USDC on chain 4663"},
		{"a pool where the messenger stands", poolETH, poolETH + strings.Replace(strings.Replace(poolETH, `"ETH"`, `"USDC"`, 1), `: 1,`, `: 137,`, 1), "no pair needs a pool for USDC on chain 137"},
		{"unknown chain", `"chainId": 4663`, `"chainId": 4664`, "no pair needs a pool for ETH on chain 4664"},
		{"settlement without the issuer", `"chainId": 8453, "receiver"`, `"chainId": 56, "receiver"`, "settlement.chainId: 56 is not a pool chain on the issuer's network"},
		{"settlement without a pool", `"chainId": 8453, "receiver"`, `"chainId": 10, "receiver"`, "settlement.chainId: 10 is not a pool chain on the issuer's network"},
		{"no receiver", `"0x25b3Af079309a5477760AC0405107952d11c8fd9"`, `""`, "settlement.receiver: missing"},
		{"missing registry", `"56": "0x42`, `"57": "0x42`, "registries.56: missing; swaps are paid out on that chain"},
		{"registry elsewhere", `"56": "0x42`, `"10": "0x42`, `registries.10: not one of the chains [1 56 369 4663 8453]`},
		{"messenger elsewhere", `"registries"`, `"messengers": {"8453": "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"}, "registries"`, `messengers.8453: not one of the chains [43114`},
		{"seconds of no pair", measured, `"seconds": [{"srcChain": 1, "srcToken": "USDT", "dstChain": 56, "seconds": 9}]`, "seconds[0]: no supported pair matches it"},
		{"seconds of no route", measured, `"seconds": [{"type": "direct", "seconds": 9}]`, "seconds[0]: no supported pair matches it"},
		{"no seconds", measured, `"seconds": [{"type": "DIRECT"}]`, "seconds[0].seconds: 0 is not between 1 and 604800"},
		{"too many seconds", measured, `"seconds": [{"seconds": 604801}]`, "seconds[0].seconds: 604801 is not between"},
		{"explorer without https", `"registries"`, `"explorers": {"1": "http://example.org"}, "registries"`, `explorers.1: "http://example.org" is not an https address`},
		{"explorer with a slash", `"registries"`, `"explorers": {"1": "https://example.org/"}, "registries"`, `explorers.1: "https://example.org/" is not`},
		{"explorer of a pool", `"registries"`, `"explorers": {"69696969": "https://example.org"}, "registries"`, `explorers.69696969: not one of the chains [1 10`},
		{"nodes of a pool", `"registries"`, `"rpcUrls": {"69696969": ["https://rpc.example.org"]}, "registries"`, `rpcUrls.69696969: not one of the chains [1 10`},
		{"no nodes", `"registries"`, `"rpcUrls": {"369": []}, "registries"`, `rpcUrls.369: 0 addresses; list 1 to 5, or leave the chain out`},
		{"many nodes", `"registries"`, `"rpcUrls": {"369": ["https://a", "https://b", "https://c", "https://d", "https://e", "https://f"]}, "registries"`, `rpcUrls.369: 6 addresses; list 1 to 5`},
		{"a node twice", `"registries"`, `"rpcUrls": {"369": ["https://a.example", "https://b.example", "https://a.example"]}, "registries"`, `rpcUrls.369[2]: "https://a.example" is there twice; list it once`},
		{"a node without https", `"registries"`, `"rpcUrls": {"369": ["https://rpc.example.org", "http://rpc.example.org"]}, "registries"`, `rpcUrls.369[1]: "http://rpc.example.org" is not an address such as https://rpc.example.org/eth: write https (http only for localhost and 127.0.0.1)`},
		{"a node that is no list", `"registries"`, `"rpcUrls": {"369": "https://rpc.example.org"}, "registries"`, `rpcUrls.369: got string, want array`},
		{"absurd rate of RAILGUN", `"registries"`, `"railgun": {"shieldBps": 25, "unshieldBps": 1001}, "registries"`, "railgun.unshieldBps: 1001 is above 1000"},
		{"unknown tracking", `"tracking": "reference"`, `"tracking": "some"`, `tracking: "some" is unknown; write reference`},
		{"a long contact", `"name": "reference"`, `"name": "reference", "contact": "` + strings.Repeat("x", 201) + `"`, "contact: write one line"},
		{"contact of several lines", `"name": "reference"`, `"name": "reference", "contact": "a\nb"`, "contact: write one line of at most 200 bytes"},
		{"no confirmations", `"98866": 1`, `"98866": 0`, `confirmations.98866: 0 is not between 1 and 10000`},
		{"too many confirmations", `"98866": 1`, `"98866": 10001`, `confirmations.98866: 10001 is not between`},
		{"confirmations of no network", `"98866": 1`, `"69696969": 1`, `confirmations.69696969: not one of the chains [1 10`},
		{"no name", `"reference"`, `""`, "name: missing"},
		{"a long name", `"reference"`, `"` + strings.Repeat("ä", 65) + `"`, "name: write at most 64 printable characters"},
		{"a name of two lines", `"reference"`, `"a\u2028b"`, "name: write at most 64 printable characters"},
		{"not JSON", `{"name"`, `name`, "not valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chain.ParseDeployment(edit(t, tt.old, tt.new))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
		})
	}
}

func TestDeploymentListsAllProblemsAtOnce(t *testing.T) {
	_, err := chain.ParseDeployment([]byte(`{"nmae": "x", "settlement": {"chainId": 2, "receiver": "0x12"}, "pools": [], "registries": {}}`))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"nmae: unknown field", "name: missing", "settlement.chainId: 2", "settlement.receiver:", "pools: no pair is served"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from:\n%v", want, err)
		}
	}
}

// TestLongestTexts: what is as long as it may be is accepted.
func TestLongestTexts(t *testing.T) {
	name := strings.Repeat("ü", 64)
	site := "https://" + strings.Repeat("x", 2048-len("https://"))
	node := "https://" + strings.Repeat("x", 200-len("https://"))
	nodes := []string{node, "https://a", "https://b", "https://c", "https://d"}
	d := parse(t, `"name": "reference"`,
		`"name": "`+name+`", "explorers": {"1": "`+site+`"}, "rpcUrls": {"1": ["`+strings.Join(nodes, `", "`)+`"]}`)
	if d.Name != name || d.Explorer(1) != site || !slices.Equal(d.RPCURLs(1), nodes) || d.RPCURLs(369) != nil {
		t.Errorf("got the name %q, the explorer %q and the nodes %q", d.Name, d.Explorer(1), d.RPCURLs(1))
	}
}

func TestOperatorsDeployment(t *testing.T) {
	const mine = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	path := filepath.Join(t.TempDir(), "deployment.json")
	data := edit(t, `"registries"`, `"retired": [{"chainId": 1, "token": "ETH", "router": "`+mine+`"}],
		"messengers": {"43114": "`+mine+`"}, "registries"`)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := chain.ReadDeployment(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Routers() {
		if (r.Router.String() == mine) != (r.ChainID == 43114) {
			t.Errorf("chain %d has router %s; the operator's messenger is on 43114, and the retired router nowhere", r.ChainID, r.Router)
		}
	}
	if _, err := chain.ReadDeployment(path + ".gone"); err == nil {
		t.Error("a missing file was accepted")
	}
}

// measured is the time that the reference deployment states, as BenchmarkSettled of
// cmd/devnet measures it.
const measured = `"seconds": [{"seconds": 13}]`

func TestSeconds(t *testing.T) {
	d := parse(t, measured, `"seconds": [{"type": "CCTP_INBOUND", "seconds": 60}, {"srcChain": 137, "seconds": 90},
		{"srcChain": 1, "srcToken": "USDC", "dstChain": 369, "dstToken": "USDC", "seconds": 45}]`)
	for _, p := range chain.Pairs() {
		want := uint32(0)
		switch {
		case p.Src == 137: // the last row that matches counts
			want = 90
		case p.Route == chain.CCTPInbound:
			want = 60
		case p.Src == 1 && p.SrcToken.Symbol == chain.USDC && p.Dst == 369:
			want = 45
		}
		from := chain.Router{ChainID: p.Src, Token: p.SrcToken}
		usual := d.UsualSeconds(from, p.Dst, p.DstToken.Address.Address)
		if got := d.Seconds(&p); got != want || usual != want {
			t.Errorf("%s on %d to %d: got %d and %d seconds, want %d", p.SrcToken.Symbol, p.Src, p.Dst, got, usual, want)
		}
		if got := chain.Reference().Seconds(&p); got != 13 {
			t.Errorf("%s on %d to %d: the reference deployment states %d seconds, which nobody has measured", p.SrcToken.Symbol, p.Src, p.Dst, got)
		}
	}
}

func TestRailgunRates(t *testing.T) {
	for field, want := range map[string]chain.Railgun{
		`"registries"`: {ShieldBPS: 25, UnshieldBPS: 25},
		`"railgun": {"shieldBps": 0, "unshieldBps": 30}, "registries"`: {UnshieldBPS: 30},
		`"railgun": {"shieldBps": 30}, "registries"`:                   {ShieldBPS: 30, UnshieldBPS: 25},
	} {
		if got := parse(t, `"registries"`, field).Railgun; got != want {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
}

// TestSharedRoutersAreWarnedOf, but not of the same address on another network, which is another contract.
func TestSharedRoutersAreWarnedOf(t *testing.T) {
	for _, tt := range []struct{ old, new, says string }{
		{routerETH, routerBase, ""},
		{privateUSDC, routerUSDC, "USDC on 69696969 and on 1 share the router " + routerUSDC},
	} {
		got := strings.Join(parse(t, tt.old, tt.new).Warnings, "\n")
		if !strings.HasPrefix(got, tt.says) || (got == "") != (tt.says == "") || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want %q", tt.new, got, tt.says)
		}
	}
}

// TestSingleConfirmationsAreWarnedOf under any name but that of the reference deployment, whose chains are simulated.
func TestSingleConfirmationsAreWarnedOf(t *testing.T) {
	for _, tt := range []struct{ name, confirmations, warning string }{
		{"reference", `{"1": 1}`, ""},
		{"mine", `{"10": 2}`, ""},
		{"mine", `{"130": 1, "10": 2, "1": 1}`, "confirmations is 1 for chain 1, 130: a swap counts as final although"},
	} {
		edited := regexp.MustCompile(`"confirmations": \{[^}]*\}`).
			ReplaceAll(chain.ReferenceAs(tt.name), []byte(`"confirmations": `+tt.confirmations))
		d, err := chain.ParseDeployment(edited)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(d.Warnings, "\n")
		if !strings.HasPrefix(got, tt.warning) || (got == "") != (tt.warning == "") {
			t.Errorf("%s with %s: got %q, want %q", tt.name, tt.confirmations, got, tt.warning)
		}
	}
}

func TestChanges(t *testing.T) {
	const mine = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	field := func(text string) []string { return []string{`"registries"`, text + `, "registries"`} }
	retired := func(row string) []string { return field(`"retired": [{` + row + `, "router": "` + mine + `"}]`) }
	for want, edit := range map[string][]string{
		"":              {`"reference"`, `"reference"`},
		"name":          {`"reference"`, `"production"`},
		"settlement":    {receiver, mine},
		"pools":         {routerETH, mine},
		"messengers":    field(`"messengers": {"137": "` + mine + `"}`),
		"retired":       retired(`"chainId": 1, "token": "ETH"`),
		"seconds":       {measured, `"seconds": [{"seconds": 9}]`},
		"confirmations": {`"98866": 1`, `"98866": 2`},
		"railgun":       field(`"railgun": {"shieldBps": 30, "unshieldBps": 25}`),
	} {
		if got := strings.Join(parse(t, edit[0], edit[1]).Changes(chain.Reference()), ", "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// A retired row that was corrected keeps its address and gets another token.
	row, other := retired(`"chainId": 1, "token": "ETH"`), retired(`"chainId": 1, "token": "USDC"`)
	if got := parse(t, other[0], other[1]).Changes(parse(t, row[0], row[1])); !slices.Equal(got, []string{"retired"}) {
		t.Errorf("a corrected row: got %q", got)
	}
}

// TestDeploymentTakesItsBounds: what is at a bound is accepted. TestDeploymentProblems has what is beyond.
func TestDeploymentTakesItsBounds(t *testing.T) {
	parse(t, measured, `"seconds": [{"seconds": 604800}]`)
	parse(t, measured, `"railgun": {"shieldBps": 1000, "unshieldBps": 1000}`)
	parse(t, measured, `"contact": "`+strings.Repeat("x", 200)+`"`)
	parse(t, `"98866": 1`, `"98866": 10000`)
}

// TestExplorer: a deployment has the explorers that it states, and those of the table unless its chains are local.
func TestExplorer(t *testing.T) {
	for name, test := range map[string]struct{ deployment, stated, want string }{
		"table":    {"live", `{}`, "https://etherscan.io"},
		"stated":   {"live", `{"1": "https://example.org"}`, "https://example.org"},
		"none":     {"live", `{"1": ""}`, ""},
		"embedded": {"reference", `{}`, ""},
		"devnet":   {"devnet", `{}`, ""},
		"local":    {"devnet", `{"1": "https://example.org"}`, "https://example.org"},
	} {
		file := string(edit(t, `"registries"`, `"explorers": `+test.stated+`, "registries"`))
		file = strings.Replace(file, `"name": "reference"`, `"name": "`+test.deployment+`"`, 1)
		d, err := chain.ParseDeployment([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Explorer(1); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
