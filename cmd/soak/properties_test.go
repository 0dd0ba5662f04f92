package main

import (
	"bytes"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/testdata/referee"
)

// What must hold of every quote whatever is asked, over HTTP, of a real process.

// quote is an answer as a client reads it.
type quote struct {
	To                    string
	SrcAmount, DestAmount string
	Fee                   struct {
		Amount                      string // of the versions with a flat fee
		Protocol, Integrator, Total struct{ Amount string }
	}
	Approval         *struct{ Token, Spender, Amount, Calldata string }
	MethodParameters struct{ Calldata, Value string }
}

// asker asks one gateway over one connection.
type asker struct {
	*world
	conn *load.Conn
}

func newAsker(t *testing.T) asker {
	t.Helper()
	w := startWorld(t)
	conn, err := load.Dial(w.gateway.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return asker{w, conn}
}

// quote asks a version, each time as another client.
func (a asker) quote(t *rapid.T, version string, s *referee.Swap) quote {
	t.Helper()
	client := load.ClientAddress(firstOfMany + int(a.newClients.Add(1)))
	answer, err := a.conn.Ask(load.AppendRequest(nil, a.gateway.Addr, s.Target(version), client), askTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if a.isSuspended(answer, s) {
		t.Skip("the issuer has stated an absurd fee for this source")
	}
	var q quote
	if err := json.Unmarshal(answer.Body, &q); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s", s.Target(version), answer.Status, answer.Body)
	}
	return q
}

// drawSwap draws any request that must be quoted.
func (a asker) drawSwap(t *rapid.T) *referee.Swap {
	pair := rapid.SampledFrom(a.pairs).Draw(t, "pair")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "recipient"), 0))
	s := &referee.Swap{Pair: pair, Amount: drawAmount(t, pair, "amount"), Recipient: a.judge.RandomRecipient(rng, pair)}
	if pair.FeeChain() == 369 && rapid.Bool().Draw(t, "integrator") {
		s.Integrator = randomIntegrator(rng, active).Hex()
	}
	return s
}

func drawAmount(t *rapid.T, p referee.Pair, label string) *big.Int {
	least, most := p.Limits()
	span := new(big.Int).Sub(most, least)
	span.Add(span, big.NewInt(1))
	n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	n.Mod(n, span)
	if rapid.Bool().Draw(t, label+" from the top") {
		return n.Sub(most, n)
	}
	return n.Add(n, least)
}

func number(t *rapid.T, text string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() < 0 || n.String() != text {
		t.Fatalf("%q is not an amount", text)
	}
	return n
}

func TestFeesAndDestinationAddUpToTheGross(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	rapid.Check(t, func(t *rapid.T) {
		s := a.drawSwap(t)
		q := a.quote(t, "v3", s)
		protocol, integrator, total := number(t, q.Fee.Protocol.Amount), number(t, q.Fee.Integrator.Amount), number(t, q.Fee.Total.Amount)
		if sum := new(big.Int).Add(protocol, integrator); sum.Cmp(total) != 0 {
			t.Errorf("fees of %s and %s, and %s in total", protocol, integrator, total)
		}
		gross := s.Split(0).Gross
		if sum := new(big.Int).Add(total, number(t, q.DestAmount)); sum.Cmp(gross) != 0 {
			t.Errorf("fees of %s and %s at the destination, of %s", total, q.DestAmount, gross)
		}
		if s.Integrator == "" && integrator.Sign() != 0 {
			t.Errorf("nobody takes a fee of %s", integrator)
		}
		for _, version := range a.served.judged {
			if version != "v3legacy" {
				continue
			}
			s.Integrator = ""
			flat := a.quote(t, version, s)
			if sum := new(big.Int).Add(number(t, flat.Fee.Amount), number(t, flat.DestAmount)); sum.Cmp(gross) != 0 {
				t.Errorf("%s: a fee of %s and %s at the destination, of %s", version, flat.Fee.Amount, flat.DestAmount, gross)
			}
		}
	})
}

func TestMoreInNeverGivesLessOut(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	rapid.Check(t, func(t *rapid.T) {
		less := a.drawSwap(t)
		more := *less
		more.Amount = drawAmount(t, less.Pair, "other amount")
		if rapid.Bool().Draw(t, "neighbour") {
			_, most := less.Limits()
			more.Amount = new(big.Int).Add(less.Amount, big.NewInt(1))
			if more.Amount.Cmp(most) > 0 {
				more.Amount = less.Amount
			}
		}
		if less.Amount.Cmp(more.Amount) > 0 {
			less.Amount, more.Amount = more.Amount, less.Amount
		}
		lessOut, moreOut := number(t, a.quote(t, "v3", less).DestAmount), number(t, a.quote(t, "v3", &more).DestAmount)
		if lessOut.Cmp(moreOut) > 0 {
			t.Errorf("%s gives %s, but %s gives %s", less.Amount, lessOut, more.Amount, moreOut)
		}
	})
}

func TestTheCalldataIsTheRequest(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	rapid.Check(t, func(t *rapid.T) {
		s := a.drawSwap(t)
		q := a.quote(t, "v3", s)
		name, args := a.decode(t, q.MethodParameters.Calldata)
		var id [32]byte
		copy(id[12:], common.FromHex(s.Integrator))
		kind := uint8(0)
		if s.Shields() {
			kind = 2
		}
		dstToken := common.HexToAddress(s.DstToken.Address)
		var recipient []byte
		switch {
		case s.Burn:
			if name != "depositForBurnWithHook" {
				t.Fatalf("a burn calls %s", name)
			}
			want(t, "amount", args["amount"].(*big.Int), s.Amount)
			want(t, "burnToken", args["burnToken"].(common.Address), common.HexToAddress(s.SrcToken.Address))
			if fee := args["maxFee"].(*big.Int); fee.Cmp(s.Amount) >= 0 || fee.Sign() < 0 {
				t.Errorf("a maxFee of %s for %s", fee, s.Amount)
			}
			hook := args["hookData"].([]byte)
			if len(hook) < 85 {
				t.Fatalf("the hook has %d bytes", len(hook))
			}
			want(t, "hook's chain", new(big.Int).SetBytes(hook[:32]), new(big.Int).SetUint64(s.Dst))
			want(t, "hook's token", common.Address(hook[32:52]), dstToken)
			want(t, "hook's integrator", [32]byte(hook[52:84]), id)
			want(t, "hook's recipient type", hook[84], kind)
			recipient = hook[85:]
		default:
			if name != "swap" {
				t.Fatalf("a swap calls %s", name)
			}
			want(t, "dstChainId", args["dstChainId"].(*big.Int), new(big.Int).SetUint64(s.Dst))
			want(t, "amount", args["amount"].(*big.Int), s.Amount)
			want(t, "dstToken", args["dstToken"].(common.Address), dstToken)
			want(t, "integratorId", args["integratorId"].([32]byte), id)
			want(t, "recipientType", args["recipientType"].(uint8), kind)
			recipient = args["recipient"].([]byte)
		}
		if s.Shields() {
			want(t, "length of the note", len(recipient), 160)
		} else if !bytes.Equal(recipient, common.FromHex(s.Recipient)) {
			t.Errorf("got recipient %x, want %s", recipient, s.Recipient)
		}
		if q.Approval == nil {
			want(t, "value", q.MethodParameters.Value, "0x"+s.Amount.Text(16))
			return
		}
		want(t, "value", q.MethodParameters.Value, "0x0")
		name, args = a.decode(t, q.Approval.Calldata)
		want(t, "approval", name, "approve")
		want(t, "spender", args["spender"].(common.Address), common.HexToAddress(q.To))
		want(t, "allowance", args["amount"].(*big.Int), s.Amount)
	})
}

// decode reads a call with go-ethereum, and makes sure that it is encoded the
// one canonical way.
func (a asker) decode(t *rapid.T, calldata string) (string, map[string]any) {
	t.Helper()
	data := common.FromHex(calldata)
	contracts := a.judge.ABI()
	method, err := contracts.MethodById(data)
	if err != nil {
		t.Fatal(err)
	}
	args, err := method.Inputs.Unpack(data[4:])
	if err != nil {
		t.Fatalf("%s: %v", method.Name, err)
	}
	again, err := contracts.Pack(method.Name, args...)
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("%s is not encoded canonically: %x", method.Name, data)
	}
	named := map[string]any{}
	if err := method.Inputs.UnpackIntoMap(named, data[4:]); err != nil {
		t.Fatal(err)
	}
	return method.Name, named
}

// want compares two values, numbers by their value.
func want[T any](t *rapid.T, what string, got, want T) {
	t.Helper()
	if g, ok := any(got).(*big.Int); ok {
		if g.Cmp(any(want).(*big.Int)) != 0 {
			t.Errorf("got %s %v, want %v", what, got, want)
		}
		return
	}
	if any(got) != any(want) {
		t.Errorf("got %s %v, want %v", what, got, want)
	}
}
