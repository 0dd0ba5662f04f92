package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

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

// order is how the mixes are run and shown.
var order = []string{direct, details, integrator, burn, v1, shield, pairs}

// casesPerMix is how many different requests a mix has.
const casesPerMix = 4096

// partners are the integrators that the bench's node has registered, and their
// fee.
var partners = func() (wallets []string) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 16 {
		var a common.Address
		for i := range a {
			a[i] = byte(rng.Uint32())
		}
		wallets = append(wallets, a.Hex())
	}
	return wallets
}()

const partnerBPS = 25

// newMixes works out the requests and their answers. They are the same in every
// run.
func newMixes(judge *referee.Referee, root string) (map[string][]load.Case, error) {
	listing, err := readListing(root)
	if err != nil {
		return nil, err
	}
	mixes := map[string][]load.Case{pairs: slices.Repeat([]load.Case{listing}, casesPerMix)}
	for _, name := range order {
		if name == pairs {
			continue
		}
		version := "v3"
		if name == v1 {
			version = "v1"
		}
		rng := rand.New(rand.NewPCG(1, 2))
		swaps := pairsOf(name, judge.Pairs())
		for i := range casesPerMix {
			swap := judge.RandomSwap(rng, swaps[i%len(swaps)])
			terms := referee.Terms{IssuerBPS: judge.BuiltInBPS(swap.Src)}
			if name == integrator {
				swap.Integrator = partners[i%len(partners)]
				terms.IntegratorBPS = partnerBPS
			}
			body, err := judge.Body(version, swap, terms, referee.Note())
			if err != nil {
				return nil, err
			}
			c := load.Case{Target: swap.Target(version), Body: body}
			if swap.Shields() {
				c.Hole[0], c.Hole[1] = referee.NoteIn(body)
			}
			if name == details {
				around := referee.Around{ValidUntil: "2026-11-15T12:00:00Z", ValidFor: 60}
				c.Body, err = judge.BodyWithDetails(swap, terms, around, nil)
				if err != nil {
					return nil, err
				}
				c.Target += "&include=details"
				c.Hole[0], c.Hole[1] = referee.ValidUntilIn(c.Body)
			}
			mixes[name] = append(mixes[name], c)
		}
	}
	return mixes, nil
}

// readListing is the request for all pairs. Its answer is on record.
func readListing(root string) (load.Case, error) {
	golden, err := os.ReadFile(filepath.Join(root, "testdata/v3/pairs.http"))
	if err != nil {
		return load.Case{}, err
	}
	parts := bytes.SplitN(golden, []byte("\n\n"), 3) // the request, the head of the answer, its body
	if len(parts) != 3 {
		return load.Case{}, errors.New("testdata/v3/pairs.http has no answer")
	}
	var body bytes.Buffer
	if err := json.Compact(&body, parts[2]); err != nil {
		return load.Case{}, err
	}
	// The gateway that is loaded has endpoints for few chains, so that it cannot follow swaps.
	answer := bytes.Replace(bytes.TrimSpace(body.Bytes()), []byte(`"tracking":true`), []byte(`"tracking":false`), 1)
	return load.Case{Target: "/v3/app/pairs", Body: append(answer, '\n')}, nil
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
