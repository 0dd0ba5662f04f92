package status

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// TestStatus starts the chains once, for everything that is wanted of them.
func TestStatus(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"pool to pool":            wantPoolToPool,
		"burn":                    wantBurn,
		"two burns":               wantTwoBurns,
		"onward":                  wantOnward,
		"replayed again":          wantReplayedAgain,
		"reverted":                wantReverted,
		"not a swap":              wantNotASwap,
		"many swaps":              wantManySwaps,
		"odd recipients":          wantOddRecipients,
		"a flood":                 wantFlood,
		"settlement goes back":    wantSettlementGoesBack,
		"no pool pays":            wantNoPayer,
		"no endpoint":             wantNoEndpoint,
		"one look-up for all":     wantOneLookup,
		"final answers are kept":  wantFinalKept,
		"the issuer, every state": wantIssuerStates,
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			test(t, w)
		})
	}
}

func wantPoolToPool(t *testing.T, w *world) {
	g := w.newRig(t, everyChain, `[{"seconds": 13}]`, `[{"srcChain": 4663, "seconds": 90}]`)
	unknown := common.Hash{1}
	if s := g.want(robinhood, unknown, NotFound, false); s.Source != nil || s.Swaps != nil {
		t.Errorf("got %+v of an unknown transaction", s)
	}

	robin := w.chains[robinhood]
	hash := robin.Submit(w.pool(robinhood, chain.ETH), big.NewInt(1000), w.etherSwap(1000))
	s := g.want(robinhood, hash, Pending, false)
	if s.Source != nil || len(s.Swaps) != 1 || s.Swaps[0].Amount.Uint64() != 1000 || s.Swaps[0].Seconds != 90 {
		t.Errorf("got %+v of a transaction in no block", s)
	}
	robin.Commit()
	receipt := robin.Receipt(hash)

	s = g.want(robinhood, hash, Settling, false)
	got := s.Swaps[0]
	if got.DstChainID != 369 || got.DstToken != w.token(hub, chain.WETH) || common.BytesToAddress(got.Recipient) != recipient ||
		got.RecipientType != 0 || got.Amount.Uint64() != 1000 || got.IntegratorID != [32]byte{31: 7} || got.Seconds != 90 || got.Burn != nil || got.Settlement != nil {
		t.Errorf("got the swap %+v", got)
	}
	block, _ := robin.Block(receipt.BlockHash)
	if s.Source.Block != receipt.BlockNumber.Uint64() || s.Source.Confirmations != 1 || s.Source.Time.Unix() != int64(block) {
		t.Errorf("got the source %+v, want block %s of %d", s.Source, receipt.BlockNumber, block)
	}

	paid := w.settleEther(w.nonceOf(receipt, 0), 1000, 997)
	s = g.want(robinhood, hash, Settled, true)
	p := s.Swaps[0].Settlement
	block, _ = w.chains[hub].Block(paid.BlockHash)
	if p.ChainID != hub || p.TxHash != paid.TxHash || p.Amount.Uint64() != 997 || p.Time.Unix() != int64(block) || p.Note != (common.Hash{}) {
		t.Errorf("got the settlement %+v, want that of %s", p, paid.TxHash)
	}
}

// burn burns 100 USDC on optimism for the receiver, in one transaction.
func (w *world) burn(maxFee int64) *types.Receipt {
	w.t.Helper()
	hook := calldata.Swap{DstChainID: uint64(hub), DstToken: w.token(hub, chain.USDC), Recipient: recipient[:]}
	burn := calldata.Burn{DestinationDomain: cctpOf(base).Domain, Receiver: w.deployment.Settlement.Receiver.Address, BurnToken: w.token(optimism, chain.USDC), Swap: hook}
	burn.Amount.SetFromBig(hundred)
	burn.MaxFee.SetUint64(uint64(maxFee))
	return w.chains[optimism].Send(cctpOf(optimism).Messenger.Address, burn.Encode())
}

// settleBurn pays a burn out on the hub.
func (w *world) settleBurn(message []byte, amount int64) *types.Receipt {
	w.t.Helper()
	return w.send(hub, w.pool(hub, chain.USDC), contracts.PoolABI, "settle", contracts.Settlement{
		Source: big.NewInt(2), Nonce: new(big.Int).SetBytes(message[12:44]), Token: w.token(hub, chain.USDC), Amount: big.NewInt(amount),
		Recipient: recipient[:], ProtocolFee: new(big.Int).Sub(hundred, big.NewInt(amount)), IntegratorFee: new(big.Int),
	})
}

func wantBurn(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	burnt := w.burn(20_000)
	s := g.want(optimism, burnt.TxHash, Settling, false)
	if b := s.Swaps[0].Burn; b == nil || b.Domain != 2 || b.State != cctp.Unseen || b.Nonce != (common.Hash{}) {
		t.Errorf("got the burn %+v before the issuer has seen it", b)
	}
	if got := s.Swaps[0]; got.DstChainID != 369 || got.Amount.Uint64() != 100_000_000 || common.BytesToAddress(got.Recipient) != recipient {
		t.Errorf("got the swap %+v", got)
	}
	messages, _ := w.attest(burnt)
	g.issuer.say(burnt.TxHash, cctp.Message{State: cctp.Complete, Message: messages[0]})
	s = g.want(optimism, burnt.TxHash, Settling, false)
	if b := s.Swaps[0].Burn; b.State != cctp.Complete || b.Nonce != common.Hash(messages[0][12:44]) {
		t.Errorf("got the burn %+v", b)
	}
	paid := w.settleBurn(messages[0], 99_700_000)
	s = g.want(optimism, burnt.TxHash, Settled, true)
	if p := s.Swaps[0].Settlement; p.TxHash != paid.TxHash || p.Amount.Uint64() != 99_700_000 || p.ChainID != hub {
		t.Errorf("got the settlement %+v", p)
	}
}

// Two equal burns in one transaction cannot be made by the operator alone, but the
// issuer's answer may hold messages of others, and equal ones.
func wantTwoBurns(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	burnt, other := w.burn(1), w.burn(2)
	mine, _ := w.attest(burnt)
	foreign, _ := w.attest(other)
	changed := append([]byte(nil), foreign[0]...)
	changed[len(changed)-1]++ // another recipient in the hook
	g.issuer.say(burnt.TxHash, cctp.Message{State: cctp.Complete, Message: changed}, cctp.Message{State: cctp.Complete, Message: mine[0]})
	s := g.want(optimism, burnt.TxHash, Settling, false)
	if b := s.Swaps[0].Burn; b.Nonce != common.Hash(mine[0][12:44]) {
		t.Errorf("got the nonce %s of another burn", b.Nonce)
	}
	l := &lookup{Tracker: g.Tracker, trail: &progress{issued: map[common.Hash][]cctp.Message{}}, issued: map[common.Hash]*issued{}}
	decode := func(message []byte) *calldata.Message {
		m, err := calldata.DecodeMessage(message)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	g.issuer.say(other.TxHash, cctp.Message{State: cctp.Complete, Message: mine[0]}, cctp.Message{State: cctp.Complete, Message: foreign[0]}, cctp.Message{State: cctp.Waiting})
	tx := other.TxHash
	first, second := l.attested(t.Context(), tx, &Burn{}, decode(mine[0])), l.attested(t.Context(), tx, &Burn{}, decode(foreign[0]))
	if first == nil || second == nil || first.Nonce == second.Nonce {
		t.Errorf("got %+v and %+v, want a message for each", first, second)
	}
	third := &Burn{}
	if l.attested(t.Context(), tx, third, decode(foreign[0])) != nil || third.State != cctp.Waiting {
		t.Errorf("got %+v, want the third to wait", third)
	}
}

func wantOnward(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	usdc := w.token(optimism, chain.USDC)
	swapped := w.send(hub, w.pool(hub, chain.USDC), contracts.PoolABI, "swap", big.NewInt(int64(optimism)), hundred, recipient[:], uint8(0), usdc, [32]byte{})
	if s := g.want(hub, swapped.TxHash, Settling, false); s.Swaps[0].Burn != nil {
		t.Errorf("got the burn %+v before there is one", s.Swaps[0].Burn)
	}
	paid := w.send(base, w.pool(base, chain.USDC), contracts.PoolABI, "settleOnward", contracts.Settlement{
		Source: big.NewInt(int64(hub)), SrcPool: w.pool(hub, chain.USDC), Nonce: w.nonceOf(swapped, 0), Token: w.token(base, chain.USDC),
		Amount: big.NewInt(99_500_000), Recipient: recipient[:], ProtocolFee: big.NewInt(500_000), IntegratorFee: new(big.Int),
	}, cctpOf(optimism).Domain)
	s := g.want(hub, swapped.TxHash, Settling, false)
	if b := s.Swaps[0].Burn; b == nil || b.Domain != 6 || b.State != cctp.Unseen {
		t.Errorf("got the burn %+v", b)
	}
	messages, signatures := w.attest(paid)
	other := bytes.Clone(messages[0]) // of another swap to the same recipient
	other[12]++
	other[len(other)-1]++
	g.issuer.say(paid.TxHash, cctp.Message{State: cctp.Complete, Message: other}, cctp.Message{State: cctp.Complete, Message: messages[0]})
	s = g.want(hub, swapped.TxHash, Settling, false)
	if b := s.Swaps[0].Burn; b.State != cctp.Complete || b.Nonce != common.Hash(messages[0][12:44]) || s.Swaps[0].Settlement != nil {
		t.Errorf("got %+v before the delivery", s.Swaps[0])
	}
	delivered := w.send(optimism, cctpOf(optimism).Transmitter.Address, contracts.TransmitterABI, "receiveMessage", messages[0], signatures[0])
	s = g.want(hub, swapped.TxHash, Settled, true)
	if p := s.Swaps[0].Settlement; p.ChainID != optimism || p.TxHash != delivered.TxHash || p.Amount.Uint64() != 99_500_000 {
		t.Errorf("got the settlement %+v, want %s", p, delivered.TxHash)
	}
}

// Why a transaction failed is asked for again, if the node could not be asked.
func wantReplayedAgain(t *testing.T, w *world) {
	robin, pool := w.chains[robinhood], w.pool(robinhood, chain.ETH)
	g := w.newRig(t, everyChain)
	hash := robin.Submit(pool, big.NewInt(5), w.etherSwap(1000))
	robin.Commit()
	g.fronts[robinhood][0].Instead("eth_call", node.Drops)
	if s := g.want(robinhood, hash, Failed, false); s.Reason != "" {
		t.Errorf("got the reason %q of a replay that failed", s.Reason)
	}
	g.fronts[robinhood][0].Instead("eth_call", nil)
	if s := g.want(robinhood, hash, Failed, true); s.Reason != "value is not the amount" {
		t.Errorf("got the reason %q", s.Reason)
	}
}

func wantReverted(t *testing.T, w *world) {
	robin, pool := w.chains[robinhood], w.pool(robinhood, chain.ETH)
	g := w.newRig(t, everyChain, `"4663": 1`, `"4663": 2`)
	hash := robin.Submit(pool, big.NewInt(5), w.etherSwap(1000))
	robin.Commit()
	s := g.want(robinhood, hash, Failed, false)
	if s.Reason != "value is not the amount" {
		t.Errorf("got the reason %q", s.Reason)
	}
	if len(s.Swaps) != 1 || s.Swaps[0].State != Failed || s.Swaps[0].Amount.Uint64() != 1000 {
		t.Errorf("got the swaps %+v, want what was asked for", s.Swaps)
	}
	robin.Commit()
	g.want(robinhood, hash, Failed, true)

	silent := w.newRig(t, everyChain)
	silent.fronts[robinhood][0].Instead("eth_call", node.RPCError(-32000))
	if s := silent.want(robinhood, hash, Failed, true); s.Reason != "" {
		t.Errorf("got the reason %q from a node that tells none", s.Reason)
	}
}

func wantNotASwap(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	hash := w.chains[robinhood].Submit(recipient, big.NewInt(1), nil)
	w.chains[robinhood].Commit()
	if s := g.want(robinhood, hash, NotASwap, true); len(s.Swaps) != 0 || s.Source == nil {
		t.Errorf("got %+v", s)
	}
	approved := w.send(hub, w.token(hub, chain.USDC), contracts.TokenABI, "approve", w.pool(hub, chain.USDC), plenty)
	g.want(hub, approved.TxHash, NotASwap, true)
	// A burn that others receive is none of ours.
	burn := calldata.Burn{DestinationDomain: cctpOf(base).Domain, Receiver: recipient, BurnToken: w.token(optimism, chain.USDC), Swap: calldata.Swap{Recipient: recipient[:]}}
	burn.Amount.SetUint64(5)
	burnt := w.chains[optimism].Send(cctpOf(optimism).Messenger.Address, burn.Encode())
	g.want(optimism, burnt.TxHash, NotASwap, true)
	// A settlement is no swap either.
	receipt := w.swapEther(50)
	paid := w.settleEther(w.nonceOf(receipt, 0), 50, 49)
	g.want(hub, paid.TxHash, NotASwap, true)
}

// A settlement whose block is replaced goes back, unless it was final.
func wantSettlementGoesBack(t *testing.T, w *world) {
	g := w.newRig(t, everyChain, `"369": 1`, `"369": 3`)
	receipt := w.swapEther(100)
	before := w.chains[hub].Commit()
	w.settleEther(w.nonceOf(receipt, 0), 100, 99)
	g.want(robinhood, receipt.TxHash, Settled, false)
	w.chains[hub].Fork(before)
	w.chains[hub].Commit()
	if s := g.want(robinhood, receipt.TxHash, Settling, false); s.Swaps[0].Settlement != nil {
		t.Errorf("got the settlement %+v of a block that is gone", s.Swaps[0].Settlement)
	}
	paid := w.settleEther(w.nonceOf(receipt, 0), 100, 98)
	w.chains[hub].Commit()
	w.chains[hub].Commit()
	if s := g.want(robinhood, receipt.TxHash, Settled, true); s.Swaps[0].Settlement.TxHash != paid.TxHash {
		t.Errorf("got %s, want the settlement that stayed", s.Swaps[0].Settlement.TxHash)
	}
}

func wantNoPayer(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	swap := w.pack(contracts.PoolABI, "swap", new(big.Int).Lsh(big.NewInt(1), 70), big.NewInt(9), recipient[:], uint8(0), w.token(hub, chain.WETH), [32]byte{})
	hash := w.chains[robinhood].Submit(w.pool(robinhood, chain.ETH), big.NewInt(9), swap)
	w.chains[robinhood].Commit()
	if s := g.want(robinhood, hash, Settling, false); s.Swaps[0].Reason != noPayer {
		t.Errorf("got %+v of a swap to nowhere", s.Swaps[0])
	}
}
