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
	p := &Payout{Order: o, Network: by.Network, Pool: by.Pools[0], Token: *token}
	if err := n.divide(ctx, p); err != nil {
		return nil, err
	}
	if err := n.follow(ctx, p.Network, o.Src, o.Block); err != nil {
		return nil, err
	}
	settle := call(contracts.PoolABI, "settle", p.Settlement)
	if by.Onward {
		there, _ := chain.FindNetwork(o.DstChain)
		settle = call(contracts.PoolABI, "settleOnward", p.Settlement, there.CCTP.Domain)
	}
	if p.Receipt, err = n.Chain(p.Network).Send(ctx, Operator.Key, p.Pool, nil, settle); err != nil {
		return nil, fmt.Errorf("settling: %w", err)
	}
	if by.Onward {
		p.Mint, err = n.carry(ctx, o.DstChain, p.Receipt)
	}
	return p, err
}

// divide works out who gets what.
func (n *Net) divide(ctx context.Context, p *Payout) error {
	wallet, bps, err := n.registered(ctx, p.Network, p.Integrator)
	if err != nil {
		return err
	}
	amount, overflow := uint256.FromBig(p.Amount)
	if overflow {
		return fmt.Errorf("the amount %s does not fit 256 bits", p.Amount)
	}
	gross := fee.Convert(amount, p.Decimals, p.Token.Decimals)
	split := fee.Divide(&gross, fee.Protocol(p.Src, p.DstChain), fee.BPS(bps))
	p.Settlement.Token = p.Token.Address.Address
	p.Settlement.Amount = split.Net.ToBig()
	p.Settlement.ProtocolFee = split.Protocol.ToBig()
	p.Settlement.Integrator = wallet
	p.Settlement.IntegratorFee = split.Integrator.ToBig()
	return nil
}

// registered reads an integrator in the registry of a chain. No integrator has no entry and takes no fee.
func (n *Net) registered(ctx context.Context, on chain.ID, id common.Hash) (common.Address, uint16, error) {
	if id == (common.Hash{}) {
		return common.Address{}, 0, nil
	}
	registry := n.Deployment.Registry(on).Address
	entry, err := n.read(ctx, on, nil, contracts.RegistryABI, registry, "getIntegrator", id)
	if err != nil {
		return common.Address{}, 0, err
	}
	if isActive := entry[2].(bool); !isActive {
		return common.Address{}, 0, fmt.Errorf("integrator %s is not active on chain %s", id, on)
	}
	return entry[0].(common.Address), entry[1].(uint16), nil
}

// carry delivers what a settlement burnt to the chain where its recipient is, as the issuer.
func (n *Net) carry(ctx context.Context, to chain.ID, settled *types.Receipt) (*types.Receipt, error) {
	home, _ := chain.FindNetwork(n.Deployment.Settlement.ChainID)
	there, _ := chain.FindNetwork(to)
	for _, log := range settled.Logs {
		if !burnt(home.CCTP, log) {
			continue
		}
		message, signature, err := attest(home.CCTP, log)
		if err != nil {
			return nil, err
		}
		if err := n.follow(ctx, to, home.ID, settled.BlockNumber); err != nil {
			return nil, err
		}
		receive := call(contracts.TransmitterABI, "receiveMessage", message, signature)
		receipt, err := n.Chain(to).Send(ctx, Attester.Key, there.CCTP.Transmitter.Address, nil, receive)
		if err != nil {
			return nil, fmt.Errorf("delivering to chain %s: %w", to, err)
		}
		return receipt, nil
	}
	return nil, errors.New("the pool burnt nothing")
}
