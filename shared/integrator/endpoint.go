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

// An endpoint that fails rests for a second, then twice as long with each
// failure in a row, up to half a minute.
const (
	firstRest = time.Second
	longRest  = 30 * time.Second
)

// endpoint is one place to ask a chain. It is believed once it has said that it
// serves the chain, and until it fails.
type endpoint struct {
	network chain.ID
	client  *rpc.Client
	now     func() time.Time
	log     *slog.Logger

	mu        sync.Mutex
	believed  bool
	failing   Reason // of the last call, empty when that succeeded
	rest      time.Duration
	restUntil time.Time
}

// callRequest is the transaction object of eth_call. All nodes know "data",
// while some know no "input".
type callRequest struct {
	To   common.Address `json:"to"`
	Data hexutil.Bytes  `json:"data"`
}

// ask puts one question to the registry through this endpoint.
func (e *endpoint) ask(ctx context.Context, registry common.Address, id ID) (answer, *failure) {
	if f := e.checkChain(ctx); f != nil {
		return answer{}, f
	}
	asked := e.now()
	var output hexutil.Bytes
	if err := e.client.CallContext(ctx, &output, "eth_call", callRequest{registry, getIntegrator(id)}, "latest"); err != nil {
		return answer{}, classify(err)
	}
	a, f := decode(id, output)
	a.asked = asked
	return a, f
}

func (e *endpoint) checkChain(ctx context.Context) *failure {
	e.mu.Lock()
	believed := e.believed
	e.mu.Unlock()
	if believed {
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
	e.believed = true
	e.mu.Unlock()
	return nil
}

// resting is how much longer the endpoint is to be left alone.
func (e *endpoint) resting() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(0, e.restUntil.Sub(e.now()))
}

// failed sends the endpoint to rest. The log hears of it when the reason is a
// new one, not at every try.
func (e *endpoint) failed(f *failure) {
	e.mu.Lock()
	now := e.now()
	if now.Before(e.restUntil) {
		e.mu.Unlock()
		return // this call was under way when another one failed
	}
	e.rest = min(max(firstRest, 2*e.rest), longRest)
	e.restUntil = now.Add(e.rest)
	e.believed = false
	news := e.failing != f.reason
	e.failing = f.reason
	e.mu.Unlock()

	switch {
	case news && f.reason == WrongChain:
		e.log.Error("RPC endpoint serves another chain and is not believed", "reason", f.reason, "detail", f.text)
	case news:
		e.log.Warn("RPC endpoint fails and is skipped for a while", "reason", f.reason, "detail", f.text)
	}
}

// worked ends whatever the endpoint was blamed for.
func (e *endpoint) worked() {
	e.mu.Lock()
	recovered := e.failing != ""
	e.failing, e.rest, e.restUntil = "", 0, time.Time{}
	e.mu.Unlock()

	if recovered {
		e.log.Info("RPC endpoint works again")
	}
}
