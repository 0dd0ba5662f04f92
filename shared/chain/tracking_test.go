package chain_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

const oldRouter = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

func TestTrackingIsOffUnlessTheFileSaysOtherwise(t *testing.T) {
	if !chain.Reference().Tracked() {
		t.Error("the reference deployment is not tracked")
	}
	for _, new := range []string{`"tracking": "none",`, ""} {
		if parse(t, `"tracking": "reference",`, new).Tracked() {
			t.Errorf("a file with %q is tracked", new)
		}
	}
}

func TestConfirmations(t *testing.T) {
	d := parse(t, `"1": 1, "10": 1,`, `"10": 30,`)
	for network, want := range map[chain.ID]uint64{1: 12, 10: 30, 369: 1} {
		if got := d.Confirmations(network); got != want {
			t.Errorf("chain %s: got %d, want %d", network, got, want)
		}
	}
	for _, n := range chain.Networks() {
		if got := chain.Reference().Confirmations(n.ID); got != 1 {
			t.Errorf("shared/chain/reference.json demands %d confirmations on chain %s, whose blocks nobody changes: "+
				"add \"%s\": 1 to its confirmations", got, n.ID, n.ID)
		}
	}
}

// What is final by default is at least 30 seconds old, on every chain, and no default is
// below the twelve blocks that it once was.
func TestDefaultConfirmations(t *testing.T) {
	var file map[string]any
	if err := json.Unmarshal(chain.ReferenceFile(), &file); err != nil {
		t.Fatal(err)
	}
	delete(file, "confirmations")
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := chain.ParseDeployment(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range chain.Networks() {
		got := d.Confirmations(n.ID)
		if age := time.Duration(got) * n.Block; got != n.Confirmations || got < 12 || age < 30*time.Second {
			t.Errorf("chain %s: its %d Confirmations are %v of its Block, want half a minute at least and 12 blocks",
				n.ID, got, age)
		}
		if n.Block > n.ID.BlockTime() {
			t.Errorf("chain %s: blocks take %v at least and %v usually", n.ID, n.Block, n.ID.BlockTime())
		}
		if most := d.Confirmations(370); got > most {
			t.Errorf("chain %s demands %d confirmations, more than an unknown chain: %d", n.ID, got, most)
		}
	}
	for id, want := range map[chain.ID][2]time.Duration{
		1:     {12 * time.Second, 4 * time.Minute},
		42161: {2 * time.Second, 2 * time.Minute},
	} {
		if got := [2]time.Duration{id.BlockTime(), id.UsualGap()}; got != want {
			t.Errorf("chain %s: got the block time and the usual gap %v, want %v", id, got, want)
		}
	}
}

func TestFindRouter(t *testing.T) {
	d := parse(t, `"registries"`, `"retired": [{"chainId": 1, "token": "ETH", "router": "`+oldRouter+`"}], "registries"`)
	for _, row := range d.Routers() {
		if got, ok := d.FindRouter(row.ChainID.Network(), row.Router.Address); !ok || got != row {
			t.Errorf("%s on %s: got %v", row.Token.Symbol, row.ChainID, got)
		}
	}
	old := common.HexToAddress(oldRouter)
	if got, ok := d.FindRouter(1, old); !ok || got.Token.Symbol != chain.ETH || got.ChainID != 1 {
		t.Errorf("got %v for a retired router", got)
	}
	if _, ok := d.FindRouter(56, old); ok {
		t.Error("a router was found on another chain than its own")
	}
	shared := parse(t, "0x44f8A619042923b22A694D0aC447769Afb946E48", "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d")
	if got, _ := shared.FindRouter(1, common.HexToAddress("0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d")); got.ChainID != 1 {
		t.Errorf("got %s for a shared router, want 1", got.ChainID)
	}
}

// Every pair has a pool that pays it, and the pool is that of the chain where the
// fees are calculated.
func TestPayout(t *testing.T) {
	d := parse(t, `"registries"`, `"retired": [{"chainId": 8453, "token": "USDC", "router": "`+oldRouter+`"}], "registries"`)
	for _, p := range chain.Pairs() {
		got, ok := d.Payout(p.Dst, p.DstToken.Address.Address)
		if !ok || got.Network != d.FeeChain(p.Dst) || got.Onward != (got.Network != p.Dst.Network()) {
			t.Errorf("%s on %s: got %+v", p.DstToken.Symbol, p.Dst, got)
			continue
		}
		paidIn, err := chain.FindToken(p.Dst, p.DstToken.Symbol)
		if got.Onward {
			paidIn, err = chain.FindToken(d.Settlement.ChainID, p.DstToken.Symbol)
		}
		if err != nil || got.Token != paidIn.Address.Address {
			t.Errorf("%s on %s is paid in %s, want %v", p.DstToken.Symbol, p.Dst, got.Token, paidIn)
		}
		row, known := d.FindRouter(got.Network, got.Pool)
		if !known || row.Token.Symbol != p.DstToken.Symbol || !got.Onward && row.ChainID != p.Dst {
			t.Errorf("%s on %s is paid by the pool of %s on %s", p.DstToken.Symbol, p.Dst, row.Token.Symbol, row.ChainID)
		}
		retired := slices.Contains(got.Pools(), common.HexToAddress(oldRouter))
		if want := p.DstToken.Symbol == chain.USDC && (p.Dst == 8453 || got.Onward); retired != want {
			t.Errorf("%s on %s: a retired pool is among %v: %v, want %v", p.DstToken.Symbol, p.Dst, got.Pools(), retired, want)
		}
	}
	if got, ok := d.Payout(370, chain.Native.Address); ok {
		t.Errorf("got %+v on a chain that is not served", got)
	}
	if got, ok := d.Payout(369, chain.Native.Address); ok {
		t.Errorf("got %+v for a token that is not served", got)
	}
}
