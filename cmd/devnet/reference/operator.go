package reference

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
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
			_ = c.Seal(0) // there is another block in three seconds
		}
	}
}

// operate settles the order that a log tells of, if it tells of one.
func (n *Net) operate(ctx context.Context, network chain.ID, log types.Log, report func(Report)) {
	order, err := n.Order(ctx, network, &log)
	if order == nil && err == nil {
		return
	}
	r := Report{Network: network, Tx: log.TxHash, Err: err}
	if err == nil {
		r.Payout, r.Err = n.Settle(ctx, *order)
	}
	if ctx.Err() == nil {
		report(r)
	}
}

// An Order is a swap that somebody paid for, as a chain reports it.
type Order struct {
	Src        chain.ID // the routing ID whose router was paid: a privacy pool has one of its own
	Block      uint64   // in which it was paid
	Amount     *big.Int // of a token with so many decimals
	Decimals   uint8
	DstChain   chain.ID
	DstToken   common.Address
	Integrator common.Hash

	// Settlement has what names the order to every pool, and its recipient. Settle fills in who gets what.
	Settlement contracts.Settlement
}

// Order is the order that a log tells of, nil if it tells of none. A burn is attested and delivered to the settlement
// chain on the way: only there is its hook read.
func (n *Net) Order(ctx context.Context, network chain.ID, log *types.Log) (order *Order, err error) {
	row, ok := n.Deployment.FindRouter(network, log.Address)
	if !ok || len(log.Topics) == 0 {
		return nil, nil
	}
	switch log.Topics[0] {
	case contracts.PoolABI.Events["Swap"].ID:
		order, err = swapped(row, log)
	case contracts.TokenMessengerABI.Events["MessageSent"].ID:
		order, err = n.deliver(ctx, network, log)
	}
	if order != nil {
		order.Block = log.BlockNumber
	}
	return order, err
}

// swapped reads a pool's event.
func swapped(row chain.Router, log *types.Log) (*Order, error) {
	var event struct {
		DstChainId    *big.Int
		Amount        *big.Int
		Recipient     []byte
		RecipientType uint8
		DstToken      common.Address
		IntegratorId  [32]byte
	}
	if err := contracts.PoolABI.UnpackIntoInterface(&event, "Swap", log.Data); err != nil {
		return nil, err
	}
	return &Order{
		Src:        row.ChainID,
		Amount:     event.Amount,
		Decimals:   row.Token.Decimals,
		DstChain:   chain.ID(event.DstChainId.Uint64()),
		DstToken:   event.DstToken,
		Integrator: event.IntegratorId,
		Settlement: contracts.Settlement{
			Source:        new(big.Int).SetUint64(uint64(row.ChainID.Network())),
			SrcPool:       log.Address,
			Nonce:         log.Topics[1].Big(),
			Recipient:     event.Recipient,
			RecipientType: event.RecipientType,
		},
	}, nil
}

// deliver takes a burn to the receiver on the settlement chain, and reads what that found in it.
func (n *Net) deliver(ctx context.Context, network chain.ID, burn *types.Log) (*Order, error) {
	home := n.Deployment.Settlement
	receipt, err := n.relay(ctx, network, burn, home.ChainID, home.Receiver.Address)
	if err != nil {
		return nil, err
	}
	found := slices.IndexFunc(receipt.Logs, func(log *types.Log) bool { return log.Address == home.Receiver.Address })
	log := receipt.Logs[found] // the receiver takes nothing without an event
	type hook struct {
		DstChainId    *big.Int
		DstToken      common.Address
		IntegratorId  [32]byte
		RecipientType uint8
		Recipient     []byte
	}
	var event struct {
		SourceDomain uint32
		Depositor    [32]byte
		Amount       *big.Int
		FeeExecuted  *big.Int
		Hook         hook
	}
	if err := contracts.ReceiverABI.UnpackIntoInterface(&event, "Received", log.Data); err != nil {
		return nil, err
	}
	return &Order{
		Src: network,
		// The service, and not its user, pays the issuer.
		Amount:     new(big.Int).Add(event.Amount, event.FeeExecuted),
		Decimals:   usdcOn(home.ChainID).Decimals,
		DstChain:   chain.ID(event.Hook.DstChainId.Uint64()),
		DstToken:   event.Hook.DstToken,
		Integrator: event.Hook.IntegratorId,
		Settlement: contracts.Settlement{ // a burn has no pool
			Source:        new(big.Int).SetUint64(uint64(event.SourceDomain)),
			Nonce:         log.Topics[1].Big(),
			Recipient:     event.Hook.Recipient,
			RecipientType: event.Hook.RecipientType,
		},
	}, nil
}

// relay takes a burn to a contract on another chain, as the issuer and the operator do between them.
func (n *Net) relay(
	ctx context.Context, from chain.ID, burn *types.Log, to chain.ID, contract common.Address,
) (*types.Receipt, error) {
	source, _ := chain.FindNetwork(from)
	message, signature, err := attest(source.CCTP, burn)
	if err != nil {
		return nil, fmt.Errorf("the issuer does not attest the burn: %w", err)
	}
	if err := n.follow(ctx, to, from, burn.BlockNumber); err != nil {
		return nil, err
	}
	receive := call(contracts.TransmitterABI, "receiveMessage", message, signature) // the receiver has the same method
	receipt, err := n.Chain(to).Send(ctx, Operator.Key, contract, nil, receive)
	if err != nil {
		return nil, fmt.Errorf("delivering the burn to chain %s: %w", to, err)
	}
	return receipt, nil
}

// follow has a chain reach the time of a block on another, so that what happens next there is not before it.
func (n *Net) follow(ctx context.Context, on, source chain.ID, block uint64) error {
	header, err := n.Chain(source).Client().HeaderByNumber(ctx, new(big.Int).SetUint64(block))
	if err != nil {
		return fmt.Errorf("the block of the source: %w", err)
	}
	return n.Chain(on).Seal(header.Time)
}

// A Payout is an order, settled.
type Payout struct {
	Order
	Network chain.ID // of the pool that paid
	Pool    common.Address
	Token   chain.Token    // that it paid
	Receipt *types.Receipt // of the pool's settlement
	Mint    *types.Receipt // on the destination, where the issuer carried the rest on; nil where the pool is there
}

// Settle pays an order out: the fees to whom they belong, the rest to the recipient. It is never before its source.
func (n *Net) Settle(ctx context.Context, o Order) (*Payout, error) {
	by, ok := n.Deployment.Payout(o.DstChain, o.DstToken)
	if !ok {
		return nil, fmt.Errorf("no pool pays %s on chain %s", o.DstToken, o.DstChain)
	}
	paidOn := o.DstChain
	if by.Onward {
		paidOn = by.Network
	}
	token, err := chain.FindToken(paidOn, by.Token.Hex())
	if err != nil {
		return nil, err
	}
	p := &Payout{Order: o, Network: by.Network, Pool: by.Pool, Token: *token}
	if err := n.divide(ctx, p); err != nil {
		return nil, err
	}
	if err := n.follow(ctx, p.Network, o.Src, o.Block); err != nil {
		return nil, err
	}
	there, _ := chain.FindNetwork(o.DstChain)
	settle := call(contracts.PoolABI, "settle", p.Settlement)
	if by.Onward {
		settle = call(contracts.PoolABI, "settleOnward", p.Settlement, there.CCTP.Domain)
	}
	if p.Receipt, err = n.Chain(p.Network).Send(ctx, Operator.Key, p.Pool, nil, settle); err != nil {
		return nil, fmt.Errorf("settling: %w", err)
	}
	if !by.Onward {
		return p, nil
	}
	burn := p.Receipt.Logs[slices.IndexFunc(p.Receipt.Logs, burnt)] // settleOnward always burns
	p.Mint, err = n.relay(ctx, p.Network, burn, o.DstChain, there.CCTP.Transmitter.Address)
	return p, err
}

// divide works out who gets what. An integrator has its fee from the registry of the chain that pays.
func (n *Net) divide(ctx context.Context, p *Payout) error {
	var bps uint16
	if p.Integrator != (common.Hash{}) {
		registry := n.Deployment.Registry(p.Network).Address
		entry, err := n.read(ctx, p.Network, nil, contracts.RegistryABI, registry, "getIntegrator", p.Integrator)
		if err != nil {
			return err
		}
		if isActive := entry[2].(bool); !isActive {
			return fmt.Errorf("integrator %s is not active on chain %s", p.Integrator, p.Network)
		}
		p.Settlement.Integrator = entry[0].(common.Address)
		bps = entry[1].(uint16)
	}
	gross := fee.Convert(uint256.MustFromBig(p.Amount), p.Decimals, p.Token.Decimals)
	split := fee.Divide(&gross, fee.Protocol(p.Src, p.DstChain), fee.BPS(bps))
	p.Settlement.Token = p.Token.Address.Address
	p.Settlement.Amount = split.Net.ToBig()
	p.Settlement.ProtocolFee = split.Protocol.ToBig()
	p.Settlement.IntegratorFee = split.Integrator.ToBig()
	return nil
}
