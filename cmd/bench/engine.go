package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// engine is what the public RAILGUN engine did.
type engine struct {
	Notes      int
	Seconds    float64
	CPUSeconds float64
}

func (e engine) perCPUSecond() float64 { return float64(e.Notes) / e.CPUSeconds }

// measureEngine has the public engine make shield notes on every core at once, since the gateway, too, is measured on a
// busy machine. It gives nil where Node.js is missing.
func measureEngine(ctx context.Context, root, scratch string) (*engine, error) {
	if !haveNode("the public RAILGUN engine") {
		return nil, nil
	}
	dir := filepath.Join(scratch, "railgun")
	interop := filepath.Join(root, "testdata/interop")
	if err := install(ctx, dir, filepath.Join(interop, "package.json"), filepath.Join(interop, ".npmrc"),
		filepath.Join(root, "testdata/bench/railgun.mjs")); err != nil {
		return nil, err
	}
	progress("measuring the public RAILGUN engine")
	each := make([]engine, runtime.NumCPU())
	var runs errgroup.Group
	for i := range each {
		runs.Go(func() error {
			cmd := exec.CommandContext(ctx, "node", "railgun.mjs", "9")
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("railgun.mjs: %w", err)
			}
			return json.Unmarshal(out, &each[i])
		})
	}
	if err := runs.Wait(); err != nil {
		return nil, err
	}
	var all engine
	for _, one := range each {
		all.Notes += one.Notes
		all.CPUSeconds += one.CPUSeconds
		all.Seconds = max(all.Seconds, one.Seconds)
	}
	return &all, nil
}
