package swap

import (
	"strings"
	"testing"
)

func TestNewSwap(t *testing.T) {
	const (
		somebody = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		private  = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
		onBNB    = "0zk1qy5zht8754jmmlaaxvzcyv5f6x2lspwjetahc9yxyfl43692xpva5unpd9kxwatw8rw0xufcqw6q0m6nrkcur3vh23685tg72fv5ju8t48v29kyzcqes29xr7pf"
	)
	tests := map[string]struct {
		from, to, amount, recipient, integrator string
		says                                    string // empty if accepted
	}{
		"public":                  {"usdc@1", "USDC@369", "100", somebody, "", ""},
		"with an integrator":      {"USDC@1", "USDC@369", "100", somebody, somebody, ""},
		"shielding":               {"USDC@1", "USDC@69696969", "100", private, "", ""},
		"no chain":                {"USDC", "USDC@369", "100", somebody, "", "such as USDC@1"},
		"no token":                {"@1", "USDC@369", "100", somebody, "", "such as USDC@1"},
		"chain by name":           {"USDC@1", "USDC@hub", "100", somebody, "", "chain ID, a decimal number"},
		"no such chain":           {"USDC@2", "USDC@369", "100", somebody, "", "Chain 2 is not supported"},
		"no such pair":            {"USDC@1", "USDC@10", "100", somebody, "", "Unsupported swap pair"},
		"amount":                  {"USDC@1", "USDC@369", "1.2345678", somebody, "", "more decimals"},
		"recipient":               {"USDC@1", "USDC@369", "100", "vitalik.eth", "", "the recipient is not an EVM address"},
		"zero recipient":          {"USDC@1", "USDC@369", "100", "0x0000000000000000000000000000000000000000", "", "funds sent there are lost"},
		"recipient with a typo":   {"USDC@1", "USDC@369", "100", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "", "checksum"},
		"private on public":       {"USDC@1", "USDC@369", "100", private, "", "the recipient is not an EVM address"},
		"public on private":       {"USDC@1", "USDC@69696969", "100", somebody, "", "Invalid 0zk address"},
		"private, on other chain": {"USDC@1", "USDC@69696969", "100", onBNB, "", "bound to chain 56"},
		"integrator":              {"USDC@1", "USDC@369", "100", somebody, "me", "the integrator is not an EVM address"},
		"zero integrator":         {"USDC@1", "USDC@369", "100", somebody, "0x0000000000000000000000000000000000000000", "the integrator is the zero address"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewSwap(test.from, test.to, test.amount, test.recipient, test.integrator)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("got %v", err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
}
