package localnet

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// Send signs a call with key and has it executed. A call that would revert is not sent: the error says why it would.
// The value may be nil.
func (c *Chain) Send(
	ctx context.Context, key *ecdsa.PrivateKey, to common.Address, value *big.Int, data []byte,
) (*types.Receipt, error) {
	c.send.Lock()
	defer c.send.Unlock()

	from := crypto.PubkeyToAddress(key.PublicKey)
	gas, err := c.client.EstimateGas(ctx, ethereum.CallMsg{From: from, To: &to, Value: value, Data: data})
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", to, err)
	}
	nonce, err := c.client.PendingNonceAt(ctx, from)
	if err != nil {
		return nil, err
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(c.id), &types.DynamicFeeTx{
		ChainID:   c.id,
		Nonce:     nonce,
		GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(10 * params.GWei), // the base fee begins at one, and falls
		Gas:       gas,
		To:        &to,
		Value:     value,
		Data:      data,
	})
	if err != nil {
		return nil, err
	}
	if err := c.client.SendTransaction(ctx, tx); err != nil {
		return nil, err
	}
	receipt, err := c.client.TransactionReceipt(ctx, tx.Hash())
	if err != nil {
		return nil, fmt.Errorf("transaction %s: %w", tx.Hash(), err)
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		return nil, fmt.Errorf("transaction %s to %s reverted", tx.Hash(), to)
	}
	return receipt, nil
}
