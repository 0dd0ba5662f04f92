package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
)

// reports are the operator's that nobody has read. The zero value has none.
type reports struct {
	mu     sync.Mutex
	unread []reference.Report
	signal chan struct{} // closed when one more arrives; nil if nobody waits
}

func (r *reports) add(report reference.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread = append(r.unread, report)
	if r.signal != nil {
		close(r.signal)
		r.signal = nil
	}
}

// arrived is closed as soon as there is something to read.
func (r *reports) arrived() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signal == nil {
		r.signal = make(chan struct{})
	}
	signal := r.signal
	if len(r.unread) > 0 {
		close(r.signal)
		r.signal = nil
	}
	return signal
}

// drain reads everything there is.
func (r *reports) drain() []reference.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	unread := r.unread
	r.unread = nil
	return unread
}

// wait reads the report on one transaction and leaves the others.
func (r *reports) wait(ctx context.Context, tx common.Hash) (reference.Report, error) {
	var others []reference.Report
	defer func() {
		for _, other := range others {
			r.add(other)
		}
	}()
	for {
		for _, report := range r.drain() {
			if report.Tx == tx {
				return report, nil
			}
			others = append(others, report)
		}
		select {
		case <-r.arrived():
		case <-ctx.Done():
			return reference.Report{}, context.Cause(ctx)
		}
	}
}

// account says in one line who was paid what.
func account(p *reference.Payout) string {
	found, err := chain.FindToken(p.DstChain, p.DstToken.Hex())
	if err != nil {
		return err.Error()
	}
	token := *found
	net := p.Settlement.Amount
	text := fmt.Sprintf("%s to %s on chain %s", swap.Money(net, token), common.BytesToAddress(p.Recipient), p.DstChain)
	if p.RecipientType != 0 {
		bps := chain.Reference().Railgun.ShieldBPS
		text = fmt.Sprintf("%s to a private balance on chain %s (%s)",
			swap.Money(swap.AfterRailgun(net, bps), token), p.DstChain, swap.LessRailgun(net, token, bps))
	}
	text += "; fees " + swap.Money(p.Settlement.ProtocolFee, token)
	if p.Settlement.IntegratorFee.Sign() > 0 {
		text += fmt.Sprintf(" and %s to the integrator", swap.Money(p.Settlement.IntegratorFee, token))
	}
	return text
}
