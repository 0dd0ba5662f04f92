package reference

import (
	"context"
	"fmt"
	"sync"

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

// Operate settles every order from now on, until ctx ends, and reports on each. An order that cannot be settled is left.
// It returns once it watches every chain; stopped waits until it no longer does.
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
		query := ethereum.FilterQuery{}
		for _, row := range routers(n.Deployment, network.ID) {
			query.Addresses = append(query.Addresses, row.Router.Address)
		}
		logs := make(chan types.Log, 64)
		subscription, err := n.Chain(network.ID).Client().SubscribeFilterLogs(ctx, query, logs)
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
	return stopped, nil
}

// operate settles the order that a log tells of, if it tells of one.
func (n *Net) operate(ctx context.Context, network chain.ID, log types.Log, report func(Report)) {
	r := Report{Network: network, Tx: log.TxHash}
	order, err := n.order(ctx, network, &log)
	switch {
	case err != nil:
		r.Err = err
	case order == nil:
		return
	default:
		r.Payout, r.Err = n.Settle(ctx, *order)
	}
	if ctx.Err() == nil {
		report(r)
	}
}
