package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// ReadContract reads what a contract returns for data at the latest block.
func ReadContract(to common.Address, data []byte, output *hexutil.Bytes) Read {
	return Read{Method: "eth_call", Args: []any{Message{To: &to, Data: data}, "latest"}, Result: output}
}

// ReadBalance reads how much of the chain's own coin an account has at the
// latest block.
func ReadBalance(account common.Address, balance *hexutil.U256) Read {
	return Read{Method: "eth_getBalance", Args: []any{account, "latest"}, Result: balance}
}

// ReadCode reads the code of an account at the latest block. It is empty if the
// account is not a contract. Code of more than about 32 KiB is not read: the answer is
// then too long.
func ReadCode(account common.Address, code *hexutil.Bytes) Read {
	return Read{Method: "eth_getCode", Args: []any{account, "latest"}, Result: code}
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

// Log is one event of a contract.
type Log struct {
	Address     common.Address `json:"address"`
	Topics      []common.Hash  `json:"topics"`
	Data        hexutil.Bytes  `json:"data"`
	TxHash      common.Hash    `json:"transactionHash"`
	BlockHash   common.Hash    `json:"blockHash"`
	BlockNumber hexutil.Uint64 `json:"blockNumber"`
	Removed     bool           `json:"removed"` // its block is no longer part of the chain
}

// Transaction is a transaction as it was sent.
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
}

// ReadReceipt reads the receipt of a transaction. It is nil if the endpoint knows
// none.
func ReadReceipt(hash common.Hash, receipt **Receipt) Read {
	return Read{Method: "eth_getTransactionReceipt", Args: []any{hash}, Result: receipt, tracks: true}
}

// ReadTransaction reads a transaction, in a block or not. It is nil if the
// endpoint knows none.
func ReadTransaction(hash common.Hash, transaction **Transaction) Read {
	return Read{Method: "eth_getTransactionByHash", Args: []any{hash}, Result: transaction, tracks: true}
}

// ReadLatest reads the latest block.
func ReadLatest(block **Block) Read {
	return Read{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: block, tracks: true}
}

// ReadBlock reads a block by its number. It is nil if the endpoint knows none.
func ReadBlock(number uint64, block **Block) Read {
	return Read{Method: "eth_getBlockByNumber", Args: []any{hexutil.Uint64(number), false}, Result: block, tracks: true}
}

// logFilter is the filter object of eth_getLogs.
type logFilter struct {
	From    hexutil.Uint64   `json:"fromBlock"`
	To      hexutil.Uint64   `json:"toBlock"`
	Address []common.Address `json:"address"`
	Topics  [][]common.Hash  `json:"topics"`
}

// ReadLogs reads the logs of some contracts in the blocks from first to last. Each
// topic is one of those listed for its place, and any where none is.
func ReadLogs(contracts []common.Address, topics [][]common.Hash, first, last uint64, logs *[]Log) Read {
	filter := logFilter{hexutil.Uint64(first), hexutil.Uint64(last), contracts, topics}
	return Read{Method: getLogs, Args: []any{filter}, Result: logs, tracks: true}
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
	Status  hexutil.Uint64 `json:"status"` // 1 unless it failed
	GasUsed hexutil.Uint64 `json:"gasUsed"`
	Logs    []Log          `json:"logs"`
	Output  hexutil.Bytes  `json:"returnData"`
	Error   struct {
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
	type block struct {
		Calls []Message `json:"calls"`
	}
	type options struct {
		Blocks []block `json:"blockStateCalls"`
	}
	return Read{Method: "eth_simulateV1", Args: []any{options{[]block{{messages}}}, "latest"}, Result: blocks, tracks: true}
}

// ReadGasPrice reads what the node would pay for a unit of gas.
func ReadGasPrice(price *hexutil.U256) Read {
	return Read{Method: "eth_gasPrice", Args: []any{}, Result: price}
}

// ReadNumber reads the number of the latest block.
func ReadNumber(number *hexutil.Uint64) Read {
	return Read{Method: "eth_blockNumber", Args: []any{}, Result: number}
}

// Estimate asks how much gas a message needs. If the message reverts, gas is 0 and
// reverted is true, with the output if the node tells it. The error is a *Failure,
// and rests no endpoint if the node has just no answer to this question.
func (e *Endpoint) Estimate(ctx context.Context, m Message) (gas uint64, reverted bool, output []byte, err error) {
	var result hexutil.Uint64
	if err = e.client.CallContext(ctx, &result, "eth_estimateGas", m); err == nil {
		return uint64(result), false, nil, nil
	}
	f := classify(err)
	switch {
	case f.Reason == Reverted:
		return 0, true, outputOf(err), nil
	case f.Reason == Refused && errors.As(err, new(rpc.Error)):
		f.Reason = Declined
	}
	return 0, false, nil, f
}

// Replay repeats a transaction that reverted, after the block it is in, and returns
// the output with which it reverts. The output is empty if it does not revert now,
// or if the node does not tell. The error is a *Failure.
func (e *Endpoint) Replay(ctx context.Context, t *Transaction, block uint64) ([]byte, error) {
	var ignored hexutil.Bytes
	err := e.client.CallContext(ctx, &ignored, "eth_call", Message{t.From, t.To, t.Gas, t.Value, t.Input}, hexutil.Uint64(block))
	if err != nil && !errors.As(err, new(rpc.Error)) {
		return nil, classify(err)
	}
	return outputOf(err), nil
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
