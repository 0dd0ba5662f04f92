package quotecheck

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client"
)

// Versions are those whose quotes can be checked, the newest first.
var Versions = []string{"v3", "v3legacy", "v1"}

// Serves tells whether a version has the chains of a pair.
func Serves(version string, p *client.Pair) bool {
	inV1 := []uint64{1, 369, 8453, 56, 137, 42161, client.PrivacyEthereum, client.PrivacyBNB}
	return version != "v1" || slices.Contains(inV1, p.SrcChain) && slices.Contains(inV1, p.DstChain)
}

// The quotes of older versions, in the order of their fields.
type (
	quoteOfLegacy struct {
		head
		Fee              legacyFee        `json:"fee"`
		Approval         *client.Approval `json:"approval,omitempty"`
		MethodParameters client.Payload   `json:"methodParameters"`
		Route            client.Route     `json:"route"`
	}
	quoteOfV1 struct {
		head
		Fee              client.FeePart `json:"fee"`
		MethodParameters client.Payload `json:"methodParameters"`
		Route            routeOfV1      `json:"route"`
	}
	head struct {
		To         string        `json:"to"`
		SrcToken   client.Token  `json:"srcToken"`
		DestToken  client.Token  `json:"destToken"`
		SrcAmount  client.Amount `json:"srcAmount"`
		DestAmount client.Amount `json:"destAmount"`
	}
	legacyFee struct {
		client.FeePart
		Token string `json:"token"`
	}
	routeOfV1 struct {
		Paths []string   `json:"paths"`
		Swaps []swapOfV1 `json:"swaps"`
	}
	swapOfV1 struct {
		Pool string `json:"pool"`
		In   string `json:"in"`
		Out  string `json:"out"`
	}
)

// translate gives a quote of an older version as v3 writes it.
func (c *Checker) translate(version string, r client.Request, body []byte) ([]byte, error) {
	p, err := c.Listing.Find(r.SrcChain, r.SrcToken, r.DstChain, r.DstToken)
	if err != nil {
		return nil, err
	}
	switch version {
	case "v3legacy":
		var old quoteOfLegacy
		if err := readExactly(body, &old); err != nil {
			return nil, err
		}
		q := old.inV3(p, old.Fee.FeePart, old.MethodParameters)
		q.Fee.Token = old.Fee.Token
		q.Approval = old.Approval
		q.Route = old.Route
		return json.Marshal(q)
	case "v1":
		var old quoteOfV1
		if err := readExactly(body, &old); err != nil {
			return nil, err
		}
		return translateV1(&old, p, r.Amount)
	}
	return nil, fmt.Errorf("quotes of %s cannot be checked", version)
}

// readExactly wants an answer to have these fields, in this order, and nothing else.
func readExactly(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return err
	}
	return checkBytes(body, into)
}

// inV3 is what the versions have in common.
func (h *head) inV3(p *client.Pair, fee client.FeePart, call client.Payload) *client.Quote {
	return &client.Quote{
		To: h.To, SrcToken: h.SrcToken, DestToken: h.DestToken, SrcAmount: h.SrcAmount, DestAmount: h.DestAmount,
		Fee: client.Fee{
			ChainID:    p.FeeChain,
			Token:      "destination",
			Protocol:   fee,
			Integrator: client.IntegratorFee{Percentage: "0", Amount: "0"},
			Total:      client.TotalFee{Amount: fee.Amount},
		},
		MethodParameters: call,
		Route:            client.Route{Type: p.Type},
	}
}

// translateV1 also holds v1 to what v3 does not have: the fee in the source token's unit, and the route.
func translateV1(old *quoteOfV1, p *client.Pair, amount *big.Int) ([]byte, error) {
	src, dst := old.SrcToken.Address, old.DestToken.Address
	isOneSwap := slices.Equal(old.Route.Swaps, []swapOfV1{{old.To, src, dst}})
	if !isOneSwap || !slices.Equal(old.Route.Paths, []string{src, dst}) {
		return nil, fmt.Errorf("got the route %+v", old.Route)
	}
	fee := old.Fee
	if want := part(amount, protocolBPS(p)).String(); string(fee.Amount) != want {
		return nil, fmt.Errorf("the fee is %s, want %s", fee.Amount, want)
	}
	gross := new(big.Int).Mul(amount, pow10(p.DstToken.Decimals))
	gross.Quo(gross, pow10(p.SrcToken.Decimals))
	fee.Amount = client.Amount(part(gross, protocolBPS(p)).String())
	q := old.inV3(p, fee, old.MethodParameters)
	if !p.SrcToken.Native() {
		const approve = "0x095ea7b3%064x%064x"
		calldata := fmt.Sprintf(approve, common.HexToAddress(old.To).Big(), amount)
		q.Approval = &client.Approval{Token: src, Spender: old.To, Amount: old.SrcAmount, Calldata: calldata}
	}
	return json.Marshal(q)
}

// part is a share of an amount in basis points, rounded down.
func part(amount *big.Int, bps int64) *big.Int {
	share := new(big.Int).Mul(amount, big.NewInt(bps))
	return share.Quo(share, big.NewInt(10_000))
}

func pow10(n uint8) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
