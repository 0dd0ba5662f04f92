package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// Message is a transaction that nobody has signed.
type Message struct {
	From  common.Address `json:"from"`
	To    common.Address `json:"to"`
	Data  hexutil.Bytes  `json:"data"`
	Value *hexutil.U256  `json:"value"`
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
		if failure := rpc.DataError(nil); errors.As(err, &failure) {
			output = revertOutput(failure.ErrorData())
		}
		return 0, true, output, nil
	case f.Reason == Refused && errors.As(err, new(rpc.Error)):
		f = &Failure{Reason: Declined, Text: f.Text}
	}
	return 0, false, nil, f
}

// revertOutput reads the data of an error, in which some nodes put a word first.
func revertOutput(data any) []byte {
	text, _ := data.(string)
	output, _ := hexutil.Decode(strings.TrimPrefix(text, "Reverted "))
	return output
}
