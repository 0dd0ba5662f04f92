package main

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// TestQuotes asks a real process for every pair in every version, from the least amount to the most. A quote is what the
// referee worked out. In v3 the client, which decodes the calls, would sign it. Fees and what arrives add up to the
// gross. More in never gives less out, but for one unit with an integrator: each of the two fees is rounded down.
func TestQuotes(t *testing.T) {
	if isRaced() {
		t.Skip("the amounts are tested without the race detector: make long")
	}
	t.Parallel()
	w := startWorld(t)
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	quoted := 0
	for _, pair := range w.pairs {
		for _, version := range w.versions {
			if !referee.Knows(version, pair) {
				continue
			}
			swap := w.judge.RandomSwap(rng, pair)
			bps := int64(0)
			rounding := new(big.Int)
			if version == "v3" && pair.FeeChain() == 369 && rng.IntN(2) == 0 {
				integrator := randomIntegrator(rng, active)
				swap.Integrator = integrator.Hex()
				bps = feeBPS(integrator)
				rounding.SetInt64(1)
			}
			least, most := pair.Limits()
			last := new(big.Int)
			for _, amount := range []*big.Int{least, before(swap.Amount), swap.Amount, before(most), most} {
				swap.Amount = amount
				out := w.quote(t, version, swap, bps)
				if out == nil { // the issuer has stated an absurd fee for this source
					continue
				}
				quoted++
				if out.Cmp(last) < 0 {
					t.Errorf("%s, %v: %s gives %s, want %s at least, by what less gave", version, pair, amount, out, last)
				}
				last.Sub(out, rounding)
			}
		}
	}
	if quoted < 4*len(w.pairs) {
		t.Errorf("got %d quotes for %d pairs", quoted, len(w.pairs))
	}
}

func before(amount *big.Int) *big.Int { return new(big.Int).Sub(amount, big.NewInt(1)) }

// quote asks a version as a new client, judges the quote and gives what arrives; nil if quotes are suspended.
func (w *world) quote(t *testing.T, version string, s *referee.Swap, bps int64) *big.Int {
	t.Helper()
	answer, err := w.askOnce(s.Target(version))
	if err == nil {
		err = w.isQuote(answer, version, s, bps)
	}
	if err != nil {
		t.Fatal(err)
	}
	if w.isSuspended(answer, s) {
		return nil
	}
	var q struct {
		DestAmount string
		Fee        struct {
			Amount                      string // of the versions with a flat fee
			Protocol, Integrator, Total struct{ Amount string }
		}
	}
	if err := json.Unmarshal(answer.Body, &q); err != nil {
		t.Fatal(err)
	}
	sum := func(a, b string) string { return new(big.Int).Add(number(t, a), number(t, b)).String() }
	gross := s.Split(0).Gross.String()
	switch version {
	case "v3":
		if err := w.wouldSign(s, answer.Body); err != nil {
			t.Error(err)
		}
		total := q.Fee.Total.Amount
		if sum(q.Fee.Protocol.Amount, q.Fee.Integrator.Amount) != total || sum(total, q.DestAmount) != gross {
			t.Errorf("fees of %+v and %s at the destination, of %s", q.Fee, q.DestAmount, gross)
		}
	case "v3legacy": // v1 states its fee in the token that is sent
		if sum(q.Fee.Amount, q.DestAmount) != gross {
			t.Errorf("a fee of %s and %s at the destination, of %s", q.Fee.Amount, q.DestAmount, gross)
		}
	}
	return number(t, q.DestAmount)
}

func number(t *testing.T, text string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() < 0 || n.String() != text {
		t.Fatalf("%q is not an amount", text)
	}
	return n
}
