package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// TestEvidence: a swap is settled only if its transfer is found, and each log proves one
// settlement.
func TestEvidence(t *testing.T) {
	weth := token(hub, chain.WETH)
	// paid is a settlement of one amount, with a log of the transfer.
	paid := func(amount int64, money ...object) func(*script) []object {
		return func(s *script) []object {
			p := s.settlement(0)
			p.Amount = big.NewInt(amount)
			return append(slices.Clone(money), s.settled(0, p))
		}
	}
	shielded := func(value, fee int64, address common.Address) func(*script) []object {
		return func(s *script) []object {
			log := s.shield(value, fee)
			log["address"] = address
			return []object{log, s.settled(0, s.settlement(0))}
		}
	}
	network, _ := chain.FindNetwork(mainnet)
	railgun := network.Railgun.Proxy.Address
	right := transfer(weth, recipient, 99)
	for name, test := range map[string]struct {
		route  route
		logs   func(*script) []object // nil for the right ones
		state  State
		final  bool
		reason string
	}{
		"transfer":         {toHub, nil, Settled, true, ""},
		"native":           {fromHub, paid(99), Settled, true, ""},
		"burn":             {fromBurn, nil, Settled, true, ""},
		"note":             {toNote, nil, Settled, true, ""},
		"no transfer":      {toHub, paid(99), Settling, false, noMoney},
		"amount 0":         {toHub, paid(0, transfer(weth, recipient, 0)), Settling, false, noMoney},
		"native amount 0":  {fromHub, paid(0), Settling, false, noMoney},
		"another amount":   {toHub, paid(99, transfer(weth, recipient, 98)), Settling, false, noMoney},
		"to another":       {toHub, paid(99, transfer(weth, stranger, 99)), Settling, false, noMoney},
		"of another token": {toHub, paid(99, transfer(token(hub, chain.USDC), recipient, 99)), Settling, false, noMoney},
		"one transfer for two": {toHub, func(s *script) []object {
			return []object{right, s.settled(1, s.settlement(1)), s.settled(0, s.settlement(0))}
		}, Settling, false, noMoney},
		"two transfers for two": {toHub, func(s *script) []object {
			return []object{right, s.settled(1, s.settlement(1)), right, s.settled(0, s.settlement(0))}
		}, Settled, true, ""},
		"note without its fee":       {toNote, shielded(97, 1, railgun), Settling, false, noMoney},
		"note of another contract":   {toNote, shielded(97, 2, stranger), Settling, false, noMoney},
		"transfer instead of a note": {toNote, paid(99, transfer(token(toNote.dst, toNote.out), recipient, 99)), Settling, false, noMoney},
		"short":                      {toHub, paid(98, transfer(weth, recipient, 98)), Settled, false, isShort},
		"beyond":                     {toHub, paid(100, transfer(weth, recipient, 100)), Settled, false, isShort},
		"another recipient": {toHub, func(s *script) []object {
			p := s.settlement(0)
			p.Recipient = stranger[:]
			return []object{transfer(weth, stranger, 99), s.settled(0, p)}
		}, Settling, false, anotherPayout},
		"another source pool": {toHub, func(s *script) []object {
			p := s.settlement(0)
			p.SrcPool = stranger
			return []object{right, s.settled(0, p)}
		}, Settling, false, anotherPayout},
		"another event": {toHub, func(*script) []object { return []object{right} }, Settling, false, "no node returns that event"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.route)
			s.swap(10 * time.Minute)
			var logs []object
			if test.logs != nil {
				logs = test.logs(s)
			}
			s.pay(8*time.Minute, logs...)
			s.start()
			got := s.wantReason(test.state, test.final, test.reason)
			if test.state != Settled {
				return
			}
			p := got.Swaps[0].Settlement
			wantArrived := p.Amount.Uint64()
			if test.route.kind == calldata.RecipientPrivate {
				wantArrived = 97
			}
			if p.Arrived.Uint64() != wantArrived || (p.Short != nil) != (test.reason == isShort) {
				t.Errorf("got %+v, want %d to arrive", p, wantArrived)
			}
			if p.Short != nil && (p.Short.Swapped.Uint64() != 100 || p.Short.Paid.Uint64() != p.Amount.Uint64()+1) {
				t.Errorf("got %+v, want both figures", p.Short)
			}
		})
	}
}

// TestNoSuchBlock: a pool that names the wrong block is reported.
func TestNoSuchBlock(t *testing.T) {
	for name, block := range map[string]uint64{
		"the old mapping": 1, "beyond the head": 600_000_000, "beyond everything": 1<<64 - 1,
	} {
		t.Run(name, func(t *testing.T) {
			s := paidSwap(t, toHub, 1)
			question := hexutil.Encode(calldata.SettledIn(s.id(0)))
			right := s.destination().words[question]
			s.words(map[string]uint64{question: block})
			s.start()
			says := fmt.Sprintf("reports that it settled this swap in block %d, but no node returns", block)
			s.wantReason(Settling, false, says)
			got := s.Problems()
			if len(got) != 1 || !strings.Contains(got[0], s.payPool().Hex()) || !strings.Contains(got[0], "chain 369") {
				t.Errorf("got the problems %q", got)
			}
			s.words(map[string]uint64{question: right})
			s.want(Settled, true)
			if got := s.Problems(); len(got) != 0 {
				t.Errorf("got the problems %q of a pool that is right", got)
			}
		})
	}
}

// TestNotFinal: a payout that may belong to another swap is not final.
func TestNotFinal(t *testing.T) {
	t.Run("older than its source", func(t *testing.T) {
		for ago, says := range map[time.Duration]string{70 * time.Second: beforeSource, 50 * time.Second: ""} {
			s := newScript(t, toHub)
			s.swap(10 * time.Minute)
			s.pay(10*time.Minute + ago)
			s.start()
			s.wantReason(Settled, says == "", says)
		}
	})
	t.Run("served another transaction", func(t *testing.T) {
		s := paidSwap(t, forwarded, 1)
		second, secondPaid := common.Hash{9}, common.Hash{8}
		id := s.id(1)
		burn := s.burn()
		burn.hook = id[:]
		d := s.destination()
		block := d.block(7 * time.Minute)
		s.source().include(second, s.source().block(9*time.Minute), s.swapped(1))
		d.include(secondPaid, block, burn.event(), s.settled(1, s.settlement(1)))
		d.words[hexutil.Encode(calldata.SettledIn(id))] = block
		s.start()
		s.issuer.answers[secondPaid] = []cctp.Message{burn.attested(issuerNonce)} // the same nonce again
		s.want(Settled, true)
		s.tx = second
		s.wantReason(Settled, false, servedAnother)
	})
	t.Run("the same event twice", func(t *testing.T) {
		s := newScript(t, toHub)
		s.source().include(s.tx, s.source().block(10*time.Minute), s.swapped(0), s.swapped(0))
		s.pay(8 * time.Minute)
		s.start()
		for range 2 {
			got := s.want(Settled, false)
			if !got.Swaps[0].Final || got.Swaps[1].Final || got.Swaps[1].Reason != servedAnother {
				t.Errorf("got %+v", got.Swaps)
			}
		}
	})
}

// TestIssuer: whatever the issuer answers, a burn is settled only once the pool reports it.
func TestIssuer(t *testing.T) {
	right := newScript(t, fromBurn).burn().attested(issuerNonce).Message
	for name, test := range map[string]struct {
		message cctp.Message
		err     error
		state   cctp.Attestation
		reason  string
	}{
		"unseen":               {cctp.Message{}, nil, cctp.Unseen, ""},
		"pending":              {cctp.Message{State: cctp.Waiting}, nil, cctp.Waiting, ""},
		"insufficient fee":     {cctp.Message{State: cctp.Waiting, Delay: "insufficient_fee"}, nil, cctp.Waiting, "insufficient_fee"},
		"pending with content": {cctp.Message{State: cctp.Waiting, Message: right}, nil, cctp.Waiting, ""},
		"complete":             {cctp.Message{State: cctp.Complete, Message: right}, nil, cctp.Complete, ""},
		"too short":            {cctp.Message{State: cctp.Complete, Message: right[:200]}, nil, cctp.Unseen, ""},
		"gone":                 {cctp.Message{}, errors.New("status 500"), cctp.Unknown, "The issuer's view is unknown: status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, fromBurn)
			s.swap(10 * time.Minute)
			s.start()
			s.issuer.answers[s.tx] = []cctp.Message{test.message}
			s.issuer.err = test.err
			got := s.want(Settling, false).Swaps[0]
			if got.Amount.Uint64() != 100 || common.BytesToAddress(got.Recipient) != recipient || s.issuer.asked != 1 {
				t.Errorf("got the swap %+v after %d questions", got, s.issuer.asked)
			}
			wantNonce := common.Hash{}
			if test.state == cctp.Complete {
				wantNonce = issuerNonce
			}
			want := Burn{Domain: cctpOf(optimism).Domain, State: test.state, Nonce: wantNonce, Reason: test.reason}
			if *got.Burn != want {
				t.Errorf("got the burn %+v, want %+v", got.Burn, want)
			}
		})
	}
}

// TestEqualBurns: each burn of a transaction has its own message, however often the issuer
// lists one.
func TestEqualBurns(t *testing.T) {
	s := newScript(t, fromBurn)
	s.source().include(s.tx, s.source().block(10*time.Minute), s.swapped(0), s.swapped(0), s.swapped(0), s.swapped(0))
	s.start()
	foreign := s.burn()
	foreign.hook = s.hook(stranger[:], 0)
	second := common.Hash{0xbb}
	s.issuer.answers[s.tx] = []cctp.Message{
		foreign.attested(common.Hash{0xcc}), s.burn().attested(issuerNonce), s.burn().attested(issuerNonce),
		s.burn().attested(second), {State: cctp.Waiting},
	}
	got := s.want(Settling, false).Swaps
	for i, want := range []Burn{
		{State: cctp.Complete, Nonce: issuerNonce}, {State: cctp.Complete, Nonce: second},
		{State: cctp.Waiting}, {State: cctp.Waiting},
	} {
		if got[i].Burn.State != want.State || got[i].Burn.Nonce != want.Nonce {
			t.Errorf("burn %d: got %+v, want %+v", i, got[i].Burn, want)
		}
	}
}

// TestForwardedSwap follows a swap to a chain without a pool. It is final only with both of its
// legs, and its transaction is the delivery of the attested message.
func TestForwardedSwap(t *testing.T) {
	s := newScript(t, forwarded)
	s.swap(10 * time.Minute)
	s.start()
	if got := s.want(Settling, false); got.Swaps[0].Burn != nil {
		t.Errorf("got the burn %+v before there is one", got.Swaps[0].Burn)
	}
	s.pay(8 * time.Minute)
	foreign := s.burn() // of another swap to the same recipient
	foreign.hook = make([]byte, 32)
	other := foreign.attested(common.Hash{0xcc})
	s.issuer.answers[s.paid] = []cctp.Message{other}
	if got := s.want(Settling, false).Swaps[0].Burn; got.Domain != 6 || got.State != cctp.Unseen {
		t.Errorf("got the burn %+v", got)
	}
	s.issuer.answers[s.paid] = []cctp.Message{other, s.burn().attested(issuerNonce)}
	got := s.want(Settling, false).Swaps[0]
	if got.Burn.State != cctp.Complete || got.Burn.Nonce != issuerNonce || got.Settlement != nil {
		t.Errorf("got %+v before the delivery", got)
	}
	s.mint(6 * time.Minute)
	paid := s.want(Settled, true).Swaps[0].Settlement
	if paid.ChainID != optimism || paid.TxHash != s.minted || paid.Amount.Uint64() != 97 {
		t.Errorf("got the settlement %+v", paid)
	}

	s = paidSwap(t, forwarded, 1)
	s.start(`"8453": 12`, `"8453": 400`) // more than eight minutes
	s.want(Settled, false)
	for name, place := range map[string]int{
		"source domain": 31, "sender": 63, "token": 132 + 31, "recipient": 132 + 63, "amount": 132 + 95,
		"hook": 132 + 7*32 + 31,
	} {
		s := paidSwap(t, forwarded, 1)
		log := s.nodes[optimism][0].receipts[s.minted]["logs"].([]object)[0]
		log["data"].(hexutil.Bytes)[place]++
		s.start()
		p := s.want(Settled, true).Swaps[0].Settlement // the nonce is used
		if p.TxHash != (common.Hash{}) || !p.Time.IsZero() || p.Arrived.Uint64() != 97 {
			t.Errorf("a delivery with another %s: got %+v", name, p)
		}
	}
}

// TestForwardedFee: the issuer's fee is at most what the burn allows, and leaves something.
func TestForwardedFee(t *testing.T) {
	for _, tt := range []struct {
		maxFee, fee byte // of 99
		invalid     bool
	}{
		{maxFee, maxFee, false},
		{maxFee, maxFee + 1, true},
		{100, 98, false},
		{100, 99, true},
		{100, 100, true},
	} {
		r := forwarded
		r.maxFee = tt.maxFee
		s := paidSwap(t, r, 1)
		s.start()
		message := s.burn().attested(issuerNonce)
		message.Message[148+4+6*32-1] = tt.fee
		s.issuer.answers[s.paid] = []cctp.Message{message}
		s.nodes[optimism][0].receipts = nil // it does not show the delivery, with its own fee
		if tt.invalid {
			s.wantReason(Settling, false, implausibleFee)
			continue
		}
		paid := s.want(Settled, true).Swaps[0].Settlement
		if got := byte(paid.Amount.Uint64()); got != 99-tt.fee {
			t.Errorf("a fee of %d: got %d, want %d", tt.fee, got, 99-tt.fee)
		}
	}
}

// TestMintWithoutOldState: if nodes lack the state of the block with the confirmations, a nonce
// must be seen as used twice, long enough apart.
func TestMintWithoutOldState(t *testing.T) {
	for oldStates := range 2 {
		s := paidSwap(t, forwarded, 2)
		for _, n := range s.nodes[optimism][oldStates:] {
			n.hooks["eth_call"] = func(c node.Call, result any) any {
				if c.Text(1) != "latest" {
					return node.Error{Code: -32000, Message: "missing trie node"}
				}
				return result
			}
		}
		s.start()
		now := time.Now()
		s.now = func() time.Time { return now }
		got := s.want(Settled, false)
		if p := got.Swaps[0].Settlement; p.Arrived.Uint64() != 97 || p.TxHash != s.minted || got.Next > longestNext {
			t.Errorf("got %+v, again in %v", p, got.Next)
		}
		now = now.Add(23 * time.Second)
		s.want(Settled, false)
		now = now.Add(time.Second) // twelve blocks of two seconds
		s.want(Settled, true)
	}
}

// TestProviders: a payout is found at providers that return the logs of few blocks, however they
// refuse more. The transaction of a mint is found if the provider allows the search.
func TestProviders(t *testing.T) {
	limits := []uint64{1, 10, 500}
	for i, refusal := range []any{
		node.HTTPStatus(400), node.HTTPStatus(403), node.HTTPStatus(413), node.HTTPStatus(429),
		node.Error{Code: -32005, Message: "no"}, node.Error{Code: -32600, Message: "no"}, node.Error{Code: -32614, Message: "no"},
	} {
		limit := limits[i%len(limits)]
		refuse := func(c node.Call, result any) any {
			var filter logFilter
			_ = json.Unmarshal(c.Params[0], &filter)
			if uint64(filter.ToBlock-filter.FromBlock)+1 > limit {
				return refusal
			}
			return result
		}
		t.Run(fmt.Sprint(limit, refusal), func(t *testing.T) {
			for _, r := range []route{toHub, forwarded} {
				s := paidSwap(t, r, 1)
				for _, nodes := range s.nodes {
					nodes[0].hooks["eth_getLogs"] = refuse
				}
				s.start()
				got := s.want(Settled, true).Swaps[0].Settlement
				want := s.paid
				if s.isForwarded() {
					want = s.minted
				}
				if s.isForwarded() && limit < newestBlocks {
					want = common.Hash{}
				}
				if got.TxHash != want {
					t.Errorf("got %+v, want transaction %s", got, want)
				}
				for id := range s.nodes {
					if h := s.chains.Health(id, rpc.Tracking); h.Resting > 0 {
						t.Errorf("an endpoint of chain %s rests: %+v", id, h)
					}
				}
			}
		})
	}
}

// TestYearAgo: an old payout is found like a new one. An old mint is no longer among the newest
// blocks.
func TestYearAgo(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, r := range routes {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, r)
			s.swap(year)
			s.pay(year - time.Minute)
			s.mint(year - 2*time.Minute)
			s.multiply(2)
			s.start()
			p := s.want(Settled, true).Swaps[0].Settlement
			isMint := s.isForwarded()
			if (p.TxHash == common.Hash{}) != isMint || p.Time.IsZero() != isMint || isMint && p.Arrived.Uint64() != 97 {
				t.Errorf("got %+v", p)
			}
		})
	}
}
