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

	tracks bool // about a transaction: the answer may be long, and refusing it is no failure of the endpoint
}

func isTracking(r Read) bool { return r.tracks }

// Methods that not every node supports. An endpoint that refuses one of them, in whatever way,
// is not skipped for it.
const (
	simulate = "eth_simulateV1"
	estimate = "eth_estimateGas"
)

// ErrNoMethod is the failure of a read of such a method whose response has another form.
var ErrNoMethod = &Failure{Reason: Declined, Text: "method not supported"}

func isOptional(method string) bool { return method == simulate || method == estimate }

// ErrTooLong is the failure of a read whose answer exceeds even the limit for long answers.
var ErrTooLong = &Failure{Reason: Declined, Text: "the answer is too long"}

// Batch makes all reads in one round trip and sets their results and errors. If the endpoint
// refuses batches, or answers only some of the reads, they are sent one by one. The limit on
// the size of a response is for the whole batch.
//
// The error is a *Failure of the endpoint: no read was answered, or the provider rate limits
// us. A revert counts as an answer, and so does a declined read.
func (e *Endpoint) Batch(ctx context.Context, reads []Read) error {
	err := e.call(ctx, reads)
	for _, r := range reads {
		latest, is := r.Result.(*Block)
		if err == nil && r.Err == nil && is {
			e.clock.ReadHead(e.Network, e.Place, latest.At())
		}
	}
	return err
}

func (e *Endpoint) call(ctx context.Context, reads []Read) error {
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

// errUnanswered is the failure of a batch with missing answers.
var errUnanswered = &Failure{Reason: Refused, Text: "it does not answer batches"}

// refusesBatches reports whether a batch failed in a way that lets the same reads succeed one
// by one.
func refusesBatches(err error) bool {
	var httpError rpc.HTTPError
	if errors.As(err, &httpError) {
		// A status above 500 is from a proxy whose node is down.
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

// failureIn is why a read has no answer; nil if it has one.
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

// oneByOne sends each read as a separate call.
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

// read is a read with arguments, which are sent even if there are none.
func read(method string, result any, args ...any) Read {
	return Read{Method: method, Args: append([]any{}, args...), Result: result}
}

// track is a read about a transaction.
func track(method string, result any, args ...any) Read {
	r := read(method, result, args...)
	r.tracks = true
	return r
}

// ReadContract reads what a contract returns for data at the latest block.
func ReadContract(to common.Address, data []byte, output *hexutil.Bytes) Read {
	return read("eth_call", output, Message{To: &to, Data: data}, "latest")
}

// ReadContractAt reads what a contract returns for data at a block. Not every node has that
// state.
func ReadContractAt(to common.Address, data []byte, block uint64, output *hexutil.Bytes) Read {
	return track("eth_call", output, Message{To: &to, Data: data}, hexutil.Uint64(block))
}

// ReadBalance reads how much of the chain's own coin an account has at the
// latest block.
func ReadBalance(account common.Address, balance *hexutil.U256) Read {
	return read("eth_getBalance", balance, account, "latest")
}

// ReadCode reads the code of an account at the latest block. It is empty if the account is
// not a contract. Code of more than about 32 KiB exceeds the size limit.
func ReadCode(account common.Address, code *hexutil.Bytes) Read {
	return read("eth_getCode", code, account, "latest")
}

// ReadAnyCode is ReadCode for an account that a caller names: the code may be long, and
// refusing it is no failure of the endpoint.
func ReadAnyCode(account common.Address, code *hexutil.Bytes) Read {
	return track("eth_getCode", code, account, "latest")
}

// IsContract reports whether code is that of a contract. An account that delegates to a
// contract (EIP-7702) is none: its owner can change that at any time.
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
	To    *common.Address `json:"to"` // nil if it creates a contract
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

// At is the time of the block. Times beyond the year 9999 are cut to its end.
func (b *Block) At() time.Time {
	const farFuture = 253_402_300_799 // the last second of the year 9999
	return time.Unix(int64(min(b.Time, farFuture)), 0).UTC()
}

// TooOld reports whether a block is too old to be the latest of its network: its node has
// stalled.
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

// ReadLogs reads the logs of contracts in the blocks from first to last, filtered by topics,
// of which nil matches any. The list is nil, not empty, if the endpoint returns none.
func ReadLogs(contracts []common.Address, topics []*common.Hash, first, last uint64, logs *[]Log) Read {
	return track(getLogs, logs, map[string]any{
		"fromBlock": hexutil.Uint64(first), "toBlock": hexutil.Uint64(last), "address": contracts, "topics": topics,
	})
}

// Message is an unsigned transaction. All nodes accept "data"; some do not accept "input".
type Message struct {
	From  common.Address  `json:"from,omitzero"`
	To    *common.Address `json:"to,omitempty"` // nil if it creates a contract
	Gas   hexutil.Uint64  `json:"gas,omitzero"`
	Value *hexutil.U256   `json:"value,omitempty"`
	Data  hexutil.Bytes   `json:"data"`
}

// Simulated is a simulated block. Its number is that of the latest block plus one.
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

// Revert is the revert data of the call, empty if it has none. Some nodes return it in the
// error.
func (c *SimulatedCall) Revert() []byte {
	if output := revertOutput(c.Error.Data); len(output) > 0 {
		return output
	}
	return c.Output
}

// ReadSimulation runs messages in order on the state of the latest block. Not every node
// supports it.
func ReadSimulation(messages []Message, blocks *[]Simulated) Read {
	calls := map[string]any{"calls": messages}
	return track(simulate, blocks, map[string]any{"blockStateCalls": []any{calls}}, "latest")
}

// ReadGasPrice reads the gas price that the node suggests.
func ReadGasPrice(price *hexutil.U256) Read { return read("eth_gasPrice", price) }

// ReadEstimate reads how much gas a message needs. If the message reverts, so does the read.
// Not every node supports it.
func ReadEstimate(m Message, gas *hexutil.Uint64) Read { return track(estimate, gas, m) }

// ReadReplay repeats a transaction on the state after a block. If it reverts, the failure of
// the read has the revert data, if the node returns it.
func ReadReplay(t *Transaction, block uint64) Read {
	message := Message{t.From, t.To, t.Gas, t.Value, t.Input}
	return track("eth_call", new(hexutil.Bytes), message, hexutil.Uint64(block))
}

// outputOf is the revert data of a call, empty if the error has none.
func outputOf(err error) []byte {
	if failure, ok := errors.AsType[rpc.DataError](err); ok {
		return revertOutput(failure.ErrorData())
	}
	return nil
}

// revertOutput reads the data of an error. Some nodes put "Reverted" before it.
func revertOutput(data any) []byte {
	text, _ := data.(string)
	output, err := hexutil.Decode(strings.TrimPrefix(text, "Reverted "))
	if err != nil {
		return nil
	}
	return output
}
