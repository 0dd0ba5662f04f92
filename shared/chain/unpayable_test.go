package chain_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Contracts of the reference deployment.
const (
	routerETH    = "0xD98c74c52e2bb6641982271AE856fF685F8726AA" // on chain 1
	routerUSDC   = "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d" // on chain 1
	routerBase   = "0x79466917C8c6e9eF03fdCF8b791C2304EDF2c29e" // of ETH on chain 8453
	privateWETH  = "0x05a703f3ECE3d9dF43663D6AEed4C4d482C48376" // on chain 69696969
	privateUSDC  = "0x44f8A619042923b22A694D0aC447769Afb946E48" // on chain 69696969
	receiver     = "0x25b3Af079309a5477760AC0405107952d11c8fd9" // on chain 8453
	registry1    = "0x84Ac096855E02aD1Ea4558963E6113325453Df24"
	registryBase = "0xFb1794358199634DCb0D394f9c58F16e320cAEbB"
	registryBNB  = "0x42aC4f38046e7DF565261FA029dCD68E652B18a6"

	issuersMessenger = "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"
	somebody         = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
)

// lost are addresses that nobody can be paid at, whatever the deployment.
var lost = []struct {
	name, address, what string
	reason              fault.Reason
}{
	{"zero", "0x0000000000000000000000000000000000000000", "the zero address", fault.Zero},
	{"a precompiled contract", "0x0000000000000000000000000000000000000001", "below 0x10000", fault.Reserved},
	{"the last built-in one", "0x000000000000000000000000000000000000FFff", "below 0x10000", fault.Reserved},
	{"burn address", "0x000000000000000000000000000000000000dEaD", "a burn address", fault.Reserved},
	{"the highest address", "0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF", "a burn address", fault.Reserved},
	{"a wrapped coin", "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c", "the contract of WBNB on chain 56", fault.Token},
	{"that of OP Stack chains", "0x4200000000000000000000000000000000000006", "the contract of WETH on chain 10", fault.Token},
	{"the first system contract", "0x4200000000000000000000000000000000000000", "a system contract of OP Stack chains", fault.Contract},
	{"the last system contract", "0x42000000000000000000000000000000000007fF", "a system contract of OP Stack chains", fault.Contract},
	{"native sentinel", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "the native token placeholder", fault.Reserved},
	{"a token", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "the contract of USDC on chain 1", fault.Token},
	{"a token of another chain", "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "the contract of USDC on chain 369", fault.Token},
	{"messenger", issuersMessenger, "the issuer's TokenMessenger", fault.Contract},
	{"transmitter", "0x81D40F21F12A8F0E3252Bccb954D722d4c464B64", "the issuer's MessageTransmitter", fault.Contract},
	{"RAILGUN on 1", "0xFA7093CDD9EE6932B4eb2c9e1cde7CE00B1FA4b9", "RAILGUN's proxy on chain 1", fault.Contract},
	{"RAILGUN on 56", "0x590162bf4b50F6576a459B75309eE21D92178A10", "RAILGUN's proxy on chain 56", fault.Contract},
	{"its adapter on 1", "0xAc9f360Ae85469B27aEDdEaFC579Ef2d052aD405", "RAILGUN's relay adapter on chain 1", fault.Contract},
	{"its adapter on 56", "0xF82d00fC51F730F42A00F85E74895a2849ffF2Dd", "RAILGUN's relay adapter on chain 56", fault.Contract},
}

// replace gives the reference deployment with a messenger and a retired router, and with each old text replaced by the
// new one behind it.
func replace(t *testing.T, texts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile("reference.json")
	if err != nil {
		t.Fatal(err)
	}
	file := strings.Replace(string(data), `"registries"`, `"messengers": {"137": "MESSENGER"},
 "retired": [{"chainId": 1, "token": "ETH", "router": "RETIRED"}], "registries"`, 1)
	for i := 0; i < len(texts); i += 2 {
		if !strings.Contains(file, texts[i]) {
			t.Fatalf("the file has no %q", texts[i])
		}
		file = strings.Replace(file, texts[i], texts[i+1], 1)
	}
	file = strings.Replace(file, "MESSENGER", "0x1111111111111111111111111111111111111111", 1)
	return []byte(strings.Replace(file, "RETIRED", "0x2222222222222222222222222222222222222222", 1))
}

// place is where the quoted value begins in a file, as an error gives it.
func place(file, value string) string {
	before, _, _ := strings.Cut(file, value)
	line := strings.Count(before, "\n") + 1
	column := len(before) - 1 - strings.LastIndex(before, "\n")
	return fmt.Sprintf("line %d, column %d: ", line, column)
}

// pool is the field of a router in the reference deployment.
func pool(t *testing.T, router string) string {
	t.Helper()
	before, _, _ := strings.Cut(string(replace(t)), router)
	return fmt.Sprintf("pools[%d].router: ", strings.Count(before, `"router": `)-1)
}

// TestAddressesThatLoseMoney wants each of them refused in every role, with its line.
func TestAddressesThatLoseMoney(t *testing.T) {
	if _, err := chain.ParseDeployment(replace(t)); err != nil {
		t.Fatal(err)
	}
	for _, role := range []struct{ address, field, what string }{
		{routerETH, pool(t, routerETH), "the router of ETH on chain 1"},
		{privateWETH, pool(t, privateWETH), "the router of WETH on chain 69696969"},
		{receiver, "settlement.receiver: ", "the receiver of burns on chain 8453"},
		{registry1, "registries.1: ", "the integrator registry of chain 1"},
		{"MESSENGER", "messengers.137: ", "the messenger of chain 137"},
		{"RETIRED", "retired[0].router: ", "a retired router of ETH on chain 1"},
	} {
		for _, bad := range lost {
			t.Run(role.what+" is "+bad.name, func(t *testing.T) {
				file := replace(t, role.address, bad.address)
				_, err := chain.ParseDeployment(file)
				if role.address == "MESSENGER" && bad.address == issuersMessenger {
					if err != nil {
						t.Errorf("got %v for the issuer's own messenger", err)
					}
					return
				}
				if err == nil {
					t.Fatal("accepted")
				}
				text := err.Error()
				at := place(string(file), bad.address)
				if !strings.HasPrefix(text, at+role.field+bad.address+" is "+bad.what) ||
					!strings.HasSuffix(text, ", so it cannot be "+role.what) || strings.Contains(text, "\n") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestRolesThatClash: a contract has one role on a network, and may have another elsewhere.
func TestRolesThatClash(t *testing.T) {
	for name, tt := range map[string]struct{ old, new, says string }{
		"router is the receiver":          {routerBase, receiver, "is the receiver of burns on chain 8453, so it cannot be the router of ETH on chain 8453"},
		"router of two tokens":            {routerUSDC, routerETH, "is the router of ETH on chain 1, so it cannot be the router of USDC on chain 1"},
		"privacy router of another token": {privateWETH, routerETH, "is the router of ETH on chain 1, so it cannot be the router of WETH on chain 69696969"},
		"two privacy pools":               {privateWETH, privateUSDC, "is the router of USDC on chain 69696969, so it cannot be the router of WETH on chain 69696969"},
		"registry is a router":            {registry1, routerETH, "is the router of ETH on chain 1, so it cannot be the integrator registry of chain 1"},
		"registry is a privacy router":    {registry1, privateWETH, "is the router of WETH on chain 69696969, so it cannot be the integrator registry of chain 1"},
		"registry is the receiver":        {registryBase, receiver, "is the receiver of burns on chain 8453, so it cannot be the integrator registry of chain 8453"},
		"retired router in use":           {"RETIRED", routerETH, "is the router of ETH on chain 1, so it cannot be a retired router of ETH on chain 1"},
		"retired router is a registry":    {"RETIRED", registry1, "is the integrator registry of chain 1, so it cannot be a retired router of ETH on chain 1"},
		"a router of another network":     {routerETH, routerBase, ""},
		"a registry of another network":   {registry1, registryBNB, ""},
		"a messenger's elsewhere":         {"MESSENGER", routerETH, ""},
		"the receiver's elsewhere":        {routerETH, receiver, ""},
		"the router of its network":       {privateUSDC, routerUSDC, ""},
		"retired twice": {`[{"chainId": 1, "token": "ETH", "router": "RETIRED"}]`, `[{"chainId": 1, "token": "ETH", "router": "` + somebody + `"},
			{"chainId": 1, "token": "USDC", "router": "` + somebody + `"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chain.ParseDeployment(replace(t, tt.old, tt.new))
			if tt.says == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if tt.says != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.says)) {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
		})
	}
}

// TestUnpayable: a deployment's contracts count on the network that is asked for, and all others on every one.
func TestUnpayable(t *testing.T) {
	d, err := chain.ParseDeployment(replace(t))
	if err != nil {
		t.Fatal(err)
	}
	check := func(address string, on chain.ID, reason fault.Reason, what string) {
		t.Helper()
		gotReason, got := d.Unpayable(common.HexToAddress(address), on)
		if gotReason != reason || !strings.HasPrefix(got, what) || (got == "") != (reason == "") {
			t.Errorf("%s on %d: got %s, %q, want %s, %q", address, on, gotReason, got, reason, what)
		}
	}
	for _, bad := range lost {
		check(bad.address, chain.AnyChain, bad.reason, bad.what)
		check(bad.address, 4663, bad.reason, bad.what)
	}
	for address, what := range map[string]string{
		routerETH: "the router of ETH on chain 1", privateWETH: "the router of WETH on chain 69696969",
		registry1: "the integrator registry of chain 1", "0x2222222222222222222222222222222222222222": "a retired router of ETH on chain 1",
	} {
		check(address, chain.AnyChain, fault.Contract, what)
		check(address, 1, fault.Contract, what)
		check(address, 8453, "", "")
	}
	check("0x1111111111111111111111111111111111111111", chain.AnyChain, fault.Contract, "the messenger of chain 137")
	check(somebody, chain.AnyChain, "", "")
	for _, beside := range []string{
		"0x0000000000000000000000000000000000010000", "0x41ffFffffFfFffFFFFFfffFFFfFFffFfFffFfffF",
		"0x4200000000000000000000000000000000000800", "0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE",
	} {
		check(beside, chain.AnyChain, "", "")
	}
}
