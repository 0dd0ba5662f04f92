package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/cmd/internal/redisserver"
)

// sample is one load of one server.
type sample struct {
	load.Result
	cpu time.Duration
}

// micros is the CPU time of one request in microseconds.
func (s sample) micros() float64 { return float64(s.cpu.Microseconds()) / float64(s.Requests) }

// loadOnce loads a server and reads what that cost it.
func loadOnce(ctx context.Context, s *server, cases []load.Case, o load.Options) (sample, error) {
	before, err := s.CPU()
	if err != nil {
		return sample{}, err
	}
	result, err := load.Run(ctx, s.Addr, cases, o)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", s.name, err)
	}
	after, err := s.CPU()
	return sample{result, after - before}, err
}

// measureServed compares the servers. They take turns within every round, so
// that what disturbs the machine for a while disturbs them all.
func measureServed(
	ctx context.Context, o options, root, scratch string, mixes map[string][]load.Case, rep *report,
) error {
	node := startNode()
	defer node.Close()
	var all fleet
	defer all.stop()
	if err := all.start(ctx, o, root, scratch, mixes, node.URL); err != nil {
		return err
	}
	samples, err := loadInTurns(ctx, o, all.servers)
	if err != nil {
		return err
	}
	for _, mix := range o.mixes {
		for _, name := range []string{theGateway, theShared, theBare, theFastify, theTuned} {
			if all := samples[mix][name]; len(all) > 0 {
				rep.add(mix, name, all)
			}
		}
	}
	for _, s := range all.servers {
		if s.name == theBare && s.mixes[o.mixes[0]] == nil {
			continue // they are all alike
		}
		_, peak, err := s.Memory()
		if err != nil {
			return err
		}
		rep.memory = append(rep.memory, memory{s.name, peak})
	}
	return nil
}

// loadInTurns loads every server with every mix that it knows, round by round, and gives
// what that came to, by mix and server. The first round only warms up.
func loadInTurns(ctx context.Context, o options, servers []*server) (map[string]map[string][]sample, error) {
	samples := map[string]map[string][]sample{}
	for _, mix := range o.mixes {
		samples[mix] = map[string][]sample{}
	}
	asked := map[*server]int{}
	for round := range o.rounds + 1 {
		if round == 0 {
			progress("warming up")
		} else {
			progress("round %d of %d", round, o.rounds)
		}
		for _, mix := range o.mixes {
			for _, s := range servers {
				cases, ok := s.mixes[mix]
				if !ok {
					continue
				}
				got, err := loadOnce(ctx, s, cases, load.Options{
					Conns:    o.conns,
					Duration: o.duration,
					Clients:  many,
					Start:    asked[s],
				})
				if err != nil {
					return nil, fmt.Errorf("%s: %w", mix, err)
				}
				asked[s] += got.Requests
				if round > 0 {
					samples[mix][s.name] = append(samples[mix][s.name], got)
				}
			}
		}
	}
	return samples, nil
}

// fleet is all servers that are compared, and what they need.
type fleet struct {
	servers []*server
	redis   *redisserver.Server // nil where none is needed
	dir     string              // of their databases
}

func (f *fleet) stop() {
	for _, s := range f.servers {
		s.Kill()
	}
	if f.redis != nil {
		f.redis.Close()
	}
	os.RemoveAll(f.dir)
}

func (f *fleet) add(name string, mixes map[string][]load.Case, s *child.Server) {
	f.servers = append(f.servers, &server{name, mixes, s})
}

// start starts all of them. They are to be stopped, after an error too.
func (f *fleet) start(
	ctx context.Context, o options, root, scratch string, mixes map[string][]load.Case, node string,
) (err error) {
	if f.dir, err = os.MkdirTemp("", "bench-usage-"); err != nil {
		return err
	}
	if err := f.startGateways(ctx, o, mixes, node); err != nil {
		return err
	}
	for _, mix := range o.mixes {
		bare, cases, err := startBare(ctx, mixes[mix])
		if err != nil {
			return err
		}
		f.add(theBare, map[string][]load.Case{mix: cases}, bare)
	}
	if o.fastify && haveNode(theFastify) {
		return f.startFastify(ctx, root, scratch, mixes)
	}
	return nil
}

// startGateways starts one that counts in memory, and one that shares its budgets.
func (f *fleet) startGateways(ctx context.Context, o options, mixes map[string][]load.Case, node string) error {
	gateway, err := startGateway(ctx, o.gateway, usualLimit, node, "", filepath.Join(f.dir, "gateway.db"))
	if err != nil {
		return err
	}
	f.add(theGateway, mixes, gateway)
	if !slices.Contains(o.mixes, direct) || !haveRedis() {
		return nil
	}
	f.redis, err = redisserver.Start(ctx)
	if err != nil {
		return err
	}
	url := "redis://" + f.redis.Addr
	shared, err := startGateway(ctx, o.gateway, usualLimit, node, url, filepath.Join(f.dir, "shared.db"))
	if err != nil {
		return err
	}
	f.add(theShared, map[string][]load.Case{direct: mixes[direct]}, shared)
	return nil
}

// startFastify starts the Fastify service as it is usually written, and tuned. It must
// mean what the gateway means.
func (f *fleet) startFastify(ctx context.Context, root, scratch string, mixes map[string][]load.Case) error {
	dir, err := installFastify(ctx, root, scratch)
	if err != nil {
		return err
	}
	for _, name := range []string{theFastify, theTuned} {
		fastify, err := startFastify(ctx, root, dir, name == theTuned)
		if err != nil {
			return err
		}
		own := map[string][]load.Case{}
		f.add(name, own, fastify)
		for _, mix := range []string{direct, burn} {
			if own[mix], err = sameMeaning(fastify.Addr, mixes[mix]); err != nil {
				return fmt.Errorf("%s answers otherwise than the gateway: %w", name, err)
			}
		}
	}
	return nil
}

// sorted gives a measure of all samples in order.
func sorted[S any, M cmp.Ordered](all []S, measure func(S) M) []M {
	values := make([]M, len(all))
	for i, s := range all {
		values[i] = measure(s)
	}
	slices.Sort(values)
	return values
}

func median[S any, M cmp.Ordered](all []S, measure func(S) M) M {
	return sorted(all, measure)[len(all)/2]
}
