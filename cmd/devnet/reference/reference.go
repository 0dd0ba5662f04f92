// Package reference runs the reference deployment on simulated chains: a chain for every network, with every
// contract that a quote can reach at the address where a quote looks for it, the issuer of USDC, and the operator
// who pays out what was swapped.
//
// Contracts and accounts are there from block zero, so a chain that runs is complete. The operator works from what
// the chains were told and nothing else: it has not seen the quote.
package reference

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/shared/chain"
)

// A Net is the deployment and its chains, running.
type Net struct {
	Deployment  *chain.Deployment
	SettleAfter time.Duration // how long the operator waits before it settles

	chains map[chain.ID]*localnet.Chain
	issuer *issuer // nil while the chains start
}

// Start runs a chain for every network, and the issuer's service, until the net is closed.
//
// The chains serve JSON-RPC on the loopback: from firstPort on, in the order of their IDs, where those ports are free;
// where one is not, or if firstPort is 0, on another.
func Start(ctx context.Context, firstPort int) (*Net, error) {
	n := &Net{Deployment: chain.Reference(), chains: map[chain.ID]*localnet.Chain{}}
	for i, network := range chain.Networks() {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, n.Close())
		}
		port := 0
		if firstPort != 0 {
			port = firstPort + i
		}
		c, err := n.start(network, port)
		if err != nil {
			return nil, errors.Join(err, n.Close())
		}
		n.chains[network.ID] = c
	}
	if err := n.fund(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	var err error
	if n.issuer, err = startIssuer(n); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Net) start(network chain.Network, port int) (*localnet.Chain, error) {
	spec := localnet.Spec{
		ID:    uint64(network.ID),
		Alloc: genesis(n.Deployment, network),
		Addr:  fmt.Sprintf("127.0.0.1:%d", port),
	}
	c, err := localnet.Start(spec)
	if err != nil && port != 0 {
		spec.Addr = "127.0.0.1:0"
		c, err = localnet.Start(spec)
	}
	return c, err
}

// fund gives plenty of every token to those who swap it and to the pools that pay it out.
func (n *Net) fund(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, network := range chain.Networks() {
		group.Go(func() error {
			for _, token := range network.Tokens {
				if token.Native() {
					continue
				}
				holders := map[common.Address]bool{User.Address: true}
				for _, row := range routers(n.Deployment, network.ID) {
					if row.Token == token && pooled(network.ID) {
						holders[row.Router.Address] = true
					}
				}
				for holder := range holders {
					mint := call(contracts.TokenABI, "mint", holder, units(plenty, token.Decimals))
					_, err := n.Chain(network.ID).Send(ctx, Operator.Key, token.Address.Address, nil, mint)
					if err != nil {
						return fmt.Errorf("minting %s on %s: %w", token.Symbol, network.Name, err)
					}
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Chain is the running chain of a routing ID.
func (n *Net) Chain(id chain.ID) *localnet.Chain { return n.chains[id.Network()] }

// IssuerURL is the base address of the issuer's service.
func (n *Net) IssuerURL() string { return n.issuer.url }

// Close stops every chain and the issuer's service. Nothing may use the net after.
func (n *Net) Close() error {
	var problems []error
	if n.issuer != nil {
		problems = append(problems, n.issuer.server.Close())
	}
	for id, c := range n.chains {
		if err := c.Close(); err != nil {
			problems = append(problems, fmt.Errorf("chain %s: %w", id, err))
		}
	}
	return errors.Join(problems...)
}

// Balance is what a holder has of a token, which may be native, at a block; nil for the latest.
func (n *Net) Balance(ctx context.Context, token chain.Token, holder common.Address, block *big.Int) (*big.Int, error) {
	if token.Native() {
		return n.Chain(token.ChainID).Client().BalanceAt(ctx, holder, block)
	}
	var balance *big.Int
	err := n.read(ctx, token.ChainID, block, contracts.TokenABI, token.Address.Address, &balance, "balanceOf", holder)
	return balance, err
}

// Change is by how much a transaction changed what a holder has: every block has one transaction. Of a chain's own
// coin, the one who sent it also paid the gas.
func (n *Net) Change(
	ctx context.Context, token chain.Token, holder common.Address, receipt *types.Receipt,
) (*big.Int, error) {
	after, err := n.Balance(ctx, token, holder, receipt.BlockNumber)
	if err != nil {
		return nil, err
	}
	before, err := n.Balance(ctx, token, holder, new(big.Int).Sub(receipt.BlockNumber, big.NewInt(1)))
	if err != nil {
		return nil, err
	}
	return after.Sub(after, before), nil
}

// read asks a view for its answer.
func (n *Net) read(
	ctx context.Context, on chain.ID, block *big.Int,
	of abi.ABI, at common.Address, into any, method string, args ...any,
) error {
	question := ethereum.CallMsg{To: &at, Data: call(of, method, args...)}
	answer, err := n.Chain(on).Client().CallContract(ctx, question, block)
	if err != nil {
		return fmt.Errorf("%s of %s on chain %s: %w", method, at, on, err)
	}
	if err := of.UnpackIntoInterface(into, method, answer); err != nil {
		return fmt.Errorf("%s of %s on chain %s: %w", method, at, on, err)
	}
	return nil
}

// call encodes a call of a contract that this package has the interface of.
func call(of abi.ABI, method string, args ...any) []byte {
	data, err := of.Pack(method, args...)
	if err != nil {
		panic(fmt.Sprintf("encoding %s: %v", method, err))
	}
	return data
}
