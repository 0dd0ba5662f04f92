package swap

import (
	"context"
	"fmt"
	"math/big"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// Knowledge is what a quote is held against, beside the swap that was asked for.
type Knowledge struct {
	Deployment *chain.Deployment // whose contracts have been reviewed
	ViewingKey *[32]byte         // of a private recipient; nil if it is not at hand
}

// A Checked quote is what was asked for, through the contracts that have been reviewed.
type Checked struct {
	*client.Checked
	Swap    Swap
	OwnNote bool // Main carries a note made here for the recipient, and not the answer's, which nobody opened

	// Unshield is what to take out of the privacy pool so that RAILGUN leaves the amount to swap; nil for a swap
	// that does not start there.
	Unshield *big.Int
	Railgun  chain.Railgun // what RAILGUN takes for itself, as the deployment says
}

// Dial makes a client of a gateway whose quotes are held against a deployment.
func Dial(gateway string, d *chain.Deployment, options ...client.Option) (*client.Client, error) {
	return client.New(gateway, append(options, client.WithPinned(client.Pinned{Listing: Listing(d)}))...)
}

// Ask gets a quote from a client that Dial made, and checks it. The gateway's own listing must name the same contract.
func Ask(ctx context.Context, c *client.Client, s Swap, k Knowledge) (*Checked, error) {
	if err := s.CheckRecipient(k.Deployment); err != nil {
		return nil, err
	}
	listing, err := c.Pairs(ctx)
	if err != nil {
		return nil, fmt.Errorf("the gateway's listing: %w", err)
	}
	if address, err := s.recipient(); err == nil && listing.Has(address) {
		return nil, &client.Error{
			Code:    client.InvalidRecipient,
			Message: fmt.Sprintf("the recipient %s is a contract of the service: funds sent there are lost", address),
		}
	}
	q, err := c.Quote(ctx, s.Request())
	if err != nil {
		return nil, err
	}
	pair, err := listing.Find(uint64(s.Src), s.SrcToken.Symbol, uint64(s.Dst), s.DstToken.Symbol)
	if err != nil {
		return nil, unverified("the gateway's own listing: %v", err)
	}
	if pair.To != q.Main.To {
		return nil, unverified("the gateway's own listing names %s for it, and the quote %s", pair.To, q.Main.To)
	}
	return k.accept(s, q)
}

func unverified(format string, args ...any) *client.Error {
	return &client.Error{
		Code:     client.Unverified,
		Message:  "do not sign this quote",
		Problems: []string{fmt.Sprintf(format, args...)},
	}
}

// Verify checks an answer as it came.
func Verify(s Swap, answer []byte, k Knowledge) (*Checked, error) {
	if err := s.CheckRecipient(k.Deployment); err != nil {
		return nil, err
	}
	q, err := client.Verify(s.Request(), answer, client.Known{Listing: Listing(k.Deployment)})
	if err != nil {
		return nil, err
	}
	return k.accept(s, q)
}

// accept adds what the deployment and the viewing key tell.
func (k Knowledge) accept(s Swap, q *client.Checked) (*Checked, error) {
	checked := &Checked{Checked: q, Swap: s, Railgun: k.Deployment.Railgun}
	if s.Dst.Private() {
		var err error
		if checked.Checked, checked.OwnNote, err = settleNote(q, k.ViewingKey); err != nil {
			return nil, unverified("%v", err)
		}
		checked.Arrives = AfterRailgun(q.Dest, k.Deployment.Railgun.ShieldBPS)
	}
	if s.Src.Private() {
		checked.Unshield = BeforeRailgun(s.Amount, k.Deployment.Railgun.UnshieldBPS)
	}
	return checked, nil
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
