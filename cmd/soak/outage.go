package main

import (
	"context"
	"errors"
	"fmt"
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

func (w *world) outages(ctx context.Context) []outage {
	// did is what cannot fail.
	did := func(do func()) func() error {
		return func() error {
			do()
			return nil
		}
	}
	restore := did(func() { w.setNodes(working) })
	all := []outage{
		{"one node hangs", did(func() { w.nodes[0].mode.Store(hung) }), restore},
		{"all nodes refuse connections", w.refuseConnections, w.acceptConnections},
		{"nobody reads the log", did(w.tally.log.Lock), did(w.tally.log.Unlock)},
	}
	for _, mode := range badModes {
		all = append(all, outage{"all nodes are " + mode, did(func() { w.setNodes(mode) }), restore})
	}
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
		brownout := func() error { return w.changePlan(ctx, brownout(w.retiring, time.Now()), http.StatusGone) }
		end := func() error { return w.changePlan(ctx, everythingActive, http.StatusOK) }
		all = append(all, outage{"the plan refuses " + w.retiring, brownout, end})
	}
	return all
}

// breakThings goes through the outages, one at a time, for so long, and through each of them at least once.
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
		if err := errors.Join(o.end(), ctx.Err()); err != nil {
			return fmt.Errorf("after %q: %w", o.name, err)
		}
	}
	return nil
}

func (w *world) setNodes(mode string) {
	for _, n := range w.nodes {
		n.mode.Store(mode)
	}
}

func (w *world) refuseConnections() (err error) {
	for _, n := range w.nodes {
		err = errors.Join(err, n.server.Close())
	}
	return err
}

func (w *world) acceptConnections() (err error) {
	for _, n := range w.nodes {
		err = errors.Join(err, n.listen())
	}
	return err
}

func (w *world) restartRedis(ctx context.Context) error {
	addr := w.redis.Addr
	redis, err := child.StartRedis(ctx, addr)
	if err != nil {
		return err
	}
	w.redis = redis
	if redis.Addr != addr {
		return errors.New("another process has taken the address of Redis")
	}
	return nil
}

const everythingActive = `{"versions": {}}`

// planFile is the path of the lifecycle plan.
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

// changePlan replaces the plan, and waits until the retiring version answers with a status.
func (w *world) changePlan(ctx context.Context, text string, status int) error {
	w.refusing.Store(true)
	if err := errors.Join(w.writePlan(text), w.gateway.Signal(syscall.SIGHUP)); err != nil {
		return err
	}
	target := w.judge.RandomSwap(newRand(), w.plainPair).Target(w.retiring)
	err := eventually(ctx, func() (bool, error) {
		answer, err := w.get(target)
		return answer.Status == status, err
	})
	if err != nil {
		return fmt.Errorf("%s does not answer with %d after the plan changed: %w", w.retiring, status, err)
	}
	w.refusing.Store(status == http.StatusGone)
	return nil
}
