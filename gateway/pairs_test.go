package gateway_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
)

// checkerOf checks the quotes of a gateway against what it lists.
func checkerOf(t *testing.T, gw http.Handler) *quotecheck.Checker {
	t.Helper()
	listing, err := client.ParseListing(ask(gw, "/v3/app/pairs").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := quotecheck.New("..", listing)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryPair asks every version for quotes of every pair that it serves. The client works each of them out by itself,
// and all versions give the same transaction and the same money, also one that the client does not know.
func TestEveryPair(t *testing.T) {
	gw := mount(t, setup{})
	c := checkerOf(t, gw)
	if got, want := len(c.Pairs), len(chain.Pairs()); got != want {
		t.Errorf("%d pairs are listed, want %d", got, want)
	}
	for i, p := range c.Pairs {
		for n, amount := range someAmounts(t, p.SrcToken) {
			r := quotecheck.RequestFor(p, amount, somebody)
			if p.Shields {
				wallets := c.Wallets(p.DstToken.ChainID)
				r.Recipient = wallets[(i+n)%len(wallets)]
			}
			what := fmt.Sprintf("%s %s on %d to %s on %d", amount, r.SrcToken, r.SrcChain, r.DstToken, r.DstChain)
			var same facts
			for _, m := range modules() {
				w := ask(gw, quotecheck.Target(m.Name, r))
				if !quotecheck.Serves(m.Name, p) {
					if w.Code != http.StatusBadRequest || w.Fault.Code != string(fault.UnsupportedChain) {
						t.Errorf("%s, %s: got %d %s, want an unsupported chain", m.Name, what, w.Code, w.Body)
					}
					continue
				}
				got := w.quoted()
				if got == (facts{}) || same != (facts{}) && got != same {
					t.Errorf("%s, %s: got %+v, want %+v", m.Name, what, got, same)
				}
				same = got
				if !slices.Contains(quotecheck.Versions, m.Name) {
					continue
				}
				if _, err := c.Check(m.Name, r, quotecheck.Terms{}, w.Body.Bytes()); err != nil {
					t.Errorf("%s, %s: %v", m.Name, what, err)
				}
			}
			r.Integrator = common.HexToAddress(partner)
			w := ask(gw, quotecheck.Target("v3", r)+"&include=details")
			terms := quotecheck.Terms{IntegratorBPS: golden.PartnerBPS}
			if _, err := c.Check("v3", r, terms, w.Body.Bytes()); err != nil {
				t.Errorf("%s with an integrator: %v", what, err)
			}
		}
	}
}

// someAmounts are the least and the most of section 8 of the specification, and some between them that no conversion and
// no fee divides evenly.
func someAmounts(t *testing.T, token client.TokenOn) (amounts []*big.Int) {
	t.Helper()
	texts := []string{"10", "25000", "11.000001000000000001", "12345.678901234567890123", "24999.999999999999999999"}
	if token.Symbol == "ETH" || token.Symbol == "WETH" {
		texts = []string{"0.010000000000000000", "20", "0.010000000000000001", "1.234567890123456789", "19.999999999999999999"}
	}
	for _, text := range texts {
		if point := strings.Index(text, "."); point >= 0 {
			text = text[:point+1+int(token.Decimals)]
		}
		amount, err := client.ParseAmount(text, token.Decimals)
		if err != nil {
			t.Fatal(err)
		}
		amounts = append(amounts, amount)
	}
	return amounts
}

// TestListedContracts holds what the client takes from the listing to the deployment file and to the issuer's facts.
func TestListedContracts(t *testing.T) {
	var deployment struct {
		Settlement struct {
			ChainID  uint64
			Receiver string
		}
		Pools []struct {
			ChainID       uint64
			Token, Router string
		}
	}
	var facts []struct {
		ChainID uint64
		CCTP    *struct {
			Domain         uint32
			TokenMessenger string
		}
	}
	for path, into := range map[string]any{
		"../shared/chain/reference.json": &deployment, "../testdata/chains.json": &facts,
	} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	contracts := map[string]string{}
	want := client.Settlement{ChainID: deployment.Settlement.ChainID, Receiver: deployment.Settlement.Receiver}
	for _, f := range facts {
		if f.CCTP != nil {
			contracts[fmt.Sprint("USDC ", f.ChainID)] = f.CCTP.TokenMessenger
		}
		if f.ChainID == want.ChainID {
			want.Domain = f.CCTP.Domain
		}
	}
	for _, pool := range deployment.Pools { // instead of the issuer's messenger
		contracts[fmt.Sprint(pool.Token, " ", pool.ChainID)] = pool.Router
	}
	listing, err := client.ParseListing(ask(mount(t, setup{}), "/v3/app/pairs").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if listing.Settlement != want {
		t.Errorf("got %+v, want %+v", listing.Settlement, want)
	}
	for _, row := range listing.Pairs {
		if want := contracts[fmt.Sprint(row.SrcToken, " ", row.SrcChain)]; row.To != want {
			t.Errorf("%s on %d: got the contract %s, want %s", row.SrcToken, row.SrcChain, row.To, want)
		}
	}
}
