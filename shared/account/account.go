// Package account reads an account on a chain: balances, allowance, whether it is a
// contract, and a simulation of the transactions it would send.
//
// Nothing is cached: an approval that is omitted because of an old reading makes the swap
// revert. A request takes one round trip for balances, one for the simulation and one to
// verify the gas limits, in bounded time. Errors are sentences for the client and contain
// nothing from a node.
package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Reader reads accounts. It is safe for concurrent use.
type Reader struct {
	client *rpc.Client
	now    func() time.Time
}

// New reads accounts through a client.
func New(client *rpc.Client, now func() time.Time) *Reader { return &Reader{client, now} }

// Read reads what owner has of a token, and how much of that spender may take.
func (r *Reader) Read(
	ctx context.Context, caller netip.Prefix, token *chain.Token, owner, spender common.Address,
) (quote.Holding, error) {
	holding := quote.Holding{CheckedAt: r.now()}
	err := r.client.Ask(ctx, question(caller, token.ChainID), func(ctx context.Context, e *rpc.Endpoint) error {
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
		const word = 32
		if len(balance) != word || len(allowance) != word {
			return &rpc.Failure{Reason: rpc.Undecodable, Text: "the token did not return one number"}
		}
		holding.Balance.SetBytes(balance)
		holding.Allowance.SetBytes(allowance)
		return nil
	})
	if err == nil {
		return holding, nil
	}
	text := "Balance and allowance on chain %s are temporarily unavailable. Retry, or check them yourself"
	switch reasonOf(err) {
	case rpc.Unconfigured:
		text = "Balance and allowance are not checked: no RPC endpoint is configured for chain %s"
	case rpc.Reverted:
		text = "The token contract on chain %s rejected the balance and allowance calls"
	}
	return quote.Holding{}, fmt.Errorf(text, token.ChainID)
}

// HasCode reports whether an account is a contract. An account that delegates to one (EIP-7702)
// is none.
func (r *Reader) HasCode(
	ctx context.Context, caller netip.Prefix, network chain.ID, account common.Address,
) (bool, error) {
	var code hexutil.Bytes
	err := r.client.Ask(ctx, question(caller, network), func(ctx context.Context, e *rpc.Endpoint) error {
		return e.ReadAll(ctx, rpc.ReadAnyCode(account, &code))
	})
	return rpc.IsContract(code), err
}

func question(caller netip.Prefix, network chain.ID) rpc.Question {
	return rpc.Question{Network: network, Queue: rpc.Wallets, Caller: caller}
}

// reasonOf is the reason of an rpc.Failure, empty for other errors.
func reasonOf(err error) rpc.Reason {
	if f, ok := errors.AsType[*rpc.Failure](err); ok {
		return f.Reason
	}
	return ""
}

// Simulate runs the calls that from would send. If there is one call, a node that does not
// support simulation estimates it. The text of an error is for the client. holding is what
// the account has, nil if unknown.
func (r *Reader) Simulate(
	ctx context.Context, caller netip.Prefix, network chain.ID, from common.Address,
	holding *quote.Holding, calls []quote.Transaction,
) (*quote.Simulation, error) {
	messages := make([]rpc.Message, len(calls))
	for i, c := range calls {
		messages[i] = rpc.Message{From: from, To: &c.To.Address, Data: c.Data, Value: (*hexutil.U256)(c.Value)}
	}
	var s *quote.Simulation
	late := false
	err := r.client.Ask(ctx, question(caller, network), func(ctx context.Context, e *rpc.Endpoint) (err error) {
		s, err = simulate(ctx, e, holding, messages)
		if reasonOf(err) == rpc.Timeout {
			late = true
			// The node may be fast enough for reads, so it must not be skipped.
			return &rpc.Failure{Reason: rpc.Declined, Text: "no simulation in time"}
		}
		return err
	})
	if err == nil {
		return s, nil
	}
	text := "Simulation on chain %s is temporarily unavailable. Retry"
	switch reason := reasonOf(err); {
	case reason == rpc.Unconfigured:
		text = "Simulation needs an RPC endpoint, and none is configured for chain %s"
	case reason == rpc.Declined && !late:
		text = "No configured node of chain %s supports simulation"
	}
	return nil, fmt.Errorf(text, network)
}

var (
	errImplausible = &rpc.Failure{Reason: rpc.Undecodable, Text: "an implausible gas price"}
	errNoLimit     = &rpc.Failure{Reason: rpc.Declined, Text: "no gas limit makes the calls succeed"}
)

// simulation is a simulation in progress on one node.
type simulation struct{ quote.Simulation }

// simulate runs the messages on one node.
func simulate(
	ctx context.Context, e *rpc.Endpoint, holding *quote.Holding, messages []rpc.Message,
) (*quote.Simulation, error) {
	s := &simulation{}
	last := messages[len(messages)-1]
	var err error
	if holding != nil && holding.Native.Lt((*uint256.Int)(last.Value)) {
		// Nodes refuse to simulate a call that sends more than the account has.
		s.Calls = []quote.CallResult{{Error: "The account's native balance is lower than the value of the call"}}
	} else {
		err = s.run(ctx, e, messages)
	}
	if reasonOf(err) == rpc.Declined && len(messages) == 1 {
		err = s.estimate(ctx, e, last)
	}
	if err != nil {
		return nil, err
	}
	if err := s.complete(ctx, e, holding, messages); err != nil {
		return nil, err
	}
	return &s.Simulation, nil
}

// run has the node simulate the messages. The error is Declined if it does not support that.
func (s *simulation) run(ctx context.Context, e *rpc.Endpoint, messages []rpc.Message) error {
	var blocks []rpc.Simulated
	if err := e.ReadAll(ctx, rpc.ReadSimulation(messages, &blocks)); err != nil {
		return err
	}
	results, ok := decode(blocks, len(messages))
	if !ok {
		return rpc.ErrNoMethod // it answers, but not with a simulation
	}
	s.BlockNumber = uint64(blocks[0].Number) - 1
	s.HasLogs = true
	s.Calls = results
	return nil
}

// estimate has the node estimate a message instead. The error is Declined if it does not
// support that.
func (s *simulation) estimate(ctx context.Context, e *rpc.Endpoint, m rpc.Message) error {
	var gas hexutil.Uint64
	err := e.ReadAll(ctx, rpc.ReadEstimate(m, &gas))
	if f, ok := errors.AsType[*rpc.Failure](err); ok && f.Reason == rpc.Reverted {
		s.Calls = []quote.CallResult{{Error: explainRevert(f.Output)}}
		return nil
	}
	if err != nil {
		return err
	}
	if gas > mostGas {
		return rpc.ErrNoMethod
	}
	s.Calls = []quote.CallResult{{GasUsed: uint64(gas), GasLimit: withMargin(uint64(gas))}}
	// A call of an address without a contract succeeds, and the funds are lost.
	var code hexutil.Bytes
	if err := e.ReadAll(ctx, rpc.ReadCode(*m.To, &code)); err != nil {
		return err
	}
	if !rpc.IsContract(code) {
		s.Calls[0].Error = "No contract exists at the called address"
	}
	return nil
}

// complete reads what the simulation does not return. In the same round trip, it runs the
// calls with the gas limits derived from it: a contract may need more gas than it ends up
// using.
func (s *simulation) complete(
	ctx context.Context, e *rpc.Endpoint, holding *quote.Holding, messages []rpc.Message,
) error {
	var price, native hexutil.U256
	var latest rpc.Block
	var limited []rpc.Simulated
	reads := []rpc.Read{rpc.ReadGasPrice(&price), rpc.ReadLatest(&latest)}
	if holding == nil {
		reads = append(reads, rpc.ReadBalance(messages[0].From, &native))
	} else {
		native = hexutil.U256(holding.Native)
	}
	hasLimits := s.HasLogs && succeed(s.Calls)
	if hasLimits {
		reads = append(reads, rpc.ReadSimulation(s.limit(messages), &limited))
	}
	if err := e.ReadAll(ctx, reads...); err != nil {
		return err
	}
	if !s.HasLogs {
		s.BlockNumber = uint64(latest.Number)
	}
	s.Native = uint256.Int(native)
	var plausible bool
	s.GasPrice, plausible = priceOf((*uint256.Int)(&price), (*uint256.Int)(latest.BaseFee))
	switch {
	case !plausible:
		return errImplausible
	case hasLimits:
		return s.verifyLimits(ctx, e, messages, limited)
	}
	return nil
}

// verifyLimits doubles the limits that were too low and tries again. It adds a margin to limits
// that were enough.
func (s *simulation) verifyLimits(
	ctx context.Context, e *rpc.Endpoint, messages []rpc.Message, limited []rpc.Simulated,
) error {
	const mostTries = 4
	for try := 1; ; try++ {
		results, ok := decode(limited, len(messages))
		if ok && succeed(results) {
			break
		}
		if !ok || try == mostTries {
			return errNoLimit
		}
		for i, r := range results {
			if r.Error != "" {
				s.Calls[i].GasLimit *= 2
			}
		}
		limited = nil
		if err := e.ReadAll(ctx, rpc.ReadSimulation(s.limit(messages), &limited)); err != nil {
			return err
		}
	}
	for i := range s.Calls {
		s.Calls[i].GasLimit = withMargin(s.Calls[i].GasLimit)
	}
	return nil
}

func succeed(calls []quote.CallResult) bool {
	return !slices.ContainsFunc(calls, func(r quote.CallResult) bool { return r.Error != "" })
}

// limit gives messages their gas limits.
func (s *simulation) limit(messages []rpc.Message) []rpc.Message {
	limited := slices.Clone(messages)
	for i := range limited {
		limited[i].Gas = hexutil.Uint64(s.Calls[i].GasLimit)
	}
	return limited
}

// mostGas is far more than fits into a block.
const mostGas = 1 << 40

// decode reads the result of a simulation. It is false if that is invalid: a call without a
// status, for example, has neither succeeded nor failed.
func decode(blocks []rpc.Simulated, calls int) ([]quote.CallResult, bool) {
	if len(blocks) != 1 || len(blocks[0].Calls) != calls || blocks[0].Number == 0 {
		return nil, false
	}
	results := make([]quote.CallResult, calls)
	for i, c := range blocks[0].Calls {
		if c.Status == nil || c.GasUsed > mostGas || c.MaxUsedGas > mostGas {
			return nil, false
		}
		used, most := uint64(c.GasUsed), uint64(c.MaxUsedGas)
		results[i] = quote.CallResult{GasUsed: used, GasLimit: gasFor(used, most)}
		if *c.Status != 1 {
			results[i].Error = explainRevert(c.Revert())
			continue
		}
		for _, log := range c.Logs {
			event := calldata.Log{Address: log.Address, Topics: log.Topics, Data: log.Data}
			results[i].Logs = append(results[i].Logs, event)
		}
	}
	return results, true
}

// gasFor is the gas that a call probably needs, from what it used after and before refunds; the
// latter is 0 if the node does not say. Refunds are at most a fifth of the gas used
// (EIP-3529). A contract retains a 64th of its gas in each call (EIP-150), which an eighth
// covers for seven nested calls.
func gasFor(used, before uint64) uint64 {
	const stipend = 2300 // of a call that transfers coins
	if before == 0 {
		before = used + (used+3)/4
	}
	gas := max(used, before)
	if gas == 0 {
		return 0
	}
	return gas + gas/8 + stipend
}

// withMargin adds a quarter, as wallets do, because the state may differ when the call is sent.
func withMargin(gas uint64) uint64 { return gas + gas/4 }

// priceOf is a gas price that is enough in the next blocks, false if a node's numbers are
// implausible. The base fee, nil if there is none, grows by an eighth with each full block, so
// twice the base fee lasts for five of them, as wallets assume. Where the base fee is close to
// zero, the node's price fluctuates, and a quarter is added.
func priceOf(price, baseFee *uint256.Int) (enough uint256.Int, ok bool) {
	more := new(uint256.Int).Rsh(price, 2)
	if baseFee != nil && more.Lt(baseFee) {
		more = baseFee
	}
	enough.Add(price, more)
	return enough, price.BitLen() <= 128 && more.BitLen() <= 128
}

func selector(signature string) [4]byte {
	return [4]byte(calldata.Hash([]byte(signature)).Bytes())
}

// knownErrors are those of the libraries that tokens and pools use.
var knownErrors = map[[4]byte]string{
	selector("ERC20InsufficientBalance(address,uint256,uint256)"): "The account's token balance is lower " +
		"than the transferred amount",
	selector("ERC20InsufficientAllowance(address,uint256,uint256)"): "The account's token allowance is lower " +
		"than the transferred amount",
	selector("ERC20InvalidReceiver(address)"):     "The token rejects the recipient",
	selector("ERC20InvalidSender(address)"):       "The token rejects the sender",
	selector("ERC20InvalidSpender(address)"):      "The token rejects the spender",
	selector("SafeERC20FailedOperation(address)"): "The token rejects the transfer",
	selector("EnforcedPause()"):                   "The contract is paused",
	selector("ReentrancyGuardReentrantCall()"):    "The contract rejects a reentrant call",
	selector("AddressEmptyCode(address)"):         "The contract calls an address without code",
	selector("FailedCall()"):                      "A call made by the contract failed without a reason",
	selector("FailedInnerCall()"):                 "A call made by the contract failed without a reason",
}

// explainRevert describes why a call reverted.
func explainRevert(output []byte) string {
	r, ok := calldata.ReadRevert(output)
	if !ok {
		return "The contract reverted without a reason"
	}
	if known := knownErrors[r.Kind]; known != "" {
		return known
	}
	if r.Text != "" {
		return "The contract says: " + r.Text
	}
	if r.Panic != nil {
		return "The contract stops: panic code " + r.Panic.Hex()
	}
	return fmt.Sprintf("The contract reverted with error 0x%x", r.Kind)
}
