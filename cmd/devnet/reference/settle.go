package reference

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
)

// A Payout is an order, settled.
type Payout struct {
	Order
	ID         common.Hash // that the pool gave the settlement
	Network    chain.ID    // of the pool that paid
	Pool       common.Address
	Settlement contracts.Settlement
	Receipt    *types.Receipt // of the pool's settlement
	Mint       *types.Receipt // on the destination, where the issuer carried the rest on; nil where the pool is there
}

// Settle pays an order out: the fees to whom they belong, the rest to the recipient. It is never before its source.
func (n *Net) Settle(ctx context.Context, o Order) (*Payout, error) {
	pool, err := n.poolFor(o)
	if err != nil {
		return nil, err
	}
	p := &Payout{Order: o, Network: pool.ChainID.Network(), Pool: pool.Router.Address}
	if p.Settlement, err = n.divide(ctx, o, pool); err != nil {
		return nil, err
	}
	if err := n.follow(ctx, p.Network, o.Src, o.Block); err != nil {
		return nil, err
	}
	settle := call(contracts.PoolABI, "settle", p.Settlement)
	onward := pool.ChainID != o.DstChain
	if onward {
		there, _ := chain.FindNetwork(o.DstChain)
		settle = call(contracts.PoolABI, "settleOnward", p.Settlement, there.CCTP.Domain)
	}
	if p.Receipt, err = n.Chain(p.Network).Send(ctx, Operator.Key, p.Pool, nil, settle); err != nil {
		return nil, fmt.Errorf("settling: %w", err)
	}
	if p.ID, err = settledID(p.Receipt, p.Pool); err != nil {
		return nil, err
	}
	if onward {
		p.Mint, err = n.carry(ctx, o.DstChain, p.Receipt)
	}
	return p, err
}

// settledID is the id under which a pool says that it settled.
func settledID(receipt *types.Receipt, pool common.Address) (common.Hash, error) {
	for _, log := range receipt.Logs {
		if log.Address == pool && len(log.Topics) == 2 && log.Topics[0] == contracts.PoolABI.Events["Settled"].ID {
			return log.Topics[1], nil
		}
	}
	return common.Hash{}, fmt.Errorf("the pool settled in %s without a word", receipt.TxHash)
}

// poolFor finds the pool that pays an order: the destination's own, or the one on the settlement chain.
func (n *Net) poolFor(o Order) (chain.Router, error) {
	home := n.Deployment.Settlement.ChainID
	for _, row := range n.Deployment.Routers() {
		switch {
		case pooled(o.DstChain.Network()):
			if row.ChainID == o.DstChain && row.Token.Address.Address == o.DstToken {
				return row, nil
			}
		case row.ChainID == home && row.Token.Symbol == chain.USDC:
			network, ok := chain.FindNetwork(o.DstChain)
			if ok && tokenOf(network, chain.USDC).Address.Address == o.DstToken {
				return row, nil
			}
		}
	}
	return chain.Router{}, fmt.Errorf("no pool pays %s on chain %s", o.DstToken, o.DstChain)
}

// divide works out who gets what.
func (n *Net) divide(ctx context.Context, o Order, pool chain.Router) (contracts.Settlement, error) {
	entry, err := n.registered(ctx, pool.ChainID, o.Integrator)
	if err != nil {
		return contracts.Settlement{}, err
	}
	amount, overflow := uint256.FromBig(o.Amount)
	if overflow {
		return contracts.Settlement{}, fmt.Errorf("the amount %s does not fit 256 bits", o.Amount)
	}
	gross := fee.Convert(amount, o.Decimals, pool.Token.Decimals)
	split := fee.Divide(&gross, fee.Protocol(o.Src, o.DstChain), fee.BPS(entry.FeeBPS))
	return contracts.Settlement{
		Source:        o.Source,
		SrcPool:       o.SrcPool,
		Nonce:         o.Nonce,
		Token:         pool.Token.Address.Address,
		Recipient:     o.Recipient,
		RecipientType: o.RecipientType,
		Amount:        split.Net.ToBig(),
		ProtocolFee:   split.Protocol.ToBig(),
		Integrator:    entry.Wallet,
		IntegratorFee: split.Integrator.ToBig(),
	}, nil
}

// registered reads an integrator in the registry of a chain. No integrator has no entry and takes no fee.
func (n *Net) registered(ctx context.Context, on chain.ID, id common.Hash) (contracts.Integrator, error) {
	if id == (common.Hash{}) {
		return contracts.Integrator{}, nil
	}
	var entry struct {
		Wallet common.Address
		FeeBps uint16
		Active bool
	}
	registry := n.Deployment.Registry(on.Network()).Address
	if err := n.read(ctx, on, nil, contracts.RegistryABI, registry, &entry, "getIntegrator", id); err != nil {
		return contracts.Integrator{}, err
	}
	if !entry.Active {
		return contracts.Integrator{}, fmt.Errorf("integrator %s is not active on chain %s", id, on)
	}
	return contracts.Integrator{Wallet: entry.Wallet, FeeBPS: entry.FeeBps, Active: true}, nil
}

// carry delivers what a settlement burnt to the chain where its recipient is, as the issuer.
func (n *Net) carry(ctx context.Context, to chain.ID, settled *types.Receipt) (*types.Receipt, error) {
	home, _ := chain.FindNetwork(n.Deployment.Settlement.ChainID)
	for _, log := range settled.Logs {
		if !burnt(home.CCTP, log) {
			continue
		}
		burn, err := attest(home.CCTP, log)
		if err != nil {
			return nil, err
		}
		if err := n.follow(ctx, to, home.ID, settled.BlockNumber); err != nil {
			return nil, err
		}
		receive := call(contracts.TransmitterABI, "receiveMessage", burn.message, burn.signature)
		receipt, err := n.Chain(to).Send(ctx, Attester.Key, Transmitter, nil, receive)
		if err != nil {
			return nil, fmt.Errorf("delivering to chain %s: %w", to, err)
		}
		return receipt, nil
	}
	return nil, errors.New("the pool burnt nothing")
}
