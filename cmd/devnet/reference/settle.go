package reference

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/testdata/contracts"
	"github.com/quotegate/quotegate/testdata/referee"
)

// A Payout is an order, settled.
type Payout struct {
	Order
	Network    chain.ID // of the pool that paid
	Pool       common.Address
	Settlement contracts.Settlement
	Receipt    *types.Receipt // of the pool's settlement
	Mint       *types.Receipt // on the destination, where the issuer carried the rest on; nil where the pool is there
}

// Settle pays an order out: the fees to whom they belong, the rest to the recipient.
func (n *Net) Settle(ctx context.Context, o Order) (*Payout, error) {
	pool, err := n.poolFor(o)
	if err != nil {
		return nil, err
	}
	p := &Payout{Order: o, Network: pool.ChainID.Network(), Pool: pool.Router.Address}
	if p.Settlement, err = n.divide(ctx, o, pool); err != nil {
		return nil, err
	}
	onward := pool.ChainID != o.DstChain
	if onward {
		p.Settlement.Recipient = Operator.Address[:]
	}
	p.Receipt, err = n.Chain(p.Network).Send(ctx, Operator.Key, p.Pool, nil, call(contracts.PoolABI, "settle", p.Settlement))
	if err != nil {
		return nil, fmt.Errorf("settling: %w", err)
	}
	if onward {
		p.Mint, err = n.carry(ctx, o, p.Settlement.Amount)
	}
	return p, err
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
	var entry contracts.Integrator
	if o.Integrator != (common.Hash{}) {
		registry := n.Deployment.Registry(pool.ChainID.Network()).Address
		if err := n.registered(ctx, pool.ChainID, registry, o.Integrator, &entry); err != nil {
			return contracts.Settlement{}, err
		}
	}
	protocolBPS := referee.ProtocolBPS(o.Src.Private(), uint64(o.DstChain))
	split := referee.Divide(o.Amount, o.Decimals, pool.Token.Decimals, protocolBPS, int64(entry.FeeBPS))
	return contracts.Settlement{
		ID:            o.ID,
		Token:         pool.Token.Address.Address,
		Recipient:     o.Recipient,
		RecipientType: o.RecipientType,
		Amount:        split.Net,
		ProtocolFee:   split.Protocol,
		Integrator:    entry.Wallet,
		IntegratorFee: split.Integrator,
	}, nil
}

func (n *Net) registered(ctx context.Context, on chain.ID, registry common.Address, id common.Hash, entry *contracts.Integrator) error {
	var answer struct {
		Wallet common.Address
		FeeBps uint16
		Active bool
	}
	if err := n.read(ctx, on, nil, contracts.RegistryABI, registry, &answer, "getIntegrator", id); err != nil {
		return err
	}
	if !answer.Active {
		return fmt.Errorf("integrator %s is not active on chain %s", id, on)
	}
	*entry = contracts.Integrator{Wallet: answer.Wallet, FeeBPS: answer.FeeBps, Active: true}
	return nil
}

// carry moves USDC from the operator on the settlement chain to the recipient of an order, over the issuer's network and
// free of its fee. The issuer's own account mints there, in the place of its contracts.
func (n *Net) carry(ctx context.Context, o Order, amount *big.Int) (*types.Receipt, error) {
	home, _ := chain.FindNetwork(n.Deployment.Settlement.ChainID)
	there, _ := chain.FindNetwork(o.DstChain)
	usdc, messenger := tokenOf(home, chain.USDC).Address.Address, home.CCTP.Messenger.Address
	n.carrying.Lock()
	defer n.carrying.Unlock()
	if _, err := n.Chain(home.ID).Send(ctx, Operator.Key, usdc, nil, call(contracts.TokenABI, "approve", messenger, amount)); err != nil {
		return nil, err
	}
	to := common.BytesToHash(o.Recipient)
	burnt, err := n.Chain(home.ID).Send(ctx, Operator.Key, messenger, nil, call(contracts.TokenMessengerABI, "depositForBurnWithHook",
		amount, there.CCTP.Domain, to, usdc, common.Hash{}, new(big.Int), uint32(2000), o.ID[:]))
	if err != nil {
		return nil, fmt.Errorf("burning for chain %s: %w", there.ID, err)
	}
	for _, log := range burnt.Logs {
		var sent struct{ Message []byte }
		if unpack(contracts.TokenMessengerABI, "MessageSent", log, &sent) != nil {
			continue
		}
		burn, err := parseBurn(sent.Message)
		if err != nil {
			return nil, err
		}
		mint := call(contracts.TokenABI, "mint", burn.mintRecipient, burn.amount)
		return n.Chain(there.ID).Send(ctx, Attester.Key, tokenOf(there, chain.USDC).Address.Address, nil, mint)
	}
	return nil, errors.New("the messenger burnt without a message")
}
