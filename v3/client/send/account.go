package send

import (
	"context"
	"crypto/ecdsa"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// An Account signs the transactions of one address: with a private key, a keystore, a key service.
type Account interface {
	Address() common.Address
	SignTx(ctx context.Context, tx *types.Transaction, chainID *big.Int) (*types.Transaction, error)
}

// Key is the account of a private key.
func Key(key *ecdsa.PrivateKey) Account { return privateKey{key} }

type privateKey struct{ key *ecdsa.PrivateKey }

func (k privateKey) Address() common.Address { return crypto.PubkeyToAddress(k.key.PublicKey) }

func (k privateKey) SignTx(_ context.Context, tx *types.Transaction, id *big.Int) (*types.Transaction, error) {
	return types.SignTx(tx, types.LatestSignerForChainID(id), k.key)
}

// signed has the account sign a transaction, and refuses another one in its place.
func (s Sender) signed(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	id := tx.ChainId()
	signer := types.LatestSignerForChainID(id)
	signed, err := s.Account.SignTx(ctx, tx, id)
	if err != nil {
		return nil, failure(NotSigned, "the account did not sign: %w", err)
	}
	from, err := types.Sender(signer, signed)
	if err != nil || from != s.Account.Address() || signer.Hash(signed) != signer.Hash(tx) {
		return nil, failure(NotSigned, "the account signed a different transaction")
	}
	return signed, nil
}
