package swap

import (
	"context"
	"fmt"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/railgun"
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

// Listing is a deployment as a gateway would list it, with the fees and limits that are built in here.
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
			least, most := fee.Limits(&t)
			l.Tokens = append(l.Tokens, client.ListedToken{
				ChainID:   uint64(id),
				Symbol:    t.Symbol,
				Address:   t.Address.String(),
				Decimals:  t.Decimals,
				MinAmount: client.Amount(least.Dec()),
				MaxAmount: client.Amount(most.Dec()),
			})
		}
	}
	for _, p := range d.Pairs() {
		l.Pairs = append(l.Pairs, client.ListedPair{
			SrcChain: uint64(p.Src), SrcToken: p.SrcToken.Symbol, DstChain: uint64(p.Dst), DstToken: p.DstToken.Symbol,
			Type:        p.Route.String(),
			ProtocolFee: client.Percentage(fee.Protocol(p.Src, p.Dst).AppendPercent(nil)),
			FeeChainID:  uint64(d.FeeChain(p.Dst)),
			To:          d.Target(&p).String(),
		})
	}
	return l
}

// ShieldNotice is what to know of money that was shielded.
const ShieldNotice = "Shielded money shows at once, but may be spendable only after RAILGUN's waiting time."

// A Checked quote is what was asked for, through reviewed contracts, and its note pays the recipient.
type Checked struct {
	*client.Checked
	Swap    Swap
	OwnNote bool // Main carries a note made here for the recipient, and not the answer's, which nobody opened
}

// Accept makes sure whom the shield note of a quote pays. The recipient's viewing key opens it. Without the key nobody
// can tell, and the quote gets a note made here.
func Accept(s Swap, q *client.Checked, viewingKey *[32]byte) (*Checked, error) {
	checked := &Checked{Checked: q, Swap: s, OwnNote: s.Dst.Private() && viewingKey == nil}
	if !s.Dst.Private() {
		return checked, nil
	}
	note, err := s.note(q.Note(), viewingKey)
	if err == nil {
		checked.Checked, err = q.WithNote(note)
	}
	if err != nil {
		return nil, &client.Error{
			Code:     client.Unverified,
			Message:  "do not sign this quote",
			Problems: []string{fmt.Sprintf("note: %v", err)},
		}
	}
	if checked.OwnNote {
		checked.Unchecked = q.Unchecked // the answer, which somebody may sign elsewhere, has the other note
	}
	return checked, nil
}

// note is the note to sign: the given one if the viewing key opens it, or one made here.
func (s Swap) note(given []byte, viewingKey *[32]byte) ([]byte, error) {
	owner, err := railgun.ParseAddress(s.Recipient)
	if err == nil {
		err = owner.PayableOn(uint64(s.Dst.Network()))
	}
	if err != nil {
		return nil, err
	}
	if viewingKey != nil {
		return given, railgun.CheckNote(given, owner, *viewingKey)
	}
	// A wrong note is money lost, so the code that makes it has to prove itself first.
	if err := railgun.SelfTest(); err != nil {
		return nil, err
	}
	own, err := railgun.NewNote(owner)
	return own.Recipient(), err
}
