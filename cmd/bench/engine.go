package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// engine is what the public RAILGUN engine did.
type engine struct {
	Notes      int
	Seconds    float64
	CPUSeconds float64
}

func (e engine) perCPUSecond() float64 { return float64(e.Notes) / e.CPUSeconds }

// engineRuns is how often the engine is measured; the median counts.
const engineRuns = 3

// measureEngine has the public engine make shield notes.
func measureEngine(ctx context.Context, root, scratch string, rep *report) error {
	const what = "the public RAILGUN engine"
	if !haveNode(what) {
		return nil
	}
	progress("installing %s", what)
	dir := filepath.Join(scratch, "railgun")
	interop := filepath.Join(root, "testdata/interop")
	if err := install(ctx, dir, filepath.Join(interop, "package.json"), filepath.Join(interop, ".npmrc"),
		filepath.Join(root, "testdata/bench/railgun.mjs")); err != nil {
		return err
	}
	runs := make([]engine, engineRuns)
	for i := range runs {
		progress("measuring %s, run %d of %d", what, i+1, len(runs))
		if err := runs[i].measure(ctx, dir); err != nil {
			return err
		}
	}
	slices.SortFunc(runs, func(a, b engine) int { return cmp.Compare(a.perCPUSecond(), b.perCPUSecond()) })
	rep.engine = &runs[len(runs)/2]
	return nil
}

// measure runs the engine on every core at once, since the gateway, too, is
// measured on a machine that is busy, and adds up what they did.
func (e *engine) measure(ctx context.Context, dir string) error {
	each := make([]engine, runtime.NumCPU())
	var runs errgroup.Group
	for i := range each {
		runs.Go(func() error { return each[i].run(ctx, dir) })
	}
	if err := runs.Wait(); err != nil {
		return err
	}
	for _, one := range each {
		e.Notes += one.Notes
		e.CPUSeconds += one.CPUSeconds
		e.Seconds = max(e.Seconds, one.Seconds)
	}
	return nil
}

func (e *engine) run(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "node", "railgun.mjs", "3")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("railgun.mjs: %w", err)
	}
	if err := json.Unmarshal(out, e); err != nil || e.Notes == 0 || e.CPUSeconds <= 0 {
		return fmt.Errorf("railgun.mjs printed %q", out)
	}
	return nil
}
