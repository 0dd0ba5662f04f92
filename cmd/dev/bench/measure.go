package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/child"
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

// exchange is a request and the answer it must get, with status 200.
type exchange struct {
	target   string
	body     []byte
	from, to int // the part of body that differs every time
}

func (e *exchange) judge(a child.Answer, err error) error {
	same := len(a.Body) == len(e.body) &&
		bytes.Equal(a.Body[:e.from], e.body[:e.from]) && bytes.Equal(a.Body[e.to:], e.body[e.to:])
	if err != nil || a.Status != 200 || !same {
		return fmt.Errorf("GET %s\ngot %d %s, %v\nwant 200 %s", e.target, a.Status, a.Body, err, e.body)
	}
	return nil
}

// mixPairs are the pairs of the mixes, which the reference deployment has.
func mixPairs() (pairs []*client.Pair) {
	listing := swap.Listing(chain.Reference())
	for _, src := range []uint64{1, 56, 8453} {
		pair, err := listing.Find(src, "USDC", uint64(chain.Hub), "USDC")
		if err != nil {
			panic(err)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// learn asks a gateway for every mix, and has the Go client check the quotes: what every later answer must be. The
// requests are the same in every run.
func (f *fleet) learn(ctx context.Context) error {
	checker, err := quotecheck.New(".", swap.Listing(chain.Reference()))
	if err != nil {
		return err
	}
	pairs := mixPairs()
	teacher, err := f.start(ctx, &row{server: gateway})
	if err != nil {
		return err
	}
	defer teacher.Kill()
	conn := &child.Conn{Addr: teacher.Addr}
	defer conn.Close()
	for _, mix := range []string{direct, directV1, integrator, details} {
		progress("checking %d quotes: %s", mixSize, mix)
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range mixSize {
			e, err := learn(conn, checker, mix, checker.Random(rng, pairs[n%len(pairs)]), n)
			if err != nil {
				return fmt.Errorf("GET %s: got %s: %w", e.target, e.body, err)
			}
			f.exchanges[mix] = append(f.exchanges[mix], e)
		}
	}
	return nil
}

// learn asks for number n of a mix.
func learn(c *child.Conn, checker *quotecheck.Checker, mix string, wish client.Request, n int) (e exchange, err error) {
	version := "v3"
	terms := quotecheck.Terms{}
	switch mix {
	case directV1:
		version = "v1"
	case integrator:
		wish.Integrator = common.Address{0xa1, byte(n % partners)}
		terms.IntegratorBPS = partnerBPS
	}
	e.target = quotecheck.Target(version, wish)
	if mix == details {
		e.target += "&include=details"
	}
	answer, err := c.Ask(e.target, n)
	if err != nil {
		return e, err
	}
	e.body = answer.Body
	if mix == details {
		const until = `"validUntil":"`
		e.from = bytes.Index(e.body, []byte(until)) + len(until)
		e.to = e.from + len("2026-11-15T12:00:00Z")
	}
	_, err = checker.Check(version, wish, terms, e.body)
	return e, err
}

// row is a server of its own that so many sources ask a mix, and what that came to.
type row struct {
	mix, server string
	sources     int
	procs       int // GOMAXPROCS of the server; 0 for its default

	child     *child.Server
	exchanges []exchange
	asked     int           // requests so far
	used      time.Duration // CPU time after the last load

	answers      int // of this round, as are those
	cpu, elapsed time.Duration

	micros    []float64 // CPU time of a request, of each round
	perSecond []float64 // requests, of each round
	peak      float64   // MiB of memory
}

const (
	mixSize     = 2048        // different requests of a mix
	partners    = 16          // integrators that the bench's node has registered
	partnerBPS  = 25          // their fee
	few, many   = 10, 1 << 16 // numbers of sources
	limit       = 1000        // requests of a source in a minute: the most that the gateway can be set to
	connections = 16          // over which a load comes
	turns       = 10          // of a row within a round, as the speed of a machine changes within seconds
)

// allRows are the servers under each mix, and then the bare handler and the gateway on 1, 2, 4 and so on of the
// processors.
func allRows() []*row {
	rows := []*row{
		{mix: direct, server: bare, sources: many},
		{mix: direct, server: plain, sources: many},
		{mix: direct, server: gateway, sources: many},
		{mix: direct, server: gateway, sources: few},
		{mix: direct, server: withRedis, sources: many},
	}
	for _, mix := range []string{directV1, integrator, details} {
		rows = append(rows, &row{mix: mix, server: bare, sources: many}, &row{mix: mix, server: gateway, sources: many})
	}
	for procs := 1; procs <= runtime.NumCPU(); procs *= 2 {
		for _, server := range []string{bare, gateway} {
			rows = append(rows, &row{mix: direct, server: server, sources: many, procs: procs})
		}
	}
	return rows
}

// measure starts the servers of the rows, warms them up, and loads them in turn, round by round. It gives the rows that
// were measured: Redis may be missing.
func (f *fleet) measure(ctx context.Context, rows []*row) (measured []*row, err error) {
	for _, r := range rows {
		r.exchanges = f.exchanges[r.mix]
		if r.server == bare {
			r.exchanges = r.exchanges[:1]
		}
		r.child, err = f.start(ctx, r)
		if errors.Is(err, exec.ErrNotFound) {
			progress("SKIPPED, NOT MEASURED: %s: %v", r.server, err)
			continue
		}
		if err == nil {
			err = r.load(ctx, time.Hour, f.warmup)
		}
		if err != nil {
			return nil, err
		}
		measured = append(measured, r)
	}
	for n := range f.rounds {
		progress("round %d of %d", n+1, f.rounds)
		if err := round(ctx, measured, f.duration); err != nil {
			return nil, err
		}
	}
	return measured, nil
}

// round loads each row for so long.
func round(ctx context.Context, rows []*row, length time.Duration) error {
	for _, r := range rows {
		r.answers, r.cpu, r.elapsed = 0, 0, 0
	}
	for n := range turns * len(rows) {
		r := rows[(n+n/len(rows))%len(rows)] // another one begins each time
		if err := r.load(ctx, length/turns, 0); err != nil {
			return err
		}
	}
	for _, r := range rows {
		r.micros = append(r.micros, float64(r.cpu.Microseconds())/float64(r.answers))
		r.perSecond = append(r.perSecond, float64(r.answers)/r.elapsed.Seconds())
	}
	return nil
}

// load loads one row until the time is over or so many were asked, if that is not 0. What the gateway does between the
// loads counts in v1, whose calls it writes to its database then, and not elsewhere.
func (r *row) load(ctx context.Context, length time.Duration, requests int) error {
	before, _, err := r.child.Costs()
	if err != nil {
		return err
	}
	if r.mix == directV1 {
		before = r.used
	}
	limited, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	first := r.asked
	start := time.Now()
	answers, err := child.Load(limited, r.child.Addr, connections, requests, func(c *child.Conn, n int) error {
		return r.ask(c, first+n)
	})
	r.elapsed += time.Since(start)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s, %s, %d sources: %w", r.mix, r.server, r.sources, err)
	}
	r.asked += answers
	r.answers += answers
	r.used, r.peak, err = r.child.Costs()
	r.cpu += r.used - before
	return err
}

// ask is request number n of all that the server gets. Few sources are replaced before they come to their limit.
func (r *row) ask(c *child.Conn, n int) error {
	source := n % r.sources
	if r.sources == few {
		source += n / (few * (limit - 10)) * few
	}
	e := &r.exchanges[n%len(r.exchanges)]
	return e.judge(c.Ask(e.target, source))
}
