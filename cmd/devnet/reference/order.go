package reference

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
)

// An Order is a swap that somebody paid for, as a chain reports it.
type Order struct {
	Src           chain.ID // the routing ID whose router was paid: a privacy pool has one of its own
	Block         *big.Int // in which it was paid
	Amount        *big.Int // of a token with so many decimals
	Decimals      uint8
	DstChain      chain.ID
	DstToken      common.Address
	Recipient     []byte
	RecipientType uint8
	Integrator    common.Hash

	// What names the order to every pool: the chain ID, the pool and the nonce of its Swap event; or the issuer's
	// domain, no pool, and the nonce of the attested burn.
	Source  *big.Int
	SrcPool common.Address
	Nonce   *big.Int

	Delivery *Delivery // of the burn, nil where a pool was paid
}

// A Delivery is a burn's arrival on the settlement chain.
type Delivery struct {
	Message []byte // as attested
	Fee     *big.Int
	Receipt *types.Receipt
}

// Orders reads the orders out of what a transaction did. A burn is attested and delivered to the settlement chain
// on the way: only there is its hook read.
func (n *Net) Orders(ctx context.Context, network chain.ID, receipt *types.Receipt) ([]Order, error) {
	var orders []Order
	for _, log := range receipt.Logs {
		order, err := n.order(ctx, network, log)
		if err != nil {
			return nil, fmt.Errorf("log %d of %s on chain %s: %w", log.Index, log.TxHash, network, err)
		}
		if order != nil {
			orders = append(orders, *order)
		}
	}
	return orders, nil
}

// order is the order that a log tells of, nil if it tells of none.
func (n *Net) order(ctx context.Context, network chain.ID, log *types.Log) (*Order, error) {
	order, err := n.readOrder(ctx, network, log)
	if order != nil {
		order.Block = new(big.Int).SetUint64(log.BlockNumber)
	}
	return order, err
}

func (n *Net) readOrder(ctx context.Context, network chain.ID, log *types.Log) (*Order, error) {
	if len(log.Topics) == 0 {
		return nil, nil
	}
	for _, row := range routers(n.Deployment, network) {
		if row.Router.Address != log.Address {
			continue
		}
		switch log.Topics[0] {
		case contracts.PoolABI.Events["Swap"].ID:
			return n.swapped(row, log)
		case contracts.TokenMessengerABI.Events["MessageSent"].ID:
			return n.deliver(ctx, network, log)
		}
	}
	return nil, nil
}

// swapped reads a pool's event.
func (n *Net) swapped(row chain.Router, log *types.Log) (*Order, error) {
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
		Source:        new(big.Int).SetUint64(uint64(row.ChainID.Network())),
		SrcPool:       log.Address,
		Nonce:         event.Nonce,
		Src:           row.ChainID,
		Amount:        event.Amount,
		Decimals:      row.Token.Decimals,
		DstChain:      routing(event.DstChainId),
		DstToken:      event.DstToken,
		Recipient:     event.Recipient,
		RecipientType: event.RecipientType,
		Integrator:    event.IntegratorId,
	}, nil
}

// deliver takes a burn to the settlement chain, as the issuer and the operator do between them, and reads what the
// receiver found in it.
func (n *Net) deliver(ctx context.Context, network chain.ID, log *types.Log) (*Order, error) {
	source, _ := chain.FindNetwork(network)
	burn, err := attest(source.CCTP, log)
	if err != nil {
		return nil, err
	}
	if burn.delay != "" {
		return nil, fmt.Errorf("the issuer does not attest the burn: %s", burn.delay)
	}
	settlement, receiver := n.Deployment.Settlement.ChainID, n.Deployment.Settlement.Receiver.Address
	deliver := call(contracts.ReceiverABI, "receiveMessage", burn.message, burn.signature)
	receipt, err := n.Chain(settlement).Send(ctx, Operator.Key, receiver, nil, deliver)
	if err != nil {
		return nil, fmt.Errorf("delivering the burn: %w", err)
	}
	order, err := n.received(network, receipt)
	if err != nil {
		return nil, err
	}
	order.Delivery.Message = burn.message
	return order, nil
}

// received reads the receiver's event.
func (n *Net) received(network chain.ID, receipt *types.Receipt) (*Order, error) {
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
	for _, log := range receipt.Logs {
		if log.Address != n.Deployment.Settlement.Receiver.Address {
			continue
		}
		if err := unpack(contracts.ReceiverABI, "Received", log, &event); err != nil {
			return nil, err
		}
		home, _ := chain.FindNetwork(n.Deployment.Settlement.ChainID)
		return &Order{
			Source: new(big.Int).SetUint64(uint64(event.SourceDomain)),
			Nonce:  new(big.Int).SetBytes(event.Nonce[:]),
			Src:    network,
			// The service, and not its user, pays the issuer.
			Amount:        new(big.Int).Add(event.Amount, event.FeeExecuted),
			Decimals:      tokenOf(home, chain.USDC).Decimals,
			DstChain:      routing(event.Hook.DstChainId),
			DstToken:      event.Hook.DstToken,
			Recipient:     event.Hook.Recipient,
			RecipientType: event.Hook.RecipientType,
			Integrator:    event.Hook.IntegratorId,
			Delivery:      &Delivery{Fee: event.FeeExecuted, Receipt: receipt},
		}, nil
	}
	return nil, fmt.Errorf("the receiver took %s without a word", receipt.TxHash)
}

// routing is a routing ID from a chain; one too large for any is 0, which is none.
func routing(id *big.Int) chain.ID {
	if !id.IsUint64() {
		return 0
	}
	return chain.ID(id.Uint64())
}

// unpack reads every field of an event into a struct.
func unpack(of abi.ABI, name string, log *types.Log, into any) error {
	event := of.Events[name]
	if len(log.Topics) == 0 || log.Topics[0] != event.ID {
		return fmt.Errorf("not an event %s", name)
	}
	if len(log.Data) > 0 {
		if err := of.UnpackIntoInterface(into, name, log.Data); err != nil {
			return fmt.Errorf("event %s: %w", name, err)
		}
	}
	var indexed abi.Arguments
	for _, input := range event.Inputs {
		if input.Indexed {
			indexed = append(indexed, input)
		}
	}
	if err := abi.ParseTopics(into, indexed, log.Topics[1:]); err != nil {
		return fmt.Errorf("event %s: %w", name, err)
	}
	return nil
}
