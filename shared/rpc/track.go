package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

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
	Value *hexutil.Big    `json:"value"`
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

// Replay repeats a transaction that reverted, after the block it is in, and returns
// the output with which it reverts. The output is empty if it does not revert now,
// or if the node does not tell. The error is a *Failure.
func (e *Endpoint) Replay(ctx context.Context, t *Transaction, block uint64) ([]byte, error) {
	request := struct {
		From  common.Address  `json:"from"`
		To    *common.Address `json:"to,omitempty"`
		Gas   hexutil.Uint64  `json:"gas"`
		Value *hexutil.Big    `json:"value,omitempty"`
		Data  hexutil.Bytes   `json:"data"`
	}{t.From, t.To, t.Gas, t.Value, t.Input}
	var ignored hexutil.Bytes
	err := e.client.CallContext(ctx, &ignored, "eth_call", request, hexutil.Uint64(block))
	if failure := rpc.DataError(nil); errors.As(err, &failure) {
		text, _ := failure.ErrorData().(string)
		output, err := hexutil.Decode(strings.TrimPrefix(text, "Reverted ")) // as some nodes write it
		if err != nil {
			return nil, nil
		}
		return output, nil
	}
	if err != nil && !errors.As(err, new(rpc.Error)) {
		return nil, classify(err)
	}
	return nil, nil
}
