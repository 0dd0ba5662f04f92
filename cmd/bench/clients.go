package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
)

const (
	usualLimit = 30 // requests a minute per client, the default
	few        = 10
	many       = 1 << 16
	flood      = 1_000_000

	// fewLimit is the most that the limiter can be set to. Ten clients come to it
	// within a second, and then ten others take their place.
	fewLimit = 1000
)

// crowd is a server that so many clients ask, and what each round of that came to.
type crowd struct {
	mix, server string
	clients     int
	samples     []sample
	peak        int64
	writes      int // to the database
}

// measureClients finds out what a request costs, and what memory comes to, when few
// clients ask and when very many do. All servers take turns within every round. What
// counts is the CPU time of the whole round, so that it includes what a gateway writes
// to its database while others are asked.
func measureClients(ctx context.Context, o options, mixes map[string][]load.Case, rep *report) error {
	dir, err := os.MkdirTemp("", "bench-usage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []*crowdServer
	defer func() {
		for _, s := range all {
			s.stop()
		}
	}()
	for _, mix := range []string{direct, v1} {
		bare, cases, err := startBare(ctx, mixes[mix])
		if err != nil {
			return err
		}
		c := crowd{mix: mix, server: theBare, clients: many}
		all = append(all, &crowdServer{crowd: c, Server: bare, cases: cases})
	}
	for _, c := range []crowd{
		{mix: direct, clients: few},
		{mix: direct, clients: many},
		{mix: direct, clients: flood},
		{mix: v1, clients: many},
	} {
		c.server = theGateway
		s, err := startCrowd(ctx, o, c, mixes[c.mix], filepath.Join(dir, fmt.Sprintf("%d.db", len(all))))
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	for round := range o.rounds + 1 {
		progress("%d to %d clients, round %d of %d", few, flood, round, o.rounds)
		if err := measureRound(ctx, o, all, round > 0); err != nil {
			return err
		}
	}
	for _, s := range all {
		if _, s.peak, err = s.Memory(); err != nil {
			return err
		}
		s.stop()
		rep.crowds = append(rep.crowds, s.crowd)
	}
	return nil
}

// turns is how often the servers take turns within a round. How fast a machine is changes
// within seconds, and so all of them get their part of each change.
const turns = 10

// measureRound asks every server for a while. The first round only warms up.
func measureRound(ctx context.Context, o options, all []*crowdServer, counts bool) error {
	round := make([]sample, len(all))
	for i, s := range all {
		before, err := s.CPU()
		if err != nil {
			return err
		}
		round[i].cpu = -before
	}
	for n := range turns * len(all) {
		i := (n + n/len(all)) % len(all) // another one begins each time
		s := all[i]
		result, err := load.Run(ctx, s.Addr, s.cases, s.options(o))
		if err != nil {
			return fmt.Errorf("%s, %d clients: %w", s.mix, s.clients, err)
		}
		s.asked += result.Requests
		round[i].Requests += result.Requests
	}
	for i, s := range all {
		after, err := s.CPU()
		if err != nil {
			return err
		}
		round[i].cpu += after
		if counts {
			s.samples = append(s.samples, round[i])
		}
	}
	return nil
}

type crowdServer struct {
	crowd
	*child.Server
	cases  []load.Case
	asked  int // so far
	ended  chan struct{}
	ending sync.Once
	watch  sync.WaitGroup
}

// startCrowd starts a gateway that keeps its evidence in a file, and counts its writes.
func startCrowd(ctx context.Context, o options, c crowd, cases []load.Case, db string) (*crowdServer, error) {
	perMinute := usualLimit
	if c.clients == few {
		perMinute = fewLimit
	}
	const node = "http://127.0.0.1:9" // nobody asks for an integrator
	gateway, err := startGateway(ctx, o.gateway, perMinute, node, "", db)
	if err != nil {
		return nil, err
	}
	s := &crowdServer{crowd: c, Server: gateway, cases: cases, ended: make(chan struct{})}
	s.watch.Go(func() { s.countWrites(db) })
	return s, nil
}

// countWrites looks at the database until the server is stopped. What is written
// within a second is one write.
func (s *crowdServer) countWrites(db string) {
	seen := modified(db)
	for {
		select {
		case <-s.ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if now := modified(db); now.Sub(seen) > time.Second {
			seen = now
			s.writes++
		}
	}
}

// modified is when a SQLite database or its log was last written.
func modified(db string) (last time.Time) {
	for _, name := range []string{db, db + "-wal"} {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(last) { // there may be no log yet
			last = info.ModTime()
		}
	}
	return last
}

func (s *crowdServer) stop() {
	s.ending.Do(func() {
		if s.ended != nil {
			close(s.ended)
		}
	})
	s.watch.Wait()
	s.Kill()
}

func (s *crowdServer) options(o options) load.Options {
	l := load.Options{Conns: o.conns, Duration: o.long / turns, Clients: s.clients, Start: s.asked}
	if s.clients == few {
		l.Turn = few * (fewLimit - 10)
	}
	return l
}
