package status

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// The nodes of these tests are scripted. cmd/devnet tracks swaps on real chains.

const (
	mainnet   chain.ID = 1
	optimism  chain.ID = 10
	hub       chain.ID = 369
	robinhood chain.ID = 4663
	base      chain.ID = 8453
)

var (
	recipient = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	stranger  = common.HexToAddress("0x7EA5000000000000000000000000000000000001")
)

// object is a JSON object as a node sends it.
type object = map[string]any

// scripted is a node that returns what the test defines.
type scripted struct {
	*httptest.Server
	id   chain.ID
	pace time.Duration // between blocks
	at   time.Time     // of block topBlock

	mu           sync.Mutex
	head         uint64
	receipts     map[common.Hash]object // one without a block is of a pending transaction
	transactions map[common.Hash]object // fields that are not the usual ones
	words        map[string]uint64      // what contracts say, by the input
	forks        map[uint64]byte        // blocks that were replaced
	requests     int                    // batches counted as one, eth_chainId not at all
	lag          func() uint64          // by how many blocks each answer is behind
	hooks        map[string]hook        // by method
	handler      http.HandlerFunc       // answers all but eth_chainId, if it is set
}

// hook changes a result.
type hook func(c node.Call, result any) any

// constant is a hook that replaces every result.
func constant(result any) hook { return func(node.Call, any) any { return result } }

// altered is a hook that changes objects.
func altered(change func(object)) hook {
	return func(_ node.Call, result any) any {
		o, ok := result.(object)
		if !ok || o == nil {
			return result
		}
		o = maps.Clone(o)
		change(o)
		return o
	}
}

const topBlock = 500_000_000

var paces = map[chain.ID]time.Duration{
	mainnet: 12 * time.Second, optimism: 2 * time.Second, hub: 10 * time.Second,
	robinhood: 250 * time.Millisecond, base: 2 * time.Second,
}

func newScripted(t testing.TB, id chain.ID) *scripted {
	n := &scripted{
		id: id, head: topBlock, pace: paces[id], at: time.Now().Truncate(time.Second),
		receipts: make(map[common.Hash]object), transactions: make(map[common.Hash]object),
		words: make(map[string]uint64), forks: make(map[uint64]byte), hooks: make(map[string]hook),
	}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// another is a node with the same answers, until it is changed.
func (n *scripted) another(t testing.TB) *scripted {
	o := newScripted(t, n.id)
	o.head = n.head
	o.at = n.at
	o.words = maps.Clone(n.words)
	for tx, receipt := range n.receipts {
		o.receipts[tx] = maps.Clone(receipt)
	}
	return o
}

// block is the number of the block this long ago.
func (n *scripted) block(ago time.Duration) uint64 { return topBlock - uint64(ago/n.pace) }

func (n *scripted) hash(number uint64) common.Hash {
	return crypto.Keccak256Hash([]byte(fmt.Sprint(n.id, number, n.forks[number])))
}

// counted is how many requests came since the last time.
func (n *scripted) counted() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	requests := n.requests
	n.requests = 0
	return requests
}

func (n *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.mu.Lock()
	defer n.mu.Unlock()
	if bytes.Contains(body, []byte("eth_chainId")) {
		node.Answers(n.answer).ServeHTTP(w, r)
		return
	}
	n.requests++
	handler := n.handler
	if handler == nil {
		node.Answers(n.answer).ServeHTTP(w, r)
		return
	}
	n.mu.Unlock()
	defer n.mu.Lock()
	handler(w, r)
}

func (n *scripted) answer(c node.Call) any {
	result := n.result(c)
	if change := n.hooks[c.Method]; change != nil {
		return change(c, result)
	}
	return result
}

func (n *scripted) result(c node.Call) any {
	head := n.head
	if n.lag != nil {
		head -= n.lag()
	}
	switch c.Method {
	case "eth_chainId":
		return hexutil.Uint64(n.id)
	case "eth_getTransactionReceipt":
		r := n.receipts[common.HexToHash(c.Text(0))]
		if r["blockNumber"] != nil && uint64(r["blockNumber"].(hexutil.Uint64)) <= head {
			return r
		}
	case "eth_getTransactionByHash":
		hash := common.HexToHash(c.Text(0))
		if n.receipts[hash] != nil {
			tx := object{"hash": hash, "from": common.Address{}, "gas": "0x0", "value": "0x0", "input": "0x"}
			maps.Copy(tx, n.transactions[hash])
			return tx
		}
	case "eth_getBlockByNumber":
		number := head
		if t := c.Text(0); t != "latest" {
			number = hexutil.MustDecodeUint64(t)
		}
		if number <= head {
			at := n.at.Add(-time.Duration(topBlock-int64(number)) * n.pace).Unix()
			return object{"number": hexutil.Uint64(number), "hash": n.hash(number), "timestamp": hexutil.Uint64(max(at, 0))}
		}
	case "eth_call":
		var request struct{ Data string }
		_ = json.Unmarshal(c.Params[0], &request)
		return common.BigToHash(new(big.Int).SetUint64(n.words[request.Data]))
	case "eth_getLogs":
		return n.logs(c, head)
	}
	return nil
}

type logFilter struct {
	FromBlock, ToBlock hexutil.Uint64
	Address            []common.Address
	Topics             []*common.Hash
}

func (n *scripted) logs(c node.Call, head uint64) any {
	var filter logFilter
	if err := json.Unmarshal(c.Params[0], &filter); err != nil {
		return node.Error{Message: err.Error()}
	}
	found := []object{}
	for _, hash := range slices.SortedFunc(maps.Keys(n.receipts), common.Hash.Cmp) {
		logs, _ := n.receipts[hash]["logs"].([]object)
		for _, log := range logs {
			number := log["blockNumber"].(hexutil.Uint64)
			topics := log["topics"].([]common.Hash)
			in := number >= filter.FromBlock && number <= filter.ToBlock
			matches := in && uint64(number) <= head && len(topics) >= len(filter.Topics) &&
				slices.Contains(filter.Address, log["address"].(common.Address))
			for i, topic := range filter.Topics {
				matches = matches && (topic == nil || *topic == topics[i])
			}
			if matches {
				found = append(found, log)
			}
		}
	}
	return found
}

// include puts a transaction with these logs into a block.
func (n *scripted) include(tx common.Hash, number uint64, logs ...object) {
	place := object{"transactionHash": tx, "blockHash": n.hash(number), "blockNumber": hexutil.Uint64(number)}
	own := []object{}
	for _, log := range logs {
		log = maps.Clone(log)
		maps.Copy(log, place)
		own = append(own, log)
	}
	receipt := object{"status": "0x1", "logs": own}
	maps.Copy(receipt, place)
	n.receipts[tx] = receipt
}

// event is a log in no block yet.
func event(of abi.ABI, name string, address common.Address, topics []common.Hash, args ...any) object {
	data, err := of.Events[name].Inputs.NonIndexed().Pack(args...)
	if err != nil {
		panic(err)
	}
	topics = append([]common.Hash{of.Events[name].ID}, topics...)
	return object{"address": address, "topics": topics, "data": hexutil.Bytes(data), "removed": false}
}

func transfer(of, to common.Address, amount int64) object {
	topics := []common.Hash{{}, common.BytesToHash(to[:])}
	return event(contracts.TokenABI, "Transfer", of, topics, big.NewInt(amount))
}

func cctpOf(id chain.ID) *chain.CCTP {
	network, _ := chain.FindNetwork(id)
	return network.CCTP
}

func token(id chain.ID, symbol string) common.Address {
	t, err := chain.FindToken(id, symbol)
	if err != nil {
		panic(err)
	}
	return t.Address.Address
}

func poolOf(id chain.ID, symbol string) common.Address {
	for _, r := range chain.Reference().Routers() {
		if r.ChainID == id && r.Token.Symbol == symbol {
			return r.Router.Address
		}
	}
	panic(fmt.Sprintf("no pool of %s on %s", symbol, id))
}

// burn is a burn of USDC on one chain that the issuer mints on another.
type burn struct {
	from, to  chain.ID
	depositor common.Address
	recipient []byte
	amount    int64
	maxFee    byte
	hook      []byte
}

// The usual fees of a burn.
const maxFee, feeExecuted = 3, 2

func (b burn) event() object {
	usdc := token(b.from, chain.USDC)
	topics := []common.Hash{common.BytesToHash(usdc[:]), common.BytesToHash(b.depositor[:]), {31: 1}}
	return event(contracts.TokenMessengerABI, "DepositForBurn", cctpOf(b.from).Messenger.Address, topics,
		big.NewInt(b.amount), [32]byte(common.BytesToHash(b.recipient)), cctpOf(b.to).Domain,
		[32]byte{}, [32]byte{}, big.NewInt(int64(b.maxFee)), b.hook)
}

// attested is the burn as the issuer attests it.
func (b burn) attested(nonce common.Hash) cctp.Message {
	usdc := token(b.from, chain.USDC)
	message := binary.BigEndian.AppendUint32(nil, 1)
	message = binary.BigEndian.AppendUint32(message, cctpOf(b.from).Domain)
	message = binary.BigEndian.AppendUint32(message, cctpOf(b.to).Domain)
	message = append(message, nonce[:]...)
	message = append(message, make([]byte, 148-len(message))...)
	message = binary.BigEndian.AppendUint32(message, 1)
	for _, word := range [][]byte{
		usdc[:], b.recipient, big.NewInt(b.amount).Bytes(), b.depositor[:], {b.maxFee}, {feeExecuted}, nil,
	} {
		message = append(message, common.LeftPadBytes(word, 32)...)
	}
	return cctp.Message{State: cctp.Complete, Message: append(message, b.hook...)}
}

// issuer is the issuer's service, answering from memory.
type issuer struct {
	mu      sync.Mutex
	answers map[common.Hash][]cctp.Message
	err     error
	asked   int
}

func (i *issuer) Configured() bool { return true }

func (i *issuer) Messages(_ context.Context, _ uint32, tx common.Hash) ([]cctp.Message, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	return i.answers[tx], i.err
}

// route is where a swap goes.
type route struct {
	src, dst, payer chain.ID // payer pays out, and is a network
	in, out         string   // symbols
	to              []byte
	kind            uint8
	maxFee          byte // of the burn that forwards the money, if not the usual one
}

var (
	toHub     = route{src: robinhood, dst: hub, payer: hub, in: chain.ETH, out: chain.WETH, to: recipient[:]}
	fromHub   = route{src: hub, dst: robinhood, payer: robinhood, in: chain.WETH, out: chain.ETH, to: recipient[:]}
	fromBurn  = route{src: optimism, dst: hub, payer: hub, in: chain.USDC, out: chain.USDC, to: recipient[:]}
	forwarded = route{src: hub, dst: optimism, payer: base, in: chain.USDC, out: chain.USDC, to: recipient[:]}
	toNote    = route{
		src: hub, dst: chain.PrivacyEthereum, payer: mainnet, in: chain.USDC, out: chain.USDC,
		to: append(common.Hash{31: 7}.Bytes(), make([]byte, 128)...), kind: calldata.RecipientPrivate,
	}
	routes = map[string]route{
		"to the hub": toHub, "from the hub": fromHub, "burn": fromBurn, "forwarded": forwarded, "note": toNote,
	}
)

// issuerNonce is that of the message of the swap.
var issuerNonce = common.Hash{0xaa, 31: 1}

// script is a swap of 100, of which 99 are paid out, on scripted nodes, and a tracker that reads
// them. The test moves the clock of the tracker's cache.
type script struct {
	route
	*Tracker
	clock            *skew.Clock
	t                testing.TB
	issuer           *issuer
	nodes            map[chain.ID][]*scripted
	tx, paid, minted common.Hash

	mu   sync.Mutex
	skip time.Duration
}

// newScript has one node of each chain of the route.
func newScript(t testing.TB, r route) *script {
	s := &script{
		t: t, route: r, nodes: make(map[chain.ID][]*scripted),
		tx: common.Hash{1}, paid: common.Hash{2}, minted: common.Hash{3},
	}
	for _, id := range []chain.ID{r.src, r.payer, r.dst.Network()} {
		if s.nodes[id] == nil {
			s.nodes[id] = []*scripted{newScripted(t, id)}
		}
	}
	return s
}

// paidSwap is a swap of ten minutes ago that was paid out eight minutes ago.
func paidSwap(t testing.TB, r route, endpoints int) *script {
	s := newScript(t, r)
	s.swap(10 * time.Minute)
	s.pay(8 * time.Minute)
	s.mint(6 * time.Minute)
	s.multiply(endpoints)
	return s
}

func (s *script) source() *scripted      { return s.nodes[s.src][0] }
func (s *script) destination() *scripted { return s.nodes[s.payer][0] }
func (s *script) isBurn() bool           { return s.src == optimism }
func (s *script) isForwarded() bool      { return s.dst == optimism }

// multiply gives each chain this many endpoints with the same answers.
func (s *script) multiply(endpoints int) {
	for id, nodes := range s.nodes {
		for range endpoints - 1 {
			s.nodes[id] = append(s.nodes[id], nodes[0].another(s.t))
		}
	}
}

// patient has deadlines that even a slow machine does not reach.
var patient = rpc.Limits{Try: time.Minute, Total: time.Minute, Calls: 8, Waiting: 64}

// start makes a tracker with an empty cache. Twelve confirmations are final on every chain. edit
// changes more of the reference deployment: old, new, old, new.
func (s *script) start(edit ...string) {
	s.t.Helper()
	cfg := rpc.Config{}
	for id, nodes := range s.nodes {
		for _, n := range nodes {
			cfg[id] = append(cfg[id], rpc.SecretURL(n.URL))
		}
	}
	limits := map[rpc.Queue]rpc.Limits{rpc.TxLookups: patient, rpc.Tracking: patient}
	s.clock = skew.New(skew.Options{})
	client, err := rpc.New(cfg, rpc.Options{Limits: limits, Clock: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	s.issuer = &issuer{answers: make(map[common.Hash][]cctp.Message)}
	if s.isBurn() || s.isForwarded() {
		s.issuer.answers[s.burnTx()] = []cctp.Message{s.burn().attested(issuerNonce)}
	}
	for _, id := range []chain.ID{robinhood, hub, base, optimism} {
		edit = append([]string{fmt.Sprintf(`"%s": 1`, id), fmt.Sprintf(`"%s": 12`, id)}, edit...)
	}
	s.Tracker = New(editReference(s.t, edit), client, s.issuer, Options{})
	s.timeout = time.Minute
	s.cache = cache.New[key, entry](cacheSize, s.later, "looking up a swap", nil)
}

func editReference(t testing.TB, edit []string) *chain.Deployment {
	t.Helper()
	data, err := os.ReadFile("../chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(edit); i += 2 {
		if !strings.Contains(text, edit[i]) {
			t.Fatalf("the reference deployment has no %s", edit[i])
		}
		text = strings.Replace(text, edit[i], edit[i+1], 1)
	}
	d, err := chain.ParseDeployment([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// id names the settlement of the swap with a nonce.
func (s *script) id(nonce byte) common.Hash {
	if s.isBurn() {
		return calldata.BurnID(cctpOf(s.src).Domain, issuerNonce)
	}
	return calldata.SwapID(uint64(s.src), poolOf(s.src, s.in), common.Hash{31: nonce})
}

// burn is the one of the swap, or of its payout.
func (s *script) burn() burn {
	if s.isForwarded() {
		id := s.id(0)
		return burn{
			from: s.payer, to: s.dst, depositor: s.payPool(), recipient: s.to, amount: 99,
			maxFee: cmp.Or(s.maxFee, maxFee), hook: id[:],
		}
	}
	receiver := chain.Reference().Settlement.Receiver.Address
	return burn{
		from: s.src, to: base, depositor: recipient, recipient: receiver[:], amount: 100,
		maxFee: maxFee, hook: s.hook(s.to, s.kind),
	}
}

func (s *script) burnTx() common.Hash {
	if s.isForwarded() {
		return s.paid
	}
	return s.tx
}

// hook is the hook data of a burn that is swapped for a recipient.
func (s *script) hook(to []byte, kind uint8) []byte {
	swap := calldata.Swap{DstChainID: uint64(s.dst), DstToken: token(s.dst, s.out), Recipient: to, RecipientType: kind}
	decoded, err := calldata.Decode((&calldata.Burn{Swap: swap}).Encode())
	if err != nil {
		s.t.Fatal(err)
	}
	return decoded.Argument("hookData")
}

// swapped is the event of the swap with a nonce.
func (s *script) swapped(nonce byte) object {
	if s.isBurn() {
		return s.burn().event()
	}
	return s.swappedTo(new(big.Int).SetUint64(uint64(s.dst)), s.to, s.kind, nonce)
}

func (s *script) swappedTo(dst *big.Int, to []byte, kind, nonce byte) object {
	return event(contracts.PoolABI, "Swap", poolOf(s.src, s.in), []common.Hash{{31: nonce}, {}},
		dst, big.NewInt(100), to, kind, token(s.dst, s.out), [32]byte{31: 7})
}

// swap makes the swap this long ago.
func (s *script) swap(ago time.Duration) {
	s.source().include(s.tx, s.source().block(ago), s.swapped(0))
}

// settlement is the correct event of the paying pool for the swap with a nonce.
func (s *script) settlement(nonce byte) contracts.Settlement {
	p := contracts.Settlement{
		Source: big.NewInt(int64(s.src)), Nonce: big.NewInt(int64(nonce)),
		Token: token(s.payToken(), s.out), Amount: big.NewInt(99), Recipient: s.to, RecipientType: s.kind,
		ProtocolFee: big.NewInt(1), IntegratorFee: new(big.Int),
	}
	if s.isBurn() {
		p.Source = big.NewInt(int64(cctpOf(s.src).Domain))
		p.Nonce = issuerNonce.Big()
	} else {
		p.SrcPool = poolOf(s.src, s.in)
	}
	return p
}

func (s *script) payToken() chain.ID {
	if s.isForwarded() {
		return s.payer
	}
	return s.dst
}

func (s *script) payPool() common.Address { return poolOf(s.payToken(), s.out) }

// settled is the event of a settlement.
func (s *script) settled(nonce byte, p contracts.Settlement) object {
	return event(contracts.PoolABI, "Settled", s.payPool(), []common.Hash{s.id(nonce)}, p)
}

// money is the event of the transfer of a settlement.
func (s *script) money(p contracts.Settlement) object {
	switch {
	case s.kind == calldata.RecipientPrivate:
		return s.shield(p.Amount.Int64()-2, 2)
	case s.isForwarded():
		return s.burn().event()
	}
	return transfer(p.Token, common.BytesToAddress(s.to), p.Amount.Int64())
}

// shield is RAILGUN's event, with another note before ours.
func (s *script) shield(value, fee int64) object {
	usdc := contracts.ShieldToken{TokenAddress: token(s.dst, s.out), TokenSubID: new(big.Int)}
	notes := []contracts.ShieldNote{
		{Token: usdc, Value: big.NewInt(5)},
		{Npk: [32]byte(s.to), Token: usdc, Value: big.NewInt(value)},
	}
	network, _ := chain.FindNetwork(mainnet)
	return event(contracts.RailgunABI, "Shield", network.Railgun.Proxy.Address, nil,
		new(big.Int), new(big.Int), notes, make([]contracts.ShieldCiphertext, 2), []*big.Int{new(big.Int), big.NewInt(fee)})
}

// pay settles the swap this long ago, in a transaction with these logs; without any, with the
// correct ones.
func (s *script) pay(ago time.Duration, logs ...object) {
	if logs == nil {
		p := s.settlement(0)
		logs = []object{s.money(p), s.settled(0, p)}
	}
	d := s.destination()
	d.include(s.paid, d.block(ago), logs...)
	d.words[hexutil.Encode(calldata.SettledIn(s.id(0)))] = d.block(ago)
}

// mint delivers a forwarding burn this long ago.
func (s *script) mint(ago time.Duration) {
	if !s.isForwarded() {
		return
	}
	n := s.nodes[s.dst][0]
	n.words[hexutil.Encode(calldata.IsUsed(issuerNonce))] = 1
	body := s.burn().attested(issuerNonce).Message[148:]
	n.include(s.minted, n.block(ago), event(contracts.TransmitterABI, "MessageReceived",
		cctpOf(s.dst).Transmitter.Address, []common.Hash{{}, issuerNonce, {}}, cctpOf(s.payer).Domain, [32]byte{}, body))
}

// words gives all nodes of the payer the same answer about what is settled.
func (s *script) words(words map[string]uint64) {
	for _, n := range s.nodes[s.payer] {
		n.mu.Lock()
		n.words = words
		n.mu.Unlock()
	}
}

// later is the clock of the cache. The chains have the real one.
func (s *script) later() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.skip)
}

// pass lets cached answers expire.
func (s *script) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skip += d
}

// look requests the status, after everything that is not final has expired.
func (s *script) look() *Status {
	s.t.Helper()
	s.pass(10 * time.Minute)
	got, err := s.Status(context.Background(), Request{Chain: s.src, Tx: s.tx})
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *script) want(state State, final bool) *Status {
	s.t.Helper()
	got := s.look()
	if got.State != state || got.Final != final {
		s.t.Fatalf("got %s, final %v, want %s, final %v: %+v", got.State, got.Final, state, final, got)
	}
	if (got.Next == 0) != final || got.Next > 0 && got.Next < shortestNext {
		s.t.Errorf("%s: ask again in %v", got.State, got.Next)
	}
	return got
}

// wantReason wants the transaction or its first swap to have a reason that contains a text.
func (s *script) wantReason(state State, final bool, says string) *Status {
	s.t.Helper()
	got := s.want(state, final)
	reason := got.Reason
	if len(got.Swaps) > 0 && reason == "" {
		reason = got.Swaps[0].Reason
	}
	if (reason == "") != (says == "") || !strings.Contains(reason, says) {
		s.t.Errorf("got the reason %q, want %q", reason, says)
	}
	return got
}

// wantFault wants the status to be refused with a sentence that contains a text.
func (s *script) wantFault(code fault.Code, says string) *fault.Error {
	s.t.Helper()
	s.pass(10 * time.Minute)
	got, err := s.Status(context.Background(), Request{Chain: s.src, Tx: s.tx})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || !strings.Contains(f.Message, says) {
		s.t.Fatalf("got %+v, %v, want %s saying %q", got, err, code, says)
	}
	if strings.Contains(f.Message, "127.0.0.1") {
		s.t.Errorf("the sentence tells the address of an endpoint: %s", f.Message)
	}
	return f
}
