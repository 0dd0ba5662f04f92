package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
)

// The mixes of requests: USDC to the hub from every chain with a pool, in any amount and to anybody.
const (
	direct     = "v3 direct"
	directV1   = "v1 direct"
	integrator = "v3 cached integrator"
	details    = "v3 details"
)

var mixes = []string{direct, directV1, integrator, details}

// exchange is a request and the answer it must get, with status 200.
type exchange struct {
	target   string
	body     []byte
	from, to int // the part of body that differs every time
}

func (e *exchange) judge(a load.Answer, err error) error {
	same := len(a.Body) == len(e.body) &&
		bytes.Equal(a.Body[:e.from], e.body[:e.from]) && bytes.Equal(a.Body[e.to:], e.body[e.to:])
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

// deploymentFile is what the gateways quote: the reference contracts, under a name of its own.
func deploymentFile() []byte { return chain.ReferenceAs("bench") }

// reference is what they list, and the pairs of the mixes.
func reference() (l *client.Listing, pairs []*client.Pair, err error) {
	deployment, err := chain.ParseDeployment(deploymentFile())
	if err != nil {
		return nil, nil, err
	}
	l = swap.Listing(deployment)
	for _, src := range []uint64{1, 56, 8453} {
		pair, err := l.Find(src, "USDC", uint64(chain.Hub), "USDC")
		if err != nil {
			return nil, nil, err
		}
		pairs = append(pairs, pair)
	}
	return l, pairs, nil
}

// learn asks a gateway for every mix, and has the Go client check the quotes: what every later answer must be. The
// requests are the same in every run.
func (f *fleet) learn() error {
	listing, pairs, err := reference()
	if err != nil {
		return err
	}
	checker, err := quotecheck.New(f.root, listing)
	if err != nil {
		return err
	}
	gateway, err := f.startGateway(&row{})
	if err != nil {
		return err
	}
	defer gateway.Kill()
	progress("checking %d quotes", mixSize*len(mixes))
	conn := load.Conn{Addr: gateway.Addr}
	defer conn.Close()
	f.exchanges = map[string][]exchange{}
	for _, mix := range mixes {
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range mixSize {
			e, err := learn(&conn, checker, mix, checker.Random(rng, pairs[n%len(pairs)]), n)
			if err != nil {
				return err
			}
			f.exchanges[mix] = append(f.exchanges[mix], e)
		}
	}
	return nil
}

// learn asks for number n of a mix.
func learn(conn *load.Conn, checker *quotecheck.Checker, mix string, wish client.Request, n int) (exchange, error) {
	version := "v3"
	terms := quotecheck.Terms{}
	switch mix {
	case directV1:
		version = "v1"
	case integrator:
		wish.Integrator = common.Address{0xa1, byte(n % partners)}
		terms.IntegratorBPS = partnerBPS
	}
	e := exchange{target: quotecheck.Target(version, wish)}
	if mix == details {
		e.target += "&include=details"
	}
	answer, err := conn.Ask(load.Request{Target: e.target, Client: n})
	if err != nil {
		return e, err
	}
	if _, err := checker.Check(version, wish, terms, answer.Body); err != nil {
		return e, fmt.Errorf("GET %s: got %d %s: %w", e.target, answer.Status, answer.Body, err)
	}
	e.body = answer.Body
	if mix == details {
		const until = `"validUntil":"`
		e.from = bytes.Index(e.body, []byte(until)) + len(until)
		e.to = e.from + len("2026-11-15T12:00:00Z")
	}
	return e, nil
}
