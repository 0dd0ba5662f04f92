package main

import (
	"context"
	"fmt"
	"time"
)

// outage is one way in which something fails for a while.
type outage struct {
	name       string
	begin, end func() error
}

// outages are all of them.
func (w *world) outages(ctx context.Context) []outage {
	nothing := func() error { return nil }
	set := func(first, others mode) func() error {
		return func() error {
			w.nodes[0].set(first)
			for _, n := range w.nodes[1:] {
				n.set(others)
			}
			return nil
		}
	}
	all := []outage{
		{"one node hangs", set(hung, working), set(working, working)},
		{"all nodes refuse connections", w.refuseConnections, w.acceptConnections},
	}
	for _, m := range badModes {
		all = append(all, outage{fmt.Sprintf("all nodes are %s", m), set(m, m), set(working, working)})
	}
	all = append(all, outage{"nobody reads the log", w.holdLog, w.releaseLog})
	if w.redis != nil {
		kill := func() error {
			w.redis.Kill()
			return nil
		}
		all = append(all,
			outage{"Redis is dead", kill, func() error { return w.redis.Restart(ctx) }},
			outage{"Redis is frozen", w.redis.Freeze, w.redis.Thaw})
	}
	if w.postgres != nil {
		kill := func() error {
			w.postgres.Crash()
			return nil
		}
		all = append(all,
			outage{"PostgreSQL is dead", kill, func() error { return w.postgres.Start(ctx) }},
			outage{"PostgreSQL is frozen", w.postgres.Freeze, w.postgres.Thaw})
	}
	if w.planned {
		all = append(all, outage{"the plan is rewritten", func() error { return w.rewritePlan(ctx) }, nothing})
	}
	return all
}

func (w *world) refuseConnections() error {
	for _, n := range w.nodes {
		n.refuse()
	}
	return nil
}

func (w *world) acceptConnections() error {
	for _, n := range w.nodes {
		if err := n.listen(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) holdLog() error {
	w.tally.log.Lock()
	return nil
}

func (w *world) releaseLog() error {
	w.tally.log.Unlock()
	return nil
}

// breakThings goes through the outages, one at a time, for so long, and through
// each of them at least once.
func (w *world) breakThings(ctx context.Context, duration time.Duration, tell func(string)) error {
	const longest = 5 * time.Second
	outages := w.outages(ctx)
	length := min(duration/time.Duration(len(outages)), longest)
	start := time.Now()
	for i := 0; i < len(outages) || time.Since(start) < duration; i++ {
		o := outages[i%len(outages)]
		tell(o.name)
		if err := o.begin(); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		select {
		case <-ctx.Done():
		case <-w.gateway.Done():
			return fmt.Errorf("%s: the gateway has ended: %v", o.name, w.gateway.Wait())
		case <-time.After(length):
		}
		if err := o.end(); err != nil {
			return fmt.Errorf("after %q: %w", o.name, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
