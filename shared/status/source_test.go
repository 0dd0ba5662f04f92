package status

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// submit sends the swap to its pool. It is in no block yet.
func (s *script) submit() {
	swap := calldata.Swap{
		DstChainID: uint64(s.dst), Amount: *uint256.NewInt(100), Recipient: s.to, DstToken: token(s.dst, s.out),
	}
	s.source().receipts[s.tx] = object{}
	s.source().transactions[s.tx] = object{"to": poolOf(s.src, s.in), "input": hexutil.Bytes(swap.Encode())}
}

// TestSwap tracks a swap from before it is sent until it is paid out.
func TestSwap(t *testing.T) {
	s := newScript(t, toHub)
	s.start(`[{"seconds": 13}]`, `[{"srcChain": 4663, "seconds": 90}]`)
	unknown := s.want(NotFound, false)
	if unknown.Source != nil || unknown.Swaps != nil {
		t.Errorf("got %+v of an unknown transaction", unknown)
	}
	if got := s.chains.Health(robinhood, rpc.Tracking); got.State != rpc.Unused {
		t.Errorf("an unknown transaction was looked up in the queue of known ones: %+v", got)
	}

	s.submit()
	pending := s.want(Pending, false)
	if pending.Source != nil || len(pending.Swaps) != 1 || pending.Swaps[0].Seconds != 90 ||
		pending.Swaps[0].Amount.Uint64() != 100 {
		t.Errorf("got %+v of a transaction in no block", pending)
	}

	s.swap(0)
	if got := s.want(Pending, false); len(got.Swaps) != 1 || got.Source.Confirmations != 1 {
		t.Errorf("got %+v of a transaction in the newest block", got)
	}
	if got := s.chains.Health(robinhood, rpc.Tracking); got.State != rpc.Working {
		t.Errorf("a known transaction was looked up in another queue: %+v", got)
	}
	s.source().head += 11
	settling := s.want(Settling, false)
	if settling.Source.Block != topBlock || settling.Source.Confirmations != 12 ||
		!settling.Source.Time.Equal(s.source().at) {
		t.Errorf("got the source %+v", settling.Source)
	}
	got := settling.Swaps[0]
	if got.DstChainID != 369 || got.DstToken != token(hub, chain.WETH) || got.Amount.Uint64() != 100 ||
		common.BytesToAddress(got.Recipient) != recipient || got.RecipientType != 0 ||
		got.IntegratorID != [32]byte{31: 7} || got.Seconds != 90 || got.Burn != nil || got.Settlement != nil {
		t.Errorf("got the swap %+v", got)
	}

	s.pay(0)
	s.want(Settled, false)
	s.destination().head += 11
	paid := s.want(Settled, true).Swaps[0].Settlement
	if paid.ChainID != hub || paid.TxHash != s.paid || paid.Amount.Uint64() != 99 || paid.Note != (common.Hash{}) ||
		!paid.Time.Equal(s.destination().at) {
		t.Errorf("got the settlement %+v", paid)
	}
}

// TestReverted: a transaction that failed is replayed to find the reason.
func TestReverted(t *testing.T) {
	const reason = "value is not the amount"
	arguments := contracts.PoolABI.Methods["swap"].Inputs[2:3] // bytes are encoded like a string
	encoded, err := arguments.Pack([]byte(reason))
	if err != nil {
		t.Fatal(err)
	}
	revert := node.Error{Code: 3, Message: "execution reverted", Data: hexutil.Encode(append(
		common.FromHex("0x08c379a0"), encoded...))}
	for name, test := range map[string]struct {
		ago    time.Duration
		replay any
		final  bool
		reason string
	}{
		"not deep":       {0, revert, false, reason},
		"deep":           {time.Minute, revert, true, reason},
		"it tells none":  {time.Minute, node.Error{Code: -32000, Message: "no"}, true, ""},
		"not asked now":  {time.Minute, node.Error{Code: -32005, Message: "slow down"}, false, ""},
		"no error at it": {time.Minute, "0x", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, toHub)
			s.submit()
			s.source().include(s.tx, s.source().block(test.ago))
			s.source().receipts[s.tx]["status"] = "0x0"
			s.source().hooks["eth_call"] = constant(test.replay)
			s.start()
			got := s.wantReason(Failed, test.final, test.reason)
			if len(got.Swaps) != 1 || got.Swaps[0].State != Failed || got.Swaps[0].Amount.Uint64() != 100 {
				t.Errorf("got the swaps %+v, want what was asked for", got.Swaps)
			}
			s.source().hooks["eth_call"] = constant(revert)
			if name == "not asked now" {
				s.wantReason(Failed, true, reason)
			}
		})
	}
}

// TestSourceEvents: funds that a pool or the messenger received are reported, even if the rest of
// the event cannot be decoded, and nothing else is a swap.
func TestSourceEvents(t *testing.T) {
	dst := new(big.Int).SetUint64(uint64(hub))
	edited := func(of object, field string, value any) object {
		of = maps.Clone(of)
		of[field] = value
		return of
	}
	burnWith := func(s *script, hook []byte) object {
		b := s.burn()
		b.hook = hook
		return b.event()
	}
	for name, test := range map[string]struct {
		route  route
		event  func(*script) object
		state  State
		reason string
	}{
		"transfer": {toHub, func(*script) object { return transfer(poolOf(hub, chain.WETH), recipient, 1) }, NotASwap, ""},
		"settlement": {fromHub, func(*script) object {
			other := &script{route: toHub}
			return other.settled(0, other.settlement(0))
		}, NotASwap, ""},
		"of another pool": {toHub, func(s *script) object {
			return edited(s.swapped(0), "address", stranger)
		}, NotASwap, ""},
		"burn for others": {fromBurn, func(s *script) object {
			b := s.burn()
			b.recipient = stranger[:]
			return b.event()
		}, NotASwap, ""},
		"burn for another domain": {fromBurn, func(s *script) object {
			b := s.burn()
			b.to = mainnet
			return b.event()
		}, NotASwap, ""},
		"burn of another token": {fromBurn, func(s *script) object {
			e := s.swapped(0)
			e["topics"].([]common.Hash)[1] = common.Hash{31: 9}
			return e
		}, Settling, invalidBurn},
		"no event to read": {toHub, func(s *script) object {
			return edited(s.swapped(0), "data", hexutil.Bytes{1})
		}, Settling, invalidEvent},
		"no hook to read": {fromBurn, func(s *script) object { return burnWith(s, []byte{1}) }, Settling, invalidBurn},
		"long recipient": {fromBurn, func(s *script) object {
			return burnWith(s, s.hook(make([]byte, 40_000), 0))
		}, Settling, invalidBurn},
		"no recipient": {fromBurn, func(s *script) object { return burnWith(s, s.hook(nil, 0)) }, Settling, invalidBurn},
		"unknown type": {fromBurn, func(s *script) object {
			return burnWith(s, s.hook(recipient[:], 1))
		}, Settling, invalidBurn},
		"address as a note": {fromBurn, func(s *script) object {
			return burnWith(s, s.hook(recipient[:], 2))
		}, Settling, invalidBurn},
		"long recipient of a pool": {toHub, func(s *script) object {
			return s.swappedTo(dst, make([]byte, 40_000), 0, 0)
		}, Settling, invalidEvent},
		"to no chain": {toHub, func(s *script) object {
			return s.swappedTo(new(big.Int).Lsh(big.NewInt(1), 70), s.to, 0, 0)
		}, Settling, noPayer},
		"to an unknown chain": {toHub, func(s *script) object {
			return s.swappedTo(big.NewInt(5), s.to, 0, 0)
		}, Settling, noPayer},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.route)
			s.source().include(s.tx, s.source().block(10*time.Minute), test.event(s))
			s.start()
			got := s.wantReason(test.state, test.state == NotASwap, test.reason)
			if test.state == NotASwap {
				if len(got.Swaps) != 0 || got.Source == nil {
					t.Errorf("got %+v", got)
				}
				return
			}
			unread := name == "no event to read" || name == "no hook to read"
			if len(got.Swaps) != 1 || len(got.Swaps[0].Recipient) > noteLength || got.Swaps[0].Unread != unread {
				t.Errorf("got %+v", got.Swaps)
			}
		})
	}
	silent := newScript(t, toHub)
	silent.submit()
	silent.source().include(silent.tx, silent.source().block(10*time.Minute))
	silent.start()
	silent.wantReason(NotASwap, false, noEvents)
}

// TestManySwaps bounds the swaps of a transaction. Each has its own settlement.
func TestManySwaps(t *testing.T) {
	s := newScript(t, toHub)
	var events []object
	for nonce := range byte(maxSwaps + 1) {
		events = append(events, s.swapped(nonce))
	}
	s.source().include(s.tx, s.source().block(10*time.Minute), events...)
	d := s.destination()
	block := d.block(8 * time.Minute)
	pay := func(nonce byte) {
		p := s.settlement(nonce)
		p.Amount = big.NewInt(int64(99 - nonce))
		p.ProtocolFee = big.NewInt(int64(1 + nonce))
		d.include(common.Hash{2, nonce}, block, s.money(p), s.settled(nonce, p))
		d.words[hexutil.Encode(calldata.SettledIn(s.id(nonce)))] = block
	}
	s.start()
	for paid := range byte(maxSwaps + 1) {
		if paid > 0 {
			pay(maxSwaps - paid)
		}
		got := s.wantReason(Settling, false, tooManySwaps)
		if len(got.Swaps) != maxSwaps || got.Omitted != 1 {
			t.Fatalf("got %d swaps and %d more, want 16 and 1", len(got.Swaps), got.Omitted)
		}
		for n, swap := range got.Swaps {
			isPaid := n >= maxSwaps-int(paid)
			if isPaid != swap.Final || isPaid && swap.Settlement.Amount.Uint64() != uint64(99-n) {
				t.Fatalf("swap %d is %s by %+v after %d settlements", n, swap.State, swap.Settlement, paid)
			}
		}
	}
}

// TestLies: inconsistent data is not trusted, and the next endpoint is called.
func TestLies(t *testing.T) {
	const receipt, block = "eth_getTransactionReceipt", "eth_getBlockByNumber"
	other := common.Hash{9}
	with := func(field string, value any) hook {
		return altered(func(o object) { o[field] = value })
	}
	eventsWith := func(field string, value any) hook {
		return altered(func(receipt object) {
			var logs []object
			for _, log := range receipt["logs"].([]object) {
				log = maps.Clone(log)
				log[field] = value
				logs = append(logs, log)
			}
			receipt["logs"] = logs
		})
	}
	const did = "chain 4663, of the transaction, did not answer"
	for name, lie := range map[string]struct {
		method string
		hook   hook
		alone  string // what the only endpoint leads to; empty for a transaction that is pending
	}{
		"receipt of another transaction": {receipt, with("transactionHash", other), did},
		"another transaction":            {"eth_getTransactionByHash", with("hash", other), did},
		"head below the receipt": {block, altered(func(b object) {
			if b["number"] == hexutil.Uint64(topBlock) {
				b["number"] = hexutil.Uint64(0)
			}
		}), ""},
		"no status":                {receipt, with("status", nil), did},
		"a status of 2":            {receipt, with("status", "0x2"), did},
		"no list of events":        {receipt, with("logs", nil), did},
		"failed, with events":      {receipt, with("status", "0x0"), did},
		"events of another one":    {receipt, eventsWith("transactionHash", other), did},
		"events of another block":  {receipt, eventsWith("blockHash", other), did},
		"events that were removed": {receipt, eventsWith("removed", true), did},
		"another block":            {block, with("hash", other), ""},
		"a block of the future":    {block, with("timestamp", "0xffffffffffffffff"), did},
		"a receipt of no use":      {receipt, with("blockNumber", "soon"), did},
		"no latest block":          {block, constant(nil), did},
		"another chain":            {"eth_chainId", constant("0x1"), did},
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, toHub, 3)
			s.source().hooks[lie.method] = lie.hook
			s.start()
			if got := s.want(Settled, true); got.Swaps[0].Settlement.Amount.Uint64() != 99 {
				t.Errorf("got %+v", got)
			}
			alone := paidSwap(t, toHub, 1)
			alone.source().hooks[lie.method] = lie.hook
			alone.start()
			if lie.alone == "" { // as behind a load balancer
				alone.wantReason(Pending, false, seenBefore)
				return
			}
			alone.wantFault(fault.ChainUnavailable, lie.alone)
		})
	}
}

// TestLongReceipt: a receipt of a megabyte is read. One beyond the bound is requested once a
// minute, and its endpoint is not skipped.
func TestLongReceipt(t *testing.T) {
	padded := func(events int) *script {
		s := newScript(t, toHub)
		s.swap(10 * time.Minute)
		s.source().hooks["eth_getTransactionReceipt"] = altered(func(receipt object) {
			logs := receipt["logs"].([]object)
			foreign := maps.Clone(logs[0])
			foreign["address"] = common.Address{1}
			foreign["data"] = "0x" + strings.Repeat("00", 4000)
			receipt["logs"] = append(slices.Repeat([]object{foreign}, events), logs...)
		})
		s.start()
		return s
	}
	s := padded(150)
	s.want(Settling, false)
	s = padded(500)
	for range 2 {
		if _, err := s.Status(t.Context(), Request{Chain: s.src, Tx: s.tx}); fault.From(err).Code != fault.StatusUnavailable {
			t.Errorf("got %v", err)
		}
	}
	if got := s.source().counted(); got != 1 {
		t.Errorf("the receipt was asked for %d times", got)
	}
	says := fmt.Sprintf("The response about this transaction on chain %s exceeds the size limit", s.src)
	s.wantFault(fault.StatusUnavailable, says)
	if h := s.chains.Health(robinhood, rpc.Tracking); h.Resting != 0 {
		t.Errorf("got %+v, want no endpoint to rest", h)
	}
}
