// Package status tells what became of a swap, from its source transaction alone.
// It keeps nothing: the chains know.
//
// What was swapped is read from the events of the transaction, and its settlement
// is found by an ID that follows from those events. A burn is also looked up at the
// issuer.
//
// What it promises:
//   - A state is final once its transactions have as many confirmations as the
//     deployment demands. Until then it may go back, and is not kept.
//   - Look-ups of the same transaction at the same time are one. Each makes a
//     bounded number of calls, in bounded time, in a lane of its own.
//   - What an endpoint says is used only if it fits together: an answer about
//     another transaction, or from a chain shorter than the answer says, is not.
//   - When a chain cannot be asked, the error says which. A state is never guessed.
package status

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
)

// State is how far a swap is.
type State string

const (
	NotFound State = "NOT_FOUND"  // no node knows the transaction
	Pending  State = "PENDING"    // not in a block, or not deep enough yet
	Failed   State = "FAILED"     // it reverted; nothing was swapped
	NotASwap State = "NOT_A_SWAP" // it swapped nothing with this deployment
	Settling State = "SETTLING"   // paid, and not paid out yet
	Settled  State = "SETTLED"    // paid out
)

// MostSwaps is how many swaps of one transaction are looked up.
const MostSwaps = 16

// Status is what became of a transaction. It is shared between callers: nobody
// may change it.
type Status struct {
	State   State // the least advanced one of its swaps
	Final   bool
	Reason  string  // why it failed, if the node tells; empty for none
	Source  *Source // nil while it is in no block
	Swaps   []Swap  // in the order of the events, the first MostSwaps
	Omitted int     // how many more there are

	Next time.Duration // when to ask again; 0 for never
	Keep time.Duration // how long the answer may be used again
}

// Source is the block of the source transaction.
type Source struct {
	Block         uint64
	Confirmations uint64 // with the block itself
	Time          time.Time
}

// Swap is one swap of the transaction.
type Swap struct {
	State State
	Final bool
	calldata.Swap
	Reason     string      // why it cannot be settled; empty for none
	Burn       *Burn       // where the issuer carries the money
	Settlement *Settlement // nil until it is settled
	Seconds    uint32      // how long it usually takes; 0 if unknown
}

// Burn is the issuer's view of a burn.
type Burn struct {
	Domain uint32
	State  cctp.Attestation
	Nonce  common.Hash // of the attested message; zero until it is attested
	Reason string      // the issuer's word for a delay, or why its view is unknown
}

// Settlement is the payout. All but ChainID is zero while its event was not found.
type Settlement struct {
	ChainID chain.ID // a network
	TxHash  common.Hash
	Amount  uint256.Int // in the destination token's smallest unit
	Time    time.Time
	Note    common.Hash // the npk of a shield note; zero for an address
}

// advance orders the states of swaps. The least advanced one is that of the
// transaction.
func (s State) advance() int {
	switch s {
	case Settled:
		return 2
	case Settling:
		return 1
	}
	return 0
}

// note is the npk of a swap's shield note, zero if it has another recipient.
func note(s *calldata.Swap) (npk common.Hash) {
	if s.RecipientType == calldata.RecipientPrivate && len(s.Recipient) >= len(npk) {
		copy(npk[:], s.Recipient)
	}
	return npk
}
