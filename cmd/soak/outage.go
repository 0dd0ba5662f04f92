package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// outage is one way in which something fails for a while.
type outage struct {
	name       string
	begin, end func() error
}

// outages are all of them.
func (w *world) outages(ctx context.Context) []outage {
	set := func(first, others mode) func() error {
		return func() error {
			w.setNodes(others)
			w.nodes[0].set(first)
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
	all = append(all, outage{"nobody reads the log", did(w.tally.log.Lock), did(w.tally.log.Unlock)})
	if w.redis != nil {
		signal := func(sig syscall.Signal) func() error {
			return func() error { return w.redis.Signal(sig) }
		}
		all = append(all,
			outage{"Redis is dead", did(w.redis.Kill), func() error { return w.restartRedis(ctx) }},
			outage{"Redis is frozen", signal(syscall.SIGSTOP), signal(syscall.SIGCONT)})
	}
	if w.postgres != nil {
		all = append(all,
			outage{"PostgreSQL is dead", did(w.postgres.Crash), func() error { return w.postgres.Start(ctx) }},
			outage{"PostgreSQL is frozen", w.postgres.Freeze, w.postgres.Thaw})
	}
	if w.retiring != "" {
		all = append(all, outage{"the plan is rewritten", func() error { return w.rewritePlan(ctx) }, did(func() {})})
	}
	return all
}

// did is what cannot fail.
func did(do func()) func() error {
	return func() error {
		do()
		return nil
	}
}

func (w *world) setNodes(m mode) {
	for _, n := range w.nodes {
		n.set(m)
	}
}

func (w *world) refuseConnections() error {
	for _, n := range w.nodes {
		n.server.Close()
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

func (w *world) restartRedis(ctx context.Context) error {
	redis, err := child.StartRedis(ctx, w.redis.Addr)
	if err != nil {
		return err
	}
	moved := redis.Addr != w.redis.Addr
	w.redis = redis
	if moved {
		return fmt.Errorf("another process has taken the address of Redis")
	}
	return nil
}

// breakThings goes through the outages, one at a time, for so long, and through
// each of them at least once.
func (w *world) breakThings(ctx context.Context, duration time.Duration) error {
	const longest = 5 * time.Second
	outages := w.outages(ctx)
	length := min(duration/time.Duration(len(outages)), longest)
	start := time.Now()
	for i := 0; i < len(outages) || time.Since(start) < duration; i++ {
		o := outages[i%len(outages)]
		w.tell("%s", o.name)
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

const everythingActive = `{"versions": {}}`

// planFile says how the versions fare.
func (w *world) planFile() string { return filepath.Join(w.dir, "plan.json") }

// writePlan replaces the file in one step, as an operator should.
func (w *world) writePlan(text string) error {
	next := w.planFile() + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, w.planFile())
}

// brownout refuses everybody a version for an hour from now on.
func brownout(version string, now time.Time) string {
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	return fmt.Sprintf(`{"versions": {%q: {"deprecated": %q, "sunset": %q,
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate", "immediate": true,
		"brownouts": [{"from": %q, "to": %q, "share": 1}]}}}`,
		version, at(-2*time.Hour), at(48*time.Hour), at(-time.Hour), at(time.Hour))
}

// rewritePlan takes the version away and gives it back, with mistakes between, and
// sees each take effect, or not.
func (w *world) rewritePlan(ctx context.Context) error {
	w.refusing.Store(true)
	steps := []struct {
		change func() error
		status int // of the version from then on
	}{
		{func() error { return w.writePlan(brownout(w.retiring, time.Now())) }, http.StatusGone},
		// Neither half a plan nor none takes the place of one in force.
		{func() error { return os.WriteFile(w.planFile(), []byte(`{"versions": {"v`), 0o600) }, http.StatusGone},
		{func() error { return os.Remove(w.planFile()) }, http.StatusGone},
		{func() error { return w.writePlan(everythingActive) }, http.StatusOK},
	}
	for i, step := range steps {
		if err := step.change(); err != nil {
			return err
		}
		if err := w.gateway.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		if err := w.awaitStatus(ctx, step.status); err != nil {
			return fmt.Errorf("step %d of rewriting the plan: %w", i+1, err)
		}
	}
	w.refusing.Store(false)
	return nil
}

// awaitStatus waits until the retiring version answers with a status, and keeps
// doing so.
func (w *world) awaitStatus(ctx context.Context, status int) error {
	const enough = 10 // answers in a row
	target := w.judge.RandomSwap(rand.New(rand.NewPCG(3, 3)), w.plainPair).Target(w.retiring)
	got, inRow := 0, 0
	err := eventually(ctx, func() (bool, error) {
		answer, err := w.askOnce(target)
		got = answer.Status
		inRow++
		if got != status {
			inRow = 0
		}
		return inRow == enough, err
	})
	if err != nil {
		return fmt.Errorf("%s answers %d, want %d: %w", w.retiring, got, status, err)
	}
	return nil
}
