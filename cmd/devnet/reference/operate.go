package reference

import (
	"context"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/chain"
)

// A Report is what became of an order: a payout, or why there is none.
type Report struct {
	Network chain.ID    // where the order was paid
	Tx      common.Hash // with which transaction
	Payout  *Payout
	Err     error
}

// Operate settles every order from now on, until ctx ends, and reports on each. An order that cannot be settled is
// left. It returns once it watches every chain; stopped waits until it no longer does.
//
// While it operates, every chain makes a block now and then, as real ones do.
//
// Reports come from several goroutines, one at a time for each chain that orders are paid on.
func (n *Net) Operate(ctx context.Context, report func(Report)) (stopped func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	stopped = func() {
		cancel()
		watching.Wait()
	}
	for _, network := range chain.Networks() {
		logs := make(chan types.Log, 64)
		all := ethereum.FilterQuery{}
		subscription, err := n.Chain(network.ID).Client().SubscribeFilterLogs(ctx, all, logs)
		if err != nil {
			stopped()
			return nil, fmt.Errorf("watching chain %s: %w", network.ID, err)
		}
		watching.Go(func() {
			defer subscription.Unsubscribe()
			for {
				select {
				case log := <-logs:
					n.operate(ctx, network.ID, log, report)
				case <-subscription.Err():
					return
				case <-ctx.Done():
					return
				}
			}
		})
	}
	watching.Go(func() { n.tick(ctx) })
	return stopped, nil
}

// tick has every chain make a block every few seconds.
func (n *Net) tick(ctx context.Context) {
	ticker := time.NewTicker(3 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, c := range n.chains {
			_ = c.Seal(0) // an error says that the chain is closed
		}
	}
}

// follow has a chain reach the time of a block on another, so that what happens next there is not before it.
func (n *Net) follow(ctx context.Context, on, source chain.ID, block *big.Int) error {
	header, err := n.Chain(source).Client().HeaderByNumber(ctx, block)
	if err != nil {
		return fmt.Errorf("the block of the source: %w", err)
	}
	return n.Chain(on).Seal(header.Time)
}

// operate settles the order that a log tells of, if it tells of one.
func (n *Net) operate(ctx context.Context, network chain.ID, log types.Log, report func(Report)) {
	order, err := n.Order(ctx, network, &log)
	if order == nil && err == nil {
		return
	}
	r := Report{Network: network, Tx: log.TxHash, Err: err}
	if err == nil {
		select {
		case <-time.After(n.SettleAfter):
		case <-ctx.Done():
			return
		}
		r.Payout, r.Err = n.Settle(ctx, *order)
	}
	if ctx.Err() == nil {
		report(r)
	}
}
