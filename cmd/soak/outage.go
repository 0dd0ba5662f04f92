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
	nodes := func(mode string) func() error { return func() error { return w.setNodes(mode) } }
	redis := func(sig syscall.Signal) func() error { return func() error { return w.redis.Signal(sig) } }
	all := []outage{
		{"one node hangs", func() error { return w.nodes[0].set(hung) }, nodes(working)},
		{"nobody reads the log", done(w.tally.log.Lock), done(w.tally.log.Unlock)},
		{"Redis is dead", done(w.redis.Kill), func() (err error) {
			w.redis, err = child.StartRedis(ctx, w.redis.Addr)
			return err
		}},
		{"Redis is frozen", redis(syscall.SIGSTOP), redis(syscall.SIGCONT)},
		{"PostgreSQL is dead", done(w.postgres.Crash), func() error { return w.postgres.Start(ctx) }},
		{"PostgreSQL is frozen", w.postgres.Freeze, w.postgres.Thaw},
	}
	for _, mode := range faults {
		all = append(all, outage{"all nodes are " + mode, nodes(mode), nodes(working)})
	}
	if w.retiring == "v3" {
		w.tell("NOT TESTED: the plan; no older version is served that it could retire")
		return all
	}
	return append(all, outage{"the plan refuses " + w.retiring,
		func() error { return w.changePlan(ctx, brownout(w.retiring, time.Now()), http.StatusGone) },
		func() error { return w.changePlan(ctx, everythingActive, http.StatusOK) }})
}

// done does what cannot fail.
func done(do func()) func() error {
	return func() error {
		do()
		return nil
	}
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

func (w *world) setNodes(mode string) (err error) {
	for _, n := range w.nodes {
		err = errors.Join(err, n.set(mode))
	}
	return err
}

const everythingActive = `{"versions": {}}`

// brownout refuses everybody a version for an hour from now on.
func brownout(version string, now time.Time) string {
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	return fmt.Sprintf(`{"versions": {%q: {"deprecated": %q, "sunset": %q,
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate", "immediate": true,
		"brownouts": [{"from": %q, "to": %q, "share": 1}]}}}`,
		version, at(-2*time.Hour), at(48*time.Hour), at(-time.Hour), at(time.Hour))
}

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

// changePlan replaces the plan, and waits until the retiring version answers with a status.
func (w *world) changePlan(ctx context.Context, text string, status int) error {
	w.refusing.Store(true)
	if err := errors.Join(w.writePlan(text), w.gateway.Signal(syscall.SIGHUP)); err != nil {
		return err
	}
	q := quoteQuestion(w.retiring, w.retiring, w.judge.RandomSwap(newRand(), w.plainPair))
	err := eventually(ctx, fmt.Sprintf("%s answers with %d", w.retiring, status), func() (bool, error) {
		answer, err := w.ask(q, w.newClient())
		return answer.Status == status, err
	})
	w.refusing.Store(status == http.StatusGone)
	return err
}
