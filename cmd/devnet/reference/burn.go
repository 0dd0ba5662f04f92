package reference

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/testdata/contracts"
)

// Where the message of a burn of CCTP V2 says how final the burn should be before it is attested, and what that may cost.
const (
	minFinalityAt = 140
	maxFeeAt      = 148 + 132
	burnSize      = 148 + 228 // up to the hook
)

// attest does what the issuer does with the burn that a log tells of: it gives the message a nonce, takes its fee, and
// signs. It gives the same bytes for the same log.
func attest(log *types.Log) (message, signature []byte, err error) {
	var sent struct{ Message []byte }
	if err := unpack(contracts.TokenMessengerABI, "MessageSent", log, &sent); err != nil {
		return nil, nil, err
	}
	a := localnet.Attestation{Nonce: messageNonce(log), Fee: new(big.Int)}
	if len(sent.Message) >= burnSize {
		a.Finality = binary.BigEndian.Uint32(sent.Message[minFinalityAt:])
		// The issuer takes less than it was allowed: the allowance has a margin of a fifth.
		maxFee := new(big.Int).SetBytes(sent.Message[maxFeeAt : maxFeeAt+32])
		a.Fee.Quo(maxFee.Mul(maxFee, big.NewInt(5)), big.NewInt(6))
	}
	return localnet.Attest(Attester.Key, sent.Message, a)
}

// messageNonce is unique to a log among all chains: transactions sign their chain.
func messageNonce(log *types.Log) common.Hash {
	return crypto.Keccak256Hash(log.TxHash[:], new(big.Int).SetUint64(uint64(log.Index)).Bytes())
}
