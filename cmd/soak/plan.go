package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// plan is the file that says how the versions fare.
type plan struct {
	path string
	// refusing is set while the version may be refused.
	refusing atomic.Bool
}

const everythingActive = `{"versions": {}}`

func newPlan(dir string) (*plan, error) {
	p := &plan{path: filepath.Join(dir, "plan.json")}
	return p, p.write(everythingActive)
}

// write replaces the file in one step, as an operator should.
func (p *plan) write(text string) error {
	next := p.path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, p.path)
}

// brownout refuses everybody a version for an hour from now on.
func brownout(version string, now time.Time) string {
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	return fmt.Sprintf(`{"versions": {%q: {"deprecated": %q, "sunset": %q,
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate", "immediate": true,
		"brownouts": [{"from": %q, "to": %q, "share": 1}]}}}`,
		version, at(-2*time.Hour), at(48*time.Hour), at(-time.Hour), at(time.Hour))
}

// rewrite takes the version away and gives it back, with mistakes between, and
// sees each take effect, or not.
func (w *world) rewritePlan(ctx context.Context) error {
	p := w.plan
	p.refusing.Store(true)
	steps := []struct {
		change func() error
		status int // of the version from then on
	}{
		{func() error { return p.write(brownout(w.served.retiring, time.Now())) }, http.StatusGone},
		// Neither half a plan nor none takes the place of one in force.
		{func() error { return os.WriteFile(p.path, []byte(`{"versions": {"v`), 0o600) }, http.StatusGone},
		{func() error { return os.Remove(p.path) }, http.StatusGone},
		{func() error { return p.write(everythingActive) }, http.StatusOK},
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
	p.refusing.Store(false)
	return nil
}

// awaitStatus waits until the retiring version answers with a status, and keeps
// doing so.
func (w *world) awaitStatus(ctx context.Context, status int) error {
	const enough = 10 // answers in a row
	pair, err := w.judge.Find("USDC", 1, "USDC", 369)
	if err != nil {
		return err
	}
	target := w.judge.RandomSwap(rand.New(rand.NewPCG(3, 3)), pair).Target(w.served.retiring)
	got, inRow := 0, 0
	err = eventually(ctx, func() (bool, error) {
		answer, err := w.askOnce(target)
		got = answer.Status
		if got == status {
			inRow++
		} else {
			inRow = 0
		}
		return inRow == enough, err
	})
	if err != nil {
		return fmt.Errorf("%s answers %d, want %d: %w", w.served.retiring, got, status, err)
	}
	return nil
}
