package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
)

// Read is one question of a batch and, once Batch has returned, its answer.
type Read struct {
	Method string
	Args   []any
	Result any      // a pointer to what the answer is decoded into
	Err    *Failure // why this read has no answer; the others may have one

	tracks bool // what became of a transaction: the answer may be long, and to refuse it is no failure of the endpoint
}

func isTracking(r Read) bool { return r.tracks }

// Methods that not every node has. An endpoint that refuses one of them, in whatever way,
// is no worse for it: that rests no queue.
const (
	simulate = "eth_simulateV1"
	estimate = "eth_estimateGas"
)

// ErrNoMethod is how a read of such a method fails that the endpoint answers in another
// form.
var ErrNoMethod = &Failure{Reason: Declined, Text: "method not supported"}

func isOptional(method string) bool { return method == simulate || method == estimate }

// ErrTooLong is how reads fail whose answer may be long, but not that long.
var ErrTooLong = &Failure{Reason: Declined, Text: "the answer is too long"}

// Batch asks all reads in one round trip and sets their results and errors. An
// endpoint that refuses batches, or answers one in part, gets the reads one after the
// other instead. All answers together are bounded like one of them.
//
// The error is a *Failure of the endpoint: no read was answered, or we are over
// its quota. A contract that reverts is an answer, and so is a read that is declined.
func (e *Endpoint) Batch(ctx context.Context, reads []Read) error {
	client := e.client
	if slices.ContainsFunc(reads, isTracking) {
		client = e.longClient
	}
	if len(reads) < 2 {
		return oneByOne(ctx, client, reads)
	}
	err := batch(ctx, client, reads)
	switch {
	case err == nil:
		return nil
	case refusesBatches(err):
		return oneByOne(ctx, client, reads)
	}
	return classify(err, reads...)
}

// errUnanswered is the failure of a batch of which not every read was answered.
var errUnanswered = &Failure{Reason: Refused, Text: "it does not answer batches"}

// refusesBatches reports whether a batch failed in a way in which the same reads,
// asked one by one, may succeed.
func refusesBatches(err error) bool {
	var httpError rpc.HTTPError
	if errors.As(err, &httpError) {
		// Above 500 are the words of a proxy whose node is away.
		return httpError.StatusCode/100 == 4 || httpError.StatusCode == http.StatusInternalServerError
	}
	return errors.Is(err, errUnanswered) ||
		errors.As(err, new(*json.UnmarshalTypeError)) || errors.As(err, new(*json.SyntaxError))
}

// batch sends the reads as a JSON-RPC batch. Its error may be one of the library.
func batch(ctx context.Context, client *rpc.Client, reads []Read) error {
	elements := make([]rpc.BatchElem, len(reads))
	for i, r := range reads {
		elements[i] = rpc.BatchElem{Method: r.Method, Args: r.Args, Result: r.Result}
	}
	if err := client.BatchCallContext(ctx, elements); err != nil {
		return err
	}
	for i, element := range elements {
		if element.Error == rpc.ErrMissingBatchResponse {
			return errUnanswered
		}
		reads[i].Err = failureIn(element.Error, reads[i])
	}
	return failureOf(reads, errUnanswered)
}

// failureIn is why a read that was asked for has no answer; nil if it has one.
func failureIn(err error, r Read) *Failure {
	if err == nil {
		return nil
	}
	f := classify(err, r)
	if f.Reason == Undecodable && isOptional(r.Method) {
		return ErrNoMethod
	}
	return f
}

// oneByOne sends each of the reads as a call of its own.
func oneByOne(ctx context.Context, client *rpc.Client, reads []Read) error {
	for i := range reads {
		r := &reads[i]
		var result json.RawMessage
		err := client.CallContext(ctx, &result, r.Method, r.Args...)
		isAnswer := errors.As(err, new(rpc.Error)) || errors.Is(err, rpc.ErrNoResult)
		switch {
		case err == nil:
			err = json.Unmarshal(result, r.Result)
		case !isAnswer:
			return classify(err, *r) // of the endpoint, not of this read
		}
		r.Err = failureIn(err, *r)
	}
	if len(reads) == 0 {
		return nil
	}
	return failureOf(reads, reads[0].Err)
}

// failureOf is Limited if any read failed for that, unanswered if every read
// failed, and nil otherwise.
func failureOf(reads []Read, unanswered *Failure) error {
	answered := false
	for _, r := range reads {
		switch {
		case r.Err == nil || r.Err.Reason == Reverted || r.Err.Reason == Declined:
			answered = true
		case r.Err.Reason == Limited:
			return r.Err
		}
	}
	if !answered {
		return unanswered
	}
	return nil
}

// ReadAll makes all reads in one batch, or fails.
func (e *Endpoint) ReadAll(ctx context.Context, reads ...Read) error {
	if err := e.Batch(ctx, reads); err != nil {
		return err
	}
	for _, read := range reads {
		if read.Err != nil {
			return read.Err
		}
	}
	return nil
}

// read is a question with any number of arguments, which are sent even if there are none.
func read(method string, result any, args ...any) Read {
	return Read{Method: method, Args: append([]any{}, args...), Result: result}
}

// track is a question of what became of a transaction.
func track(method string, result any, args ...any) Read {
	r := read(method, result, args...)
	r.tracks = true
	return r
}

// ReadContract reads what a contract returns for data at the latest block.
func ReadContract(to common.Address, data []byte, output *hexutil.Bytes) Read {
	return read("eth_call", output, Message{To: &to, Data: data}, "latest")
}

// ReadContractAt reads what a contract returned after a block. Not every node has the
// state of that time.
func ReadContractAt(to common.Address, data []byte, block uint64, output *hexutil.Bytes) Read {
	return track("eth_call", output, Message{To: &to, Data: data}, hexutil.Uint64(block))
}

// ReadBalance reads how much of the chain's own coin an account has at the
// latest block.
func ReadBalance(account common.Address, balance *hexutil.U256) Read {
	return read("eth_getBalance", balance, account, "latest")
}

// ReadCode reads the code of an account at the latest block. It is empty if the
// account is not a contract. Code of more than about 32 KiB is not read: the answer is
// then too long.
func ReadCode(account common.Address, code *hexutil.Bytes) Read {
	return read("eth_getCode", code, account, "latest")
}

// ReadAnyCode is ReadCode of whatever account a caller names: the code may be long, and to
// refuse it is no failure of the endpoint.
func ReadAnyCode(account common.Address, code *hexutil.Bytes) Read {
	return track("eth_getCode", code, account, "latest")
}

// IsContract tells whether code is that of a contract. An account that borrows the code
// of one (EIP-7702) is none: its owner can change that at any time.
func IsContract(code []byte) bool {
	delegated := len(code) == 3+common.AddressLength && bytes.HasPrefix(code, []byte{0xef, 0x01, 0x00})
	return len(code) > 0 && !delegated
}

const getLogs = "eth_getLogs"

// Receipt is what a transaction in a block did. Only the fields that a status
// needs are read.
type Receipt struct {
	TxHash      common.Hash     `json:"transactionHash"`
	BlockHash   common.Hash     `json:"blockHash"`
	BlockNumber hexutil.Uint64  `json:"blockNumber"`
	Status      *hexutil.Uint64 `json:"status"` // 1 unless it reverted
	Logs        []Log           `json:"logs"`
}

type Log struct {
	Address     common.Address `json:"address"`
	Topics      []common.Hash  `json:"topics"`
	Data        hexutil.Bytes  `json:"data"`
	TxHash      common.Hash    `json:"transactionHash"`
	BlockHash   common.Hash    `json:"blockHash"`
	BlockNumber hexutil.Uint64 `json:"blockNumber"`
	Removed     bool           `json:"removed"` // its block is no longer part of the chain

	Time *hexutil.Uint64 `json:"blockTimestamp"` // of its block; nil if the node does not say
}

type Transaction struct {
	Hash  common.Hash     `json:"hash"`
	From  common.Address  `json:"from"`
	To    *common.Address `json:"to"` // nil if it makes a contract
	Gas   hexutil.Uint64  `json:"gas"`
	Value *hexutil.U256   `json:"value"`
	Input hexutil.Bytes   `json:"input"`
}

// Block is a block without its transactions.
type Block struct {
	Hash   common.Hash    `json:"hash"`
	Number hexutil.Uint64 `json:"number"`
	Time   hexutil.Uint64 `json:"timestamp"`

	BaseFee *hexutil.U256 `json:"baseFeePerGas"` // nil on a chain that has none
}

// UnmarshalJSON refuses null: there always is a latest block.
func (b *Block) UnmarshalJSON(data []byte) error {
	type fields Block
	if string(data) == "null" {
		return &Failure{Reason: Undecodable, Text: "it returned no latest block"}
	}
	return json.Unmarshal(data, (*fields)(b))
}

// At is when the block was made, as its node says. A time that no calendar shows is one
// of the far future.
func (b *Block) At() time.Time {
	const farFuture = 253_402_300_799 // the last second of the year 9999
	return time.Unix(int64(min(b.Time, farFuture)), 0).UTC()
}

// TooOld reports whether a block is too old to be the latest one of its network, so that
// its node has stalled.
func (b *Block) TooOld(network chain.ID, now time.Time) bool {
	return now.Sub(b.At()) > network.UsualGap()
}

// ReadReceipt reads the receipt of a transaction. It is nil if the endpoint knows
// none.
func ReadReceipt(hash common.Hash, receipt **Receipt) Read {
	return track("eth_getTransactionReceipt", receipt, hash)
}

// ReadTransaction reads a transaction, in a block or not. It is nil if the
// endpoint knows none.
func ReadTransaction(hash common.Hash, transaction **Transaction) Read {
	return track("eth_getTransactionByHash", transaction, hash)
}

// ReadLatest reads the latest block.
func ReadLatest(block *Block) Read { return track("eth_getBlockByNumber", block, "latest", false) }

// ReadBlock reads a block by its number. It is nil if the endpoint knows none.
func ReadBlock(number uint64, block **Block) Read {
	return track("eth_getBlockByNumber", block, hexutil.Uint64(number), false)
}

// ReadLogs reads the logs of some contracts in the blocks from first to last, with the
// topics in these places, of which nil stands for any. The list is nil if the endpoint
// gives none, which is not the same as an empty one.
func ReadLogs(contracts []common.Address, topics []*common.Hash, first, last uint64, logs *[]Log) Read {
	return track(getLogs, logs, map[string]any{
		"fromBlock": hexutil.Uint64(first), "toBlock": hexutil.Uint64(last), "address": contracts, "topics": topics,
	})
}

// Message is a transaction that nobody has signed. All nodes know "data"; some do not
// know "input".
type Message struct {
	From  common.Address  `json:"from,omitzero"`
	To    *common.Address `json:"to,omitempty"` // nil if it makes a contract
	Gas   hexutil.Uint64  `json:"gas,omitzero"`
	Value *hexutil.U256   `json:"value,omitempty"`
	Data  hexutil.Bytes   `json:"data"`
}

// Simulated is a block that is not part of the chain. Its number is that of the
// latest block plus one.
type Simulated struct {
	Number hexutil.Uint64  `json:"number"`
	Calls  []SimulatedCall `json:"calls"`
}

// SimulatedCall is what one message did.
type SimulatedCall struct {
	Status     *hexutil.Uint64 `json:"status"`     // 1 unless it failed; nil if the node does not say
	GasUsed    hexutil.Uint64  `json:"gasUsed"`    // refunds deducted
	MaxUsedGas hexutil.Uint64  `json:"maxUsedGas"` // refunds not deducted; 0 if the node does not say
	Logs       []Log           `json:"logs"`
	Output     hexutil.Bytes   `json:"returnData"`
	Error      struct {
		Data any `json:"data"`
	} `json:"error"`
}

// Revert is the output with which the call reverted, empty if it has none. Some
// nodes put it into the error.
func (c *SimulatedCall) Revert() []byte {
	if output := revertOutput(c.Error.Data); len(output) > 0 {
		return output
	}
	return c.Output
}

// ReadSimulation runs messages one after the other on the state of the latest
// block. Not every node can.
func ReadSimulation(messages []Message, blocks *[]Simulated) Read {
	calls := map[string]any{"calls": messages}
	return track(simulate, blocks, map[string]any{"blockStateCalls": []any{calls}}, "latest")
}

// ReadGasPrice reads what the node would pay for a unit of gas.
func ReadGasPrice(price *hexutil.U256) Read { return read("eth_gasPrice", price) }

// ReadEstimate reads how much gas a message needs. If the message reverts, so does the
// read. Not every node can.
func ReadEstimate(m Message, gas *hexutil.Uint64) Read { return track(estimate, gas, m) }

// ReadReplay repeats a transaction on the state after a block. If it fails, the failure of
// the read has what it reverts with, as far as the node tells.
func ReadReplay(t *Transaction, block uint64) Read {
	message := Message{t.From, t.To, t.Gas, t.Value, t.Input}
	return track("eth_call", new(hexutil.Bytes), message, hexutil.Uint64(block))
}

// outputOf is the output with which a call reverted, empty if the error has none.
func outputOf(err error) []byte {
	if failure, ok := errors.AsType[rpc.DataError](err); ok {
		return revertOutput(failure.ErrorData())
	}
	return nil
}

// revertOutput reads the data of an error, in which some nodes put a word first.
func revertOutput(data any) []byte {
	text, _ := data.(string)
	output, err := hexutil.Decode(strings.TrimPrefix(text, "Reverted "))
	if err != nil {
		return nil
	}
	return output
}
