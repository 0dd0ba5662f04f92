package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// engine is what the public RAILGUN engine did on one processor.
type engine struct {
	Notes      int
	Seconds    float64
	CPUSeconds float64
}

func (e engine) perCPUSecond() float64 { return float64(e.Notes) / e.CPUSeconds }

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
	progress("measuring %s", what)
	cmd := exec.CommandContext(ctx, "node", "railgun.mjs", "5")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("railgun.mjs: %w", err)
	}
	rep.engine = new(engine)
	if err := json.Unmarshal(out, rep.engine); err != nil || rep.engine.Notes == 0 || rep.engine.CPUSeconds <= 0 {
		return fmt.Errorf("railgun.mjs printed %q", out)
	}
	return nil
}
