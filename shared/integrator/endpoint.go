package integrator

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

// An endpoint that fails is not used for a second. The time doubles with each
// failure in a row, up to half a minute.
const (
	firstRest = time.Second
	longRest  = 30 * time.Second
)

// endpoint is one JSON-RPC server of a chain. It is asked for its chain ID
// before its first use and after each failure.
type endpoint struct {
	network chain.ID
	client  *rpc.Client
	now     func() time.Time
	log     *slog.Logger

	mu           sync.Mutex
	chainChecked bool
	failing      Reason // why the last call failed, empty if it succeeded
	rest         time.Duration
	restUntil    time.Time
}

// callRequest is the transaction object of eth_call. All nodes know "data";
// some do not know "input".
type callRequest struct {
	To   common.Address `json:"to"`
	Data hexutil.Bytes  `json:"data"`
}

// ask reads the registration of an ID through this endpoint.
func (e *endpoint) ask(ctx context.Context, registry common.Address, id ID) (registration, *failure) {
	if f := e.checkChain(ctx); f != nil {
		return registration{}, f
	}
	askedAt := e.now()
	var output hexutil.Bytes
	if err := e.client.CallContext(ctx, &output, "eth_call", callRequest{registry, getIntegrator(id)}, "latest"); err != nil {
		return registration{}, classify(err)
	}
	reg, f := decode(id, output)
	reg.askedAt = askedAt
	return reg, f
}

func (e *endpoint) checkChain(ctx context.Context) *failure {
	e.mu.Lock()
	chainChecked := e.chainChecked
	e.mu.Unlock()
	if chainChecked {
		return nil
	}
	var serves hexutil.Uint64
	if err := e.client.CallContext(ctx, &serves, "eth_chainId"); err != nil {
		return classify(err)
	}
	if chain.ID(serves) != e.network {
		return &failure{reason: WrongChain, text: fmt.Sprintf("it serves chain %d", serves)}
	}
	e.mu.Lock()
	e.chainChecked = true
	e.mu.Unlock()
	return nil
}

// resting is how much longer the endpoint is skipped.
func (e *endpoint) resting() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(0, e.restUntil.Sub(e.now()))
}

// failed makes look-ups skip the endpoint for a while. It logs only when the
// reason has changed.
func (e *endpoint) failed(f *failure) {
	e.mu.Lock()
	now := e.now()
	if now.Before(e.restUntil) {
		e.mu.Unlock()
		return // this call was under way when another one failed
	}
	e.rest = min(max(firstRest, 2*e.rest), longRest)
	e.restUntil = now.Add(e.rest)
	e.chainChecked = false
	newReason := e.failing != f.reason
	e.failing = f.reason
	e.mu.Unlock()

	switch {
	case newReason && f.reason == WrongChain:
		e.log.Error("RPC endpoint serves another chain and is not used", "reason", f.reason, "detail", f.text)
	case newReason:
		e.log.Warn("RPC endpoint fails and is skipped for a while", "reason", f.reason, "detail", f.text)
	}
}

// worked clears the failures of the endpoint.
func (e *endpoint) worked() {
	e.mu.Lock()
	recovered := e.failing != ""
	e.failing, e.rest, e.restUntil = "", 0, time.Time{}
	e.mu.Unlock()

	if recovered {
		e.log.Info("RPC endpoint works again")
	}
}
