package status

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/testdata/contracts"
)

// scripted is a node of a chain with as many blocks as a real one, which says what
// the test has it say.
type scripted struct {
	*httptest.Server
	id   chain.ID
	head uint64
	pace time.Duration // between blocks
	at   time.Time     // of the head

	mu       sync.Mutex
	receipts map[common.Hash]map[string]any
	logs     []map[string]any
	settled  map[string]bool
	limit    uint64                            // blocks of a range of logs
	delay    time.Duration                     // of each answer
	instead  func(method string) (any, string) // a result or an error instead
	status   int                               // an HTTP status instead of any answer
	calls    map[string]int
	requests int // batches counted as one

	transaction map[string]any                    // fields of every transaction
	refuse      func(blocks uint64) (int, string) // the HTTP status and the body for logs of so many blocks; 0 answers
	hang        func(blocks uint64) bool          // whether logs of so many blocks are never answered
	topics      []json.RawMessage                 // of the last question for logs
	asked       []uint64                          // for the logs of how many blocks
	lag         func() uint64                     // by how many blocks each answer is behind
}

// another is a node that says the same, until it is changed.
func (s *scripted) another(t testing.TB) *scripted {
	o := newScripted(t, s.id, s.pace)
	o.head, o.at, o.limit, o.transaction = s.head, s.at, s.limit, s.transaction
	o.receipts, o.settled = maps.Clone(s.receipts), maps.Clone(s.settled)
	o.logs = slices.Clone(s.logs)
	return o
}

// config is a chain of sources, if there are several, and the endpoints of the hub.
func config(source *scripted, destinations ...*scripted) rpc.Config {
	return endpoints([]*scripted{source}, destinations)
}

func endpoints(sources, destinations []*scripted) rpc.Config {
	cfg := rpc.Config{}
	for _, node := range slices.Concat(sources, destinations) {
		cfg[node.id] = append(cfg[node.id], rpc.SecretURL(node.URL))
	}
	return cfg
}

// reset forgets what was counted.
func (s *scripted) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.requests, s.asked = map[string]int{}, 0, nil
}

func newScripted(t testing.TB, id chain.ID, pace time.Duration) *scripted {
	s := &scripted{
		id: id, head: 50_000_000, pace: pace, at: time.Now().Truncate(time.Second),
		receipts: map[common.Hash]map[string]any{}, settled: map[string]bool{}, limit: 1 << 40, calls: map[string]int{},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// block is the number of the block of that long ago.
func (s *scripted) block(ago time.Duration) uint64 { return s.head - uint64(ago/s.pace) }

func (s *scripted) hash(n uint64) common.Hash {
	return crypto.Keccak256Hash([]byte(fmt.Sprint(s.id, n)))
}

// count is how many calls were made, those in batches one by one.
func (s *scripted) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, calls := range s.calls {
		n += calls
	}
	return n
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests++
	delay, status := s.delay, s.status
	s.mu.Unlock()
	time.Sleep(delay)
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var batch []call
	if json.Unmarshal(body, &batch) == nil {
		answers := make([]map[string]any, len(batch))
		for i, c := range batch {
			answers[i] = s.answer(c)
		}
		_ = json.NewEncoder(w).Encode(answers)
		return
	}
	var one call
	_ = json.Unmarshal(body, &one)
	if s.hangs(one) {
		<-r.Context().Done()
		return
	}
	if status, text := s.refusal(one); status != 0 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return
	}
	_ = json.NewEncoder(w).Encode(s.answer(one))
}

// hangs tells whether a question for logs is not answered.
func (s *scripted) hangs(c call) bool {
	var filter struct{ FromBlock, ToBlock hexutil.Uint64 }
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Method != "eth_getLogs" || s.hang == nil || json.Unmarshal(c.Params[0], &filter) != nil {
		return false
	}
	return s.hang(uint64(filter.ToBlock-filter.FromBlock) + 1)
}

// refusal is what a provider answers instead of logs.
func (s *scripted) refusal(c call) (status int, body string) {
	var filter struct{ FromBlock, ToBlock hexutil.Uint64 }
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Method != "eth_getLogs" || s.refuse == nil || json.Unmarshal(c.Params[0], &filter) != nil {
		return 0, ""
	}
	blocks := uint64(filter.ToBlock-filter.FromBlock) + 1
	if status, body = s.refuse(blocks); status != 0 {
		s.calls[c.Method]++
		s.asked = append(s.asked, blocks)
	}
	return status, body
}

func (s *scripted) answer(c call) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c.Method]++
	answer := map[string]any{"jsonrpc": "2.0", "id": c.ID}
	result, problem := s.result(c)
	if s.instead != nil {
		if other, says := s.instead(c.Method); other != nil || says != "" {
			result, problem = other, says
		}
	}
	if problem != "" {
		answer["error"] = json.RawMessage(problem)
	} else {
		answer["result"] = result
	}
	return answer
}

// height is the latest block of the node that answers.
func (s *scripted) height() uint64 {
	if s.lag == nil {
		return s.head
	}
	return s.head - s.lag()
}

func (s *scripted) result(c call) (any, string) {
	text := func(i int) (t string) { _ = json.Unmarshal(c.Params[i], &t); return t }
	switch c.Method {
	case "eth_chainId":
		return hexutil.Uint64(s.id), ""
	case "eth_getTransactionReceipt":
		if r := s.receipts[common.HexToHash(text(0))]; r != nil && uint64(r["blockNumber"].(hexutil.Uint64)) <= s.height() {
			return r, ""
		}
	case "eth_getTransactionByHash":
		hash := common.HexToHash(text(0))
		if r := s.receipts[hash]; r != nil && uint64(r["blockNumber"].(hexutil.Uint64)) <= s.height() {
			tx := map[string]any{"hash": hash, "from": common.Address{}, "gas": "0x0", "value": "0x0", "input": "0x"}
			maps.Copy(tx, s.transaction)
			return tx, ""
		}
	case "eth_getBlockByNumber":
		height := s.height()
		n := height
		if t := text(0); t != "latest" {
			n = hexutil.MustDecodeUint64(t)
		}
		if n <= height {
			at := s.at.Add(-time.Duration(s.head-n) * s.pace).Unix()
			return map[string]any{"number": hexutil.Uint64(n), "hash": s.hash(n), "timestamp": hexutil.Uint64(max(at, 0))}, ""
		}
	case "eth_call":
		var request struct{ Data string }
		_ = json.Unmarshal(c.Params[0], &request)
		word := common.Hash{}
		if s.settled[request.Data] {
			word[31] = 1
		}
		return word, ""
	case "eth_getLogs":
		var sent struct{ Topics []json.RawMessage }
		_ = json.Unmarshal(c.Params[0], &sent)
		s.topics = sent.Topics
		var filter struct {
			FromBlock, ToBlock hexutil.Uint64
			Topics             [][]common.Hash
		}
		if err := json.Unmarshal(c.Params[0], &filter); err != nil {
			return nil, fmt.Sprintf(`{"code":-32602,"message":%q}`, err)
		}
		if uint64(filter.ToBlock-filter.FromBlock)+1 > s.limit {
			return nil, `{"code":-32005,"message":"block range is too wide"}`
		}
		s.asked = append(s.asked, uint64(filter.ToBlock-filter.FromBlock)+1)
		found := []map[string]any{}
		for _, log := range s.logs {
			n := log["blockNumber"].(hexutil.Uint64)
			if n >= filter.FromBlock && n <= filter.ToBlock && log["topics"].([]common.Hash)[0] == filter.Topics[0][0] {
				found = append(found, log)
			}
		}
		return found, ""
	}
	return nil, ""
}

// log is an event in a block.
func (s *scripted) log(n uint64, tx common.Hash, address common.Address, event string, topics []common.Hash, args ...any) map[string]any {
	of := contracts.PoolABI
	if event == "DepositForBurn" {
		of = contracts.TokenMessengerABI
	}
	data, err := of.Events[event].Inputs.NonIndexed().Pack(args...)
	if err != nil {
		panic(err)
	}
	return map[string]any{
		"address": address, "topics": append([]common.Hash{of.Events[event].ID}, topics...), "data": hexutil.Bytes(data),
		"transactionHash": tx, "blockHash": s.hash(n), "blockNumber": hexutil.Uint64(n), "removed": false,
	}
}

// script is a swap of ether from robinhood to the hub, on nodes that are scripted.
type script struct {
	*rig
	source, destination *scripted
	tx, paidIn          common.Hash
	issuer              *issuer
}

var robinPool, hubPool = poolOf(robinhood, chain.ETH), poolOf(hub, chain.WETH)

func poolOf(id chain.ID, symbol string) common.Address {
	w := &world{deployment: chain.Reference()}
	return w.pool(id, symbol)
}

func newScript(t testing.TB, edit ...string) *script {
	s := &script{
		source: newScripted(t, robinhood, 250*time.Millisecond), destination: newScripted(t, hub, 10*time.Second),
		tx: common.Hash{1}, paidIn: common.Hash{2},
	}
	s.use(t, rpc.Config{robinhood: {rpc.SecretURL(s.source.URL)}, hub: {rpc.SecretURL(s.destination.URL)}}, edit...)
	return s
}

// use has a new gateway, which remembers nothing, ask these endpoints.
func (s *script) use(t testing.TB, cfg rpc.Config, edit ...string) {
	t.Helper()
	lanes := map[rpc.Lane]rpc.Limits{rpc.Sightings: patient, rpc.Tracking: patient, rpc.Searches: patient}
	client, err := rpc.New(cfg, rpc.Options{Limits: lanes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.issuer = &issuer{answers: map[common.Hash][]cctp.Message{}}
	s.rig = &rig{t: t}
	s.rig.use(New(editDeployment(t, edit...), client, s.issuer, Options{}))
}

// swap puts so many swaps into one transaction, that long ago.
func (s *script) swap(ago time.Duration, swaps int) {
	n, logs := s.source.block(ago), []map[string]any{}
	for nonce := range swaps {
		logs = append(logs, s.swapped(n, nonce, recipient[:], 0))
	}
	s.include(n, logs)
}

func (s *script) swapped(n uint64, nonce int, to []byte, kind uint8) map[string]any {
	weth, _ := chain.FindToken(hub, chain.WETH)
	return s.source.log(n, s.tx, robinPool, "Swap", []common.Hash{common.BigToHash(big.NewInt(int64(nonce))), {}},
		big.NewInt(int64(hub)), big.NewInt(100), to, kind, weth.Address.Address, [32]byte{})
}

func (s *script) include(n uint64, logs []map[string]any) {
	s.source.receipts[s.tx] = map[string]any{
		"transactionHash": s.tx, "blockHash": s.source.hash(n), "blockNumber": hexutil.Uint64(n), "status": "0x1", "logs": logs,
	}
}

// settlement is what the pool of the hub should say of a swap.
func settlement(nonce int) contracts.Settlement {
	weth, _ := chain.FindToken(hub, chain.WETH)
	return contracts.Settlement{
		Source: big.NewInt(int64(robinhood)), SrcPool: robinPool, Nonce: big.NewInt(int64(nonce)), Token: weth.Address.Address,
		Amount: big.NewInt(99), Recipient: recipient[:], ProtocolFee: big.NewInt(1), IntegratorFee: new(big.Int),
	}
}

// pay settles a swap that long ago, with an event that says p.
func (s *script) pay(ago time.Duration, nonce int, p contracts.Settlement) {
	id := settlementID(nonce)
	d := s.destination
	d.settled[hexutil.Encode(calldata.IsSettled(id))] = true
	d.logs = append(d.logs, d.log(d.block(ago), s.paidIn, hubPool, "Settled", []common.Hash{id}, p))
}

func settlementID(nonce int) common.Hash {
	return crypto.Keccak256Hash(common.BigToHash(big.NewInt(int64(robinhood))).Bytes(), common.BytesToHash(robinPool[:]).Bytes(), common.BigToHash(big.NewInt(int64(nonce))).Bytes())
}

// follow asks until the answer is final, and returns how often it asked.
func (s *script) follow(most int) (last *Status, asked int) {
	for asked = 1; asked <= most; asked++ {
		if last = s.look(robinhood, s.tx); last.Final {
			break
		}
		if sw := last.Swaps[0]; last.State != Settling || sw.Settlement != nil || sw.Reason == "" {
			s.t.Fatalf("got %s with %+v before the event was found", last.State, sw)
		}
	}
	return last, asked
}

// A payout is found however old it is, and whatever ranges a node answers: it is
// searched forward from the time of its source, and the search goes on with each
// question, also after a restart.
func TestSearchReachesOldPayouts(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		age, after time.Duration // of the swap, and until its payout
		pace       time.Duration
		limit      uint64
		most       int // questions
	}{
		"a minute ago":                      {time.Minute, 20 * time.Second, 10 * time.Second, 1 << 40, 1},
		"a minute ago, ten blocks a call":   {time.Minute, 20 * time.Second, 10 * time.Second, 10, 3},
		"a day ago":                         {day, time.Minute, 10 * time.Second, 1 << 40, 1},
		"two months ago":                    {60 * day, time.Minute, 10 * time.Second, 1 << 40, 1},
		"two months ago, thousand a call":   {60 * day, time.Minute, 10 * time.Second, 1000, 2},
		"two months ago, ten a call":        {60 * day, time.Minute, 10 * time.Second, 10, 5},
		"a fast chain":                      {30 * day, time.Minute, 250 * time.Millisecond, 1 << 40, 2},
		"a fast chain, thousand a call":     {30 * day, time.Minute, 250 * time.Millisecond, 1000, 3},
		"a fast chain, ten a call":          {30 * day, time.Minute, 250 * time.Millisecond, 10, 15},
		"paid out after a day":              {3 * day, day, 10 * time.Second, 1000, 4},
		"paid out after a day, ten a call":  {3 * day, day, 10 * time.Second, 10, 130},
		"paid out before, by another clock": {day, -30 * time.Second, 10 * time.Second, 1000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			s.destination.pace, s.destination.limit = test.pace, test.limit
			s.swap(test.age, 1)
			s.pay(test.age-test.after, 0, settlement(0))
			last, asked := s.follow(test.most)
			if !last.Final || last.State != Settled || last.Swaps[0].Settlement.TxHash != s.paidIn {
				t.Fatalf("got %s, %+v after %d questions", last.State, last.Swaps[0], asked)
			}
			t.Logf("%d questions, %d calls", asked, s.source.count()+s.destination.count())

			// A gateway that starts anew gets there too.
			s.rig.use(New(s.Tracker.deployment, s.Tracker.chains, s.issuer, Options{}))
			if last, asked := s.follow(test.most); !last.Final {
				t.Errorf("got %s, %+v after %d questions of another gateway", last.State, last.Swaps[0], asked)
			}
		})
	}
}

// How many calls an answer costs.
func TestCalls(t *testing.T) {
	count := func(s *script) int { return s.source.count() + s.destination.count() }
	for name, test := range map[string]struct {
		age          time.Duration
		limit        uint64
		paid         bool
		swaps        int
		first, again int
	}{
		"settling":                 {time.Minute, 1 << 40, false, 1, 8, 2},
		"settled":                  {5 * time.Minute, 1 << 40, true, 1, 12, 0},
		"settled, of last month":   {30 * 24 * time.Hour, 1 << 40, true, 1, 12, 4},
		"settled, ten a call":      {30 * 24 * time.Hour, 10, true, 1, 12, 12},
		"settled, sixteen of them": {5 * time.Minute, 1 << 40, true, 16, 27, 0},
		"settling, sixteen":        {5 * time.Minute, 1 << 40, false, 16, 23, 17},
	} {
		s := newScript(t)
		s.destination.limit = test.limit
		s.swap(test.age, test.swaps)
		for nonce := range test.swaps {
			if test.paid {
				s.pay(test.age-time.Minute, nonce, settlement(nonce))
			}
		}
		s.look(robinhood, s.tx)
		first := count(s)
		s.look(robinhood, s.tx)
		t.Logf("%s: %d calls, then %d", name, first, count(s)-first)
		if again := count(s) - first; first > test.first || again > test.again {
			t.Errorf("%s: %d calls, then %d; want %d and %d at most: %v, %v", name, first, again, test.first, test.again, s.source.calls, s.destination.calls)
		}
	}
	// A payout that waits for confirmations is read again with few calls.
	s := newScript(t, `"369": 1`, `"369": 30`)
	s.swap(5*time.Minute, 1)
	s.pay(time.Minute, 0, settlement(0))
	s.want(robinhood, s.tx, Settled, false)
	first := count(s)
	s.want(robinhood, s.tx, Settled, false)
	t.Logf("a payout that waits: %d calls, then %d", first, count(s)-first)
	if again := count(s) - first; again > 4 {
		t.Errorf("%d calls for a payout that waits, want 4 at most", again)
	}
}

// How many calls, and in how many requests, an answer costs where each chain has several
// endpoints. Final takes one more request a chain, once for each swap. Which chain an
// endpoint serves is asked once, and not counted here.
func TestCallsOfTwo(t *testing.T) {
	for name, test := range map[string]struct {
		endpoints int
		paid      bool
		swaps     int
		heads     bool // the endpoints were asked for their latest block a moment ago
		first     [2]int
		again     [2]int
	}{
		"settling, one endpoint":             {1, false, 1, false, [2]int{6, 3}, [2]int{2, 1}},
		"settling":                           {2, false, 1, false, [2]int{8, 4}, [2]int{2, 1}},
		"settled, one endpoint":              {1, true, 1, false, [2]int{8, 5}, [2]int{0, 0}},
		"settled":                            {2, true, 1, false, [2]int{12, 7}, [2]int{0, 0}},
		"settled, heads known":               {2, true, 1, true, [2]int{10, 7}, [2]int{0, 0}},
		"settled, three endpoints":           {3, true, 1, false, [2]int{12, 7}, [2]int{0, 0}},
		"settled, sixteen of them":           {2, true, 16, true, [2]int{25, 7}, [2]int{0, 0}},
		"settled, sixteen, one endpoint":     {1, true, 16, false, [2]int{23, 5}, [2]int{0, 0}},
		"settling, sixteen, two endpoints":   {2, false, 16, false, [2]int{23, 4}, [2]int{17, 1}},
		"settling, heads known":              {2, false, 1, true, [2]int{7, 4}, [2]int{2, 1}},
		"settling, sixteen, one endpoint":    {1, false, 16, false, [2]int{21, 3}, [2]int{17, 1}},
		"settled, sixteen, two endpoints":    {2, true, 16, false, [2]int{27, 7}, [2]int{0, 0}},
		"settling, sixteen, heads are known": {2, false, 16, true, [2]int{22, 4}, [2]int{17, 1}},
	} {
		s := newScript(t)
		s.swap(5*time.Minute, test.swaps)
		if test.paid {
			for nonce := range test.swaps {
				s.pay(4*time.Minute, nonce, settlement(nonce))
			}
		}
		from, to := []*scripted{s.source}, []*scripted{s.destination}
		for len(from) < test.endpoints {
			from, to = append(from, s.source.another(t)), append(to, s.destination.another(t))
		}
		s.use(t, endpoints(from, to))
		for _, id := range []chain.ID{robinhood, hub} { // so that each has told its chain
			for place := range test.endpoints {
				err := s.Tracker.chains.Check(t.Context(), id, place+1, func(ctx context.Context, e *rpc.Endpoint) error {
					if !test.heads {
						return nil
					}
					var head *rpc.Block
					err := e.ReadAll(ctx, rpc.ReadLatest(&head))
					s.remember(e, head)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		count := func() (sum [2]int) {
			for _, n := range slices.Concat(from, to) {
				sum[0] += n.count()
				sum[1] += n.requests
				n.reset()
			}
			return sum
		}
		count()
		got := s.look(robinhood, s.tx)
		first := count()
		s.look(robinhood, s.tx)
		again := count()
		t.Logf("%s: %d calls in %d requests, then %d in %d", name, first[0], first[1], again[0], again[1])
		if first != test.first || again != test.again || got.Final != test.paid {
			t.Errorf("%s: %v calls and requests, then %v; want %v and %v; final %v", name, first, again, test.first, test.again, got.Final)
		}
	}
}

// The event must say what the swap says, in every field.
func TestEvidence(t *testing.T) {
	for name, change := range map[string]func(*contracts.Settlement){
		"source":         func(p *contracts.Settlement) { p.Source = big.NewInt(1) },
		"huge source":    func(p *contracts.Settlement) { p.Source = new(big.Int).Lsh(big.NewInt(1), 200) },
		"pool":           func(p *contracts.Settlement) { p.SrcPool[0]++ },
		"nonce":          func(p *contracts.Settlement) { p.Nonce = big.NewInt(1) },
		"token":          func(p *contracts.Settlement) { p.Token[0]++ },
		"recipient":      func(p *contracts.Settlement) { p.Recipient = treasury[:] },
		"recipient type": func(p *contracts.Settlement) { p.RecipientType = 2 },
	} {
		s := newScript(t)
		s.swap(time.Hour, 1)
		p := settlement(0)
		change(&p)
		s.pay(50*time.Minute, 0, p)
		for range 3 {
			if got := s.want(robinhood, s.tx, Settling, false).Swaps[0]; got.Reason != anotherPayout || got.Settlement != nil {
				t.Errorf("another %s: got %+v", name, got)
			}
		}
		s.destination.mu.Lock() // it was the endpoint's lie
		s.destination.logs = nil
		s.destination.mu.Unlock()
		s.pay(50*time.Minute, 0, settlement(0))
		s.want(robinhood, s.tx, Settled, true)
	}
}

// The contract says that it has settled, and there is no event: never final, without
// note and amount, and another endpoint is asked for it.
func TestSettledWithoutEvent(t *testing.T) {
	s := newScript(t)
	pruned := newScripted(t, hub, 10*time.Second)
	s.swap(time.Hour, 1)
	s.pay(50*time.Minute, 0, settlement(0))
	pruned.settled = s.destination.settled
	s.use(t, rpc.Config{robinhood: {rpc.SecretURL(s.source.URL)}, hub: {rpc.SecretURL(pruned.URL)}})
	for range 5 {
		got := s.want(robinhood, s.tx, Settling, false).Swaps[0]
		if got.Settlement != nil || !strings.Contains(got.Reason, "says that it has settled this swap. Its event is not found yet: ") {
			t.Errorf("got %+v", got)
		}
	}
	// Another endpoint has it. It is final once a third one shows it too.
	s.use(t, config(s.source, pruned, s.destination))
	s.want(robinhood, s.tx, Settling, false)
	if got := s.want(robinhood, s.tx, Settled, false).Swaps[0]; got.Reason != disagree(hub) {
		t.Errorf("got %+v, want that the nodes disagree", got)
	}
	s.use(t, config(s.source, pruned, s.destination, s.destination.another(t)))
	if last, _ := s.follow(4); !last.Final {
		t.Errorf("got %+v, want it found at the other endpoint", last.Swaps[0])
	}
}

// A provider that wants us to slow down makes an answer incomplete, not wrong.
func TestOverQuotaIsNotFinal(t *testing.T) {
	s := newScript(t)
	s.swap(time.Hour, 1)
	s.pay(50*time.Minute, 0, settlement(0))
	s.destination.instead = func(method string) (any, string) {
		if method == "eth_getBlockByNumber" && s.destination.calls["eth_getLogs"] > 0 {
			return nil, `{"code":-32005,"message":"slow down"}`
		}
		return nil, ""
	}
	got := s.want(robinhood, s.tx, Settling, false).Swaps[0]
	if got.Settlement != nil || !strings.Contains(got.Reason, "the chain did not answer") {
		t.Errorf("got %+v", got)
	}
	s.destination.mu.Lock()
	s.destination.instead = nil
	s.destination.mu.Unlock()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until the lane has rested
		s.pass(10 * time.Minute)
		if got, err := s.Status(t.Context(), robinhood, s.tx); err == nil && got.Final {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it stays incomplete")
		}
	}
}

// An endpoint that stands still is believed in what it has, and not in what it has not.
func TestEndpointStandsStill(t *testing.T) {
	still := func(s *script) *scripted {
		behind := newScripted(t, hub, 10*time.Second)
		behind.head -= 190
		behind.at = behind.at.Add(-190 * behind.pace)
		return behind
	}
	s := newScript(t)
	s.swap(30*time.Minute, 1)
	s.pay(20*time.Minute, 0, settlement(0))
	behind := still(s)
	source := []rpc.SecretURL{rpc.SecretURL(s.source.URL)}
	s.use(t, config(s.source, behind, s.destination))
	if got := s.want(robinhood, s.tx, Settled, false).Swaps[0]; got.Reason != alone(hub) {
		t.Errorf("got %+v, want that there is one endpoint only", got)
	}
	s.use(t, config(s.source, behind, s.destination, s.destination.another(t)))
	s.want(robinhood, s.tx, Settled, true)

	s.use(t, rpc.Config{robinhood: source, hub: {rpc.SecretURL(behind.URL)}})
	if got := s.want(robinhood, s.tx, Settling, false).Swaps[0]; !strings.Contains(got.Reason, "chain 369 has no node here that is up to date") {
		t.Errorf("got %+v from a node that stands still", got)
	}
	for _, id := range []chain.ID{robinhood, hub} {
		if h := s.Tracker.chains.Health(id, rpc.Tracking); h.Resting != 0 {
			t.Errorf("an endpoint rests for being behind: %+v", h)
		}
	}
	// What it has is true.
	s.pay(55*time.Minute, 0, settlement(0))
	behind.settled, behind.logs = s.destination.settled, s.destination.logs[1:]
	s.use(t, rpc.Config{robinhood: source, hub: {rpc.SecretURL(behind.URL)}})
	s.swap(time.Hour, 1)
	s.want(robinhood, s.tx, Settled, true)

	// A source that stands still does not make a transaction unknown.
	s.source.at = s.source.at.Add(-time.Hour)
	s.use(t, rpc.Config{robinhood: source})
	s.wantFault(robinhood, common.Hash{9}, fault.ChainUnavailable, "chain 4663, of the transaction, has no node here that is up to date")
}

// Behind a load balancer, the next node may be a block behind the one that had the
// receipt.
func TestOneBlockBehindTheReceipt(t *testing.T) {
	s := newScript(t)
	s.swap(0, 1)
	head, asked := s.source.head, 0
	s.source.instead = func(method string) (any, string) {
		if method == "eth_getBlockByNumber" {
			if asked++; asked == 1 {
				return map[string]any{"number": hexutil.Uint64(head - 1), "hash": s.source.hash(head - 1), "timestamp": hexutil.Uint64(s.source.at.Unix())}, ""
			}
		}
		return nil, ""
	}
	s.want(robinhood, s.tx, Settling, false)
	asked = -1000
	s.source.instead = func(method string) (any, string) {
		if method == "eth_getBlockByNumber" {
			return map[string]any{"number": hexutil.Uint64(head - 1), "hash": s.source.hash(head - 1), "timestamp": hexutil.Uint64(s.source.at.Unix())}, ""
		}
		return nil, ""
	}
	s.use(t, rpc.Config{robinhood: {rpc.SecretURL(s.source.URL)}, hub: {rpc.SecretURL(s.destination.URL)}})
	if got := s.want(robinhood, s.tx, Pending, false); got.Reason != seenBefore || got.Next != shortestNext {
		t.Errorf("got %+v", got)
	}
	if h := s.Tracker.chains.Health(robinhood, rpc.Sightings); h.Resting != 0 {
		t.Errorf("got %+v, want no endpoint to rest", h)
	}
}

// Nobody can say that there is no such transaction while an endpoint cannot be asked.
func TestNotFoundNeedsEveryEndpoint(t *testing.T) {
	s := newScript(t)
	other := newScripted(t, robinhood, time.Second)
	both := rpc.Config{robinhood: {rpc.SecretURL(s.source.URL), rpc.SecretURL(other.URL)}}
	s.use(t, both)
	s.want(robinhood, s.tx, NotFound, false)
	other.status = 500
	s.wantFault(robinhood, s.tx, fault.ChainUnavailable, "chain 4663, of the transaction, did not answer")
	other.status, s.source.status = 0, 500
	s.use(t, both)
	s.wantFault(robinhood, s.tx, fault.ChainUnavailable, "chain 4663, of the transaction, did not answer")
}

// Money that was taken is never told to be no swap.
func TestMoneyTakenIsASwap(t *testing.T) {
	s := newScript(t)
	n := s.source.block(time.Minute)
	unreadable := s.swapped(n, 4, recipient[:], 0)
	unreadable["data"] = hexutil.Bytes(unreadable["data"].(hexutil.Bytes)[:100])
	s.include(n, []map[string]any{
		s.swapped(n, 0, recipient[:19], 0), s.swapped(n, 1, recipient[:], 1), s.swapped(n, 2, make([]byte, 1_000), 2), s.swapped(n, 3, nil, 0), unreadable,
	})
	got := s.want(robinhood, s.tx, Settling, false)
	if len(got.Swaps) != 5 || got.Next == 0 {
		t.Fatalf("got %+v", got)
	}
	for i, sw := range got.Swaps {
		want := oddRecipient
		if i == 4 {
			want = oddEvent
		}
		if sw.State != Settling || sw.Reason != want || len(sw.Recipient) > 160 || sw.Unread != (i == 4) {
			t.Errorf("got %+v, want %q", sw, want)
		}
	}
}

// An issuer's message that is listed twice is for one burn.
func TestOneMessageOneBurn(t *testing.T) {
	burn := calldata.Message{SourceDomain: 2, Nonce: common.Hash{7}}
	i := &issued{
		messages: []cctp.Message{{State: cctp.Complete}, {State: cctp.Complete}}, decoded: []*calldata.Message{&burn, &burn}, used: make([]bool, 2), enough: true,
	}
	tx := memo.Key{Network: optimism}
	l := &lookup{trail: &trail{issued: map[memo.Key]*issued{tx: i}}}
	i.asked = l
	first, second := &Burn{}, &Burn{}
	if l.attested(context.Background(), tx, first, &burn) == nil || l.attested(context.Background(), tx, second, &burn) != nil || second.State != cctp.Unseen {
		t.Errorf("got %+v and %+v, want one of both attested", first, second)
	}
	if i.enough {
		t.Error("the second burn is not asked for again")
	}
}

// With five hundred invented hashes a second on a node that takes 180 ms, real swaps
// are answered. The bounds are those of the service.
func TestFloodOfInventedHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := newScript(t)
	s.source.delay, s.destination.delay = 180*time.Millisecond, 180*time.Millisecond
	const real = 20
	for i := range real {
		s.tx = common.Hash{0xaa, byte(i)}
		s.swap(time.Minute, 1)
	}
	client, err := rpc.New(rpc.Config{robinhood: {rpc.SecretURL(s.source.URL)}, hub: {rpc.SecretURL(s.destination.URL)}}, rpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	tracker := New(s.Tracker.deployment, client, s.issuer, Options{})
	ctx, stop := context.WithCancel(t.Context())
	var flood, swaps sync.WaitGroup
	invented, refused := 0, 0
	var mu sync.Mutex
	flood.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; ctx.Err() == nil; n += 5 {
			for i := range 5 {
				flood.Go(func() {
					_, err := tracker.Status(ctx, robinhood, common.BigToHash(big.NewInt(int64(n+i+1))))
					mu.Lock()
					defer mu.Unlock()
					if invented++; err != nil {
						refused++
					}
				})
			}
			<-ticker.C
		}
	})
	answered := 0
	time.Sleep(time.Second) // until the flood has filled whatever it can fill
	for i := range real {
		swaps.Go(func() {
			if got, err := tracker.Status(context.Background(), robinhood, common.Hash{0xaa, byte(i)}); err == nil && got.State == Settling {
				mu.Lock()
				answered++
				mu.Unlock()
			}
		})
		time.Sleep(50 * time.Millisecond)
	}
	swaps.Wait()
	stop()
	flood.Wait()
	t.Logf("%d of %d real swaps answered; of %d invented hashes, %d refused", answered, real, invented, refused)
	if answered < real-1 {
		t.Errorf("%d of %d real swaps were answered", answered, real)
	}
}
