package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// The kinds of requests, each a mix of pairs, amounts and recipients.
const (
	direct     = "v3 direct"
	burn       = "v3 burn"
	shield     = "v3 shield"
	v1         = "v1 direct"
	integrator = "v3 cached integrator"
	details    = "v3 direct with details"
	pairs      = "v3 pairs"
)

// order is how the mixes of quotes are run and shown.
var order = []string{direct, details, integrator, burn, v1, shield}

// exchange is a request and the answer it must get, with status 200.
type exchange struct {
	target   string
	body     []byte
	from, to int // the part of body that differs every time
}

func (e *exchange) judge(a load.Answer, err error) error {
	got, want := bytes.TrimRight(a.Body, "\n"), bytes.TrimRight(e.body, "\n")
	same := len(got) == len(want) && bytes.Equal(got[:e.from], want[:e.from]) && bytes.Equal(got[e.to:], want[e.to:])
	if err != nil || a.Status != 200 || !same {
		return fmt.Errorf("GET %s\ngot %d %s, %v\nwant 200 %s", e.target, a.Status, a.Body, err, e.body)
	}
	return nil
}

const (
	mixSize    = 4096 // different requests of a mix
	partners   = 16   // integrators that the bench's node has registered
	partnerBPS = 25   // their fee
)

// newMixes works out the requests for quotes and their answers. They are the same in every run.
func newMixes(root string) (map[string][]exchange, error) {
	judge, err := referee.New(root)
	if err != nil {
		return nil, err
	}
	mixes := map[string][]exchange{}
	for _, mix := range order {
		rng := rand.New(rand.NewPCG(1, 2))
		swaps := pairsOf(mix, judge.Pairs())
		for i := range mixSize {
			swap := judge.RandomSwap(rng, swaps[i%len(swaps)])
			e, err := newExchange(judge, mix, swap, i)
			if err != nil {
				return nil, err
			}
			mixes[mix] = append(mixes[mix], e)
		}
	}
	return mixes, nil
}

func newExchange(judge *referee.Referee, mix string, swap *referee.Swap, n int) (e exchange, err error) {
	version := "v3"
	terms := referee.Terms{IssuerBPS: judge.BuiltInBPS(swap.Src)}
	switch mix {
	case v1:
		version = "v1"
	case integrator:
		swap.Integrator = common.Address{0xa1, byte(n % partners)}.Hex()
		terms.IntegratorBPS = partnerBPS
	}
	e.target = swap.Target(version)
	if mix == details {
		e.target += "&include=details"
		around := referee.Around{ValidUntil: "2026-11-15T12:00:00Z", ValidFor: 60}
		e.body, err = judge.BodyWithDetails(swap, terms, around, nil)
		e.from, e.to = referee.ValidUntilIn(e.body)
		return e, err
	}
	e.body, err = judge.Body(version, swap, terms, referee.Note())
	if swap.Shields() {
		e.from, e.to = referee.NoteIn(e.body)
	}
	return e, err
}

// pairsOf gives the pairs of a mix. All but the shielding ones end on the hub, which is where most swaps do, and the
// Fastify service quotes no others.
func pairsOf(mix string, all []referee.Pair) (pairs []referee.Pair) {
	for _, p := range all {
		in := !p.Burn && p.Dst == 369 && p.SrcToken.ChainID == p.Src && referee.Knows("v1", p)
		switch mix {
		case shield:
			in = p.Shields()
		case burn:
			in = p.Burn
		}
		if in {
			pairs = append(pairs, p)
		}
	}
	return pairs
}
