package chain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

func TestUsualGap(t *testing.T) {
	for id, want := range map[chain.ID]time.Duration{
		1: 4 * time.Minute, 369: 200 * time.Second, 8453: 2 * time.Minute, chain.PrivacyEthereum: 4 * time.Minute,
	} {
		if got := id.UsualGap(); got != want {
			t.Errorf("chain %s: got %v, want %v", id, got, want)
		}
	}
}

func TestOnlyUSDTOnEthereumResetsItsAllowance(t *testing.T) {
	for _, n := range chain.Networks() {
		for _, token := range n.Tokens {
			want := token.Symbol == "USDT" && n.Name == "Ethereum"
			if got := token.ResetsAllowance(); got != want {
				t.Errorf("%s on %s: got %v, want %v", token.Symbol, n.Name, got, want)
			}
		}
	}
}

// TestParseIDTellsNumbersFromOtherNotations: a number that we do not serve is named, anything else is told how to write one.
func TestParseIDTellsNumbersFromOtherNotations(t *testing.T) {
	for text, want := range map[string]string{
		"5": "Chain 5 is not supported;", "01": "A chain is given by its chain ID", "base": "A chain is given by its chain ID",
	} {
		_, err := chain.ParseID(text)
		if got := fault.From(err).Message; !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestOnwardIsPaidWithTheTokenOfTheSettlementChain, and not with that of the destination.
func TestOnwardIsPaidWithTheTokenOfTheSettlementChain(t *testing.T) {
	usdc := func(id chain.ID) chain.Token {
		token, err := chain.FindToken(id, chain.USDC)
		if err != nil {
			t.Fatal(err)
		}
		return *token
	}
	d := chain.Reference()
	got, ok := d.Payout(43114, usdc(43114).Address.Address)
	if !ok || !got.Onward || got.Token != usdc(8453).Address.Address {
		t.Errorf("got %+v, want the USDC of chain 8453", got)
	}
}

// TestDeploymentTakesItsBounds: what is at a bound is accepted. TestDeploymentProblems has what is beyond.
func TestDeploymentTakesItsBounds(t *testing.T) {
	for name, field := range map[string]string{
		"a week":             `"seconds": [{"seconds": 604800}]`,
		"10 %":               `"railgun": {"shieldBps": 1000, "unshieldBps": 1000}`,
		"a contact":          `"contact": "` + strings.Repeat("x", 200) + `"`,
		"many confirmations": `"contact": "x"`,
	} {
		data := edit(t, measured, field)
		if name == "many confirmations" {
			data = edit(t, `"98866": 1`, `"98866": 10000`)
		}
		if _, err := chain.ParseDeployment(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, field := range map[string]string{
		"a week and a second": `"seconds": [{"seconds": 604801}]`,
		"10.01 %":             `"railgun": {"shieldBps": 1001, "unshieldBps": 1000}`,
		"a long contact":      `"contact": "` + strings.Repeat("x", 201) + `"`,
	} {
		if _, err := chain.ParseDeployment(edit(t, measured, field)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
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

// TestEveryWrongExplorerIsNamed, not the first alone.
func TestEveryWrongExplorerIsNamed(t *testing.T) {
	_, err := chain.ParseDeployment(edit(t, `"registries"`, `"explorers": {"1": "http://a.example", "2": "https://b.example"}, "registries"`))
	if err == nil || !strings.Contains(err.Error(), `explorers.1:`) || !strings.Contains(err.Error(), `explorers.2:`) {
		t.Errorf("got %v, want both explorers named", err)
	}
}
