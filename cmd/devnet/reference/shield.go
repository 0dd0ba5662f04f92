package reference

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/railgun"
)

// A Shielded note is one as RAILGUN announces it, for its owner to find.
type Shielded struct {
	railgun.Note
	Token common.Address
	Value *big.Int // after RAILGUN's own fee
	Fee   *big.Int
}

// FindShielded reads the one note that a transaction shielded.
func FindShielded(receipt *types.Receipt) (*Shielded, error) {
	type preimage struct {
		Npk   [32]byte
		Token struct {
			TokenType    uint8
			TokenAddress common.Address
			TokenSubID   *big.Int
		}
		Value *big.Int
	}
	type ciphertext struct {
		EncryptedBundle [3][32]byte
		ShieldKey       [32]byte
	}
	for _, log := range receipt.Logs {
		if len(log.Topics) == 0 || log.Topics[0] != contracts.RailgunABI.Events["Shield"].ID {
			continue
		}
		fields := map[string]any{}
		if err := contracts.RailgunABI.UnpackIntoMap(fields, "Shield", log.Data); err != nil {
			return nil, fmt.Errorf("event Shield: %w", err)
		}
		notes := *abi.ConvertType(fields["commitments"], new([]preimage)).(*[]preimage)
		ciphertexts := *abi.ConvertType(fields["shieldCiphertext"], new([]ciphertext)).(*[]ciphertext)
		fees := fields["fees"].([]*big.Int)
		if len(notes) != 1 || len(ciphertexts) != 1 || len(fees) != 1 {
			return nil, fmt.Errorf("event Shield: %d notes, %d ciphertexts and %d fees, want one of each",
				len(notes), len(ciphertexts), len(fees))
		}
		return &Shielded{
			Note: railgun.Note{
				NPK:             notes[0].Npk,
				EncryptedBundle: ciphertexts[0].EncryptedBundle,
				ShieldKey:       ciphertexts[0].ShieldKey,
			},
			Token: notes[0].Token.TokenAddress,
			Value: notes[0].Value,
			Fee:   fees[0],
		}, nil
	}
	return nil, errors.New("nothing was shielded")
}
