package reference

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// An Order is a swap that somebody paid for, as a chain reports it.
type Order struct {
	Src        chain.ID // the routing ID whose router was paid: a privacy pool has one of its own
	Block      *big.Int // in which it was paid
	Amount     *big.Int // of a token with so many decimals
	Decimals   uint8
	DstChain   chain.ID
	DstToken   common.Address
	Integrator common.Hash
	IssuerFee  *big.Int // of a burn, which the service pays; nil where a pool was paid

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
		order.Block = new(big.Int).SetUint64(log.BlockNumber)
	}
	return order, err
}

// swapped reads a pool's event.
func swapped(row chain.Router, log *types.Log) (*Order, error) {
	var event struct {
		Nonce         *big.Int
		Sender        common.Address
		DstChainId    *big.Int
		Amount        *big.Int
		Recipient     []byte
		RecipientType uint8
		DstToken      common.Address
		IntegratorId  [32]byte
	}
	if err := unpack(contracts.PoolABI, "Swap", log, &event); err != nil {
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
			Nonce:         event.Nonce,
			Recipient:     event.Recipient,
			RecipientType: event.RecipientType,
		},
	}, nil
}

// deliver takes a burn to the settlement chain, as the issuer and the operator do between them, and reads what the
// receiver found in it.
func (n *Net) deliver(ctx context.Context, network chain.ID, log *types.Log) (*Order, error) {
	source, _ := chain.FindNetwork(network)
	message, signature, err := attest(source.CCTP, log)
	if err != nil {
		return nil, fmt.Errorf("the issuer does not attest the burn: %w", err)
	}
	home, receiver := n.Deployment.Settlement.ChainID, n.Deployment.Settlement.Receiver.Address
	deliver := call(contracts.ReceiverABI, "receiveMessage", message, signature)
	receipt, err := n.Chain(home).Send(ctx, Operator.Key, receiver, nil, deliver)
	if err != nil {
		return nil, fmt.Errorf("delivering the burn: %w", err)
	}
	for _, log := range receipt.Logs {
		if log.Address == receiver {
			return received(network, home, log)
		}
	}
	return nil, fmt.Errorf("the receiver took %s without an event", receipt.TxHash)
}

// received reads the receiver's event on the settlement chain.
func received(network, home chain.ID, log *types.Log) (*Order, error) {
	type hook struct {
		DstChainId    *big.Int
		DstToken      common.Address
		IntegratorId  [32]byte
		RecipientType uint8
		Recipient     []byte
	}
	var event struct {
		Nonce        [32]byte
		SourceDomain uint32
		Depositor    [32]byte
		Amount       *big.Int
		FeeExecuted  *big.Int
		Hook         hook
	}
	if err := unpack(contracts.ReceiverABI, "Received", log, &event); err != nil {
		return nil, err
	}
	return &Order{
		Src: network,
		// The service, and not its user, pays the issuer.
		Amount:     new(big.Int).Add(event.Amount, event.FeeExecuted),
		Decimals:   usdcOn(home).Decimals,
		DstChain:   chain.ID(event.Hook.DstChainId.Uint64()),
		DstToken:   event.Hook.DstToken,
		Integrator: event.Hook.IntegratorId,
		IssuerFee:  event.FeeExecuted,
		Settlement: contracts.Settlement{ // a burn has no pool
			Source:        new(big.Int).SetUint64(uint64(event.SourceDomain)),
			Nonce:         new(big.Int).SetBytes(event.Nonce[:]),
			Recipient:     event.Hook.Recipient,
			RecipientType: event.Hook.RecipientType,
		},
	}, nil
}
