package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
)

// Codes of errors.
const (
	// Unknown: the swap was signed, and it is not known whether it is in a block. Never start it anew: call Send again
	// with the same Swap.
	Unknown = "UNKNOWN"

	// The swap was not sent, or failed on the chain: the money was not moved. Ask for a new quote.

	InvalidRequest = "INVALID_REQUEST" // the Sender or the Swap lacks something
	Unverified     = "UNVERIFIED"      // the swap is not what was quoted, or does not pass the checks any more
	TooLittle      = "TOO_LITTLE"      // the account lacks tokens, or coins for the value or for gas

	NoContract   = "NO_CONTRACT"   // there is no contract at an address that would be paid or approved
	WouldFail    = "WOULD_FAIL"    // the node says that the transaction would fail
	GasTooHigh   = "GAS_TOO_HIGH"  // the gas could cost more than MaxGas
	Expired      = "EXPIRED"       // the quote was too old to sign
	WrongChain   = "WRONG_CHAIN"   // the node serves another chain
	WrongAccount = "WRONG_ACCOUNT" // the swap was begun by another account
	NotSigned    = "NOT_SIGNED"    // the account did not sign, or signed something else
	NotTaken     = "NOT_TAKEN"     // the node refused the transaction
	Reverted     = "REVERTED"      // the transaction is in a block, and failed
	Replaced     = "REPLACED"      // another transaction of the account has its nonce

	// The swap was not sent yet: call Send again later.

	NotChecked      = "NOT_CHECKED"      // the gateway does not say now what the quote is to be checked against
	ContractUnknown = "CONTRACT_UNKNOWN" // the node does not say whether there is a contract; for native coins
	NodeUnavailable = "NODE_UNAVAILABLE" // the node does not answer; an approval may have been sent
	NotSaved        = "NOT_SAVED"        // Save failed
	Busy            = "BUSY"             // another swap of the account is being sent
)

// An Error is why a swap was not sent, failed, or has an unknown outcome.
type Error struct {
	Code string
	err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%v (%s)", e.err, e.Code) }

// Unwrap gives the cause, such as that of the node or of the context.
func (e *Error) Unwrap() error { return e.err }

// Temporary tells whether the swap was not sent yet, and the same call may succeed later.
func (e *Error) Temporary() bool {
	return slices.Contains([]string{NotChecked, ContractUnknown, NodeUnavailable, NotSaved, Busy}, e.Code)
}

// Resume tells whether to call Send again with the same Swap. Otherwise the swap was not made and never will be.
func (e *Error) Resume() bool { return e.Code == Unknown || e.Temporary() }

// settled tells whether an error says what became of a signed swap, or that this is not known.
func (e *Error) settled() bool { return slices.Contains([]string{Unknown, Reverted, Replaced}, e.Code) }

func failure(code, format string, args ...any) *Error {
	return &Error{Code: code, err: fmt.Errorf(format, args...)}
}

// unavailable is the error of a question that the node did not answer.
func unavailable(what string, err error) *Error { return failure(NodeUnavailable, "%s: %w", what, err) }

// reverts tells whether a node says that a call reverts.
func reverts(err error) bool {
	var answer rpc.Error
	isAnswer := errors.As(err, &answer)
	return isAnswer && (answer.ErrorCode() == reverted || strings.Contains(strings.ToLower(answer.Error()), "revert"))
}

// reverted is the code of most nodes for a call that reverts.
const reverted = 3

// limitExceeded is the code of a node that is asked too often.
const limitExceeded = -32005

// wouldFail tells a transaction that would fail from a node that did not answer.
func wouldFail(ctx context.Context, what string, err error) *Error {
	var answer rpc.Error
	if ctx.Err() == nil && errors.As(err, &answer) && answer.ErrorCode() != limitExceeded {
		return failure(WouldFail, "%s: it would fail: %w", what, err)
	}
	return unavailable(what+": estimating gas", err)
}
