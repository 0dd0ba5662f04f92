package main

import (
	"context"
	"fmt"
	"time"
)

// spell is a while in which something is wrong.
type spell struct {
	name       string
	begin, end func() error
}

// spells are all the ways in which the world fails.
func (w *world) spells(ctx context.Context) []spell {
	nothing := func() error { return nil }
	become := func(first, second mood) func() error {
		return func() error {
			w.nodes[0].become(first)
			w.nodes[1].become(second)
			return nil
		}
	}
	all := []spell{{"one node hangs", become(hung, well), become(well, well)}}
	for _, m := range badMoods {
		all = append(all, spell{fmt.Sprintf("all nodes are %s", m), become(m, m), become(well, well)})
	}
	if w.redis != nil {
		all = append(all,
			spell{"Redis is dead", func() error { w.redis.kill(); return nil }, func() error { return w.redis.start(ctx) }},
			spell{"Redis is frozen", w.redis.freeze, w.redis.thaw})
	}
	if w.planned {
		all = append(all, spell{"the plan is rewritten", func() error { return w.rewritePlan(ctx) }, nothing})
	}
	return all
}

// weather lets one spell follow the other for so long, and all of them at least
// once.
func (w *world) weather(ctx context.Context, duration time.Duration, tell func(string)) error {
	const longest = 5 * time.Second
	spells := w.spells(ctx)
	length := min(duration/time.Duration(len(spells)), longest)
	start := time.Now()
	for i := 0; i < len(spells) || time.Since(start) < duration; i++ {
		s := spells[i%len(spells)]
		tell(s.name)
		if err := s.begin(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(length):
		}
		if err := s.end(); err != nil {
			return fmt.Errorf("after %q: %w", s.name, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
