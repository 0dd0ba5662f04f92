package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
)

// Endpoint is one JSON-RPC server of a chain, as Ask gives it to its caller.
type Endpoint struct {
	Place   int // in the configuration, from 1 on
	network chain.ID
	client  *rpc.Client
	now     func() time.Time
	log     *slog.Logger

	mu             sync.Mutex
	lanes          [laneCount]laneState
	outcomes       uint64    // of calls that worked or failed, in all lanes
	limitedLogged  time.Time // when the log last said that we are over the quota
	noBatchesUntil time.Time // it refused batches; until then it gets plain calls
}

// callRequest is the transaction object of eth_call. All nodes know "data";
// some do not know "input".
type callRequest struct {
	To   common.Address `json:"to"`
	Data hexutil.Bytes  `json:"data"`
}

// Call calls a contract at the latest block and returns its output. The error is
// a *Failure.
func (e *Endpoint) Call(ctx context.Context, to common.Address, data []byte) ([]byte, error) {
	var output hexutil.Bytes
	if err := e.client.CallContext(ctx, &output, "eth_call", callRequest{to, data}, "latest"); err != nil {
		return nil, classify(err)
	}
	return output, nil
}

// Code returns the code of an account at the latest block. It is empty if the
// account is not a contract. Code of more than about 32 KiB is not read: the
// answer is then too long. The error is a *Failure.
func (e *Endpoint) Code(ctx context.Context, account common.Address) ([]byte, error) {
	var code hexutil.Bytes
	if err := e.client.CallContext(ctx, &code, "eth_getCode", account, "latest"); err != nil {
		return nil, classify(err)
	}
	return code, nil
}

// checkChain asks the endpoint which chain it serves, unless that is known.
func (e *Endpoint) checkChain(ctx context.Context, lane Lane) error {
	e.mu.Lock()
	checked := e.lanes[lane].chainChecked
	e.mu.Unlock()
	if checked {
		return nil
	}
	return e.askChain(ctx)
}

// askChain asks the endpoint which chain it serves. The answer holds for all
// lanes, until one of them fails.
func (e *Endpoint) askChain(ctx context.Context) error {
	var serves hexutil.Uint64
	if err := e.client.CallContext(ctx, &serves, "eth_chainId"); err != nil {
		return classify(err)
	}
	right := chain.ID(serves) == e.network
	e.mu.Lock()
	for i := range e.lanes {
		e.lanes[i].chainChecked = right
	}
	e.mu.Unlock()
	if !right {
		return &Failure{Reason: WrongChain, Text: fmt.Sprintf("it serves chain %d", serves)}
	}
	return nil
}
