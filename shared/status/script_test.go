package status

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// scripted is a node of a chain with as many blocks as a real one, which says what
// the test has it say.
type scripted struct {
	*httptest.Server
	id   chain.ID
	pace time.Duration // between blocks
	at   time.Time     // of block top
	top  uint64

	mu       sync.Mutex
	head     uint64
	receipts map[common.Hash]map[string]any
	words    map[string]uint64 // what contracts say, by the input
	requests int               // batches counted as one, eth_chainId not at all
	delay    time.Duration     // of each answer
	lag      func() uint64     // by how many blocks each answer is behind
	instead  map[string]string // results by method
	forks    map[uint64]byte   // blocks that were replaced
	refuses  map[string]int    // JSON-RPC error codes by method

	altered func(c call, result any) any // changes results, if it is set
	handler http.HandlerFunc             // answers all but eth_chainId, if it is set

	noState bool   // it has the state of the newest block only
	limit   uint64 // blocks of a range of logs
	status  int    // the HTTP status of its refusals; 0 for 200
	code    int    // the JSON-RPC error code of its refusals
}

const topBlock = 500_000_000

func newScripted(t testing.TB, id chain.ID, pace time.Duration) *scripted {
	s := &scripted{
		id: id, top: topBlock, head: topBlock, pace: pace, at: time.Now().Truncate(time.Second), limit: 1 << 40,
		receipts: map[common.Hash]map[string]any{}, words: map[string]uint64{}, instead: map[string]string{}, forks: map[uint64]byte{},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// another is a node that says the same, until it is changed.
func (s *scripted) another(t testing.TB) *scripted {
	o := newScripted(t, s.id, s.pace)
	o.head, o.at = s.head, s.at
	o.receipts, o.words = maps.Clone(s.receipts), maps.Clone(s.words)
	return o
}

// block is the number of the block of that long ago.
func (s *scripted) block(ago time.Duration) uint64 { return s.top - uint64(ago/s.pace) }

func (s *scripted) hash(n uint64) common.Hash {
	return crypto.Keccak256Hash([]byte(fmt.Sprint(s.id, n, s.forks[n])))
}

// counted is how many requests came since the last time.
func (s *scripted) counted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.requests
	s.requests = 0
	return n
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	time.Sleep(s.delay)
	w.Header().Set("Content-Type", "application/json")
	var batch []call
	isBatch := json.Unmarshal(body, &batch) == nil
	if !isBatch {
		batch = make([]call, 1)
		_ = json.Unmarshal(body, &batch[0])
	}
	if batch[0].Method != "eth_chainId" {
		s.requests++
		if handler := s.handler; handler != nil {
			s.mu.Unlock()
			defer s.mu.Lock()
			handler(w, r)
			return
		}
	}
	answers := make([]map[string]any, len(batch))
	for i, c := range batch {
		answers[i] = map[string]any{"jsonrpc": "2.0", "id": c.ID}
		result, problem := s.result(c)
		switch {
		case problem == tooWide && s.status != 0:
			w.WriteHeader(s.status)
			return
		case problem != "":
			answers[i]["error"] = map[string]any{"code": s.code, "message": problem}
		case s.refuses[c.Method] != 0:
			answers[i]["error"] = map[string]any{"code": s.refuses[c.Method], "message": "refused"}
		case s.instead[c.Method] == unknownBlock:
			answers[i]["error"] = map[string]any{"code": -32000, "message": unknownBlock}
		case s.instead[c.Method] != "":
			answers[i]["result"] = json.RawMessage(s.instead[c.Method])
		case s.altered != nil:
			answers[i]["result"] = s.altered(c, result)
		default:
			answers[i]["result"] = result
		}
	}
	if isBatch {
		_ = json.NewEncoder(w).Encode(answers)
	} else {
		_ = json.NewEncoder(w).Encode(answers[0])
	}
}

const tooWide, unknownBlock = "no", "unknown block"

func (s *scripted) result(c call) (any, string) {
	text := func(i int) (t string) { _ = json.Unmarshal(c.Params[i], &t); return t }
	head := s.head
	if s.lag != nil {
		head -= s.lag()
	}
	receipt := func() map[string]any {
		r := s.receipts[common.HexToHash(text(0))]
		if r == nil || r["blockNumber"] != nil && uint64(r["blockNumber"].(hexutil.Uint64)) > head {
			return nil
		}
		return r
	}
	switch c.Method {
	case "eth_chainId":
		return hexutil.Uint64(s.id), ""
	case "eth_getTransactionReceipt":
		if r := receipt(); r != nil && r["blockNumber"] != nil {
			return r, ""
		}
	case "eth_getTransactionByHash":
		if r := receipt(); r != nil {
			return map[string]any{"hash": text(0), "from": common.Address{}, "gas": "0x0", "value": "0x0", "input": "0x"}, ""
		}
	case "eth_getBlockByNumber":
		n := head
		if t := text(0); t != "latest" {
			n = hexutil.MustDecodeUint64(t)
		}
		if n <= head {
			at := s.at.Add(-time.Duration(int64(s.top)-int64(n)) * s.pace).Unix()
			return map[string]any{"number": hexutil.Uint64(n), "hash": s.hash(n), "timestamp": hexutil.Uint64(max(at, 0))}, ""
		}
	case "eth_call":
		var request struct{ Data string }
		_ = json.Unmarshal(c.Params[0], &request)
		if s.noState && text(1) != "latest" {
			return nil, "missing trie node"
		}
		return common.BigToHash(new(big.Int).SetUint64(s.words[request.Data])), ""
	case "eth_getLogs":
		return s.logs(c, head)
	}
	return nil, ""
}

func (s *scripted) logs(c call, head uint64) (any, string) {
	var filter struct {
		FromBlock, ToBlock hexutil.Uint64
		BlockHash          common.Hash
		Address            []common.Address
		Topics             []*common.Hash
	}
	if err := json.Unmarshal(c.Params[0], &filter); err != nil {
		return nil, err.Error()
	}
	if uint64(filter.ToBlock-filter.FromBlock)+1 > s.limit {
		return nil, tooWide
	}
	found := []map[string]any{}
	for _, hash := range slices.SortedFunc(maps.Keys(s.receipts), common.Hash.Cmp) {
		logs, _ := s.receipts[hash]["logs"].([]map[string]any)
		for _, log := range logs {
			n := log["blockNumber"].(hexutil.Uint64)
			in := n >= filter.FromBlock && n <= filter.ToBlock || log["blockHash"] == filter.BlockHash
			topics := log["topics"].([]common.Hash)
			matches := in && uint64(n) <= head && slices.Contains(filter.Address, log["address"].(common.Address)) && len(topics) >= len(filter.Topics)
			for i, topic := range filter.Topics {
				matches = matches && (topic == nil || *topic == topics[i])
			}
			if matches {
				found = append(found, log)
			}
		}
	}
	return found, ""
}

// include puts a transaction with these logs into a block.
func (s *scripted) include(tx common.Hash, n uint64, logs ...map[string]any) {
	for _, log := range logs {
		log["transactionHash"], log["blockHash"], log["blockNumber"] = tx, s.hash(n), hexutil.Uint64(n)
	}
	if logs == nil {
		logs = []map[string]any{}
	}
	s.receipts[tx] = map[string]any{
		"transactionHash": tx, "blockHash": s.hash(n), "blockNumber": hexutil.Uint64(n), "status": "0x1", "logs": logs,
	}
}

// event is a log in no block yet.
func event(of abi.ABI, name string, address common.Address, topics []common.Hash, args ...any) map[string]any {
	data, err := of.Events[name].Inputs.NonIndexed().Pack(args...)
	if err != nil {
		panic(err)
	}
	return map[string]any{
		"address": address, "topics": append([]common.Hash{of.Events[name].ID}, topics...), "data": hexutil.Bytes(data), "removed": false,
	}
}

// script is a swap on nodes that are scripted: of ether from robinhood to the hub, unless
// the route is another.
type script struct {
	*rig
	route
	nodes    map[chain.ID][]*scripted
	tx, paid common.Hash
}

// route is where a swap goes.
type route struct {
	src, dst, payer chain.ID // payer pays out, and is a network
	in, out         string   // symbols
	to              []byte
	kind            uint8
}

var (
	toHub    = route{src: robinhood, dst: hub, payer: hub, in: chain.ETH, out: chain.WETH, to: recipient[:]}
	fromHub  = route{src: hub, dst: robinhood, payer: robinhood, in: chain.WETH, out: chain.ETH, to: recipient[:]}
	toNote   = route{src: hub, dst: chain.PrivacyEthereum, payer: 1, in: chain.USDC, out: chain.USDC, to: append(make([]byte, 31), 7), kind: 2}
	onOnward = route{src: hub, dst: optimism, payer: base, in: chain.USDC, out: chain.USDC, to: recipient[:]}
)

var paces = map[chain.ID]time.Duration{robinhood: 250 * time.Millisecond, hub: 10 * time.Second, 1: 12 * time.Second, base: 2 * time.Second, optimism: 2 * time.Second}

func token(id chain.ID, symbol string) common.Address {
	t, err := chain.FindToken(id, symbol)
	if err != nil {
		panic(err)
	}
	return t.Address.Address
}

func poolOf(id chain.ID, symbol string) common.Address {
	return (&world{deployment: chain.Reference()}).pool(id, symbol)
}

// newScript has one node of each chain of the route.
func newScript(t testing.TB, r route) *script {
	s := &script{rig: &rig{t: t}, route: r, nodes: map[chain.ID][]*scripted{}, tx: common.Hash{1}, paid: common.Hash{2}}
	if r.kind == 2 {
		s.to = append(slices.Clone(r.to), make([]byte, 128)...)
	}
	for _, id := range []chain.ID{r.src, r.payer, r.dst.Network()} {
		if s.nodes[id] == nil {
			s.nodes[id] = []*scripted{newScripted(t, id, paces[id])}
		}
	}
	return s
}

func (s *script) source() *scripted      { return s.nodes[s.src][0] }
func (s *script) destination() *scripted { return s.nodes[s.payer][0] }

// double has each chain have so many endpoints that say the same.
func (s *script) multiply(n int) {
	for id, nodes := range s.nodes {
		for range n - 1 {
			s.nodes[id] = append(s.nodes[id], nodes[0].another(s.t))
		}
	}
}

// start has a gateway, which remembers nothing, ask the nodes.
func (s *script) start(edit ...string) {
	s.t.Helper()
	cfg := rpc.Config{}
	for id, nodes := range s.nodes {
		for _, n := range nodes {
			cfg[id] = append(cfg[id], rpc.SecretURL(n.URL))
		}
	}
	client, err := rpc.New(cfg, rpc.Options{Limits: map[rpc.Lane]rpc.Limits{rpc.TxLookups: patient, rpc.Tracking: patient}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	edit = append([]string{`"4663": 1`, `"4663": 12`, `"369": 1`, `"369": 12`, `"8453": 1`, `"8453": 12`, `"10": 1`, `"10": 12`}, edit...)
	s.issuer = &issuer{answers: map[common.Hash][]cctp.Message{}}
	s.rig.use(New(editDeployment(s.t, edit...), client, s.issuer, Options{}))
}

func (s *script) id() common.Hash {
	return calldata.SwapID(uint64(s.src), poolOf(s.src, s.in), common.Hash{})
}

// swapped is the event of the swap with a nonce.
func (s *script) swapped(nonce byte) map[string]any {
	return event(contracts.PoolABI, "Swap", poolOf(s.src, s.in), []common.Hash{{31: nonce}, {}},
		new(big.Int).SetUint64(uint64(s.dst)), big.NewInt(100), s.to, s.kind, token(s.dst, s.out), [32]byte{})
}

// swap makes the swap that long ago.
func (s *script) swap(ago time.Duration) {
	s.source().include(s.tx, s.source().block(ago), s.swapped(0))
}

// settlement is what the pool that pays should say of the swap with a nonce.
func (s *script) settlement(nonce byte) contracts.Settlement {
	return contracts.Settlement{
		Source: big.NewInt(int64(s.src)), SrcPool: poolOf(s.src, s.in), Nonce: big.NewInt(int64(nonce)), Token: token(s.payToken(), s.out),
		Amount: big.NewInt(99), Recipient: s.to, RecipientType: s.kind, ProtocolFee: big.NewInt(1), IntegratorFee: new(big.Int),
	}
}

func (s *script) payToken() chain.ID {
	if s.dst == optimism {
		return s.payer
	}
	return s.dst
}

func (s *script) payPool() common.Address { return poolOf(s.payToken(), s.out) }

// settled is the event of a settlement.
func (s *script) settled(p contracts.Settlement) map[string]any {
	id := calldata.SwapID(uint64(s.src), p.SrcPool, common.BigToHash(p.Nonce))
	return event(contracts.PoolABI, "Settled", s.payPool(), []common.Hash{id}, p)
}

// money is the event that shows the money of a settlement.
func (s *script) money(p contracts.Settlement) map[string]any {
	switch {
	case s.kind == 2:
		return s.shield(p.Amount.Int64()-2, 2)
	case s.dst == optimism:
		id := s.id()
		return event(contracts.TokenMessengerABI, "DepositForBurn", cctpOf(base).Messenger.Address,
			[]common.Hash{common.BytesToHash(p.Token[:]), common.BytesToHash(s.payPool().Bytes()), {31: 1}},
			p.Amount, [32]byte(common.BytesToHash(s.to)), cctpOf(optimism).Domain, [32]byte{}, [32]byte{}, big.NewInt(3), id[:])
	}
	return transfer(p.Token, common.BytesToAddress(s.to), p.Amount.Int64())
}

// shield is RAILGUN's event, with another note before ours.
func (s *script) shield(value, fee int64) map[string]any {
	type tokenData struct {
		TokenType    uint8
		TokenAddress common.Address
		TokenSubID   *big.Int
	}
	type preimage struct {
		Npk   [32]byte
		Token tokenData
		Value *big.Int
	}
	type ciphertext struct {
		EncryptedBundle [3][32]byte
		ShieldKey       [32]byte
	}
	usdc := tokenData{TokenAddress: token(s.dst, s.out), TokenSubID: new(big.Int)}
	notes := []preimage{{Token: usdc, Value: big.NewInt(5)}, {[32]byte(s.to), usdc, big.NewInt(value)}}
	mainnet, _ := chain.FindNetwork(1)
	return event(contracts.RailgunABI, "Shield", mainnet.Railgun.Proxy.Address, nil,
		new(big.Int), new(big.Int), notes, make([]ciphertext, 2), []*big.Int{new(big.Int), big.NewInt(fee)})
}

func transfer(of, to common.Address, amount int64) map[string]any {
	return event(contracts.TokenABI, "Transfer", of, []common.Hash{{}, common.BytesToHash(to[:])}, big.NewInt(amount))
}

// pay settles the swap that long ago, in a transaction with these logs; without any, with
// those that belong there.
func (s *script) pay(ago time.Duration, logs ...map[string]any) {
	d := s.destination()
	if logs == nil {
		p := s.settlement(0)
		logs = []map[string]any{s.money(p), s.settled(p)}
	}
	d.include(s.paid, d.block(ago), logs...)
	d.words[hexutil.Encode(calldata.SettledIn(s.id()))] = d.block(ago)
}

// attested is the message of the onward burn.
func (s *script) attested() cctp.Message {
	message := make([]byte, 376, 408)
	put := func(at int, word []byte) { copy(message[at+32-len(word):], word) }
	message[3], message[7], message[11], message[151] = 1, byte(cctpOf(base).Domain), byte(cctpOf(optimism).Domain), 1
	put(12, nonce[:])
	burnt := token(base, chain.USDC)
	pool := s.payPool()
	put(152, burnt[:])
	put(184, s.to)
	put(216, []byte{99})
	put(248, pool[:])
	put(280, []byte{3}) // the maximum fee
	put(312, []byte{2}) // the fee
	id := s.id()
	return cctp.Message{State: cctp.Complete, Message: append(message, id[:]...)}
}

var nonce = common.Hash{0xaa, 31: 1}

// mint delivers the onward burn that long ago.
func (s *script) mint(ago time.Duration) {
	d := s.nodes[optimism][0]
	d.words[hexutil.Encode(calldata.IsUsed(nonce))] = 1
	d.include(common.Hash{3}, d.block(ago), event(contracts.TransmitterABI, "MessageReceived", cctpOf(optimism).Transmitter.Address,
		[]common.Hash{{}, nonce, {}}, cctpOf(base).Domain, [32]byte{}, s.attested().Message[148:]))
}
