package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
)

// settable is a clock that moves when told to.
type settable struct {
	mu sync.Mutex
	at time.Time
}

func (c *settable) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *settable) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// serveEmptyChain serves a node of PulseChain that knows no transaction.
func serveEmptyChain(t *testing.T, clock *settable) *httptest.Server {
	t.Helper()
	type call struct {
		ID     json.RawMessage
		Method string
	}
	result := func(method string) string {
		now := clock.now().Unix()
		switch method {
		case "eth_chainId":
			return `"0x171"`
		case "eth_getBlockByNumber", "eth_getBlockByHash":
			return fmt.Sprintf(`{"number":"0x%x","hash":"0x%064x","parentHash":"0x%064x","timestamp":"0x%x"}`,
				now/10, now/10, now/10-1, now)
		case "eth_blockNumber":
			return fmt.Sprintf(`"0x%x"`, now/10)
		}
		return "null"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		batch := strings.HasPrefix(string(body), "[")
		calls := make([]call, 1)
		if batch {
			_ = json.Unmarshal(body, &calls)
		} else {
			_ = json.Unmarshal(body, &calls[0])
		}
		var answers []string
		for _, c := range calls {
			answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result(c.Method)))
		}
		text := strings.Join(answers, ",")
		if batch {
			text = "[" + text + "]"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestNodeReadsHaveALimitOfTheirOwn: a status question costs one where it asks the nodes,
// and nothing where the answer is in memory. When they are used up, the last answer is
// given again, and only a transaction that was never asked about is refused. Quotes do
// not count against it, nor the other way round.
func TestNodeReadsHaveALimitOfTheirOwn(t *testing.T) {
	clock := &settable{at: time.Now()}
	core := golden.Core()
	chains, err := rpc.New(rpc.Config{369: {rpc.SecretURL(serveEmptyChain(t, clock).URL)}}, rpc.Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chains.Close)
	issuer, err := cctp.New(cctp.Config{}, core.Deployment.Settlement, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.Tracker = status.New(chain.Reference(), chains, issuer, status.Options{Now: clock.now})
	gw := mount(t, setup{modules: gateway.Modules(core), budget: limit.Config{PerMinute: 3}, now: clock.now})
	contract := golden.ReadContract(t, gw, "v3") // the version of this route

	const quote = ""
	for i, step := range []struct {
		after     time.Duration
		hash      string // the last digit, or a quote
		code      int
		remaining string // of RateLimit-Remaining; empty if it costs nothing
		next      int    // nextCheckSeconds, or Retry-After of a 429
	}{
		{0, quote, 400, "2", 0},
		{0, quote, 400, "1", 0},
		{0, quote, 400, "0", 0},
		{0, quote, 429, "0", 60},
		{0, "a", 200, "2", 5},
		{time.Second, "a", 200, "", 5}, // from memory
		{5 * time.Second, "a", 200, "1", 5},
		{4 * time.Second, "b", 200, "0", 5},
		{6 * time.Second, "a", 200, "0", 44}, // again
		{0, "b", 200, "0", 44},
		{0, "c", 429, "0", 44},
		{44 * time.Second, "c", 200, "0", 5},
	} {
		clock.advance(step.after)
		target := "/v3/swap/quote"
		if step.hash != quote {
			target = "/v3/swap/status?srcChain=369&txHash=0x" + strings.Repeat("0", 63) + step.hash
		}
		r := httptest.NewRequest("GET", target, nil)
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		contract.Check(t, r, w)
		var body struct {
			State, Code, Error string
			NextCheckSeconds   int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		next := body.NextCheckSeconds
		if retry := w.Header().Get("Retry-After"); retry != "" {
			_, _ = fmt.Sscan(retry, &next)
		}
		if w.Code != step.code || w.Header().Get("RateLimit-Remaining") != step.remaining || next != step.next {
			t.Errorf("step %d: got %d, %v and %s, want %+v", i+1, w.Code, w.Header(), w.Body, step)
		}
		if step.code == 200 && (body.State != "NOT_FOUND" || w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("step %d: got %s and %v", i+1, w.Body, w.Header())
		}
		if step.code == 429 && (body.Code != "RATE_LIMITED" || !strings.HasPrefix(body.Error, "Rate limit exceeded: 3 ")) {
			t.Errorf("step %d: got %s", i+1, w.Body)
		}
	}
}
