package localnet

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/binary"
	"fmt"
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
	hookAt       = 148 + 228
)

// Attest does for a simulated chain what the issuer's attesters do: it fills in the fields that the messenger left at
// zero, and signs the result. The sent message is left as it is.
func Attest(key *ecdsa.PrivateKey, sent []byte, a Attestation) (message, signature []byte, err error) {
	if len(sent) < hookAt {
		return nil, nil, fmt.Errorf("a burn message has at least %d bytes, not %d", hookAt, len(sent))
	}
	if a.Fee == nil || a.Fee.Sign() < 0 || a.Fee.BitLen() > 256 {
		return nil, nil, fmt.Errorf("fee %v is not a uint256", a.Fee)
	}
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
