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
	"net/http/httptest"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/shared/chain"
)

// A Net is the deployment and its chains, running.
type Net struct {
	Deployment *chain.Deployment
	Issuer     *httptest.Server // the service of the issuer of USDC
	chains     map[chain.ID]*localnet.Chain
}

// Start runs a chain for every network, and the issuer's service, until the net is closed.
//
// The chains serve JSON-RPC on the loopback: from firstPort on, in the order of their IDs, where those ports are free;
// where one is not, or if firstPort is 0, on another.
func Start(ctx context.Context, firstPort int) (*Net, error) {
	n := &Net{Deployment: chain.Reference(), chains: map[chain.ID]*localnet.Chain{}}
	n.Issuer = httptest.NewServer(n.issuer())
	for i, network := range chain.Networks() {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, n.Close())
		}
		spec := localnet.Spec{ID: uint64(network.ID), Alloc: genesis(n.Deployment, network)}
		if firstPort != 0 {
			spec.Port = firstPort + i
		}
		c, err := localnet.Start(spec)
		if err != nil && spec.Port != 0 {
			spec.Port = 0
			c, err = localnet.Start(spec)
		}
		if err != nil {
			return nil, errors.Join(err, n.Close())
		}
		c.Unlock(User.Key)
		n.chains[network.ID] = c
	}
	return n, nil
}

// Chain is the running chain of a routing ID.
func (n *Net) Chain(id chain.ID) *localnet.Chain { return n.chains[id.Network()] }

// Close stops every chain and the issuer's service. Nothing may use the net after.
func (n *Net) Close() error {
	n.Issuer.Close()
	var problems []error
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
	values, err := n.read(ctx, token.ChainID, block, contracts.TokenABI, token.Address.Address, "balanceOf", holder)
	if err != nil {
		return nil, err
	}
	return values[0].(*big.Int), nil
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

// read asks a view for its values.
func (n *Net) read(
	ctx context.Context, on chain.ID, block *big.Int, of abi.ABI, at common.Address, method string, args ...any,
) ([]any, error) {
	question := ethereum.CallMsg{To: &at, Data: call(of, method, args...)}
	answer, err := n.Chain(on).Client().CallContract(ctx, question, block)
	if err != nil {
		return nil, fmt.Errorf("%s of %s on chain %s: %w", method, at, on, err)
	}
	return of.Unpack(method, answer)
}

// call encodes a call of a contract that this package has the interface of.
func call(of abi.ABI, method string, args ...any) []byte {
	data, err := of.Pack(method, args...)
	if err != nil {
		panic(fmt.Sprintf("encoding %s: %v", method, err))
	}
	return data
}
