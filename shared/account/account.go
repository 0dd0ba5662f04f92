// Package account reads an account on a chain: what it has of a token and of the
// chain's own coin, how much a contract may spend, and what transactions that it
// would send would do.
//
// Every reading is made for one request and kept for no other: an approval that is
// left out because of an old reading makes the swap revert. Readings are made in
// bounded time, through the endpoints of the chain, in the lane of wallets. A
// request costs a node at most three round trips: one for what the account has,
// one for the simulation, and one for an estimate where the node cannot simulate.
// When something cannot be read, the error is a sentence for the client and holds
// nothing of the cause, which the endpoints' own log has.
package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Holding is what an account has.
type Holding struct {
	Native    uint256.Int // of the chain's own coin
	Balance   uint256.Int // of the token
	Allowance uint256.Int // how much of it the spender may take; 0 for the native coin
	CheckedAt time.Time
}

// Reader reads accounts. It is safe for concurrent use.
type Reader struct {
	client *rpc.Client
	now    func() time.Time
}

// New reads through a client. now is nil for time.Now.
func New(client *rpc.Client, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	return &Reader{client, now}
}

// Read reads what owner has of a token, and how much of that spender may take.
func (r *Reader) Read(ctx context.Context, token *chain.Token, owner, spender common.Address) (Holding, error) {
	holding := Holding{CheckedAt: r.now()}
	err := r.client.Ask(ctx, token.ChainID, rpc.Wallets, func(ctx context.Context, e *rpc.Endpoint) error {
		var native hexutil.U256
		var balance, allowance hexutil.Bytes
		reads := []rpc.Read{rpc.ReadBalance(owner, &native)}
		if !token.Native() {
			reads = append(reads,
				rpc.ReadContract(token.Address.Address, calldata.BalanceOf(owner), &balance),
				rpc.ReadContract(token.Address.Address, calldata.Allowance(owner, spender), &allowance))
		}
		if err := e.ReadAll(ctx, reads...); err != nil {
			return err
		}
		holding.Native = uint256.Int(native)
		if token.Native() {
			holding.Balance = holding.Native
			return nil
		}
		if len(balance) != word || len(allowance) != word {
			return &rpc.Failure{Reason: rpc.Undecodable, Text: "the token's answer is not one number"}
		}
		holding.Balance.SetBytes(balance)
		holding.Allowance.SetBytes(allowance)
		return nil
	})
	if err == nil {
		return holding, nil
	}
	text := "Balance and allowance could not be read on chain %s just now; ask again, or check them yourself"
	switch reasonOf(err) {
	case rpc.Unconfigured:
		text = "This service has no RPC endpoint for chain %s, so balance and allowance are not checked"
	case rpc.Reverted:
		text = "The token contract on chain %s refused to tell balance and allowance"
	}
	return Holding{}, fmt.Errorf(text, token.ChainID)
}

// reasonOf is why rpc failed, empty if it did not.
func reasonOf(err error) rpc.Reason {
	if f, ok := errors.AsType[*rpc.Failure](err); ok {
		return f.Reason
	}
	return ""
}

// Call is a transaction to sign.
type Call struct {
	To    chain.Address
	Data  []byte
	Value *uint256.Int
}

// Simulation is what calls would do, one after the other, on the state of the
// newest block.
type Simulation struct {
	BlockNumber uint64
	Calls       []Result
	HasLogs     bool        // false if the node could only estimate, and told no logs
	GasPrice    uint256.Int // what the node would pay for a unit of gas
	Native      uint256.Int // what the account has of the chain's own coin
}

// Result is what became of one call.
type Result struct {
	GasUsed uint64 // 0 if it failed and the node does not say
	Error   string // why it failed, in words; empty if it did not
	Logs    []rpc.Log
}

// Simulate tries calls that from would send. The text of an error is for the client
// to read. A node that cannot simulate is asked to estimate, if there is one call.
func (r *Reader) Simulate(ctx context.Context, network chain.ID, from common.Address, calls []Call) (*Simulation, error) {
	messages := make([]rpc.Message, len(calls))
	for i, c := range calls {
		messages[i] = rpc.Message{From: from, To: &c.To.Address, Data: c.Data, Value: (*hexutil.U256)(c.Value)}
	}
	var s *Simulation
	err := r.client.Ask(ctx, network, rpc.Wallets, func(ctx context.Context, e *rpc.Endpoint) (err error) {
		s, err = simulate(ctx, e, messages)
		if reasonOf(err) == rpc.Timeout {
			// The node may be quick enough for readings, so it must not rest.
			return &rpc.Failure{Reason: rpc.Declined, Text: "no simulation in time"}
		}
		return err
	})
	if err == nil {
		return s, nil
	}
	text := "The transactions could not be tried on chain %s just now; ask again"
	switch reasonOf(err) {
	case rpc.Unconfigured:
		text = "This service has no RPC endpoint for chain %s, so the transactions are not tried"
	case rpc.Declined:
		text = "No node of this service for chain %s could try the transactions"
	}
	return nil, fmt.Errorf(text, network)
}

var errCannot = &rpc.Failure{Reason: rpc.Declined, Text: "it cannot simulate"}

func simulate(ctx context.Context, e *rpc.Endpoint, messages []rpc.Message) (*Simulation, error) {
	var (
		blocks        []rpc.Simulated
		price, native hexutil.U256
		number        hexutil.Uint64
	)
	reads := []rpc.Read{
		rpc.ReadSimulation(messages, &blocks), rpc.ReadGasPrice(&price), rpc.ReadBalance(messages[0].From, &native), rpc.ReadNumber(&number),
	}
	if err := e.Batch(ctx, reads); err != nil {
		return nil, err
	}
	for _, r := range reads[1:] {
		if r.Err != nil {
			return nil, r.Err
		}
	}
	s := &Simulation{BlockNumber: uint64(number), GasPrice: uint256.Int(price), Native: uint256.Int(native)}
	if s.GasPrice.BitLen() > 128 {
		return nil, &rpc.Failure{Reason: rpc.Undecodable, Text: "an absurd price of gas"}
	}
	last := messages[len(messages)-1]
	switch {
	case reads[0].Err == nil:
		return s, s.take(blocks, len(messages))
	case s.Native.Lt((*uint256.Int)(last.Value)): // nodes then refuse to simulate at all
		s.Calls = []Result{{Error: "The account has less of the chain's own coin than the call sends"}}
		return s, nil
	case len(messages) > 1:
		return nil, errCannot
	}
	gas, reverted, output, err := e.Estimate(ctx, last)
	if err != nil {
		return nil, err
	}
	s.Calls = []Result{{GasUsed: gas}}
	if reverted {
		s.Calls[0].Error = explainRevert(output)
	}
	return s, nil
}

// take reads what a node has simulated.
func (s *Simulation) take(blocks []rpc.Simulated, calls int) error {
	const mostGas = 1 << 40 // far more than fits a block
	if len(blocks) != 1 || len(blocks[0].Calls) != calls || blocks[0].Number == 0 {
		return errCannot
	}
	s.BlockNumber, s.HasLogs = uint64(blocks[0].Number)-1, true
	for _, c := range blocks[0].Calls {
		if c.GasUsed > mostGas {
			return errCannot
		}
		result := Result{GasUsed: uint64(c.GasUsed), Logs: c.Logs}
		if c.Status != 1 {
			result.Error, result.Logs = explainRevert(c.Revert()), nil
		}
		s.Calls = append(s.Calls, result)
	}
	return nil
}

const (
	word         = 32
	selectorSize = 4 // bytes that say which error it is that a contract reverts with
)

func selector(signature string) [selectorSize]byte {
	return [selectorSize]byte(calldata.Hash([]byte(signature)).Bytes())
}

// Errors that the language itself has.
var (
	errorText  = selector("Error(string)")
	errorPanic = selector("Panic(uint256)")
)

// knownErrors are those of the libraries that tokens and pools are made of.
var knownErrors = map[[selectorSize]byte]string{
	selector("ERC20InsufficientBalance(address,uint256,uint256)"):   "The account has less of the token than the call moves",
	selector("ERC20InsufficientAllowance(address,uint256,uint256)"): "The account has allowed less of the token than the call moves",
	selector("ERC20InvalidReceiver(address)"):                       "The token refuses the receiver",
	selector("ERC20InvalidSender(address)"):                         "The token refuses the sender",
	selector("ERC20InvalidSpender(address)"):                        "The token refuses the spender",
	selector("SafeERC20FailedOperation(address)"):                   "The token refuses the transfer",
	selector("EnforcedPause()"):                                     "The contract is paused",
	selector("ReentrancyGuardReentrantCall()"):                      "The contract is called from within itself",
	selector("AddressEmptyCode(address)"):                           "There is no contract where one is called",
	selector("FailedCall()"):                                        "A call that the contract makes fails without a reason",
	selector("FailedInnerCall()"):                                   "A call that the contract makes fails without a reason",
}

// panics are what the language stops for.
var panics = map[uint64]string{
	0x01: "an assertion does not hold",
	0x11: "a number is too large or below zero",
	0x12: "a division by zero",
	0x21: "a value that is none of its list",
	0x31: "an empty list",
	0x32: "a place outside of a list",
	0x41: "too much memory",
	0x51: "a call of nothing",
}

// explainRevert says in words why a call reverts. What a contract says is repeated
// without anything that is not printed, and shortened.
func explainRevert(output []byte) string {
	if len(output) < selectorSize {
		return "The contract fails without giving a reason"
	}
	kind, data := [selectorSize]byte(output), output[selectorSize:]
	if known, ok := knownErrors[kind]; ok {
		return known
	}
	switch kind {
	case errorText:
		if text, ok := readText(data); ok {
			return "The contract says: " + text
		}
	case errorPanic:
		if n := new(uint256.Int).SetBytes(data[:min(len(data), word)]); n.IsUint64() && panics[n.Uint64()] != "" {
			return "The contract stops: " + panics[n.Uint64()]
		}
	}
	return fmt.Sprintf("The contract fails with the error 0x%x", kind)
}

// readText reads a string argument.
func readText(data []byte) (string, bool) {
	const longest = 200
	if len(data) < 2*word || new(uint256.Int).SetBytes(data[:word]).CmpUint64(word) != 0 {
		return "", false
	}
	size := new(uint256.Int).SetBytes(data[word : 2*word])
	if data = data[2*word:]; size.CmpUint64(uint64(len(data))) > 0 {
		return "", false
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(data[:min(size.Uint64(), longest)]), "?"))
	return text, text != ""
}
