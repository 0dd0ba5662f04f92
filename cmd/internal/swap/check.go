package swap

import (
	"context"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// Dial makes a client of a gateway whose quotes are held against a deployment that has been reviewed.
func Dial(gateway string, d *chain.Deployment, options ...client.Option) (*client.Client, error) {
	return client.New(gateway, append(options, client.WithPinned(client.Pinned{Listing: Listing(d)}))...)
}

// Ask gets a quote from a client that Dial made. See Accept for the viewing key.
func Ask(ctx context.Context, c *client.Client, s Swap, viewingKey *[32]byte) (*Checked, error) {
	q, err := c.Quote(ctx, s.Request())
	if err != nil {
		return nil, err
	}
	return Accept(s, q, viewingKey)
}

// Listing is a deployment as a gateway would list it. Fees and limits are those of the specification.
func Listing(d *chain.Deployment) *client.Listing {
	l := &client.Listing{
		Deployment: d.Name,
		Settlement: client.Settlement{
			ChainID:  uint64(d.Settlement.ChainID),
			Domain:   d.Settlement.Domain,
			Receiver: d.Settlement.Receiver.String(),
		},
	}
	for _, id := range d.IDs() {
		row := client.Chain{ChainID: uint64(id), Name: id.Name()}
		if id.Private() {
			row.Network = uint64(id.Network())
		}
		l.Chains = append(l.Chains, row)
		for _, t := range d.Tokens(id) {
			least, most := limits(t)
			l.Tokens = append(l.Tokens, client.ListedToken{
				ChainID:   uint64(id),
				Symbol:    t.Symbol,
				Address:   t.Address.String(),
				Decimals:  t.Decimals,
				MinAmount: least,
				MaxAmount: most,
			})
		}
	}
	for _, p := range d.Pairs() {
		l.Pairs = append(l.Pairs, client.ListedPair{
			SrcChain: uint64(p.Src), SrcToken: p.SrcToken.Symbol, DstChain: uint64(p.Dst), DstToken: p.DstToken.Symbol,
			Type:        p.Route.String(),
			ProtocolFee: protocolFee(p),
			FeeChainID:  uint64(d.FeeChain(p.Dst)),
			To:          d.Target(&p).String(),
		})
	}
	return l
}

// limits are what one transaction may move, in the token's smallest unit.
func limits(t chain.Token) (least, most client.Amount) {
	low, high := "10", "25000"
	if t.Symbol == chain.ETH || t.Symbol == chain.WETH {
		low, high = "0.01", "20"
	}
	amount := func(text string) client.Amount {
		n, err := client.ParseAmount(text, t.Decimals)
		if err != nil {
			return "" // a token with fewer decimals than its limit: no swap passes
		}
		return client.Amount(n.String())
	}
	return amount(low), amount(high)
}

// protocolFee is the protocol's rate: 0.3 % into the hub, 0.5 % out of it and for privacy.
func protocolFee(p chain.Pair) client.Percentage {
	if p.Dst == chain.Hub && !p.Src.Private() {
		return "0.3"
	}
	return "0.5"
}
