package chain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
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
