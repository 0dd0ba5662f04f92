package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
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
	mixSize    = 2048 // different requests of a mix
	partners   = 16   // integrators that the bench's node has registered
	partnerBPS = 25   // their fee
)

// learn asks a gateway of its own for every mix, and has the Go client check the quotes: what every later answer must
// be. The requests are the same in every run.
func (f *fleet) learn() error {
	gateway := f.startGateway(usualLimit, "")
	if f.err != nil {
		return f.err
	}
	defer gateway.Kill()
	progress("checking %d quotes", mixSize*len(order))
	const listing = "/v3/app/pairs"
	listed, err := load.Once(gateway.Addr, load.Request{Target: listing})
	if err != nil {
		return err
	}
	f.mixes = map[string][]exchange{pairs: {{target: listing, body: listed.Body}}}
	deployment, err := chain.ParseDeployment(deploymentFile())
	if err != nil {
		return err
	}
	checker, err := quotecheck.New(f.root, swap.Listing(deployment))
	if err != nil {
		return err
	}
	for _, mix := range order {
		rng := rand.New(rand.NewPCG(1, 2))
		swaps := pairsOf(mix, checker.Pairs)
		f.mixes[mix] = make([]exchange, mixSize)
		requests := make([]load.Request, mixSize)
		for i := range requests {
			wish := checker.Random(rng, swaps[i%len(swaps)])
			requests[i] = f.mixes[mix][i].learn(checker, mix, wish, i)
		}
		next := func(n int) load.Request { return requests[n] }
		if _, err := load.Run(f.ctx, gateway.Addr, callers, mixSize, next); err != nil {
			return err
		}
	}
	return nil
}

// learn is the request number n of a mix, whose answer becomes the one that it must get.
func (e *exchange) learn(checker *quotecheck.Checker, mix string, wish client.Request, n int) load.Request {
	version := "v3"
	terms := quotecheck.Terms{}
	switch mix {
	case v1:
		version = "v1"
	case integrator:
		wish.Integrator = common.Address{0xa1, byte(n % partners)}
		terms.IntegratorBPS = partnerBPS
	}
	e.target = quotecheck.Target(version, wish)
	if mix == details {
		e.target += "&include=details"
	}
	return load.Request{Target: e.target, Client: n, Judge: func(a load.Answer, err error) error {
		if err != nil {
			return err
		}
		q, err := checker.Check(version, wish, terms, a.Body)
		if err != nil {
			return fmt.Errorf("GET %s: got %d %s: %w", e.target, a.Status, a.Body, err)
		}
		e.body = a.Body
		if mix == details {
			const until = `"validUntil":"`
			e.from = bytes.Index(e.body, []byte(until)) + len(until)
			e.to = e.from + len("2026-11-15T12:00:00Z")
		}
		if note := hex.EncodeToString(q.Note()); note != "" {
			e.from = bytes.Index(e.body, []byte(note))
			e.to = e.from + len(note)
		}
		return nil
	}}
}

// pairsOf gives the pairs of a mix. All but the shielding ones end on the hub, which is where most swaps do, and the
// Fastify service quotes no others.
func pairsOf(mix string, all []*client.Pair) (pairs []*client.Pair) {
	for _, p := range all {
		burns := p.Type == client.CCTPInbound
		in := !burns && p.DstChain == 369 && !p.Unshields && quotecheck.Serves("v1", p)
		switch mix {
		case shield:
			in = p.Shields
		case burn:
			in = burns
		}
		if in {
			pairs = append(pairs, p)
		}
	}
	return pairs
}
