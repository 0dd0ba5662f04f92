package localnet

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// An Attestation is what the issuer's attesters add to the message of a burn.
type Attestation struct {
	Nonce           common.Hash // unique to the message
	Finality        uint32      // at which it was signed: 1000 is fast, 2000 is final
	Fee             *big.Int    // taken from the amount
	ExpirationBlock uint64      // of the destination; 0 for never
}

// Offsets in a burn message of CCTP V2: a header of 148 bytes, then the body up to the hook.
const (
	nonceAt      = 12
	finalityAt   = 144
	feeAt        = 148 + 164
	expirationAt = 148 + 196
	BurnSize     = 148 + 228 // without the hook, which follows
)

// Attest does for a simulated chain what the issuer's attesters do: it fills in the fields that the messenger left at
// zero, and signs the result. The sent message, of BurnSize bytes or more, is left as it is.
func Attest(key *ecdsa.PrivateKey, sent []byte, a Attestation) (message, signature []byte, err error) {
	message = bytes.Clone(sent)
	copy(message[nonceAt:], a.Nonce[:])
	binary.BigEndian.PutUint32(message[finalityAt:], a.Finality)
	a.Fee.FillBytes(message[feeAt : feeAt+32])
	binary.BigEndian.PutUint64(message[expirationAt+24:], a.ExpirationBlock)
	signature, err = crypto.Sign(crypto.Keccak256(message), key)
	if err != nil {
		return nil, nil, err
	}
	signature[64] += 27 // the recovery ID as ecrecover takes it
	return message, signature, nil
}
