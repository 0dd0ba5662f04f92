package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/testdata/golden"
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

func (c *settable) moveTo(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.at) {
		c.at = at
	}
}

// mempool is a node that has pending swaps, each from a certain time on, and no other
// transaction.
type mempool struct {
	clock *settable
	swap  json.RawMessage // to and input of all of them

	mu   sync.Mutex
	from map[common.Hash]time.Time
}

func (m *mempool) add(hash common.Hash, from time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from[hash] = from
}

type rpcCall struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (m *mempool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var calls []rpcCall
	if strings.HasPrefix(string(body), "[") {
		_ = json.Unmarshal(body, &calls)
	} else {
		calls = make([]rpcCall, 1)
		_ = json.Unmarshal(body, &calls[0])
	}
	answers := make([]string, len(calls))
	for i, call := range calls {
		answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, m.answer(call))
	}
	text := strings.Join(answers, ",")
	if strings.HasPrefix(string(body), "[") {
		text = "[" + text + "]"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

func (m *mempool) answer(call rpcCall) string {
	now := m.clock.now()
	switch call.Method {
	case "eth_chainId":
		return `"0x171"`
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		return fmt.Sprintf(`{"number":"0x%x","hash":"0x%064x","parentHash":"0x%064x","timestamp":"0x%x"}`, now.Unix()/10, now.Unix()/10, now.Unix()/10-1, now.Unix())
	case "eth_blockNumber":
		return fmt.Sprintf(`"0x%x"`, now.Unix()/10)
	case "eth_getTransactionByHash":
		var hash common.Hash
		_ = json.Unmarshal(call.Params[0], &hash)
		m.mu.Lock()
		defer m.mu.Unlock()
		if from, known := m.from[hash]; known && !now.Before(from) {
			return strings.Replace(string(m.swap), "{", `{"hash":"`+hash.Hex()+`","from":"0x00000000000000000000000000000000000A11ce","value":"0x0","gas":"0x5208","nonce":"0x0","blockHash":null,"blockNumber":null,`, 1)
		}
	}
	return "null"
}

// follower is a gateway with a limit and a real tracker, served over HTTP.
type follower struct {
	*testing.T
	clock *settable
	node  *mempool
	url   string
}

func newFollower(t *testing.T) *follower {
	t.Helper()
	clock := &settable{at: time.Now()}
	core := golden.Core()
	var quoted struct {
		To               string
		MethodParameters struct{ Calldata string }
	}
	body := ask(mount(t, setup{}), "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=123456789&srcChain=369&dstChain=1&recipient=0x1111111111111111111111111111111111111111").Body
	if err := json.Unmarshal(body.Bytes(), &quoted); err != nil || quoted.To == "" {
		t.Fatalf("no quote: %s", body)
	}
	node := &mempool{clock: clock, from: map[common.Hash]time.Time{}}
	node.swap = json.RawMessage(`{"to":"` + quoted.To + `","input":"` + quoted.MethodParameters.Calldata + `"}`)
	endpoint := httptest.NewServer(node)
	t.Cleanup(endpoint.Close)
	chains, err := rpc.New(rpc.Config{369: {rpc.SecretURL(endpoint.URL)}}, rpc.Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chains.Close)
	issuer, err := cctp.New(cctp.Config{}, core.Deployment.Settlement, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.Tracker = status.New(chain.Reference(), chains, issuer, status.Options{Now: clock.now})
	gw := mount(t, setup{modules: gateway.Modules(core), budget: limit.Config{PerMinute: 30}, now: clock.now})
	server := httptest.NewServer(gw)
	t.Cleanup(server.Close)
	return &follower{t, clock, node, server.URL}
}

// ask asks for a status once, and returns when to ask again.
func (f *follower) ask(hash common.Hash) (code int, state string, next time.Duration) {
	f.Helper()
	res, err := http.Get(f.url + "/v3/swap/status?srcChain=369&txHash=" + hash.Hex())
	if err != nil {
		f.Error(err)
		return 0, "", time.Hour
	}
	defer res.Body.Close()
	var body struct {
		State            string
		NextCheckSeconds int
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		f.Error(err)
	}
	seconds := body.NextCheckSeconds
	if res.StatusCode != http.StatusOK {
		seconds, _ = strconv.Atoi(res.Header.Get("Retry-After"))
	}
	return res.StatusCode, body.State, time.Duration(seconds) * time.Second
}

func hashOf(n int) common.Hash { return common.BytesToHash([]byte(fmt.Sprintf("transaction %d", n))) }

// TestObedientClientsAreNeverRefused: clients behind one address follow swaps that
// they have just sent, and ask again when they were told to. Those that begin at once
// are known to the nodes; where they begin one after the other, it takes some seconds
// until a node sees the transaction. Somebody else behind the address floods it with
// invented hashes as soon as all have begun, and is refused.
func TestObedientClientsAreNeverRefused(t *testing.T) {
	for _, clients := range []int{2, 8, 20} {
		for name, apart := range map[string]time.Duration{"at once": 0, "one after the other": 2 * time.Second} {
			t.Run(fmt.Sprintf("%d clients %s", clients, name), func(t *testing.T) {
				t.Parallel()
				f := newFollower(t)
				start := f.clock.now()
				due := make([]time.Time, clients)
				for i := range due {
					due[i] = start.Add(time.Duration(i) * apart)
					f.node.add(hashOf(i), due[i].Add(2*apart))
				}
				begun := start.Add(time.Duration(clients) * apart)
				answers, flood, invented := map[int]int{}, map[int]int{}, 1000
				var mu sync.Mutex
				for now := start; now.Before(begun.Add(3 * time.Minute)); now = now.Add(time.Second) {
					f.clock.moveTo(now)
					var asking sync.WaitGroup
					for i := range due {
						if now.Before(due[i]) {
							continue
						}
						asking.Go(func() {
							code, state, next := f.ask(hashOf(i))
							mu.Lock()
							defer mu.Unlock()
							answers[code]++
							due[i] = now.Add(next)
							if code != http.StatusOK || next <= 0 || now.After(begun.Add(time.Minute)) && state != "PENDING" {
								t.Errorf("client %d after %v: got %d, %s and %v", i, now.Sub(start), code, state, next)
							}
						})
					}
					asking.Wait()
					for range 5 {
						if now.Before(begun) {
							break
						}
						invented++
						code, _, _ := f.ask(hashOf(invented))
						flood[code]++
					}
				}
				if answers[http.StatusOK] < clients*18 {
					t.Errorf("got answers %v, want each client to have asked at least 18 times", answers)
				}
				if flood[http.StatusOK] > 4*15 || flood[http.StatusTooManyRequests] < 800 {
					t.Errorf("the flood got %v, want at most 15 a minute answered", flood)
				}
			})
		}
	}
}

// TestStatusTellsLaterTimes: who follows fifteen transactions that nobody knows is told
// later times, and is never refused when it keeps to them.
func TestStatusTellsLaterTimes(t *testing.T) {
	f := newFollower(t)
	due := make([]time.Time, 15)
	asked, longest := 0, time.Duration(0)
	start := f.clock.now()
	for now := start; now.Before(start.Add(5 * time.Minute)); now = now.Add(time.Second) {
		f.clock.moveTo(now)
		for i := range due {
			if now.Before(due[i]) {
				continue
			}
			code, state, next := f.ask(hashOf(i))
			if code != http.StatusOK || state != "NOT_FOUND" {
				t.Fatalf("after %v: got %d, %s", now.Sub(start), code, state)
			}
			due[i] = now.Add(next)
			longest = max(longest, next)
			asked++
		}
	}
	if asked > 6*15 || longest < 50*time.Second {
		t.Errorf("asked %d times in 5 minutes, the longest wait was %v; want 15 a minute", asked, longest)
	}
}
