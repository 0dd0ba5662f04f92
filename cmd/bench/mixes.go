package main

import (
	"math/rand/v2"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/testdata/referee"
)

// The kinds of requests, each a mix of pairs, amounts and recipients.
const (
	direct     = "v3 direct"
	burn       = "v3 burn"
	shield     = "v3 shield"
	v1         = "v1 direct"
	integrator = "v3 cached integrator"
)

// order is how the mixes are run and shown.
var order = []string{direct, integrator, burn, v1, shield}

// casesPerMix is how many different requests a mix has: every client asks for a
// recipient of its own.
const casesPerMix = servedClients

// partners are the integrators that the bench's node has registered, and their
// fee.
var partners = func() (wallets []string) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 16 {
		wallets = append(wallets, randomAddress(rng))
	}
	return wallets
}()

const partnerBPS = 25

// newMixes works out the requests and their answers. They are the same in every
// run.
func newMixes(judge *referee.Referee) (map[string][]load.Case, error) {
	mixes := map[string][]load.Case{}
	for _, name := range order {
		version := "v3"
		if name == v1 {
			version = "v1"
		}
		rng := rand.New(rand.NewPCG(1, 2))
		pairs := pairsOf(name, judge.Pairs())
		for i := range casesPerMix {
			swap := judge.RandomSwap(rng, pairs[i%len(pairs)])
			terms := referee.Terms{IssuerBPS: judge.BuiltInBPS(swap.Src)}
			if name == integrator {
				swap.Integrator, terms.IntegratorBPS = partners[i%len(partners)], partnerBPS
			}
			body, err := judge.Body(version, swap, terms, referee.Note())
			if err != nil {
				return nil, err
			}
			c := load.Case{Target: swap.Target(version), Body: body}
			if swap.Shields() {
				c.Hole[0], c.Hole[1] = referee.NoteIn(body)
			}
			mixes[name] = append(mixes[name], c)
		}
	}
	return mixes, nil
}

// pairsOf gives the pairs of a mix. All but the shielding ones end on the hub,
// which is where most swaps do, and the Fastify service quotes no others.
func pairsOf(mix string, all []referee.Pair) (pairs []referee.Pair) {
	for _, p := range all {
		var in bool
		switch mix {
		case shield:
			in = p.Shields()
		case burn:
			in = p.Burn
		default:
			in = !p.Burn && p.Dst == 369 && p.SrcToken.ChainID == p.Src && referee.Knows("v1", p)
		}
		if in {
			pairs = append(pairs, p)
		}
	}
	return pairs
}
