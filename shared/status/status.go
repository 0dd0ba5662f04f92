// Package status tells what became of a swap, from its source transaction alone.
// The chains know; what is remembered only saves calls.
//
// What was swapped is read from the events of the transaction, and its settlement
// is found by an ID that follows from those events. A burn is also looked up at the
// issuer.
//
// What it promises:
//   - It never says more than it has read. A final answer rests on the event
//     itself, from the contract that may emit it, with every field compared, in a
//     block with as many confirmations as the deployment demands.
//   - What could not be read is Settling with a reason, or an error that names the
//     chain. It is never final, and never NotFound.
//   - Each look-up makes a bounded number of calls, in bounded time. A search that
//     does not end goes on where it was when the next one comes.
//   - Look-ups of the same transaction at the same time are one. Invented hashes
//     have a lane and a memory of their own.
//   - What an endpoint says is used only if it fits together. An endpoint that
//     stands still is believed in what it has, not in what it has not.
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

// States lists every state.
func States() []State { return []State{NotFound, Pending, Failed, NotASwap, Settling, Settled} }

// MostSwaps is how many swaps of one transaction are looked up.
const MostSwaps = 16

// Status is what became of a transaction. It is shared between callers: nobody
// may change it.
type Status struct {
	State   State // the least advanced one of its swaps
	Final   bool
	Reason  string  // why it failed, if the node tells, or why more is not known; empty for none
	Source  *Source // nil while it is in no block
	Swaps   []Swap  // in the order of the events, the first MostSwaps
	Omitted int     // how many more there are

	Next time.Duration // when to ask again; 0 for never
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
	Reason     string      // why it is not settled, or not known to be; empty for none
	Unread     bool        // its event cannot be read, so that nothing of calldata.Swap is known
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

// Settlement is the payout, as its event tells.
type Settlement struct {
	ChainID chain.ID // a network
	TxHash  common.Hash
	Amount  uint256.Int // in the destination token's smallest unit
	Arrived uint256.Int // what is left of it once RAILGUN has taken its part of what it shields
	Time    time.Time
	Note    common.Hash // the npk of a shield note; zero for an address
}
