package reference

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/shared/chain"
)

// What the message of a burn of CCTP V2 says of the fee: how final the burn should be before it is attested, how
// much is burnt, and the most that the issuer may take.
const (
	minFinalityAt = 140
	amountAt      = 148 + 68
	maxFeeAt      = 148 + 132
	burnSize      = 148 + 228 // up to the hook
)

// fast is the finality of a transfer that the issuer takes a fee for.
const fast = 1000

// An attestation is what the issuer says of a burn.
type attestation struct {
	nonce     common.Hash
	message   []byte // as attested, nil if it is not
	signature []byte
	delay     string // why it is not attested
}

// burnt tells whether a log on a chain of the issuer tells of a burn.
func burnt(on *chain.CCTP, log *types.Log) bool {
	sent := contracts.TokenMessengerABI.Events["MessageSent"].ID
	return log.Address == on.Messenger.Address && len(log.Topics) > 0 && log.Topics[0] == sent
}

// attest does what the issuer does with the burn that a log on a chain tells of: it gives the message a nonce,
// takes its fee, and signs. It says the same of the same log whenever it is asked. A burn that does not allow the
// fee of a fast transfer is never attested: the real issuer attests it once it is final, which nothing on a
// simulated chain becomes.
func attest(on *chain.CCTP, log *types.Log) (attestation, error) {
	var sent struct{ Message []byte }
	if err := unpack(contracts.TokenMessengerABI, "MessageSent", log, &sent); err != nil {
		return attestation{}, err
	}
	a := attestation{nonce: messageNonce(log)}
	details := localnet.Attestation{Nonce: a.nonce, Fee: new(big.Int)}
	if len(sent.Message) >= burnSize {
		word := func(at int) *big.Int { return new(big.Int).SetBytes(sent.Message[at : at+32]) }
		details.Finality = binary.BigEndian.Uint32(sent.Message[minFinalityAt:])
		if details.Finality <= fast {
			details.Fee = fastFee(word(amountAt), on.FastFeeMilliBPS)
		}
		if details.Fee.Cmp(word(maxFeeAt)) > 0 {
			a.delay = "insufficient_fee"
			return a, nil
		}
	}
	var err error
	a.message, a.signature, err = localnet.Attest(Attester.Key, sent.Message, details)
	return a, err
}

// fastFee is the issuer's fee for a fast transfer, rounded up.
func fastFee(amount *big.Int, milliBPS uint32) *big.Int {
	const whole = 10_000 * 1000
	fee := new(big.Int).Mul(amount, new(big.Int).SetUint64(uint64(milliBPS)))
	return fee.Add(fee, big.NewInt(whole-1)).Quo(fee, big.NewInt(whole))
}

// messageNonce is unique to a log among all chains: transactions sign their chain.
func messageNonce(log *types.Log) common.Hash {
	return crypto.Keccak256Hash(log.TxHash[:], new(big.Int).SetUint64(uint64(log.Index)).Bytes())
}
